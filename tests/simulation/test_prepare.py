"""Prepared runs: the same numbers as simulate, with arrays instead of names."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import daedalus as dd
from daedalus.compilation import counts


def driven():
    m = dd.Model("driven")
    x = m.state("x", 2, start=[1.0, 0.0])
    u, k = m.input("u"), m.parameter("k", 2.0)
    m.equation(m.der(x), [x[1], -k * x[0] + u])
    return m


def test_arrays_give_what_names_give():
    m, times = driven(), np.linspace(0, 3, 7)
    run = dd.prepare(m, 3.0, inputs={"u": 0.5}, save_at=times, rtol=1e-8)
    assert run.labels == {"x": ("x[0]", "x[1]"), "u": ("u",), "p": ("k",)}
    by_name = dd.simulate(m, 3.0, inputs={"u": 0.5}, save_at=times, rtol=1e-8)
    np.testing.assert_array_equal(run(), by_name["x"])
    other = {"start": {"x": [0.0, 1.0]}, "inputs": {"u": 1.5}, "parameters": {"k": 3.0}}
    expected = dd.simulate(m, 3.0, save_at=times, rtol=1e-8, **other)
    arrays = (np.array([0.0, 1.0]), np.array([1.5]), np.array([3.0]))
    np.testing.assert_array_equal(run(*arrays), expected["x"])
    tr = run.trajectory(*arrays)
    np.testing.assert_array_equal(tr["u"], expected["u"])
    assert tr.at(1.234)["x"].tolist() == expected.at(1.234)["x"].tolist()


def test_defaults_tables_and_start_are_kept():
    m = driven()
    push = dd.signal([0.0, 1.0], [0.0, 2.0])
    run = dd.prepare(m, 2.0, start={"x": [0.0, 0.0]}, inputs={"u": push}, parameters={"k": 1.0}, method="dop853")
    expected = dd.simulate(m, 2.0, start={"x": [0.0, 0.0]}, inputs={"u": push}, parameters={"k": 1.0}, method="dop853")
    np.testing.assert_array_equal(run(), expected["x"])


def test_nothing_is_compiled_and_threads_do_not_disturb_each_other():
    run = dd.prepare(driven(), 5.0, inputs={"u": 0.0}, save_at=[5.0])
    starts = [np.array([k, 0.0]) for k in range(1, 40)]
    before = counts()
    alone = [run(x0) for x0 in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, starts))
    assert counts() == before
    np.testing.assert_array_equal(alone, together)


def test_a_run_that_stops_early_raises_and_carries_its_data():
    m = dd.Model("explosion")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    with pytest.raises(dd.SolverError, match="step size fell below") as caught:
        dd.prepare(m, 2.0)()
    assert caught.value.trajectory["x"][-1] > 1e3


def test_refusals():
    with pytest.raises(dd.InputError, match="A prepared run does not accept Python functions"):
        dd.prepare(driven(), 1.0, inputs={"u": lambda t: float(str(t))})
    with pytest.raises(dd.InputError, match=r"dd.prepare takes no progress\."):
        dd.prepare(driven(), 1.0, inputs={"u": 0.0}, progress=True)
    with pytest.raises(ValueError, match=r"must have the sizes \(2, 1, 1\), not \(3, 1, 1\)"):
        dd.prepare(driven(), 1.0, inputs={"u": 0.0})(np.zeros(3))


def pendulum():
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * (m.rate(q)[0] ** 2 + m.rate(q)[1] ** 2))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    return m


@pytest.mark.parametrize("method", ["auto", "dop853", "radau5"])
def test_a_start_off_the_constraints_is_refused_as_simulate_refuses_it(method):
    run = dd.prepare(pendulum(), 0.5, method=method)
    off = np.array([1.1, 0.0, 0.0, 0.0])
    with pytest.raises(dd.InconsistentStartError) as prepared:
        run(off)
    with pytest.raises(dd.InconsistentStartError) as simulated:
        dd.simulate(pendulum(), 0.5, start=dict(zip(run.labels["x"], off.tolist())), method=method)
    assert str(prepared.value) == str(simulated.value)


@pytest.mark.parametrize("method", ["auto", "dop853", "radau5"])
def test_a_start_on_the_constraints_gives_the_run_of_simulate(method):
    angle = 0.3
    x0 = np.array([np.cos(angle), np.sin(angle), -0.2 * np.sin(angle), 0.2 * np.cos(angle)])
    run = dd.prepare(pendulum(), 0.5, method=method, save_at=[0.25, 0.5])
    start = dict(zip(run.labels["x"], x0.tolist()))
    expected = dd.simulate(pendulum(), 0.5, start=start, method=method, save_at=[0.25, 0.5])
    np.testing.assert_array_equal(run(x0)[:, :2], expected["q"])


def valve():
    m = dd.Model("valve")
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(u * m.der(x) + x)
    return m


def test_numbers_that_take_an_unknown_out_of_an_equation_are_refused():
    run = dd.prepare(valve(), 1.0, inputs={"u": 2.0})
    assert run(u=np.array([1.0]))[-1, 0] == pytest.approx(np.exp(-1.0), rel=1e-5)
    with pytest.raises(dd.SingularModelError, match="equation_1 cannot be solved for x_dot at the start"):
        run(u=np.array([0.0]))


def test_a_model_without_start_values_is_prepared_for_starts_that_come_later():
    m = dd.Model("without start")
    x = m.state("x", 2)
    z = m.algebraic("z")
    m.equation(m.der(x), [z, -x[0]])
    m.equation(z**3 + z, x[1])
    run = dd.prepare(m, 1.0, save_at=[1.0])
    expected = dd.simulate(m, 1.0, start={"x": [1.0, 2.0]}, save_at=[1.0])
    np.testing.assert_array_equal(run(np.array([1.0, 2.0])), expected["x"])
    with pytest.raises(dd.InputError, match="step is too short for the span"):
        dd.prepare(m, 1.0, method="radau5", step=1e-17)


def test_wrong_words_about_early_ends_are_refused_before_anything_runs():
    with pytest.raises(dd.InputError, match="on_stop='stop' is not valid"):
        dd.simulate(valve(), 1.0, inputs={"u": 1.0}, on_stop="stop")


def test_parameters_may_leave_out_discrete_variables():
    m = dd.Model("block")
    x, v, level = m.state("x", start=1.0), m.state("v", start=0.0), m.parameter("level", 0.1)
    f = m.friction("floor", v, kinetic=level)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x + f)
    run = dd.prepare(m, 6.0, rtol=1e-9)
    assert run.labels["p"] == ("level", "floor.mode")
    for value in (0.05, 0.3, 2.0):
        wanted = dd.simulate(m, 6.0, parameters={"level": value}, rtol=1e-9)
        assert run(p=np.array([value]))[-1].tolist() == [wanted["x"][-1], wanted["v"][-1]]
        assert run.trajectory(p=np.array([value]))["floor.mode"].tolist() == wanted["floor.mode"].tolist()
