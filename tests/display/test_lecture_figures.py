"""Every figure of a lecture on three systems: no text is cut at the edge, and none lies over another."""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.support.pictures import outside_texts, overlapping_texts

import daedalus as dd
from daedalus import catalogue


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def oscillator():
    m = dd.Model("oscillator")
    x, k = m.coordinate("x", start=1.0, rate=0.0), m.parameter("k", 4.0)
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    m.potential_energy(0.5 * k * x**2)
    return m


def swing():
    m = dd.Model("swing")
    q = m.coordinate("theta", start=1.0, rate=0.0)
    m.kinetic_energy(m.rate(q) ** 2 / 2)
    m.potential_energy(-9.81 * ca.cos(q))
    m.dissipation(0.1 * m.rate(q) ** 2)
    return m


def planar(name, x, y):
    m = dd.Model(name)
    a, b = m.state("x", start=1.0), m.state("y", start=0.5)
    m.equation(m.der(a), x(a, b))
    m.equation(m.der(b), y(a, b))
    return m


def known(name):
    return catalogue.load(name).model


LOOPS = {
    "third order": dd.LTI.from_transfer_function([4.0], [1.0, 3.0, 3.0, 1.0]),
    "resonance": dd.LTI.from_transfer_function([1.0, 2.0], [1.0, 1.0, 10.0, 0.0]),
    "unstable": dd.LTI.from_transfer_function([5.0], [1.0, 2.0, -1.0]),
}
REGIONS = (["rk4", "implicit_euler", "radau5"], ["euler", "heun", dd.bdf(2), "gauss2"], ["trapezoidal", dd.bdf(6)])
STARS = (["rk4", "gauss2"], ["euler", "heun"], ["trapezoidal"])
MODELS = (oscillator, lambda: known("double_pendulum"), lambda: known("slider_crank"))
PLANES = (
    (lambda: planar("van der Pol", lambda x, y: y, lambda x, y: (1 - x**2) * y - x), "x", "y", [[-3, 3], [-4, 4]]),
    (lambda: planar("prey", lambda x, y: x * (1 - y), lambda x, y: y * (x - 1)), "x", "y", [[0, 4], [0, 4]]),
    (swing, "theta", "theta_dot", [[-7, 7], [-9, 9]]),
)
HELD = (lambda: known("slider_crank"), lambda: known("four_bar"), lambda: known("car_axis"))
STEPS = [0.1, 0.05, 0.025]

FIGURES = {
    "regions": [lambda own=own: dd.plot_stability_regions(own) for own in REGIONS],
    "order stars": [lambda own=own: dd.plot_stability_regions(own, order_star=True) for own in STARS],
    "convergence": [lambda own=own: dd.convergence(own(), "rk4", STEPS).plot() for own in MODELS],
    "work and precision": [
        lambda own=own: dd.work_precision(own(), ["auto", "radau5"], [1e-3, 1e-5], span=0.3).plot() for own in MODELS
    ],
    "energy": [
        lambda own=own: dd.energy_over_time(own(), ["euler", "gauss2", "rk4"], 0.5, step=0.02).plot() for own in MODELS
    ],
    "incidence": [lambda own=own: dd.plot_reduction(own()) for own in MODELS],
    "phase portrait": [lambda own=own: dd.phase_portrait(own[0](), *own[1:], nullclines=True).figure for own in PLANES],
    "Bode": [loop.plot_bode for loop in LOOPS.values()],
    "Nyquist": [loop.plot_nyquist for loop in LOOPS.values()],
    "root locus": [loop.plot_root_locus for loop in LOOPS.values()],
    "drift": [
        lambda own=own: dd.simulate(dd.reduce(own(), stabilise=None), 0.02, method="rk4", step=1e-3).plot_drift()
        for own in HELD
    ],
    "steps": [lambda own=own: dd.simulate(own(), 0.2, method="bdf").plot_steps() for own in MODELS[:2]]
    + [lambda: dd.simulate(known("slider_crank"), 0.05, method="radau5").plot_steps()],
}
# What no other test draws by default.
BY_DEFAULT = {(kind, 0) for kind in ("order stars", "energy", "incidence", "drift")}
CASES = [(kind, k) for kind, made in FIGURES.items() for k in range(len(made))]


@pytest.mark.parametrize(
    ("kind", "number"), [pytest.param(*case, marks=() if case in BY_DEFAULT else pytest.mark.wide) for case in CASES]
)
def test_texts_are_whole_and_apart(kind, number):
    figure = FIGURES[kind][number]()
    figure = getattr(figure, "figure", None) or figure
    assert not outside_texts(figure)
    assert not overlapping_texts(figure)


def test_a_loop_on_its_border_is_called_so():
    """s³ + 0.2 s² + 5 s + 1 has a pair on the imaginary axis: neither stable nor with a margin."""
    loop = dd.LTI.from_transfer_function([1.0, 1.0], [1.0, 0.2, 4.0, 0.0])
    found = loop.margins()
    assert found.on_border
    assert not found.stable
    assert str(found).startswith("On the border with negative feedback: gain margin 1 at 2.236, ")
    assert loop.plot_nyquist().axes[0].get_title() == "on the border of stability with negative feedback"
    assert not LOOPS["third order"].margins().on_border


def test_branches_on_the_real_axis_lie_over_the_axis():
    """A pole at zero that goes to a zero at −1/2: the line of the axis hid its way."""
    axes = dd.LTI.from_transfer_function([1.0, 0.5], [1.0, 0.2, 4.0, 0.0]).plot_root_locus().axes[0]
    own = [line for line in axes.lines if np.all(np.asarray(line.get_ydata()) == 0) and len(line.get_xdata()) > 10]
    cross = [line for line in axes.lines if len(line.get_xdata()) == 2]
    assert len(own) == 1
    assert len(cross) == 2
    assert all(line.get_zorder() < own[0].get_zorder() for line in cross)


def test_iterations_are_whole_numbers():
    axes = dd.newton(lambda x: [x[0] ** 2 + x[1] ** 2 - 4, x[0] - x[1]], [1.0, 2.0]).plot().axes[0]
    assert np.all(axes.get_xticks() == np.round(axes.get_xticks()))


def test_the_root_locus_turns_where_real_poles_meet():
    """Poles of s² + 2 s − 1 + 5 k meet at −1: the branches reach the point, and leave it upright."""
    lines = LOOPS["unstable"].plot_root_locus().axes[0].lines[:2]
    for line in lines:
        x, y = line.get_data()
        assert np.abs(x - (-1.0))[np.abs(y) > 1e-9].max() < 1e-6
        assert np.hypot(x + 1.0, y).min() < 1e-4


def test_an_input_without_a_value_is_told_as_such():
    m = known("pendulum_3d")
    for ask in (lambda: dd.energy_over_time(m, ["rk4", "gauss2"], 1.0, step=0.1),
                lambda: dd.work_precision(m, ["auto"], [1e-3], span=0.1)):  # fmt: skip
        with pytest.raises(dd.InputError, match=r"force\[0\], force\[1\], force\[2\] have no value"):
            ask()


def test_models_without_constraints_have_no_drift_to_draw():
    with pytest.raises(dd.InputError, match="no constraints that a run could leave"):
        dd.simulate(oscillator(), 0.1).plot_drift()
