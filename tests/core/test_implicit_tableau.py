"""Implicit tableaux on F(t, x', x, z) = 0: orders by index, invariants, pairs, events, the nilpotent system."""

from functools import cache

import casadi as ca
import implicit_systems as systems
import numpy as np
import pytest
from implicit_models import implicit_model, integrate

import daedalus as dd
from daedalus import _core
from daedalus.integrators.tableaux.collocation_transform import core_collocation
from daedalus.integrators.tableaux.core_tableau import core_implicit_tableau, core_tableau
from daedalus.integrators.tableaux.dae_orders import dae_orders
from daedalus.integrators.tableaux.stage_interpolation import state_weights, value_weights

RADAU_IA = dd.Tableau([["1/4", "-1/4"], ["1/4", "5/12"]], ["1/4", "3/4"], [0, "2/3"], name="radau_ia2")
METHODS = [
    *(f"gauss{stages}" for stages in range(1, 7)),
    *("implicit_euler", "trapezoidal", "sdirk2", "sdirk3", "sdirk4", "trbdf2", "radau3", "radau5"),
    *("lobatto_iiia3", "lobatto_iiic2", "lobatto_iiic3", "lobatto_iiic4"),
]
# Steps over a span of 4 by order: beyond the first digits, before rounding.
COUNTS = {
    **{1: (800, 1600, 3200), 2: (400, 800, 1600), 3: (160, 320, 640), 4: (80, 160, 320), 5: (40, 80, 160)},
    **{6: (36, 54, 80), 8: (14, 20, 28), 10: (14, 18, 24), 12: (8, 10, 12)},
}


@cache
def known(name, *arguments):
    system = getattr(systems, name)(*arguments)
    return system, implicit_model(system.model, system.index, system.level)


def tableau_of(method):
    return dd.tableau(method) if isinstance(method, str) else method


def slopes(counts, errors):
    rows = np.log(np.maximum(errors, 1e-300))
    return -np.polyfit(np.log(counts), rows, 1)[0]


def measured(name, method, counts, span, parts, *arguments, behind=0.0):
    """Slopes of the largest relative error in each part of the rows, at the steps and between them."""
    system, model = known(name, *arguments)
    at_steps, between = [], []
    for count in counts:
        run = integrate(
            model, core_implicit_tableau(tableau_of(method)), span, system.exact(0.0).ravel(), step=span / count
        )
        assert run.status == "finished"
        assert run.steps == count
        t = np.linspace(0, span, 7 * count + 3)
        for errors, times, rows in (
            (at_steps, run.t, run.x),
            (between, t, _core.evaluate_dense(*run.dense(), t)),
        ):
            exact = system.exact(times)
            error = (np.abs(rows - exact) / np.abs(exact).max(axis=0))[times >= behind]
            errors.append([error[:, part].max() for part in parts])
    return slopes(counts, at_steps), slopes(counts, between)


@pytest.mark.parametrize("method", METHODS)
def test_order_on_a_nonlinear_ode(method):
    T = tableau_of(method)
    at_steps, _ = measured("orbit", method, COUNTS[T.order], 4.0, [slice(0, 4), slice(4, 8)], False)
    assert (at_steps > T.order - 0.2).all()


@pytest.mark.parametrize("method", [*METHODS, RADAU_IA, "rk4"], ids=str)
def test_order_of_x_and_z_at_index_1(method):
    T = tableau_of(method)
    orders = dae_orders(method, 1).orders
    at_steps, _ = measured("orbit", method, COUNTS[T.order], 4.0, [slice(0, 4), slice(4, 5)], True)
    assert (at_steps > np.array([orders["x"], orders["z"]]) - 0.2).all()


