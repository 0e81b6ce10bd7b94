"""Fuel that is a state: m' = -|T| / c has no slope where a rocket coasts, with T = 0."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import daedalus as dd
from daedalus.optimisation.transcription.kinks_of_rates import rates_are_kept


def rocket(size, duration, begins=True, arrives=True, **settings) -> dd.OptimalControl:
    """A rocket in the plane from rest to rest at (1, 1/2); at most 0.8 of thrust, and an exhaust of speed 2."""
    m = dd.Model("rocket")
    x, v, mass, thrust = m.state("x", 2), m.state("v", 2), m.state("mass"), m.input("thrust", 2)
    m.equation([m.der(x), m.der(v), m.der(mass)], [v, thrust / mass, -size(thrust) / 2])
    ocp = dd.OptimalControl(m, duration, **settings)
    if begins:
        ocp.start({"x": [0.0, 0.0], "v": [0.0, 0.0], "mass": 1.0})
    if arrives:
        ocp.finish({"x": [1.0, 0.5], "v": [0.0, 0.0]})
    ocp.subject_to(ca.sumsqr(thrust) <= 0.64)
    return ocp


def burned(duration: float) -> float:
    """Along the line: full thrust, coasting, and full thrust against the motion."""

    def moved(state, thrust, length):
        rates = lambda _, y: [y[1], thrust / y[2], -abs(thrust) / 2]  # noqa: E731
        return solve_ivp(rates, (0, length), state, rtol=1e-11, atol=1e-12).y[:, -1]

    def end(times):
        x, v, mass = moved([0.0, 0.0, 1.0], 0.8, times[0])
        x, v, _ = moved([x + v * (times[1] - times[0]), v, mass], -0.8, duration - times[1])
        return [x - np.hypot(1.0, 0.5), v]

    first, second = fsolve(end, [0.45, duration - 0.45])
    return 0.4 * (first + duration - second)


SIZES = {"norm": ca.norm_2, "root": lambda T: ca.sqrt(T[0] ** 2 + T[1] ** 2)}


@pytest.mark.parametrize("written", SIZES)
def test_a_rocket_coasts(written):
    ocp = rocket(SIZES[written], 4.0)
    ocp.minimise(final=-ocp.model["mass"])
    plan = ocp.solve(starts=1)
    assert plan.success, plan
    assert 1 + plan.objective == pytest.approx(burned(4.0), rel=2e-3)
    # Its replay burns what the plan does.
    assert plan.replay().trajectory["mass"][-1] == pytest.approx(-plan.objective, abs=1e-4)


@pytest.mark.wide
def test_the_least_time_with_a_tank():
    """The time in which a plan burns no more than the tank holds is that whose least fuel is the tank."""
    ocp = rocket(ca.norm_2, dd.unknown(4.0, 1.0, 20.0))
    ocp.bound("mass", 0.75, 1.0)
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve(starts=1)
    assert plan.success, plan
    assert burned(plan.duration) == pytest.approx(0.25, rel=3e-3)


@pytest.mark.wide
def test_phases_coast():
    """The same with a joint on the way, which costs nothing."""
    first, second = (rocket(ca.norm_2, 2.0, begins, not begins, intervals=25) for begins in (True, False))
    second.minimise(final=-second.model["mass"])
    plan = dd.phases(first, second).solve()
    assert plan.success, plan
    assert 1 + plan.objective == pytest.approx(burned(4.0), rel=2e-3)


@pytest.mark.wide
def test_an_orbit_is_raised_with_coasting():
    """From radius 1 to 1.5 on the far side; thrust as a size and an angle, which are held, costs a little more."""
    costs = []
    for polar in (False, True):
        m = dd.Model("transfer")
        r, v, mass = m.state("r", 2), m.state("v", 2), m.state("mass")
        if polar:
            size, angle = m.input("size"), m.input("angle")
            thrust = size * ca.vertcat(ca.cos(angle), ca.sin(angle))
        else:
            thrust = m.input("thrust", 2)
            size = ca.norm_2(thrust)
        m.equation([m.der(r), m.der(v), m.der(mass)], [v, -r / ca.norm_2(r) ** 3 + thrust / mass, -size / 1.5])
        ocp = dd.OptimalControl(m, 10.7, intervals=50)
        ocp.start({"r": [1.0, 0.0], "v": [0.0, 1.0], "mass": 1.0})
        ocp.finish({"r": [-1.5, 0.0], "v": [0.0, -np.sqrt(1 / 1.5)]})
        ocp.subject_to(ca.sumsqr(thrust) <= 0.01) if not polar else ocp.bound(size, 0.0, 0.1)
        turn, radius = np.linspace(0, 3 * np.pi, 41), np.linspace(1.0, 1.5, 41)
        place, speed = [np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]
        for k in range(2):
            ocp.guess({f"r[{k}]": radius * place[k], f"v[{k}]": speed[k] / np.sqrt(radius)})
        ocp.minimise(final=-mass)
        plan = ocp.solve()
        assert plan.success, plan
        costs.append(plan.objective)
    assert costs[0] == pytest.approx(costs[1], rel=1e-2)
    assert costs[0] < costs[1]


def test_work_may_be_a_cost_or_a_state():
    """A battery that is charged at 30 %: kinks of a product of a force and a speed."""
    costs = []
    for as_state in (True, False):
        m = dd.Model("cart")
        x, v, used, force = m.state("x"), m.state("v"), m.state("used"), m.input("force")
        power = ca.fmax(force * v, 0.3 * force * v)
        m.equation([m.der(x), m.der(v), m.der(used)], [v, force - 0.1 * v, power])
        ocp = dd.OptimalControl(m, 4.0, intervals=30)
        ocp.start({"x": 0.0, "v": 0.0, "used": 0.0})
        ocp.finish({"x": 2.0, "v": 0.0})
        ocp.bound(force, -2.0, 2.0)
        ocp.minimise(final=used) if as_state else ocp.minimise(running=power)
        plan = ocp.solve(starts=1)
        assert plan.success, plan
        costs.append(plan.objective)
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)


def test_what_pays_to_waste_is_searched_for_as_written():
    """The more is burned, the lighter and the higher: a bound above |T| would be thrown away, and is not taken."""
    m = dd.Model("rocket")
    h, v, mass, thrust = m.state("h"), m.state("v"), m.state("mass"), m.input("thrust")
    m.equation([m.der(h), m.der(v), m.der(mass)], [v, 0.4 / mass + thrust / mass - 0.5, -ca.fabs(thrust) / 2])
    ocp = dd.OptimalControl(m, 2.0, intervals=20)
    ocp.start({"h": 0.0, "v": 0.0, "mass": 1.0})
    ocp.bound(thrust, -0.1, 0.5)
    ocp.bound(mass, 0.4, 1.0)
    ocp.minimise(final=-h)
    plan = ocp.solve(starts=1)
    assert plan.success, plan
    assert rates_are_kept(plan)
    assert plan["mass"][-1] == pytest.approx(plan.replay().trajectory["mass"][-1], abs=1e-6)
    full = solve_ivp(lambda _, y: [y[1], 0.9 / y[2] - 0.5, -0.25], (0, 2.0), [0.0, 0.0, 1.0], rtol=1e-10, atol=1e-12)
    assert plan.objective == pytest.approx(-full.y[0, -1], rel=1e-5)
