import numpy as np
import pytest

from daedalus.analysis.linear.responses.radau_propagation import NODES, WEIGHTS, Slopes, propagate, stage_times


def test_coefficients_are_collocation_at_the_radau_points():
    # Σ_j a_ij c_j^(k-1) = c_i^k / k for k = 1, 2, 3, and quadrature of order 5.
    for k in (1, 2, 3):
        np.testing.assert_allclose(WEIGHTS @ NODES ** (k - 1), NODES**k / k, atol=1e-15)
    for k in range(1, 6):
        assert WEIGHTS[2] @ NODES ** (k - 1) == pytest.approx(1 / k, abs=1e-15)


def oscillating(t: np.ndarray) -> Slopes:
    """x' = cos t x + z, 0 = z - sin t x - 1, thus x' = (cos t + sin t) x + 1."""
    E, A = np.zeros((len(t), 2, 1)), np.zeros((len(t), 2, 2))
    E[:, 0, 0] = 1.0
    A[:, 0, 0], A[:, 0, 1] = np.cos(t), 1.0
    A[:, 1, 0], A[:, 1, 1] = -np.sin(t), 1.0
    return Slopes(E, A, np.tile([0.0, -1.0], (len(t), 1)))


def test_order_five():
    from scipy.integrate import quad

    # x = exp(g(t)) (1 + ∫ exp(-g)) with g = sin t - cos t + 1.
    def g(t: float) -> float:
        return np.sin(t) - np.cos(t) + 1

    x = np.exp(g(2.0)) * (1 + quad(lambda t: np.exp(-g(t)), 0, 2, epsabs=1e-14)[0])
    errors = []
    for steps in (8, 16, 32):
        w = propagate(oscillating, np.linspace(0, 2, steps + 1), np.ones(1))[-1]
        errors.append(abs(w[0] - x))
        assert w[1] == pytest.approx(np.sin(2.0) * w[0] + 1, rel=1e-12)
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(slopes - 5) < 0.2), slopes


def test_last_stage_lies_before_the_knot():
    times = stage_times(np.array([0.0, 1.0, 3.0]))
    assert times.shape == (2, 3)
    assert times[0, 2] < 1.0
    assert times[0, 2] == pytest.approx(1.0)
    back = stage_times(np.array([1.0, 0.0]))
    assert back[0, 2] > 0.0


def test_long_runs_are_cut_into_batches(monkeypatch):
    whole = propagate(oscillating, np.linspace(0, 2, 51), np.ones(1))
    monkeypatch.setattr("daedalus.algebra.batches.NUMBERS_AT_A_TIME", 200)
    np.testing.assert_array_equal(propagate(oscillating, np.linspace(0, 2, 51), np.ones(1)), whole)
