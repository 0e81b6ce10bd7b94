"""Exact work counts, step limits, samples and dense output of plain runs."""

import numpy as np
import pytest
import tableaux
from known_orbit import orbit_exact, orbit_start

from daedalus import _core

# Evaluations: (an attempted step, an accepted one beyond that, once)
COST = {"bs3": (3, 0, 1), "tsit5": (6, 0, 1), "dopri5": (6, 0, 1), "dop853": (11, 1, 0)}


@pytest.mark.parametrize("first_step", [None, 0.01])
@pytest.mark.parametrize("name", COST)
def test_evaluations_are_counted_exactly(native, python, integrate, name, first_step):
    attempt, accepted, once = COST[name]
    calls = []
    machine = native("orbit", 5)

    def counting(t, x, u, p):
        calls.append(t[0])
        return machine(t, x, u, p)[0]

    run = integrate(python(counting, 5), name, 0, 7, orbit_start(0.7), rtol=1e-5, atol=1e-7, first_step=first_step)
    assert run.status == "finished"
    assert run.rejected > 0
    probe = 1 if first_step is None else 0
    assert run.rhs_calls == attempt * (run.steps + run.rejected) + accepted * run.steps + once + probe
    assert run.rhs_calls == len(calls)
    assert len(run.t) == run.steps + 1
    # The lazy dense output is no work of the run.
    run.dense()
    assert run.rhs_calls < len(calls)


@pytest.mark.parametrize(("name", "calls"), [("tsit5", 6), ("dopri5", 6), ("dop853", 12), ("bs3", 3)])
def test_fixed_steps_of_named_methods(native, integrate, name, calls):
    run = integrate(native("orbit", 5), name, 0, 1, orbit_start(), step=0.1)
    assert (run.steps, run.rejected, run.rhs_calls) == (10, 0, 10 * calls)


@pytest.mark.parametrize("name", tableaux.FIXED)
def test_fixed_steps_of_any_tableau(native, integrate, name):
    stages = len(tableaux.FIXED[name][1])
    run = integrate(native("orbit", 5), tableaux.make(name), 0, 1, orbit_start(), step=0.1)
    assert (run.steps, run.rhs_calls) == (10, 10 * stages)


