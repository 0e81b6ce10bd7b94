"""Runs of implicit methods through dd.simulate: values by name, starts, inputs, events, files, sweeps."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.result.records_of_methods import FullNewton, MethodAsked

METHODS = ["radau3", "radau5", "radau9", "bdf", "rodas4", "rodas5p"]


def circuit():
    """A capacitor that discharges over a resistor, q' = -i, R i = q / C + u."""
    m = dd.Model("circuit")
    q, i, u = m.state("q", start=1.0), m.algebraic("i"), m.input("u")
    R = m.parameter("R", 2.0)
    m.equation(m.der(q), -i, name="charge")
    m.equation(R * i, q + u, name="Ohm")
    m.output("power", R * i**2)
    return m


def cartesian_pendulum():
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", 0.5 * (ca.sumsqr(q) - 1))
    return m


@pytest.mark.parametrize("method", METHODS)
def test_values_by_name(method):
    tr = dd.simulate(circuit(), 2.0, inputs={"u": 0.0}, method=method, rtol=1e-8, atol=1e-10)
    exact = np.exp(-tr.time / 2)
    for name, value in {"q": exact, "i": exact / 2, "q_dot": -exact / 2, "power": exact**2 / 2}.items():
        assert tr[name] == pytest.approx(value, abs=1e-6), name
    assert tr.at(1.0)["i"] == pytest.approx(np.exp(-0.5) / 2, abs=1e-6)
    assert tr.method == method
    assert tr.work.jacobians > 0
    assert tr.work.factorisations > 0
    assert tr.drift()["Ohm"] < 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_tables_functions_and_expressions_as_inputs(method):
    m = circuit()
    times = np.linspace(0, 2, 21)
    ramp = dd.simulate(m, 2.0, inputs={"u": dd.signal(times, times, "linear")}, method=method, rtol=1e-8)
    function = dd.simulate(m, 2.0, inputs={"u": lambda t: float(np.float64(t))}, method=method, rtol=1e-8)
    expression = dd.simulate(m, 2.0, inputs={"u": m.time}, method=method, rtol=1e-8)
    # q' = -(q + t) / 2 with q(0) = 1: q = 2 - t - exp(-t / 2).
    for tr in (ramp, function, expression):
        assert tr.success, tr.stop_reason
        assert tr["q"][-1] == pytest.approx(-np.exp(-1.0), abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_z_jumps_with_a_held_input(method):
    tr = dd.simulate(circuit(), 2.0, inputs={"u": dd.signal([0.0, 1.0], [0.0, 1.0])}, method=method, rtol=1e-8)
    q = np.exp(-0.5)
    assert tr.at(1.0)["i"] == pytest.approx((q + 1) / 2, abs=1e-6)
    assert tr.at(1.0 - 1e-9)["i"] == pytest.approx(q / 2, abs=1e-6)
    assert tr["q"][-1] == pytest.approx((q + 1) * np.exp(-0.5) - 1, abs=1e-6)


def test_given_algebraic_values_must_agree():
    with pytest.raises(dd.InconsistentStartError, match="disagree"):
        dd.simulate(circuit(), 1.0, inputs={"u": 0.0}, start={"i": 3.0}, method="radau5")


def test_a_start_off_the_constraint_is_named():
    with pytest.raises(dd.InconsistentStartError, match="rod"):
        dd.simulate(cartesian_pendulum(), 1.0, start={"q": [0.9, 0.0]}, method="radau5")


def test_a_start_from_initialise_and_from_another_run():
    m = cartesian_pendulum()
    start = dd.initialise(m, {"q": [0.6, -0.8]})
    tr = dd.simulate(m, 1.0, start=start, method="radau5")
    again = dd.simulate(m, 1.0, start=tr.at(0.5), method="radau5")
    assert again["q"][-1] == pytest.approx(dd.simulate(m, 1.5, start=start, method="radau5")["q"][-1], abs=1e-4)


def test_atol_by_name_reaches_algebraic_variables():
    loose = dd.simulate(circuit(), 2.0, inputs={"u": 0.0}, method="radau5", rtol=1e-12, atol={"i": 1.0, "q": 1e-3})
    tight = dd.simulate(circuit(), 2.0, inputs={"u": 0.0}, method="radau5", rtol=1e-12, atol={"i": 1e-12})
    assert loose.work.steps < tight.work.steps
    with pytest.raises(dd.InputError, match="atol of i does not fit"):
        dd.simulate(circuit(), 2.0, inputs={"u": 0.0}, method="radau5", atol={"i": -1.0})


def test_files_and_pickles(tmp_path):
    tr = dd.simulate(circuit(), 2.0, inputs={"u": 0.0}, method="radau5")
    tr.save(tmp_path / "run.nc")
    for again in (dd.load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(tr))):
        for name in ("q", "i", "q_dot", "power"):
            assert np.array_equal(again[name], tr[name])
            assert np.array_equal(again.at(0.7)[name], tr.at(0.7)[name])
        assert again.drift() == tr.drift()