@pytest.mark.parametrize("method", METHODS)
def test_order_between_the_steps(method):
    """x: one more than the degree of its polynomial; z: as many as it has points, or one more than the stage order."""
    T = tableau_of(method)
    parts = [slice(0, 4), slice(4, 5)]
    counts = (400, 800, 1600) if T.order <= 2 else (30, 60, 90)
    _, between = measured("orbit", method, counts, 4.0, parts, True)
    assert between[0] > min(T.order, len(state_weights(T)) + 1) - 0.25
    assert between[1] > min(T.order, len(value_weights(T)) + 1, T.stage_order + 1) - 0.25


# Lobatto IIIC with 4 stages reaches rounding before its slope has settled.
INDEX_2 = [
    *("implicit_euler", "sdirk2", "sdirk3", "sdirk4", "trbdf2", "radau3", "radau5", "lobatto_iiic2", "lobatto_iiic3"),
    RADAU_IA,
]
# The errors of x of sdirk4, a hundredth of those of sdirk3, change sign on the way to their slope: 1.1, 1.7, 1.9, 1.95.
FINE = {"sdirk4": (320, 640, 1280)}
INDEX_3 = ["implicit_euler", "radau3", "radau5", "lobatto_iiic3", "lobatto_iiic4"]


def test_all_that_are_not_refused_are_tried():
    allowed = [m for m in (*METHODS, RADAU_IA) if not dae_orders(m, 2).is_refused]
    assert [m for m in allowed if m != "lobatto_iiic4"] == INDEX_2
    assert [m for m in METHODS if not dae_orders(m, 3).is_refused] == INDEX_3


@pytest.mark.parametrize("method", INDEX_2, ids=str)
def test_order_of_x_and_z_at_index_2(method):
    orders = dae_orders(method, 2).orders
    counts = (12, 18, 27) if orders["x"] > 4 else FINE.get(method, (40, 80, 160))
    at_steps, _ = measured("index_two", method, counts, 0.5, [slice(0, 2), slice(2, 3)], behind=0.2)
    assert (at_steps > np.array([orders["x"], orders["z"]]) - 0.2).all()


@pytest.mark.parametrize("method", INDEX_3)
def test_order_of_positions_velocities_and_multipliers_at_index_3(method):
    orders = dae_orders(method, 3).orders
    parts = [slice(0, 2), slice(2, 4), slice(4, 5)]
    at_steps, _ = measured("index_three", method, (20, 40, 80), 0.5, parts, behind=0.2)
    assert (at_steps > np.array(list(orders.values())) - 0.2).all()


def test_gauss_at_index_2_loses_its_orders_as_theory_says():
    """Even numbers of stages: x s, z s - 2; odd ones: x s + 1, z s - 1. This is why it is refused there."""
    for stages, orders in ((3, (4, 2)), (4, (4, 2))):
        parts = [slice(0, 2), slice(2, 3)]
        at_steps, _ = measured("index_two", f"gauss{stages}", (20, 40, 80), 0.5, parts, behind=0.2)
        assert at_steps == pytest.approx(orders, abs=0.3)


@pytest.mark.parametrize("method", ["gauss2", "gauss3", "trapezoidal", "sdirk3", "lobatto_iiic3", "radau5"])
def test_order_where_the_equation_is_cubic_in_the_derivative(method):
    T = tableau_of(method)
    at_steps, _ = measured("cubic_in_the_rate", method, (16, 24, 36), 1.2, [slice(0, 1), slice(1, 2)])
    assert (at_steps > T.order - 0.2).all()


@pytest.mark.parametrize(("method", "order"), [("gauss2", 2), ("gauss3", 4), ("radau5", 5), ("sdirk2", 2)])
def test_derivatives_that_the_equations_do_not_give(method, order):
    """dF/dx' is singular: x has the order of an algebraic unknown carried by R(∞)."""
    at_steps, _ = measured("singular_rate_matrix", method, (20, 30, 45), 1.0, [slice(0, 2)])
    assert at_steps[0] > order - 0.2


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_radau_as_a_tableau_takes_the_steps_of_radau_by_itself(stages):
    """Stage derivatives by full Newton, stage increments by transformed simplified Newton: the same numbers."""
    for name, arguments, span in (("orbit", (True,), 3.0), ("index_three", (), 0.5)):
        system, model = known(name, *arguments)
        start = system.exact(0.0).ravel()
        ours = integrate(model, core_tableau(dd.radau_iia(stages)), span, start, step=span / 20)
        other = integrate(model, core_collocation(stages), span, start, step=span / 20)
        # Both stop where rounding begins, which multipliers feel 1/h² times.
        assert ours.x == pytest.approx(other.x, rel=1e-10 if name == "orbit" else 1e-5)


