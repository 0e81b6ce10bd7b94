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
    with pytest.raises(dd.InputError, match="A prepared run takes no Python functions"):
        dd.prepare(driven(), 1.0, inputs={"u": lambda t: np.random.rand()})  # noqa: NPY002
    with pytest.raises(dd.InputError, match=r"dd.prepare takes no progress\."):
        dd.prepare(driven(), 1.0, inputs={"u": 0.0}, progress=True)
    with pytest.raises(ValueError, match=r"must have the sizes \(2, 1, 1\), not \(3, 1, 1\)"):
        dd.prepare(driven(), 1.0, inputs={"u": 0.0})(np.zeros(3))
