"""Rows of save_at obey what the model keeps, as steps do, and drift() tells what the result holds."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def pendulum() -> dd.Model:
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    return m


def length_error(q: np.ndarray) -> float:
    return float(np.abs(np.sum(q**2, axis=1) - 1).max())


TIMES = np.linspace(0.0, 2.0, 83)


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5"])
def test_rows_of_save_at_lie_on_the_rod(method):
    tr = dd.simulate(pendulum(), 2.0, save_at=TIMES, method=method)
    # The rows of steps are as good as the method makes them.
    bound = 1e-15 if method != "radau5" else 1e-10
    assert length_error(tr["q"][1:-1]) < 1e-15
    assert max(tr.drift().values()) < 10 * bound
    assert max(tr.drift(between=True).values()) > 1e-10
    assert length_error(tr.at(TIMES)["q"]) > 1e-10
    assert length_error(tr.at(TIMES, project=True)["q"]) < 1e-15


def test_velocities_of_explicit_runs_are_kept_too():
    tr = dd.simulate(pendulum(), 2.0, save_at=TIMES)
    assert np.abs(np.sum(tr["q"] * tr["q_dot"], axis=1)).max() < 1e-14


def test_drift_tells_what_the_rows_hold():
    tr = dd.simulate(pendulum(), 2.0, save_at=TIMES)
    assert tr.drift()["rod"] == pytest.approx(length_error(tr["q"]), abs=1e-16)


def test_steps_and_counts_do_not_depend_on_save_at():
    plain, saved = (dd.simulate(pendulum(), 2.0, save_at=times) for times in (None, TIMES))
    assert (plain.work.steps, plain.work.rejected) == (saved.work.steps, saved.work.rejected)
    assert plain.work.factorisations == saved.work.factorisations
    assert np.array_equal(plain.end["q"], saved.end["q"])
    assert np.array_equal(saved["q"][-1], saved.end["q"])


@pytest.mark.parametrize("name", ["slider_crank", "rod_chain", "andrews"])
def test_mechanisms(name):
    k = catalogue.load(name)
    t1 = min(np.ravel(k.span)[-1], 0.3)
    tr = dd.simulate(k.model, t1, start=k.start, inputs=k.inputs, save_at=np.linspace(0, t1, 17))
    assert max(tr.drift().values()) < 2e-14


def test_prepared_runs_and_sweeps_keep_their_rows_too():
    m = pendulum()
    run = dd.prepare(m, 2.0, save_at=TIMES)
    rows, whole = run(), dd.simulate(m, 2.0, save_at=TIMES)
    assert np.array_equal(rows, np.column_stack([whole["q"], whole["q_dot"]]))
    heavier = dd.Model("heavier")
    g = heavier.parameter("g", 9.81)
    q = heavier.coordinate("q", 2, start=[1.0, 0.0])
    heavier.kinetic_energy(0.5 * ca.sumsqr(heavier.rate(q)))
    heavier.potential_energy(g * q[1])
    heavier.constraint("rod", ca.sumsqr(q) - 1)
    en = dd.sweep(heavier, 2.0, over={"g": [1.0, 9.81]}, save_at=TIMES)
    assert np.abs((en["q"] ** 2).sum("q_index") - 1).max() < 1e-15


def test_algebraic_variables_of_index_one_are_solved_for():
    m = dd.Model("circuit")
    v = m.state("v", start=1.0)
    i = m.algebraic("i", start=0.5)
    m.equation(m.der(v), -i)
    m.equation(i + i**3, v, name="lamp")
    tr = dd.simulate(m, 3.0, method="radau5", rtol=1e-4, save_at=np.linspace(0, 3, 50))
    assert np.abs(tr["i"] + tr["i"] ** 3 - tr["v"])[1:-1].max() < 1e-15
    assert tr.drift(between=True)["lamp"] > 1e-9


def test_rows_behind_events_and_between_jumps_of_an_input():
    m = pendulum()
    m.event("side", m["q"][0], direction=0)
    tr = dd.simulate(m, 2.0, save_at=TIMES)
    assert tr.events
    assert length_error(tr["q"]) < 1e-15


def switched(law) -> dd.Model:
    m = dd.Model("switched")
    x, z, on = m.state("x", start=1.0), m.algebraic("z", start=1.0), m.discrete("on", start=0.0)
    m.equation(m.der(x), -x + 0.01 * z)
    m.equation(z * law(on, x), 6 + x, name="load")
    m.when(x < 0.6, {"on": 1.0})
    return m


LAWS = [lambda on, x: 1 + 2 * on, lambda on, x: ca.if_else(on > 0.5, 3.0, 1.0) + x]


@pytest.mark.parametrize("method", ["radau5", "bdf", "rodas5p"])
@pytest.mark.parametrize("law", LAWS, ids=["line", "choice"])
def test_algebraic_variables_follow_the_discrete_ones_of_their_time(law, method):
    tr = dd.simulate(switched(law), 2.0, method=method, save_at=TIMES)
    # Where x is below the threshold the law is the later one, by hand.
    on = np.where(tr.time > tr.events[0].time, 1.0, 0.0)
    assert 0 < on.sum() < len(on)
    expected = (6 + tr["x"]) / np.array([float(ca.DM(law(*pair))) for pair in zip(on, tr["x"])])
    np.testing.assert_allclose(tr["z"], expected, rtol=1e-5)
    np.testing.assert_allclose(tr.at(TIMES[1:-1], project=True)["z"], expected[1:-1], rtol=1e-5)


@pytest.mark.parametrize("method", ["dop853", "radau5"])
def test_constraints_with_a_discrete_variable_are_those_of_their_time(method):
    # Index 2: a belt whose gear changes.
    m = dd.Model("belt")
    x, y, f, on = m.state("x", start=1.0), m.state("y"), m.algebraic("f"), m.discrete("on", start=0.0)
    m.equation(m.der(x), -x)
    m.equation(m.der(y), f)
    m.equation(y, 1 - x + on * (0.6 - x), name="belt")
    m.when(x < 0.6, {"on": 1.0})
    tr = dd.simulate(m, 2.0, method=method, save_at=TIMES)
    inside, x = TIMES[1:-1], np.exp(-TIMES)
    y = 1 - x + np.maximum(0.6 - x, 0.0)
    np.testing.assert_allclose(tr["y"], y, atol=1e-5)
    projected = tr.at(inside, project=True)
    np.testing.assert_allclose(projected["y"], y[1:-1], atol=1e-5)
    np.testing.assert_allclose(projected["f"], (x * np.where(x < 0.6, 2.0, 1.0))[1:-1], atol=1e-5)


@pytest.mark.parametrize("name", ["slider_crank", "rod_chain"])
def test_mechanisms_are_kept_behind_a_change_of_a_discrete_variable(name):
    # A chain of rods is projected by a linear system, which takes one set of parameters at a time.
    k = catalogue.load(name)
    k.model.discrete("struck", start=0.0)
    k.model.when(k.model.time > 0.11, {"struck": 1.0})
    times = np.linspace(0, 0.3, 17)
    tr = dd.simulate(k.model, 0.3, start=k.start, inputs=k.inputs, save_at=times)
    assert tr["struck"][-1] == 1
    assert max(tr.drift().values()) < 2e-14
    assert max(tr.at(times, project=True).violations().values()) < 2e-14


BRIDGE = """three-phase bridge
Va a 0 SIN(0 325 50)
Vb b 0 SIN(0 325 50 0 0 -120)
Vc c 0 SIN(0 325 50 0 0 -240)
Da1 a p dm
Da2 n a dm
Db1 b p dm
Db2 n b dm
Dc1 c p dm
Dc2 n c dm
L1 p q 50m
R1 q n 10
R2 n 0 1meg
.model dm D(IS=1e-12 RS=10m N=1.2 CJO=100p)
"""


@pytest.mark.parametrize("rtol", [1e-2, 1e-3])
def test_rows_of_rough_runs_stay_where_the_equations_are_steep(rtol):
    """A junction's voltage known to some volts says nothing of its current: one row had 1e55 V."""
    m, times = dd.components.from_spice(BRIDGE), np.linspace(0.0, 0.06, 201)
    rough, fine = (dd.simulate(m, 0.06, rtol=r, save_at=times)["v_q"] for r in (rtol, 1e-6))
    assert np.abs(rough - fine).max() < 20 * rtol * np.abs(fine).max()
