"""Forces of index 2 and 3 in runs with conditions: those of the mode that the run was in."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def pushed_pendulum(kind):
    """A pendulum by Cartesian coordinates: pushed to and fro by time, by its place, by both, or by a table."""
    m = dd.Model("pushed pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    by_time = ca.if_else(m.time > 0.4, 3.0, ca.if_else(m.time > 0.15, -3.0, 0.0))
    spring = ca.if_else(q[0] < 0.2, 20 * (0.2 - q[0]), 0.0)
    push = m.input("push") if kind == "table" else {"time": by_time, "place": spring, "both": by_time + spring}[kind]
    m.force(ca.vertcat(push, 0), at=q)
    return m


def call_of(kind):
    return {"inputs": {"push": dd.signal([0, 0.4, 0.7], [0.0, 5.0, -2.0])}} if kind == "table" else {}


TIMES = np.sort(np.random.default_rng(0).uniform(0, 1.2, 60))


@pytest.mark.parametrize("kind", ["time", "both", pytest.param("place", marks=pytest.mark.wide)])
@pytest.mark.parametrize("method", ["radau5", "radau3"])
def test_forces_of_runs_with_conditions_follow_from_the_states(kind, method):
    """By radau3 they were off by 15 000 tolerances between the steps, and by 120 000 in its rows."""
    model, rtol = pushed_pendulum(kind), 1e-6
    exact = dd.simulate(model, 1.2, rtol=1e-11, atol=1e-12, method="dop853")
    tr = dd.simulate(model, 1.2, method=method, rtol=rtol, atol=rtol)
    asked = dd.simulate(model, 1.2, method=method, rtol=rtol, atol=rtol, save_at=TIMES)
    size = 10 * rtol * np.abs(exact["rod"]).max()
    for found in (tr.at(TIMES), asked):
        assert np.abs(found["rod"] - exact.at(TIMES)["rod"]).max() < size
    inner = np.flatnonzero((np.diff(tr.time, prepend=-1) > 0) & (np.diff(tr.time, append=2) > 0))
    assert np.abs(tr["rod"][inner] - exact.at(tr.time[inner])["rod"]).max() < size
    assert tr.at(TIMES[7])["rod"] == pytest.approx(float(tr.at(TIMES)["rod"][7]), rel=1e-12)


@pytest.mark.parametrize("kind", ["time", "table"])
def test_two_rows_at_a_jump_have_the_force_and_the_acceleration_of_their_side(kind):
    """Accelerations in the later row were those before the jump."""
    model, call = pushed_pendulum(kind), call_of(kind)
    exact = dd.simulate(model, 1.2, rtol=1e-11, method="dop853", **call)
    tr = dd.simulate(model, 1.2, method="radau5", **call)
    pairs = np.flatnonzero(np.diff(tr.time) == 0)
    assert len(pairs) == 2
    for k in pairs:
        sides = exact.at(tr.time[k] + np.array([-1e-9, 1e-9]))
        for name in ("rod", "q_ddot"):
            np.testing.assert_allclose(tr[name][k : k + 2], sides[name], rtol=3e-5)


def test_files_and_pickles_have_the_same_forces(tmp_path):
    tr = dd.simulate(pushed_pendulum("both"), 1.2, method="radau5")
    tr.save(tmp_path / "run.nc")
    for other in (dd.load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(tr))):
        np.testing.assert_array_equal(other["rod"], tr["rod"])
        np.testing.assert_allclose(other.at(TIMES)["rod"], tr.at(TIMES)["rod"], rtol=1e-9)
        some = pickle.loads(pickle.dumps(other.at(TIMES[3:5])))
        np.testing.assert_allclose(some["rod"], tr.at(TIMES)["rod"][3:5], rtol=1e-9)


def bent_pendulum():
    """A pendulum in a wind whose strength has no formula."""
    m = dd.Model("bent pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    wind = m.algebraic("wind", start=1.0)
    m.equation(wind + 0.2 * ca.sin(wind), q[0] + 0.3 * q[1])
    m.force(ca.vertcat(3 * wind, 0), at=q)
    return m


@pytest.mark.parametrize("method", ["radau5", "radau3"])
def test_forces_beside_algebraic_variables_without_a_formula(method):
    """The reduced equations are solved by Newton's method: velocities between steps, and forces."""
    exact = dd.simulate(bent_pendulum(), 1.0, method="radau9", rtol=1e-11, atol=1e-12)
    tr, times = dd.simulate(bent_pendulum(), 1.0, method=method, rtol=1e-6, atol=1e-6), TIMES[TIMES < 1]
    for name in ("q", "q_dot", "wind", "rod"):
        off = np.abs(tr.at(times)[name] - exact.at(times)[name]).max()
        rows = np.abs(tr[name] - exact.at(tr.time)[name]).max()
        assert off < 1.1 * rows + 1e-6 * np.abs(exact[name]).max(), name
        assert rows < 2e-5 * np.abs(exact[name]).max(), name


