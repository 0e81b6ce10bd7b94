"""Margins, Bode, Nyquist, root locus, incidence before and after: drawn from numbers that are known in closed form."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.display.lectures.loop_plots import border_gains, default_gains, locus, smooth_curve


def three_lags(gain):
    return dd.LTI.from_transfer_function([gain], [1.0, 3.0, 3.0, 1.0])


@pytest.mark.parametrize("gain", [2.0, 4.0, 7.9, 10.0, 64.0])
def test_margins_of_three_equal_lags_in_closed_form(gain):
    found = three_lags(gain).margins()
    crossing = np.sqrt(gain ** (2 / 3) - 1)
    assert found.gain == pytest.approx(8 / gain, rel=1e-9)
    assert found.gain_frequency == pytest.approx(np.sqrt(3), rel=1e-9)
    assert found.phase_frequency == pytest.approx(crossing, rel=1e-9)
    assert found.phase == pytest.approx(180 - 3 * np.degrees(np.arctan(crossing)), abs=1e-6)
    assert found.stable == (gain < 8)
    assert str(found).startswith("Stable" if gain < 8 else "Unstable")


def test_the_delay_margin_brings_the_loop_to_its_border():
    loop = three_lags(4.0)
    found = loop.margins()
    s = 1j * found.phase_frequency
    assert loop.transfer(s).item() * np.exp(-s * found.delay) == pytest.approx(-1, abs=1e-8)


def test_an_unstable_plant_has_a_least_gain():
    found = dd.LTI.from_transfer_function([3.0], [1.0, -1.0]).margins()
    assert found.stable
    assert (found.gain, found.gain_frequency) == (pytest.approx(1 / 3), 0.0)


def test_light_damping_between_the_frequencies_of_a_grid_is_seen():
    # A resonance of one part in a million: it lifts |G| over one only there.
    sharp = dd.LTI.from_transfer_function([1e-4], [1.0, 2e-6, 1.0])
    assert len(sharp.margins().phase_crossings) == 2


def test_a_descriptor_system_and_a_choice_that_is_open():
    m = catalogue.load("cart_pendulum").model
    lin = dd.linearise(m)
    with pytest.raises(dd.InputError, match="needs one input and one output"):
        lin.margins()
    assert not lin.margins(output="bob[0]").stable


def test_the_bode_diagram_draws_the_margins_where_they_are():
    figure = three_lags(4.0).plot_bode()
    bar = figure.axes[0].lines[2]
    assert bar.get_xdata()[0] == pytest.approx(np.sqrt(3))
    assert bar.get_ydata()[0] == pytest.approx(-20 * np.log10(2.0))
    assert "gain margin 2 (6.0 dB)" in figure.axes[0].get_legend_handles_labels()[1]
    assert "phase margin 27.1°" in figure.axes[1].get_legend_handles_labels()[1]


def test_nyquist_passes_the_point_of_the_gain_margin():
    axes = three_lags(10.0).plot_nyquist().axes[0]
    marked = next(line for line in axes.lines if str(line.get_label()).startswith("gain margin"))
    assert marked.get_xdata()[0] == pytest.approx(-10 / 8)


def test_the_root_locus_crosses_where_the_gain_margin_is():
    loop = dd.LTI.from_transfer_function([1.0], [1.0, 3.0, 2.0, 0.0])
    gains = default_gains(loop)
    crossings = border_gains(loop, gains, locus(loop, gains))
    assert [gain for gain, _ in crossings if gain > 0.1] == pytest.approx([6.0, 6.0], rel=1e-9)
    assert {round(place.imag, 6) for gain, place in crossings if gain > 0.1} == {1.414214, -1.414214}
    # Poles of every gain obey 1 + k G = 0.
    row = locus(loop, gains)[300]
    assert np.abs(1 + gains[300] * loop.transfer(row)[:, 0, 0]).max() < 1e-6


def test_incidence_before_and_after_has_the_index_above_each():
    figure = dd.plot_reduction(catalogue.load("pendulum_3d").model)
    assert [axes.get_title(loc="left").splitlines()[0] for axes in figure.axes] == ["before: index 3", "after: index 1"]
    figure.canvas.draw()
    for axes in figure.axes:
        assert min(axes.get_window_extent().size) > 100  # pixels: names leave room


def test_the_slope_triangle_has_the_order_as_its_slope():
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation([m.der(x), m.der(v)], [v, -x])
    axes = dd.convergence(m, "rk4", [0.2, 0.1, 0.05]).plot().axes[0]
    triangle = next(line for line in axes.lines if len(line.get_xdata()) == 4)
    (low, high, *_), (bottom, _, top, _) = triangle.get_data()
    assert np.log(top / bottom) / np.log(high / low) == pytest.approx(4.0)
    assert [text.get_text() for text in axes.texts] == ["1", "4"]


@pytest.mark.parametrize("damping", [1e-1, 1e-2, 1e-3, 0.0])
def test_curves_of_light_resonances_have_no_corners(damping):
    """Neighbours on the circle of a resonance at 1 are a few degrees apart; at none there is no value, and no error."""
    w, values = smooth_curve(dd.LTI.from_transfer_function([1.0], [1.0, 2 * damping, 1.0]))
    assert np.all(np.diff(w) > 0)
    assert len(w) < 8000
    if damping:
        turns = np.abs(np.angle(values[1:] / values[:-1]))
        assert np.degrees(turns.max()) < 6.0
        assert np.abs(values).max() == pytest.approx(1 / (2 * damping * np.sqrt(1 - damping**2)), rel=0.01)


def test_a_notch_without_damping_leaves_room_for_the_rest_of_the_curve():
    # Two carts with a spring of 100 between them and one of 20 at the second; its force on the first, its stretch out.
    A = [[0, 1, 0, 0], [-100, -0.6, 100, 0.6], [0, 0, 0, 1], [100, 0.6, -120, -0.6]]
    loop = dd.LTI(A, [[0.0], [1.0], [0.0], [0.0]], [[1.0, 0.0, -1.0, 0.0]])
    upper, lower = loop.plot_bode().axes[:2]
    low, high = upper.get_ylim()
    assert high - low < 200.0
    assert lower.get_xlabel() == "frequency [rad/s]"
