"""Fits of fields with many coefficients: blocks of columns, no rows of steps, limits and interrupts in the middle."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import deadline
from daedalus.differentiation import forward_run
from daedalus.differentiation.variational.finished import DerivativesStoppedError
from daedalus.estimation import weighted_residuals
from daedalus.simulation.result.ending import Ending

CELLS = 8
TIMES = np.linspace(0, 0.5, 6)
TRUE = 1 + 0.4 * np.sin(np.arange(CELLS - 1))


@pytest.fixture(scope="module")
def rod():
    """Heat in a rod, with a conductivity between any two cells."""
    m = dd.Model("rod")
    u = m.state("u", CELLS, start=np.linspace(0, 3, CELLS) ** 2)
    k = m.parameter("k", np.ones(CELLS - 1))
    flow = [k[i] * (u[i + 1] - u[i]) for i in range(CELLS - 1)]
    for i in range(CELLS):
        m.equation(m.der(u[i]), (flow[i] if i < CELLS - 1 else 0) - (flow[i - 1] if i else 0))
    return m


@pytest.fixture(scope="module")
def data(rod):
    tr = dd.simulate(rod, TIMES[-1], parameters={"k": TRUE}, save_at=TIMES, rtol=1e-10, atol=1e-12)
    return {"time": TIMES, **{f"u[{i}]": tr[f"u[{i}]"] for i in range(CELLS)}}


@pytest.fixture
def runs(monkeypatch):
    """The runs with derivatives: how many columns, and the bytes of their rows."""
    seen, own = [], weighted_residuals.differentiate

    def watched(case, order, directions, by):
        found = own(case, order, directions, by)
        seen.append((directions.count, sum(part.recorded.y.nbytes for part in found.parts)))
        return found

    monkeypatch.setattr(weighted_residuals, "differentiate", watched)
    return seen


def values(fit):
    return [fit[f"k[{i}]"] for i in range(CELLS - 1)]


def test_blocks_of_columns_fit_the_same_values_in_bounded_memory(rod, data, runs, monkeypatch):
    whole = dd.fit(rod, data, free="k", noise=1e-3, method="radau5")
    assert {count for count, _ in runs} == {CELLS - 1}
    assert not whole.notes
    before = len(runs)
    # Three columns: x and x' of each at every sample.
    monkeypatch.setattr(weighted_residuals, "BLOCK_BYTES", 3 * 8 * 2 * CELLS * len(TIMES) + 1)
    fit = dd.fit(rod, data, free="k", noise=1e-3, method="radau5")
    assert [count for count, _ in runs[before:]] == [3, 3, 1] * ((len(runs) - before) // 3)
    # No rows of steps: the states and their columns at the samples.
    assert [size for _, size in runs[before : before + 3]] == [8 * CELLS * (1 + m) * len(TIMES) for m in (3, 3, 1)]
    assert values(fit) == pytest.approx(values(whole), abs=1e-6)
    assert values(fit) == pytest.approx(TRUE, abs=1e-6)
    assert list(fit.std.values()) == pytest.approx(list(whole.std.values()), rel=1e-5)
    assert fit.notes == ("derivatives of 8 states by 7 unknowns were run in 3 blocks of columns",)


@pytest.mark.parametrize("method", ["radau5", "rodas5p", "dop853"])
def test_what_is_kept_at_samples_is_what_the_steps_have_there(rod, data, method, monkeypatch):
    kept = dd.fit(rod, data, free="k", noise=1e-3, method=method)
    monkeypatch.setattr(forward_run, "samples_call", lambda case: {})
    assert values(dd.fit(rod, data, free="k", noise=1e-3, method=method)) == pytest.approx(values(kept), abs=1e-7)


def test_derivatives_of_an_element_are_a_row_of_those_of_its_array(rod):
    samples = dd.sensitivities(rod, 0.5, wrt=["k", "u[2]"], rtol=1e-8).at([0.2, 0.5])
    u, slopes = samples.values_and_slopes("u")
    one, own = samples.values_and_slopes("u[3]")
    assert np.array_equal(one[:, 0], u[:, 3])
    assert np.array_equal(own[:, 0], slopes[:, 3])
    assert samples.d("u[3]", "k").shape == (2, CELLS - 1)
    assert samples.d("u[3]", "u[2]").shape == (2,)
    assert np.array_equal(samples.d("u[3]", "k"), samples.d("u", "k")[:, 3])


def test_a_fit_that_turned_stiff_stays_with_the_implicit_method(monkeypatch):
    m = dd.Model("follower")
    x, k = m.state("x", start=1.0), m.parameter("k", 2.0)
    m.equation(m.der(x), -1e5 * (x - np.cos(k * m.time)))
    times, tries = np.linspace(0, 1, 11), []
    data = {"time": times, "x": np.cos(1.7 * times) + 1.7e-5 * np.sin(1.7 * times)}
    own = forward_run.WAYS["variational"]
    monkeypatch.setitem(forward_run.WAYS, "variational", lambda *given: tries.append(1) or own(*given))
    fit = dd.fit(m, data, free="k", noise=1e-3, begin=0.0)
    assert fit["k"] == pytest.approx(1.7, abs=1e-6)
    assert fit.evaluations > 2
    assert len(tries) == 1


def test_a_time_limit_is_that_of_the_whole_fit_and_returns_the_best_so_far(rod, data, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])

    def slow(count, least):
        now[0] += 100.0 if count == 2 else 0.0

    fit = dd.fit(rod, data, free="k", noise=1e-3, time_limit=10.0, progress=slow)
    assert (fit.success, fit.message, fit.evaluations) == (False, "time_limit = 10 s passed after 2 runs", 2)
    assert np.abs(np.array(values(fit)) - TRUE).max() < 0.4


@pytest.mark.parametrize("ending", [Ending.INTERRUPTED, Ending.TIME_LIMIT])
def test_what_stops_a_run_from_outside_ends_the_fit(rod, data, ending, monkeypatch):
    own, count = weighted_residuals.differentiate, []

    def stopped(*given):
        count.append(1)
        if len(count) == 3:
            error = DerivativesStoppedError("stopped")
            error.ending = ending
            raise error
        return own(*given)

    monkeypatch.setattr(weighted_residuals, "differentiate", stopped)
    fit = dd.fit(rod, data, free="k", noise=1e-3, time_limit=60.0)
    assert not fit.success
    assert len(count) == 3
    assert fit.message == {
        Ending.INTERRUPTED: "interrupted by the user", Ending.TIME_LIMIT: "time_limit = 60 s passed after 2 runs",
    }[ending]  # fmt: skip
