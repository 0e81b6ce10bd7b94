"""Numbers far below one count as they are: micrometres and microseconds are planned as accurately as metres."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

ANY_UNIT = [(1e-9, 1e3), (1e-6, 1e-6), (1e-3, 1.0), (1e6, 1e-6)]


def cart(length: float, time: float) -> dd.OptimalControl:
    """The least time over a length from rest to rest, |u| <= 4 length / time²: it is the given one."""
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, dd.unknown(1.5 * time, 0.1 * time, 10 * time), 40)
    ocp.start()
    ocp.finish({"x": length, "v": 0.0})
    ocp.bound(u, -4 * length / time**2, 4 * length / time**2)
    ocp.minimise(final=ocp.duration)
    return ocp


@pytest.mark.parametrize(("length", "time"), ANY_UNIT)
def test_least_times_in_any_unit(length, time):
    plan = cart(length, time).solve()
    assert plan.success, plan
    # 40 intervals have a node where the input jumps.
    assert plan.objective == pytest.approx(time, rel=1e-4)
    assert plan["v"].max() == pytest.approx(2 * length / time, rel=1e-3)


@pytest.mark.wide
def test_least_times_do_not_depend_on_units():
    draw = np.random.default_rng(5)
    for length, time in 10.0 ** draw.uniform(-9, 6, size=(20, 2)):
        plan = cart(length, time).solve()
        assert plan.success, (length, time, plan)
        assert plan.objective == pytest.approx(time, rel=1e-4), (length, time)


def station(intervals: int) -> dd.OptimalControl:
    """Momentum dumping of a space station (J. T. Betts, Practical Methods for Optimal Control, 2010, example 6.11).

    The rates are of 1e-3 rad/s, the momenta of 1e4: minimise 1e-6 ∫ u² dt, 3.5867511, until everything rests.
    """
    inertia = 1e4 * np.array(
        [[2807.01911616, 48.22509936, -1716.75094448], [48.22509936, 9514.4639344, 6.02604448],
         [-1716.75094448, 6.02604448, 7659.4401336]]
    )  # fmt: skip
    J, orbit = ca.DM(inertia), np.radians(0.06511)
    m = dd.Model("station")
    w = m.state("w", 3, start=[-9.5380685844896e-6, -1.1363312657036e-3, 5.3472801108427e-6])
    r = m.state("r", 3, start=[2.9963689649816e-3, 1.5334477761054e-1, 3.8359805613992e-3])
    h = m.state("h", 3, start=[5000.0] * 3)
    u = m.input("u", 3)
    turned = ca.SX.eye(3) + 2 / (1 + ca.dot(r, r)) * (ca.skew(r) @ ca.skew(r) - ca.skew(r))
    gravity = 3 * orbit**2 * ca.cross(turned[:, 2], J @ turned[:, 2])
    free = ca.DM(np.linalg.inv(inertia)) @ (gravity - ca.cross(w, J @ w + h))
    turning = 0.5 * (r @ r.T + ca.SX.eye(3) + ca.skew(r)) @ (w + orbit * turned[:, 1])
    m.equation([m.der(w), m.der(r), m.der(h)], [free - ca.DM(np.linalg.inv(inertia)) @ u, turning, u])
    ocp = dd.OptimalControl(m, 1800.0, intervals)
    ocp.start()
    ocp.finish({"h": [0.0, 0.0, 0.0]})
    ocp.subject_to(ca.dot(h, h) / 1e8 <= 1)
    ocp.subject_to(1e6 * free == 0, at="end")
    ocp.subject_to(1e3 * turning == 0, at="end")
    ocp.minimise(running=1e-6 * ca.dot(u, u))
    return ocp


@pytest.mark.parametrize("intervals", [60, pytest.param(80, marks=pytest.mark.wide)])
def test_rates_far_below_one_are_resolved(intervals):
    plan = station(intervals).solve()
    assert plan.success, plan
    # Inputs that are held on each interval cost 17 / intervals² more.
    assert plan.objective == pytest.approx(3.5867511 * (1 + 17 / intervals**2), rel=1e-3)


def test_distances_of_small_states_are_told_as_shares_of_their_size():
    m = dd.Model("mirror")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    errors = []
    for unit in (1.0, 1e-6):
        ocp = dd.OptimalControl(m, 1.0, 4)
        ocp.start()
        ocp.finish({"x": unit, "v": 0.1 * unit})
        ocp.bound("v", -10 * unit, 10 * unit)
        ocp.minimise(running=ca.exp(u / unit) + 30 * (x / unit) ** 4)
        errors.append(ocp.solve().mesh_error.max())
    assert errors[1] == pytest.approx(errors[0], rel=1.0)
    assert errors[0] > 0
