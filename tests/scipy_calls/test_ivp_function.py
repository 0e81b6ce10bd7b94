"""Repeated calls reuse the formula, and a formula is never used after what it was made from has changed."""

import threading

import numpy as np
import pytest
import right_hand_sides
import scipy.integrate
from right_hand_sides import with_args

from daedalus.compilation import counts
from daedalus.scipy_calls import ivp_function
from daedalus.scipy_calls.solve_ivp import solve_ivp


def test_new_starts_and_arguments_neither_trace_nor_compile():
    solve_ivp(with_args, (0, 1), [10.0, 5.0], args=(1.5, 1, 3, 1))
    traces, compiled = ivp_function.traces_made, counts()
    for k in range(1, 6):
        found = solve_ivp(with_args, (0, 1 + k), [10.0 / k, 5.0], args=(1.5 + k, 1 + k, 3, 1 / k), rtol=1e-8)
        theirs = scipy.integrate.solve_ivp(
            with_args, (0, 1 + k), [10.0 / k, 5.0], args=(1.5 + k, 1 + k, 3, 1 / k), rtol=1e-8
        )
        # Forwards and tight: both have a global error well above their tolerance.
        np.testing.assert_allclose(found.y[:, -1], theirs.y[:, -1], rtol=1e-3, atol=1e-4)
    assert ivp_function.traces_made == traces
    assert counts() == compiled


def test_a_lambda_in_a_loop_is_traced_once():
    before = ivp_function.traces_made
    for k in range(5):
        assert solve_ivp(lambda t, y: [y[1], -2.5 * y[0]], (0, 1), [1.0 + k, 0.0]).traced
    assert ivp_function.traces_made == before + 1


def test_a_changed_closure_is_seen_even_where_it_acts_late():
    gain = {"k": 1.0}

    def late(t, y):
        return -y + np.where(t > 0.5, gain["k"], 0.0)

    def exact(k):
        return np.exp(-1.0) + k * (1 - np.exp(-0.5))

    for k in (1.0, 3.0):
        gain["k"] = k
        assert solve_ivp(late, (0, 1), [1.0], rtol=1e-8, max_step=0.01).y[0, -1] == pytest.approx(exact(k), abs=1e-4)


def test_callbacks_are_remembered_too():
    solve_ivp(right_hand_sides.index_by_value, (0, 1), [1.0])
    before = ivp_function.traces_made
    solve_ivp(right_hand_sides.index_by_value, (0, 1), [2.0])
    assert ivp_function.traces_made == before


def test_arrays_as_arguments_are_parameters():
    def linear(t, y, matrix):
        return matrix @ y

    solve_ivp(linear, (0, 1), [1.0, 0.0], args=(np.eye(2),))
    before = ivp_function.traces_made
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    found = solve_ivp(linear, (0, 1), [1.0, 0.0], args=(turn,), rtol=1e-8)
    assert ivp_function.traces_made == before
    assert found.y[0, -1] == pytest.approx(np.cos(1.0), abs=1e-6)


def test_whole_numbers_that_count_are_baked_in():
    def chain(t, y, n):
        return -sum(y[0] for _ in range(n)) * np.ones(1)

    for n in (1, 3):
        found = solve_ivp(chain, (0, 1), [1.0], args=(n,), rtol=1e-8)
        assert found.traced
        assert found.y[0, -1] == pytest.approx(np.exp(-n), rel=1e-5)


def test_threads():
    results = {}

    def work(k):
        found = solve_ivp(with_args, (0, 5), [10.0, 5.0], args=(1.5, 1.0, 3.0, 1.0 / k), rtol=1e-8)
        results[k] = found.y[0, -1]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 7)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for k, value in results.items():
        found = solve_ivp(with_args, (0, 5), [10.0, 5.0], args=(1.5, 1.0, 3.0, 1.0 / k), rtol=1e-8)
        assert value == found.y[0, -1]


def test_very_large_systems_are_called():
    found = solve_ivp(lambda t, y: -y, (0, 0.1), np.ones(3001))
    assert not found.traced
    assert "more than 3000 unknowns" in found.reason
    assert found.y[-1, -1] == pytest.approx(np.exp(-0.1), rel=1e-3)
