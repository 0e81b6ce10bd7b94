"""Costs with kinks as users write them: |u| for fuel, max, the length of a vector, against closed forms."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.optimisation.transcription.kinks import smooth_cost

# Least fuel of a cart by |u| <= 1 over the distance 1 in 3 s: full thrust, rest, full brake (M. Athans, P. L. Falb,
# Optimal Control (1966), 8-3): 3 - √(9 - 4).
LEAST = 3.0 - np.sqrt(5.0)


def cart(axes: int = 1) -> tuple[dd.Model, ca.SX, ca.SX, ca.SX]:
    m = dd.Model("cart")
    x, v, u = (make(name, axes) for make, name in ((m.state, "x"), (m.state, "v"), (m.input, "u")))
    m.equation(m.der(x), v)
    m.equation(m.der(v), u)
    return m, x, v, u


def problem(axes: int = 1, duration: object = 3.0, to: float = 1.0) -> tuple[dd.OptimalControl, ca.SX, ca.SX, ca.SX]:
    m, x, v, u = cart(axes)
    ocp = dd.OptimalControl(m, duration, 60)
    ocp.start(x=np.zeros(axes), v=np.zeros(axes))
    ocp.finish({"x": [to, *(0.5,) * (axes - 1)], "v": np.zeros(axes)})
    return ocp, x, v, u


WRITTEN: dict[str, Callable[[ca.SX], ca.SX]] = {
    "absolute": ca.fabs,
    "root of a square": lambda u: ca.sqrt(u**2),
    "two maxima": lambda u: ca.fmax(u, 0) + ca.fmax(-u, 0),
    "twice the braking": lambda u: -2 * ca.fmin(u, 0),
    "the larger of two": lambda u: ca.fmax(ca.fabs(u), 0.5 * ca.fabs(u)),
    "a maximum of a maximum": lambda u: ca.fmax(ca.fmax(u, 0), -u),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_least_fuel_however_it_is_written(written: str) -> None:
    ocp, _, _, u = problem()
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=WRITTEN[written](u))
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(LEAST, rel=1e-3)


def test_fuel_as_an_integral_with_an_input_that_is_linear() -> None:
    ocp, _, _, u = problem()
    ocp.bound(u, -1.0, 1.0)
    ocp.input("u", kind="linear")
    ocp.minimise(final=ocp.integral(ca.fabs(u)))
    plan = ocp.solve(mesh_tolerance=1e-5)
    assert plan.success, plan
    assert plan.objective == pytest.approx(LEAST, rel=1e-3)


def test_time_and_fuel() -> None:
    # T + (T - √(T² - 4)) is least at T = 4/√3, where it is 2 √3.
    ocp, _, _, u = problem(duration=dd.unknown(3.0, 0.1, 20.0))
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=1 + ca.fabs(u))
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(2 * np.sqrt(3.0), rel=1e-4)
    assert plan.duration == pytest.approx(4 / np.sqrt(3.0), rel=1e-2)


def test_the_length_of_a_thrust_in_the_plane() -> None:
    # No direction is better than the straight one: the cart's cost over the distance √1.25.
    ocp, _, _, u = problem(axes=2)
    ocp.subject_to(ca.sumsqr(u) <= 1)
    ocp.minimise(running=ca.norm_2(u))
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(3 - np.sqrt(9 - 4 * np.sqrt(1.25)), rel=1e-3)


def test_the_largest_of_two_thrusts() -> None:
    ocp, _, _, u = problem(axes=2)
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=ca.norm_inf(u))
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(LEAST, rel=1e-3)


def test_distances_at_the_end() -> None:
    """So dear that the end is met: the least effort over 1 in 3 s is 12 / 27."""
    m, x, v, u = cart()
    ocp = dd.OptimalControl(m, 3.0, 60)
    ocp.start(x=0.0, v=0.0)
    ocp.minimise(running=u**2, final=10 * ca.fabs(x - 1) + 10 * ca.fabs(v))
    plan = ocp.solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(12 / 27, rel=1e-3)
    assert plan["x"][-1].item() == pytest.approx(1.0, abs=1e-6)


def test_weights_of_time_and_parameters_count() -> None:
    u, t, p = (ca.SX.sym(name) for name in "utp")
    constants, shares = ca.vertcat(t, p), np.linspace(0, 1, 5)

    def bounds(cost: ca.SX, value: float) -> int:
        return int(smooth_cost(cost, constants, np.column_stack([shares, np.full(5, value)])).bounds.numel())

    assert bounds(p * ca.exp(-t) * ca.fabs(u), 2.0) == 1
    assert bounds(p * ca.exp(-t) * ca.fabs(u), -2.0) == 0
    assert bounds((t - 0.5) * ca.fabs(u), 2.0) == 0
    assert bounds(ca.fabs(u) ** 2, 2.0) == 0
    assert bounds(u * ca.fabs(u), 2.0) == 0
    assert bounds(ca.fabs(u) - ca.fabs(u - 1), 2.0) == 1
    assert bounds(ca.sqrt(1 + u**2), 2.0) == 0
    assert bounds(ca.fabs(1 - ca.fabs(u)), 2.0) == 1


METHODS = ["collocation", "shooting"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("written", ["a limit", "a scaled limit", "from below", "a given value"])
def test_least_time_with_a_tank_of_fuel(method: str, written: str) -> None:
    """Fuel T - √(T² - 4) may be at most c: T = (c² + 4) / (2 c)."""
    ocp, _, _, u = problem(duration=dd.unknown(3.0, 0.1, 20.0))
    ocp.bound(u, -1.0, 1.0)
    fuel = ocp.integral(ca.fabs(u))
    if written == "a limit":
        ocp.subject_to(fuel <= 0.8)
    elif written == "a given value":
        ocp.subject_to(fuel == 0.8)
    elif written == "a scaled limit":
        ocp.subject_to(2 * fuel / ocp.duration - 1.6 / ocp.duration <= 0)
    else:
        ocp.subject_to(0.8 - fuel >= 0)
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve(method=method)
    assert plan.success, plan
    assert plan.duration == pytest.approx(4.64 / 1.6, rel=1e-3)


@pytest.mark.parametrize("written", WRITTEN)
def test_least_fuel_by_shooting(written: str) -> None:
    ocp, _, _, u = problem()
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=WRITTEN[written](u))
    plan = ocp.solve(method="shooting")
    assert plan.success, plan
    assert plan.objective == pytest.approx(LEAST, rel=1e-3)


@pytest.mark.wide
@pytest.mark.parametrize("method", METHODS)
def test_fuel_that_is_not_enough(method: str) -> None:
    ocp, _, _, u = problem()
    ocp.bound(u, -1.0, 1.0)
    ocp.subject_to(ocp.integral(ca.fabs(u)) <= 0.99 * LEAST, name="fuel")
    ocp.minimise(running=u**2)
    plan = ocp.solve(method=method)
    assert not plan.success
    assert "fuel" in str(plan.explain())


@pytest.mark.parametrize("method", METHODS)
def test_the_fuel_of_a_plan_is_that_of_its_replay(method: str) -> None:
    """The bound is met by the thrust as it is, not only by what stands in its place."""
    ocp, _, _, u = problem()
    ocp.bound(u, -1.0, 1.0)
    ocp.subject_to(ocp.integral(ca.fabs(u)) <= 0.8)
    ocp.minimise(running=u**2)
    plan = ocp.solve(method=method)
    assert plan.success, plan
    assert fuel_used(plan) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize("fuel", [0.8, 1.5])
def test_an_integral_of_a_kink_may_have_a_given_value(fuel: float) -> None:
    """Less than the least effort uses, which is 1, and more: what is given is used up."""
    ocp, _, _, u = problem()
    ocp.bound(u, -1.0, 1.0)
    ocp.subject_to(ocp.integral(ca.fabs(u)) == fuel)
    ocp.minimise(running=u**2)
    plan = ocp.solve()
    assert plan.success, plan
    assert fuel_used(plan) == pytest.approx(fuel, abs=1e-4)


def fuel_used(plan: dd.Plan) -> float:
    """By the rule of the midpoint."""
    times = np.linspace(0.0, 3.0, 3001)
    return 3.0 * float(np.mean(np.abs(np.asarray(plan.at(0.5 * (times[1:] + times[:-1]))["u"], dtype=float))))


@pytest.mark.parametrize("method", METHODS)
def test_a_condition_with_kinks(method: str) -> None:
    """|u| + |w| <= 1 over (1, 1/2) in least time: both share the thrust in proportion, as one cart over 3/2."""
    ocp, _, _, u = problem(axes=2, duration=dd.unknown(3.0, 0.1, 20.0))
    ocp.subject_to(ca.fabs(u[0]) + ca.fabs(u[1]) <= 1)
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve(method=method)
    assert plan.success, plan
    assert plan.duration == pytest.approx(2 * np.sqrt(1.5), rel=1e-3)
