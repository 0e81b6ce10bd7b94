"""Runs whose span is one instant: what happens there happens, and runs that go on from them lose nothing."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

METHODS = ["auto", "dop853", "tsit5", "radau5", "radau9", "bdf", "rodas5p", "trbdf2"]


def counted(period: float = 0.1) -> dd.Model:
    """x' = z - x, z = n + x, and a clock that counts n."""
    m = dd.Model("counted")
    x, n, z = m.state("x", start=1.0), m.discrete("n", start=0), m.algebraic("z")
    m.every(period, {"n": n + 1})
    m.equation([m.der(x), z], [z - x, n + x])
    return m


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("t", "count"), [(0.0, 1.0), (0.3, 1.0), (0.25, 0.0)])
def test_clocks_tick_and_equations_follow(method, t, count):
    tr = dd.simulate(counted(), (t, t), method=method)
    assert tr.success
    assert tr.time.tolist() == [t]
    assert tr["n"].tolist() == [count]
    assert tr["z"][0] == pytest.approx(1 + count)


@pytest.mark.parametrize("t", [0.0, 0.2, 0.25, 3 * 0.1])
def test_a_run_that_goes_on_from_an_instant_is_the_run_itself(t):
    m = counted()
    whole = dd.simulate(m, 0.6)
    begin = dd.simulate(m, t) if t else None
    still = dd.simulate(m, (t, t), start=begin.end if begin else None)
    again = dd.simulate(m, (t, t), start=still.end)
    rest = dd.simulate(m, (t, 0.6), start=again.end)
    assert rest["n"][-1] == whole["n"][-1]
    assert rest["x"][-1] == pytest.approx(whole["x"][-1], rel=1e-5)


def test_conditions_schedules_and_guards_of_time():
    m = dd.Model("all kinds")
    y, n = m.state("y", start=1.0), m.discrete("n", start=0)
    m.equation(m.der(y), -y)
    m.when(y > 0.5, {"n": n + 1}, at_start=True)
    m.when(m.time >= 0, {"n": n + 10})  # holds already: noted, not fired
    m.schedule([0.0], {"y": 2.0})
    still = dd.simulate(m, 0.0)
    assert still["n"].tolist() == [1.0]
    assert still["y"].tolist() == [2.0]
    assert dd.simulate(m, 0.1, start=still.end)["n"][-1] == 1.0


def test_contacts_close_and_fall_away():
    m = dd.Model("ball")
    q = m.coordinate("q", start=0.0, rate=-1.0)
    m.kinetic_energy(0.5 * m.der(q) ** 2)
    m.potential_energy(9.81 * q)
    m.unilateral("floor", q, restitution=0.5)
    still = dd.simulate(m, 0.0)
    assert still["q_dot"].tolist() == [0.5]
    joined, whole = dd.simulate(m, 0.05, start=still.end), dd.simulate(m, 0.05)
    assert joined["q_dot"][-1] == pytest.approx(whole["q_dot"][-1], rel=1e-9)


def test_frictions_hold_or_slip():
    m = dd.Model("block")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    push = m.parameter("push", 0.5)
    force = m.friction("brake", v, kinetic=1.0, static=1.5)
    m.equation([m.der(x), m.der(v)], [v, force + push])
    for value, rate in ((0.5, 0.0), (1.2, 0.0), (2.0, 1.0)):
        tr = dd.simulate(m, 0.0, parameters={"push": value})
        assert tr["v_dot"][0] == pytest.approx(rate, abs=1e-12)


def test_what_has_no_clock_is_as_ever():
    tr = dd.simulate(catalogue.load("robertson").model, 0.0)
    assert tr.success
    assert len(tr.time) == 1
    found = dd.solve_ivp(lambda t, y: -y, (0, 0), [1.0], events=lambda t, y: y[0] - 1)
    assert found.y[0, -1] == 1.0
    assert np.all(found.t_events[0] == 0)


@pytest.mark.wide
def test_sweeps_have_one_row():
    en = dd.sweep(counted(), 0.0, over={"x": [1.0, 2.0]})
    np.testing.assert_array_equal(en["n"].values.ravel(), [1.0, 1.0])
    assert en["n"].sizes["time"] == 1


@pytest.mark.parametrize("at", [0.0, 1.0])
def test_conditions_in_equations(at):
    m = dd.Model("branch")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), ca.if_else(x > 0.5, -1.0, 1.0))
    assert dd.simulate(m, (at, at))["x_dot"].tolist() == [-1.0]
