"""The result of `solve_ivp` has SciPy's fields and shapes, and the continuous solution lies where it should."""

import inspect
import pickle

import numpy as np
import pytest
import scipy.integrate

from daedalus.scipy_calls.solve_ivp import solve_ivp

SCIPY_FIELDS = ["t", "y", "sol", "t_events", "y_events", "nfev", "njev", "nlu", "status", "message", "success"]


def oscillator(t, y):
    return [y[1], -y[0]]


def test_signature_is_scipys():
    ours, theirs = inspect.signature(solve_ivp), inspect.signature(scipy.integrate.solve_ivp)
    assert list(ours.parameters) == list(theirs.parameters)
    assert [p.default for p in ours.parameters.values()] == [p.default for p in theirs.parameters.values()]


def test_fields():
    found = solve_ivp(oscillator, (0, 3), [1, 0], dense_output=True, events=lambda t, y: y[0])
    assert list(found) == [*SCIPY_FIELDS, "traced", "reason", "method", "stop"]
    assert found.t.shape == (found.y.shape[1],)
    assert found["y"].shape[0] == 2
    assert (found.status, found.success, found.njev, found.nlu) == (0, True, 0, 0)
    assert found.message == "The solver successfully reached the end of the integration interval."
    assert (found.traced, found.reason, found.method) == (True, "traced", "dopri5")
    assert found.nfev > 0
    assert found.y_events[0].shape == (1, 2)
    assert found.t_events[0][0] == pytest.approx(np.pi / 2, abs=1e-3)


def test_absent_fields():
    found = solve_ivp(oscillator, (0, 3), [1, 0])
    assert found.sol is None
    assert found.t_events is None
    assert found.y_events is None
    with pytest.raises(AttributeError, match="no field 'x'; it has t, y, sol"):
        _ = found.x


def test_print_and_pickle():
    found = solve_ivp(oscillator, (0, 3), [1, 0], dense_output=True)
    lines = str(found).splitlines()
    assert lines[0].strip() == "message: The solver successfully reached the end of the integration interval."
    assert any(line.strip() == "method: 'dopri5'" for line in lines)
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.y, found.y)
    assert np.array_equal(again.sol(0.5), found.sol(0.5))
    found.note = "kept"
    assert found["note"] == "kept"
    assert "note" in dir(found)


def test_continuous_solution():
    ours = solve_ivp(oscillator, (0, 5), [1, 0], rtol=1e-9, atol=1e-11, dense_output=True)
    theirs = scipy.integrate.solve_ivp(oscillator, (0, 5), [1, 0], rtol=1e-9, atol=1e-11, dense_output=True)
    times = np.linspace(0, 5, 101)
    assert ours.sol(times).shape == (2, 101)
    assert ours.sol(0.3).shape == (2,)
    np.testing.assert_allclose(ours.sol(times), theirs.sol(times), atol=1e-7)
    np.testing.assert_allclose(ours.sol(ours.t), ours.y, atol=1e-12)
    assert (ours.sol.t_min, ours.sol.t_max) == (0.0, 5.0)
    # Beyond the ends the last polynomial goes on, as in SciPy.
    np.testing.assert_allclose(ours.sol([-0.01, 5.01]), [np.cos([-0.01, 5.01]), -np.sin([-0.01, 5.01])], atol=1e-5)
    with pytest.raises(ValueError, match="1-D"):
        ours.sol([[0.0]])


def test_backwards():
    found = solve_ivp(oscillator, (3, -1), [np.cos(3), -np.sin(3)], rtol=1e-9, atol=1e-11, dense_output=True)
    assert found.t[0] == 3
    assert found.t[-1] == -1
    assert np.all(np.diff(found.t) < 0)
    times = np.linspace(-1, 3, 17)
    np.testing.assert_allclose(found.sol(times), [np.cos(times), -np.sin(times)], atol=1e-7)
    some = solve_ivp(oscillator, (3, -1), [np.cos(3), -np.sin(3)], rtol=1e-9, t_eval=[2.5, 0.0], atol=1e-11)
    np.testing.assert_allclose(some.y[0], np.cos([2.5, 0.0]), atol=1e-7)


def test_span_without_length():
    ours = solve_ivp(oscillator, (2, 2), [1, 0], dense_output=True, events=lambda t, y: y[1])
    theirs = scipy.integrate.solve_ivp(oscillator, (2, 2), [1, 0], dense_output=True, events=lambda t, y: y[1])
    assert np.array_equal(ours.t, theirs.t)
    assert np.array_equal(ours.y, theirs.y)
    assert np.array_equal(ours.t_events, theirs.t_events)
    assert ours.status == theirs.status
    assert np.array_equal(ours.sol(2.0), [1.0, 0.0])
    assert solve_ivp(oscillator, (2, 2), [1, 0], t_eval=[2]).y.shape == (2, 1)


def test_t_eval_is_returned_as_given():
    for times in ([], [0.0], [0.5, 1.0], [0.0, 1.0]):
        found = solve_ivp(oscillator, (0, 1), [1, 0], t_eval=times)
        assert np.array_equal(found.t, times)
        assert found.y.shape == (2, len(times))


def test_whole_numbers_as_start():
    assert solve_ivp(lambda t, y: -y / 2, (0, 1), [1]).y[0, -1] == pytest.approx(np.exp(-0.5), rel=1e-3)