@pytest.mark.wide
def test_forces_where_wheels_touch_a_rail():
    """The places have no formula, and 692 conditions change on the way."""
    known = catalogue.load("wheelset")
    call = {"start": known.start, "inputs": known.inputs}
    exact = dd.simulate(known.model, 0.2, method="radau9", rtol=1e-11, atol=1e-13, **call)
    tr = dd.simulate(known.model, 0.2, method="radau3", rtol=1e-5, atol=1e-8, **call)
    times = np.random.default_rng(1).uniform(0.01, 0.2, 30)
    off = np.abs(tr.at(np.sort(times))["force"] - exact.at(np.sort(times))["force"]).max()
    rows = np.abs(tr["force"] - exact.at(tr.time)["force"])[tr.time > 0.01].max()
    assert off < 1.1 * rows + 1e-5 * np.abs(exact["force"]).max()


def late_pendulum():
    """A pendulum pushed by its own place a while before, and by a delayed filter whose history ends in a jump."""
    m = dd.Model("late pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    w = m.state("w", start=0.3)
    m.equation(m.der(w), q[1] - w)
    old = m.delay(w, 0.15, name="old_w", history=-1.0)
    m.force(old * np.array([1.0, 0.0]) - 3 * m.delay(q, 0.1, name="old_q"), at=q)
    return m


@pytest.mark.parametrize("method", ["radau5", "radau3"])
def test_forces_of_runs_with_delays_follow_from_the_states(method):
    """They were off by 80 and 1000 tolerances, and that of row 0 belonged to delayed signals of zero."""
    exact = dd.simulate(late_pendulum(), 1.2, rtol=1e-10, atol=1e-12, method="dop853")
    tr = dd.simulate(late_pendulum(), 1.2, method=method, rtol=1e-6, atol=1e-6)
    size = np.abs(exact["rod"]).max()
    assert np.abs(tr.at(TIMES)["rod"] - exact.at(TIMES)["rod"]).max() < 1e-5 * size
    single = np.flatnonzero((np.diff(tr.time, prepend=-1) > 0) & (np.diff(tr.time, append=2) > 0))
    assert np.abs(tr["rod"][single] - exact.at(tr.time[single])["rod"]).max() < 1e-5 * size
    jump = np.flatnonzero(np.diff(tr.time) == 0)[0]
    sides = exact.at(tr.time[jump] + np.array([-1e-9, 1e-9]))["rod"]
    assert np.ptp(sides) > 0.6
    np.testing.assert_allclose(tr["rod"][jump : jump + 2], sides, rtol=3e-5)


def test_a_length_that_a_delayed_signal_gives_is_that_of_the_start():
    """Delayed signals were zero there: a start on the constraint was refused, or moved off it."""
    m = dd.Model("late guide")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -0.1 * x)
    m.constraint("rod", ca.sumsqr(q) - m.delay(x, 0.15, name="length", history=1.0) ** 2)
    tr = dd.simulate(m, 0.1, method="radau5")
    assert tr.success
    np.testing.assert_allclose(np.hypot(*tr["q"].T), 1.0, rtol=1e-7)