def test_gauss_keeps_quadratic_invariants_to_rounding_and_energy_bounded():
    system, model = known("orbit", False)
    run = integrate(model, core_tableau(dd.gauss_legendre(2)), 400.0, system.exact(0.0).ravel(), step=0.1)
    q, v = run.x[:, :2], run.x[:, 2:4]
    momentum = q[:, 0] * v[:, 1] - q[:, 1] * v[:, 0]
    assert np.abs(momentum - momentum[0]).max() < 2e-13
    energy = 0.5 * (v**2).sum(axis=1) - 1 / np.hypot(*q.T)
    early, late = np.abs(energy - energy[0])[:400].max(), np.abs(energy - energy[0])[-400:].max()
    assert late < 1.05 * early
    radau = integrate(model, core_tableau(dd.radau_iia(2)), 400.0, system.exact(0.0).ravel(), step=0.1)
    lost = 0.5 * (radau.x[:, 2:4] ** 2).sum(axis=1) - 1 / np.hypot(*radau.x[:, :2].T)
    assert np.abs(lost - lost[0])[-1] > 10 * np.abs(lost - lost[0])[:400].max()


def nilpotent_run(span, step):
    """x2' = x1, x3' = x2, x3 = cos t by implicit Euler; from consistent values."""
    m = dd.Model("nilpotent")
    x = m.state("x", 3)
    rate = m.der(x)
    m.equation([rate[1] - x[0], rate[2] - x[1], x[2] - ca.cos(m.time)])
    start = [-1.0, 0.0, 1.0, 0.0, -1.0, 0.0]
    run = integrate(implicit_model(m), core_tableau(dd.tableau("implicit_euler")), span, start, step=step)
    assert run.status == "finished"
    return run.t, run.x[:, 0] + np.cos(run.t)


@pytest.mark.parametrize("step", [1e-2, 1e-3, 1e-4])
def test_implicit_euler_on_the_nilpotent_system_of_index_3(step):
    """x1 is wrong by x3''/2 after the first step however short it is, right to O(h) after the second."""
    t, error = nilpotent_run(10.5 * step, step)
    assert error[1] == pytest.approx(0.5, abs=step)
    assert np.abs(error[2:-1]).max() < 2 * step + 1e-15 / step**2
    # The last step is half as long: wrong by (1 - α)/(2α) of x3'', α = 1/2.
    assert t[-1] - t[-2] == pytest.approx(step / 2)
    assert error[-1] == pytest.approx(-0.5, abs=12 * step + 1e-14 / step**2)


