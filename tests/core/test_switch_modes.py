"""Switches at the seam: the last guards turn the last parameters, and what does not fit is refused."""

import pytest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"switches": 1}, "switches need guards"),
        ({"switches": 2, "guards": "height"}, "switches must be a number of guards"),
        ({"switches": -1, "guards": "height"}, "switches must be a number of guards"),
        ({"switches": 1, "guards": "height", "resets": "bounce"}, r"resets must map .* to 0 values"),
    ],
)
def test_what_does_not_fit_is_refused(native, integrate, options, words):
    functions = {"guards": 1, "resets": 2}
    given = {k: native(v, 2, 0, 2, out=functions[k]) if k in functions else v for k, v in options.items()}
    with pytest.raises(ValueError, match=words):
        integrate(native("fall", 2, 0, 2), "tsit5", 0, 1, [1, 0], p=[9.81, 0], **given)


def test_the_parameters_of_the_caller_stay_as_they_are(native, integrate):
    """The last parameter follows the sign of the height; the fall itself does not depend on it."""
    p = [9.81, 0.0]
    run = integrate(
        native("fall", 2, 0, 2), "tsit5", 0, 1, [1, 0], p=p, guards=native("height", 2, 0, 2, out=1), switches=1
    )
    assert run.turns == 1
    assert run.last_turned == 0
    assert run.events == []
    assert p == [9.81, 0.0]