@pytest.mark.parametrize(
    ("span", "step", "count"), [(1.0, 0.1, 10), (0.3, 0.1, 3), (1.0, 1 / 3, 3), (1.05, 0.1, 11), (1e-3, 1.0, 1)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_fixed_steps_end_exactly_and_without_a_tiny_last_one(native, integrate, span, step, count, sign):
    run = integrate(native("oscillator", 2), tableaux.make("rk4"), 2, 2 + sign * span, [1, 0], step=step)
    assert run.steps == count
    assert run.t[-1] == run.stop_time == 2 + sign * span
    lengths = np.abs(np.diff(run.t))
    assert lengths[:-1] == pytest.approx(np.full(count - 1, step))
    assert abs(run.last_step) == pytest.approx(lengths[-1])


@pytest.mark.parametrize("method", ["tsit5", "dop853"])
def test_step_limit_is_exact_and_keeps_the_data(native, integrate, method):
    run = integrate(native("orbit", 5), method, 0, 100, orbit_start(), max_steps=17)
    assert (run.status, run.steps, len(run.t)) == ("step_limit", 17, 18)
    assert run.stop_time == run.t[-1] < 100
    assert run.x == pytest.approx(orbit_exact(run.t), abs=1e-3)


def test_step_limit_of_the_last_step_is_no_limit(native, integrate):
    steps = integrate(native("orbit", 5), "tsit5", 0, 5, orbit_start()).steps
    assert integrate(native("orbit", 5), "tsit5", 0, 5, orbit_start(), max_steps=steps).status == "finished"
    assert integrate(native("orbit", 5), "tsit5", 0, 5, orbit_start(), max_steps=steps - 1).status == "step_limit"


def test_longest_and_first_step(native, integrate):
    run = integrate(native("oscillator", 2), "dop853", 0, 10, [1, 0], max_step=0.125, first_step=0.01)
    lengths = np.diff(run.t)
    assert lengths[0] == pytest.approx(0.01)
    assert lengths.max() <= 0.125 * (1 + 1e-6)
    tiny = integrate(native("oscillator", 2), "tsit5", 1, 2, [1, 0], first_step=1e-300)
    assert tiny.status == "finished"
    stuck = integrate(native("oscillator", 2), "tsit5", 1, 2, [1, 0], max_step=1e-20)
    assert (stuck.status, stuck.steps, stuck.stop_time) == ("step_too_small", 0, 1)


def test_many_steps_outgrow_the_first_buffer(native, integrate):
    run = integrate(native("oscillator", 2), "tsit5", 0, 100, [1, 0], step=0.01)
    assert len(run.t) == 10001
    assert run.t == pytest.approx(np.linspace(0, 100, 10001), abs=1e-12)
    assert run.x[:, 0] == pytest.approx(np.cos(run.t), abs=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("method", ["bs3", "tsit5", "dopri5", "dop853"])
def test_samples_at_given_times_equal_the_dense_output(native, integrate, method, sign):
    times = sign * np.concatenate([[0, 0], np.sort(np.random.default_rng(1).uniform(0, 6, 50)), [6, 6]])
    options = {"rtol": 1e-7, "atol": 1e-9}
    plain = integrate(native("orbit", 5), method, 0, sign * 6, orbit_start(), **options)
    run = integrate(native("orbit", 5), method, 0, sign * 6, orbit_start(), save_at=times, **options)
    assert (run.steps, run.rejected) == (plain.steps, plain.rejected)
    assert (run.t == times).all()
    assert run.x == pytest.approx(_core.evaluate_dense(*plain.dense(), times), rel=1e-12, abs=1e-12)
    assert (run.x[-1] == plain.x[-1]).all()
    assert all((a == b).all() for a, b in zip(run.dense(), plain.dense(), strict=True))


def test_samples_cost_nothing_where_none_are(native, integrate):
    plain = integrate(native("orbit", 5), "dop853", 0, 6, orbit_start())
    inside = 0.5 * (plain.t[2] + plain.t[3])
    run = integrate(native("orbit", 5), "dop853", 0, 6, orbit_start(), save_at=[inside, 6.0])
    # One step needs three more stages; the slope at its end is the next step's first.
    assert run.rhs_calls == plain.rhs_calls + 3
    assert integrate(native("orbit", 5), "dop853", 0, 6, orbit_start(), save_at=plain.t).rhs_calls == plain.rhs_calls


def test_steps_need_not_be_kept(native, integrate):
    plain = integrate(native("orbit", 5), "tsit5", 0, 6, orbit_start())
    ends = integrate(native("orbit", 5), "tsit5", 0, 6, orbit_start(), keep_steps=False)
    assert ends.t.tolist() == [0, 6]
    assert (ends.x[-1] == plain.x[-1]).all()
    samples = integrate(native("orbit", 5), "tsit5", 0, 6, orbit_start(), keep_steps=False, save_at=[1.0, 2.0])
    assert samples.t.tolist() == [1, 2]
    for run in (ends, samples):
        with pytest.raises(ValueError, match="not kept"):
            run.dense()


def test_dense_output_is_one_chain(native, integrate):
    run = integrate(native("orbit", 5), "tsit5", 0, 6, orbit_start())
    starts, ends, coefficients = run.dense()
    assert (starts[1:] == ends[:-1]).all()
    # A step whose polynomial is not good enough is redone in parts: every step begins a piece and ends one.
    first, last = np.searchsorted(starts, run.t[:-1]), np.searchsorted(ends, run.t[1:])
    assert (starts[first] == run.t[:-1]).all()
    assert (ends[last] == run.t[1:]).all()
    assert coefficients.shape == (len(starts), 5, 5)
    assert (coefficients[first, 0] == run.x[:-1]).all()
    assert coefficients[last].sum(axis=1) == pytest.approx(run.x[1:], rel=1e-13, abs=1e-13)
    assert run.dense() is run.dense()
    for outside in (-0.1, 6.1, np.nan):
        with pytest.raises(ValueError, match="outside"):
            _core.evaluate_dense(starts, ends, coefficients, [outside])
    assert _core.evaluate_dense(starts, ends, coefficients, []).shape == (0, 5)


def test_no_span_and_no_states(native, integrate):
    run = integrate(native("orbit", 5), "tsit5", 3, 3, orbit_start())
    assert (run.status, run.steps, run.rhs_calls, run.t.tolist()) == ("finished", 0, 0, [3.0])
    assert _core.evaluate_dense(*run.dense(), [3.0])[0].tolist() == orbit_start().tolist()
    run = integrate(native("orbit", 5), "tsit5", 3, 3, orbit_start(), save_at=[3.0, 3.0])
    assert run.x.tolist() == [orbit_start().tolist()] * 2
    for method in ("tsit5", "dop853"):
        run = integrate(native("nothing", 0), method, 0, 5, [])
        assert (run.status, run.stop_time, run.x.shape) == ("finished", 5, (run.steps + 1, 0))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 13, 64])
def test_any_number_of_states(python, integrate, n):
    """Vectors are padded to full lanes inside: nothing of that may show."""
    rates = -np.linspace(0.1, 1, n)
    for method in ("tsit5", "dop853", tableaux.dopri5_pair()):
        run = integrate(python(lambda t, x, u, p: rates * x, n), method, 0, 2, np.ones(n), rtol=1e-9, atol=1e-12)
        assert run.x.shape == (run.steps + 1, n)
        assert run.x[-1] == pytest.approx(np.exp(2 * rates), rel=1e-7)