def test_prepared_runs_and_sweeps():
    m = circuit()
    run = dd.prepare(m, 2.0, inputs={"u": 0.0}, method="radau5", save_at=[1.0, 2.0], rtol=1e-8)
    assert run(p=np.array([4.0]))[:, 0] == pytest.approx(np.exp([-0.25, -0.5]), abs=1e-6)
    assert run(x0=np.array([2.0]))[:, 0] == pytest.approx(2 * np.exp([-0.5, -1.0]), abs=1e-6)
    swept = dd.sweep(m, 2.0, over={"R": [1.0, 2.0, 4.0]}, inputs={"u": 0.0}, method="bdf", rtol=1e-8)
    assert swept["i"].values[:, -1] == pytest.approx(np.exp(-2 / np.array([1, 2, 4])) / [1, 2, 4], abs=1e-5)


@pytest.mark.parametrize("method", ["radau5", "bdf", "rodas5p", "tsit5"])
def test_a_bouncing_ball_in_an_implicit_run(method):
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -10.0)
    m.event("bounce", h, direction=-1, reset={"v": -0.5 * v, "h": 0.0})
    tr = dd.simulate(m, 1.2, method=method, rtol=1e-9, atol=1e-12)
    first = np.sqrt(0.2)
    assert [e.time for e in tr.events] == pytest.approx([first, 2 * first, 2.5 * first], abs=1e-8)
    assert tr.events[0].after["v"] == pytest.approx(0.5 * np.sqrt(20), abs=1e-7)


@pytest.mark.parametrize("method", ["radau5", "radau3", "auto"])
def test_a_pendulum_that_hits_a_stop_keeps_its_rod(method):
    m = cartesian_pendulum()
    q = m["q"]
    m.event("stop", q[0], direction=-1, reset={"q_dot": -0.5 * m.rate(q)})
    tr = dd.simulate(m, 1.5, method=method, rtol=1e-8)
    before, after = tr.events[0].before["q_dot"], tr.events[0].after["q_dot"]
    # At the bottom all energy is kinetic: v^2 = 2 g.
    assert np.linalg.norm(before) == pytest.approx(np.sqrt(2 * 9.81), abs=1e-5)
    assert after == pytest.approx(-0.5 * before, abs=1e-5)
    assert max(tr.drift().values()) < 1e-6


def test_a_reset_off_the_constraints_is_followed_by_an_impulse():
    """A horizontal kick at the bottom is tangent; a vertical one is taken up by the rod."""
    m = cartesian_pendulum()
    q = m["q"]
    m.event("kick", q[0], direction=-1, reset={"q_dot": m.rate(q) + ca.vertcat(0.0, 3.0)})
    tr = dd.simulate(m, 0.8, method="radau5", rtol=1e-8)
    event = tr.events[0]
    assert event.after["q_dot"] == pytest.approx(event.before["q_dot"], abs=1e-5)


