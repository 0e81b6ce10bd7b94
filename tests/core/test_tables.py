"""Tabulated inputs: exact across every breakpoint, in both directions."""

import numpy as np
import pytest
import tableaux
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus import _core

METHODS = ["bs3", "tsit5", "dopri5", "dop853"]


def exact(t):
    """Of x' = (u0, u1 t, u2) with the tables below, by hand."""
    hold = np.interp(t, [-1, 1, 2.5, 4], [-1, 1, -2, 2.5])
    time = 2 * np.minimum(t, 2) ** 2 + 2.5 * np.maximum(t**2 - 4, 0)
    early, late = np.clip(t, 0, 1), np.clip(t, 1, 3) - 1
    slope = early**2 + 2 * late - 0.75 * late**2 - np.maximum(t - 3, 0)
    return np.stack([hold, time, slope], axis=-1)


def tables():
    return [
        _core.Table([0, 1, 2.5], np.array([[1], [-2], [3]]), [0], False),
        _core.Table([0.5, 2], np.array([[4], [5]]), [1], False),
        _core.Table([0, 1, 3], np.array([[0], [2], [-1]]), [2], True),
    ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("span", [(0, 4), (4, 0), (0.3, 2.7), (3.5, 0.1)])
def test_piecewise_polynomials_are_exact(native, integrate, method, span):
    start = exact(np.array(float(span[0])))
    run = integrate(native("driven", 3, 3), method, *span, start, u=[0, 0, 0], tables=tables())
    assert run.status == "finished"
    assert run.x == pytest.approx(exact(run.t), abs=3e-14)
    for stop in (0.5, 1, 2, 2.5, 3):
        assert (min(span) < stop < max(span)) == (stop in run.t)
    times = np.linspace(*span, 101)
    assert _core.evaluate_dense(*run.dense(), times) == pytest.approx(exact(times), abs=1e-13)
    saved = integrate(native("driven", 3, 3), method, *span, start, u=[0, 0, 0], tables=tables(), save_at=times)
    assert saved.x == pytest.approx(exact(times), abs=1e-13)


def test_fixed_steps_restart_at_breakpoints(native, integrate):
    method = tableaux.make("rk4")
    run = integrate(native("driven", 3, 3), method, 0, 4, exact(np.array(0.0)), u=[0, 0, 0], tables=tables(), step=0.4)
    assert run.x == pytest.approx(exact(run.t), abs=1e-13)
    assert {0.5, 1, 2, 2.5, 3} <= set(run.t.tolist())


def test_every_restart_costs_one_evaluation(native, integrate):
    plain = integrate(native("driven", 3, 3), "tsit5", 0, 4, np.zeros(3), u=[1, 1, 1], first_step=1.0, max_step=1.0)
    assert plain.rhs_calls == 6 * plain.steps + 1
    run = integrate(native("driven", 3, 3), "tsit5", 0, 4, np.zeros(3), u=[0, 0, 0], tables=tables(), first_step=1.0)
    assert run.rhs_calls == 6 * (run.steps + run.rejected) + 1 + 5


def test_the_arrays_of_the_caller_stay_as_they_are(native):
    u = np.zeros(3)
    _core.integrate(native("driven", 3, 3), "tsit5", 0.0, 4.0, np.zeros(3), u, np.zeros(0), tables=tables())
    assert u.tolist() == [0, 0, 0]


def test_breakpoints_that_differ_by_rounding_are_one(native, integrate):
    pair = [
        _core.Table([0, 0.3], np.array([[1], [2]]), [0]),
        _core.Table([0, 0.1 * 3], np.array([[1], [2]]), [1]),
    ]
    run = integrate(native("driven", 3, 3), "tsit5", 0, 1, np.zeros(3), u=[0, 0, 0], tables=pair)
    assert run.status == "finished"
    assert np.diff(run.t).min() > 1e-9
    assert run.x[-1, 0] == pytest.approx(0.3 + 2 * 0.7, abs=1e-14)


def test_a_jump_in_a_linear_table(native, integrate):
    table = _core.Table([0, 1, 1, 2], np.array([[0], [1], [5], [5]]), [0], True)
    run = integrate(native("driven", 3, 3), "dopri5", 0, 2, np.zeros(3), u=[0, 0, 0], tables=[table])
    assert run.x[-1, 0] == pytest.approx(0.5 + 5, abs=1e-14)


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_any_hold_table_is_integrated_exactly(data):
    times = np.unique(data.draw(st.lists(st.floats(0, 10), min_size=1, max_size=12)))
    values = np.array(data.draw(st.lists(st.floats(-3, 3), min_size=len(times), max_size=len(times))))
    rhs = _core.Function("u", [1, 1, 1, 0], [1])
    rhs.set_python(lambda t, x, u, p: u)
    table = _core.Table(times, values[:, None], [0])
    run = _core.integrate(rhs, "bs3", 0.0, 10.0, np.zeros(1), np.zeros(1), np.zeros(0), tables=[table])
    edges = np.clip(np.concatenate([[0.0], times[1:], [10.0]]), 0, 10)
    assert run.status == "finished"
    assert run.x[-1, 0] == pytest.approx(values @ np.diff(edges), abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], np.zeros((0, 1)), [0]), "at least one time"),
        (([0, 1], np.zeros((3, 1)), [0]), "shape"),
        (([1, 0], np.zeros((2, 1)), [0]), "not decrease"),
        (([0, np.nan], np.zeros((2, 1)), [0]), "finite"),
        (([0], np.zeros((1, 1)), [-1]), "negative"),
    ],
)
def test_refused_tables(arguments, words):
    with pytest.raises(ValueError, match=words):
        _core.Table(*arguments)


def test_a_slot_beyond_the_inputs_is_refused(native, integrate):
    with pytest.raises(ValueError, match="slot"):
        integrate(
            native("driven", 3, 3), "tsit5", 0, 1, np.zeros(3), u=[0, 0, 0], tables=[_core.Table([0], [[1]], [3])]
        )
