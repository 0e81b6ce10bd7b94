"""What may be given for the inputs, and what is refused."""

import numpy as np
import pytest

from daedalus.analysis.linear.lti import LTI
from daedalus.errors import InputError, SolverError
from daedalus.model.signals import signal

TWO = LTI(np.zeros((2, 2)), np.eye(2), states=["x", "v"], inputs=["left", "right"])
ARM = LTI(np.zeros((3, 3)), np.eye(3), inputs=["torque[0]", "torque[1]", "brake"])
T = np.array([0.0, 1.0, 2.0])


def final(system, inputs, **options):
    return system.respond(T, inputs, **options).states[-1].round(12).tolist()


def test_every_way_to_say_the_same():
    ramp = [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]
    for inputs in (
        ramp,
        {"left": [0.0, 1.0, 2.0], "right": 1.0},
        {"left": lambda t: t, "right": [1.0, 1.0, 1.0]},
        {"left": signal([0.0, 5.0], [0.0, 5.0], "linear"), "right": signal([-1.0], [1.0])},
        signal(T, ramp, "linear"),
        lambda t: [t, 1.0],
    ):
        assert final(TWO, inputs) == [2.0, 2.0]
    assert final(TWO, [3.0, -1.0]) == [6.0, -2.0]
    assert final(TWO, ramp, sampled="hold") == [1.0, 2.0]
    assert final(TWO, {"right": 1.0}) == [0.0, 2.0]
    assert final(TWO, None) == [0.0, 0.0]


def test_vectors_by_their_common_name():
    assert final(ARM, {"torque": [1.0, 2.0]}) == [2.0, 4.0, 0.0]
    assert final(ARM, {"torque[1]": 1.0, "brake": 3.0}) == [0.0, 2.0, 6.0]
    assert final(ARM, {"torque": signal([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]])}) == [1.0, 1.0, 0.0]


def test_one_time_gives_the_start():
    r = LTI([[-1.0]], [[1.0]], [[1.0]], [[2.0]]).respond([3.0], 5.0, [7.0])
    assert (r["x"].tolist(), r["y"].tolist()) == ([7.0], [17.0])
    assert TWO.respond([1.0], lambda t: [t, 2 * t]).inputs.tolist() == [[1.0, 2.0]]
    assert TWO.respond([1.0], signal([0.0, 2.0], [[0.0, 1.0], [4.0, 1.0]], "linear")).inputs.tolist() == [[2.0, 1.0]]


def test_a_jump_at_one_of_the_times():
    r = TWO.respond([0.0, 1.0, 2.0], {"left": lambda t: float(t >= 1.0)})
    assert np.allclose(r["x"], [0.0, 0.0, 1.0], atol=1e-12)
    assert r["left"].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("inputs", "lines"),
    [
        (
            {"lift": 1.0},
            ["The system has no input 'lift'.", "  its inputs are left, right", "  Try: 'left'"],
        ),
        (
            {"left": [1.0, 2.0]},
            [
                "The value for input left has the wrong shape.",
                "  it has shape (2,); there are 3 times and 1 input",
                "  Try: a number, or samples of shape (3, 1)",
            ],
        ),
        (
            1.0,
            [
                "The value for input left has the wrong shape.",
                "  it has shape (); there are 3 times and 2 inputs",
                "  Try: 2 numbers, or samples of shape (3, 2)",
            ],
        ),
        (
            {"left": signal([0.0, 1.0], [0.0, 1.0], "linear")},
            [
                "The signal for input left does not cover the response.",
                "  times from 0 to 2, the table from 0 to 1",
                "  Because the table has no values outside its times, and a line ends at its last point.",
                '  Try: more points, or kind="hold", which keeps the last value',
            ],
        ),
        (
            {"left": signal([0.0], [[1.0, 2.0]])},
            [
                "The signal for input left has the wrong shape.",
                "  it gives 2 values, the input takes 1",
                "  Try: one column of values for each input",
            ],
        ),
        (
            {"left": lambda t: [t, t]},
            [
                "The function for input left does not give a finite number.",
                "  f(0) is [0.0, 0.0]",
                "  Try: a function of time, or dd.signal(times, values)",
            ],
        ),
        (
            {"left": lambda: 1.0},
            [
                "The function for input left cannot be evaluated.",
                None,
                "  Try: a function of one number, the time, or dd.signal(times, values)",
            ],
        ),
    ],
)
def test_refusals_say_what_to_do(inputs, lines):
    with pytest.raises(InputError) as caught:
        TWO.respond(T, inputs)
    text = str(caught.value).splitlines()
    assert len(text) == len(lines)
    assert all(expected is None or line == expected for line, expected in zip(text, lines))


def test_more_refusals():
    with pytest.raises(InputError, match="An input has two values"):
        ARM.respond(T, {"torque": [1.0, 2.0], "torque[0]": 1.0})
    with pytest.raises(InputError, match="The system has no inputs"):
        LTI([[-1.0]]).respond(T, 1.0)
    with pytest.raises(InputError, match="is not a way to interpolate samples"):
        TWO.respond(T, 1.0, sampled="cubic")
    with pytest.raises(InputError, match="is not usable"):
        TWO.respond(T, {"left": object()})


def test_a_function_too_wild_to_follow_is_given_up():
    with pytest.raises(SolverError) as caught:
        TWO.respond([0.0, 1.0], {"left": lambda t: hash(t) % 1000 / 1000.0})
    assert "The function for input left changes too fast to follow." in str(caught.value)
    assert "Try: dd.signal(times, values) with the values to use" in str(caught.value)