PAIRS = {
    "trbdf2": dd.tableau("trbdf2"),
    "sdirk4": dd.tableau("sdirk4"),
    # Alexander's sdirk2 with implicit-Euler-like companion of order 1; Gauss with one of order 1: pairs of one's own.
    "sdirk2(1)": dd.Tableau(dd.tableau("sdirk2").A, dd.tableau("sdirk2").b, dd.tableau("sdirk2").c, [0.4, 0.6]),
    "gauss2(1)": dd.Tableau(dd.gauss_legendre(2).A, dd.gauss_legendre(2).b, dd.gauss_legendre(2).c, [0.45, 0.55]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_adaptive_pairs_on_the_stiff_oscillator(name):
    m = dd.Model("van der Pol")
    x, v = m.state("x"), m.state("v")
    m.equation(m.der(x), v)
    m.equation(1e-3 * m.der(v), (1 - x**2) * v - x)
    model, start = implicit_model(m), [2.0, -0.6666, -0.6666, (-3 * -0.6666 - 2) * 1e3]
    exact = integrate(model, core_collocation(5), 1.5, start, rtol=1e-11, atol=np.full(4, 1e-13)).x[-1, :2]
    errors, steps = [], []
    for rtol in (1e-3, 1e-4, 1e-5):
        run = integrate(model, core_tableau(PAIRS[name]), 1.5, start, rtol=rtol, atol=np.full(4, rtol))
        assert run.status == "finished"
        errors.append(abs(run.x[-1, 0] - exact[0]))
        steps.append(run.steps)
    # A local error held at the tolerance leaves a global one of its power 2/3 or 1/2; trbdf2 holds a smaller one.
    assert errors[2] < 1e-3
    assert np.log(errors[0] / errors[2]) > (0.8 if name == "trbdf2" else 0.45) * np.log(100)
    # An explicit method needs 1500 steps for stability alone; the estimate must not count fast components.
    assert steps[0] < 500


def test_adaptive_steps_at_index_1_control_z_too():
    system, model = known("orbit", True)
    errors = []
    for rtol in (1e-5, 1e-6, 1e-7):
        run = integrate(
            model, core_tableau(dd.tableau("trbdf2")), 6.0, system.exact(0.0).ravel(), rtol=rtol, atol=np.full(9, rtol)
        )
        errors.append(np.abs(run.x - system.exact(run.t)).max(axis=0)[[0, 4]])
    assert (slopes([1e5, 1e6, 1e7], errors) > 0.6).all()
    assert (errors[-1] < 2e-3).all()


def test_adaptive_steps_at_index_2():
    system, model = known("index_two")
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        run = integrate(
            model, core_tableau(dd.tableau("trbdf2")), 0.5, system.exact(0.0).ravel(), rtol=rtol, atol=np.full(5, rtol)
        )
        assert run.status == "finished"
        errors.append(np.abs(run.x[-1] / system.exact(0.5) - 1)[:3])
    assert (slopes([1e4, 1e6, 1e8], errors) > 0.6).all()
    assert errors[-1].max() < 1e-5


@pytest.mark.parametrize("method", ["gauss3", "sdirk3", "trapezoidal", "lobatto_iiic3"])
def test_an_event_ends_the_step_where_the_guard_is_zero(method):
    """x' = 1 + z, z = x: the step is redone to the located time, so x there is exact to its own error."""
    m = dd.Model("growth")
    x, z = m.state("x", start=0.0), m.algebraic("z")
    m.equation(m.der(x), 1 + z)
    m.equation(z, x)
    guard = _core.Function("guard", [1, 3, 0, 0], [1])
    guard.set_python(lambda t, y, u, p: y[:1] - 1.0)
    run = integrate(
        implicit_model(m), core_tableau(dd.tableau(method)), 2.0, [0, 0, 1], step=0.02, guards=guard, actions=[2]
    )
    assert run.status == "event"
    assert run.stop_time == pytest.approx(np.log(2), abs=1e-4 if method == "trapezoidal" else 1e-6)
    assert run.x[-1] == pytest.approx([1, 1, 2], abs=1e-13)


def test_backwards_in_time():
    system, model = known("orbit", True)
    ends = []
    for sign in (1, -1):
        start = system.exact(0.0).ravel() if sign == 1 else ends[0]
        times = (0.0, 2.0) if sign == 1 else (2.0, 0.0)
        run = _core.integrate(
            model, core_tableau(dd.gauss_legendre(3)), *times, start, np.zeros(0), np.zeros(0), step=0.1
        )
        ends.append(run.x[-1])
    # Symmetric methods lead back to where they came from.
    assert ends[1] == pytest.approx(system.exact(0.0).ravel(), abs=1e-12)
