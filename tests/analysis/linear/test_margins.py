"""Margins of loops whose crossings are known in closed form, also far from all poles and on round frequencies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd

loop_of = dd.LTI.from_transfer_function


@settings(max_examples=examples(30), deadline=None)
@given(st.floats(-7.0, 7.0), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_a_loop_with_an_integrator_has_its_margins_at_every_gain(gain, first, second):
    # K / (s (s + a) (s + b)) is real and negative at ω² = a b, where it is -K / (a b (a + b)).
    K, a, b = 10.0**gain, 10.0**first, 10.0**second
    found = loop_of([K], [1.0, a + b, a * b, 0.0]).margins()
    assert found.gain == pytest.approx(a * b * (a + b) / K, rel=1e-6)
    assert found.gain_frequency == pytest.approx(np.sqrt(a * b), rel=1e-6)
    (w, angle), *others = found.phase_crossings
    assert not others
    assert K / (w * np.hypot(w, a) * np.hypot(w, b)) == pytest.approx(1.0, rel=1e-6)
    assert angle == pytest.approx(90.0 - np.degrees(np.arctan(w / a) + np.arctan(w / b)), abs=1e-6)


@pytest.mark.parametrize(
    ("above", "below", "gain", "phase"),
    [
        # The phase is -180° at ω = 1 and 1000, which are among the frequencies looked at.
        ([10.0], [1.0, 2.0, 1.0, 0.0], 0.2, None),
        ([1e6], [1.0, 1e3, 1e6, 0.0], 1000.0, None),
        # |G| = 1 six decades above the only pole, and nine below.
        ([1e6], [1.0, 1.0], np.inf, 180 - np.degrees(np.arctan(1e6))),
        ([1e-9], [1.0, 1.0, 0.0], np.inf, 90.0),
        ([1e7], [1.0, 0.0], np.inf, 90.0),
        ([1.0, 1.0], [1.0, 2.0], np.inf, np.inf),
    ],
)
def test_crossings_far_from_poles_and_on_round_frequencies(above, below, gain, phase):
    found = loop_of(above, below).margins()
    assert found.gain == pytest.approx(gain)
    if phase is not None:
        assert found.phase == pytest.approx(phase, abs=1e-5)


def test_a_double_integrator_is_on_the_border():
    found = loop_of([1.0], [1.0, 0.0, 0.0]).margins()
    assert found.on_border
    assert str(found).startswith("On the border")


def test_a_bode_diagram_shows_its_crossings():
    for gain, at in ((1e6, 1.0), (1e4, 0.01)):
        upper, _ = loop_of([gain], [1.0, 1e3, 1e6, 0.0]).plot_bode().axes
        low, high = upper.get_xlim()
        assert low < at < 1000.0 < high
        assert [text.get_text()[:11] for text in upper.get_legend().get_texts()] == ["gain margin"]


@pytest.mark.parametrize("rate", [1.0, 1e-9])
def test_a_slow_pole_is_no_integrator(rate):
    """-1/2 / (s / ω + 1) is real and negative at ω = 0 alone, whether ω counts seconds or decades of years."""
    found = loop_of([-0.5 * rate], [1.0, rate]).margins()
    assert found.gain == pytest.approx(2.0)