def test_repeated_runs_compile_nothing():
    from daedalus.compilation import counts

    m = circuit()
    dd.simulate(m, 1.0, inputs={"u": 0.0}, method="radau5")
    before = counts()
    dd.simulate(m, 2.0, start={"q": 3.0}, inputs={"u": 1.0}, parameters={"R": 1.0}, method="radau5")
    assert counts() == before


def test_work_is_counted_exactly():
    """Linear and constant: one Jacobian, and one to see that the equations still hold at the end."""
    tr = dd.simulate(circuit(), 2.0, inputs={"u": 0.0}, method="radau5", step=0.1)
    assert (tr.work.steps, tr.work.jacobians, tr.work.factorisations) == (20, 2, 3)


@pytest.mark.parametrize("end", [1.0, 1.3, 1.77])
def test_no_run_ends_with_a_short_step(end):
    """At index 3 multipliers would be wrong by the errors of positions over h^2."""
    steps = np.diff(dd.simulate(cartesian_pendulum(), end, method="radau5").time)
    assert steps[-1] > 0.3 * steps[-2]


@pytest.mark.parametrize(("index", "step"), [(2, 0.1), (2, 0.2), (3, 0.2)])
def test_long_fixed_steps_go_on_with_a_jacobian_for_each_stage(index, step):
    """The simplified Newton method leads nowhere over a tenth of a swing; the steps are those of the tableau."""
    m = dd.Model("pendulum")
    q, v = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0])
    force = m.algebraic("force")
    m.equation(m.der(q), v)
    m.equation(m.der(v), ca.vertcat(0, -9.81) - force * q)
    m.equation(ca.dot(q, v) if index == 2 else ca.sumsqr(q) - 1)
    tr = dd.simulate(m, 2.0, method="radau5", step=step)
    assert tr.success, tr.stop_reason
    assert (tr.method, len(tr.pieces)) == ("radau5", 2)
    assert tr.records == (MethodAsked("radau5", True), FullNewton(float(tr.pieces[0].end.time), step))
    plain = dd.simulate(m, 2.0, method=dd.radau_iia(3), step=step)
    np.testing.assert_allclose(tr.time, plain.time, atol=1e-12)
    np.testing.assert_allclose(tr["q"], plain["q"], atol=1e-7)


@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_a_sum_of_equations_hides_no_index(method):
    """s'' = f, s = x(1 + x/5), and 0.6 (v' - f) added to x' = -x: of index 3, which the pattern does not show."""
    m = dd.Model("sum")
    x, s, v, f = m.state("x", start=1.0), m.state("s"), m.state("v"), m.algebraic("f")
    m.equation(m.der(x) + 0.6 * m.der(v), -x + 0.6 * f)
    m.equation(m.der(s), v)
    m.equation(m.der(v), f)
    m.equation(s, x * (1 + x / 5))
    tr = dd.simulate(m, 1.0, method=method, rtol=1e-8)
    assert tr.success, tr.stop_reason
    assert tr["x"][-1] == pytest.approx(np.exp(-1.0), abs=1e-6)
    assert tr["f"][-1] == pytest.approx(np.exp(-1.0) + 0.8 * np.exp(-2.0), abs=1e-4)


@pytest.mark.parametrize("name", ["hires", "robertson"])
def test_errors_of_trbdf2_go_with_the_tolerance(name):
    """It goes on with the solution whose error it estimates: held in every step, 134 tolerances piled up at 1e-6."""
    known = catalogue.load(name)
    call = {"start": known.start, "inputs": known.inputs}
    fine = dd.simulate(known.model, known.span, method="radau9", rtol=1e-10, atol=1e-13, **call)
    for rtol in (1e-3, 1e-4, 1e-6):
        tr = dd.simulate(known.model, known.span, method="trbdf2", rtol=rtol, atol=1e-3 * rtol, **call)
        exact = fine.at(tr.time)["y"]
        allowed = rtol * np.abs(exact).max(axis=0) + 1e-3 * rtol
        assert np.max(np.abs(tr["y"] - exact) / allowed) < 20
