import numpy as np
import pytest
from hypothesis import given
from random_systems import random_system, shapes
from scipy.integrate import quad_vec
from scipy.linalg import expm

from daedalus.analysis.linear.responses.matrix_exponential import exact_step
from daedalus.errors import SolverError


@given(shapes)
def test_blocks_are_the_integrals_of_the_closed_form(shape):
    """Γₖ = ∫₀ʰ exp(A (h - s)) B (s/h)ᵏ ds, by quadrature."""
    system, rng = random_system(shape)
    h = float(rng.uniform(0.05, 2.0))
    step, forced = exact_step(system.A, system.B, h, 3)
    assert np.allclose(step, expm(h * system.A), rtol=1e-12, atol=1e-13)
    for k in range(4):
        expected, _ = quad_vec(lambda s, k=k: expm(system.A * (h - s)) @ system.B * (s / h) ** k, 0, h, epsrel=1e-12)
        assert np.allclose(forced[k], expected, rtol=1e-10, atol=1e-11)


def test_more_inputs_than_states():
    B = np.arange(1.0, 6.0)[None, :]
    _, forced = exact_step(np.array([[-2.0]]), B, 0.3, 1)
    one = exact_step(np.array([[-2.0]]), np.ones((1, 1)), 0.3, 1)[1]
    assert np.allclose(forced, one * B, rtol=1e-14)


def test_a_large_input_matrix_costs_no_accuracy():
    A = np.array([[0.0, 1.0], [-4.0, 0.0]])
    step, forced = exact_step(A, np.array([[0.0], [1e12]]), 0.7, 1)
    c, s = np.cos(1.4), np.sin(1.4)
    assert np.allclose(step, [[c, s / 2], [-2 * s, c]], rtol=1e-14, atol=1e-15)
    assert np.allclose(forced[0][:, 0], [1e12 * (1 - c) / 4, 1e12 * s / 2], rtol=1e-13)


def test_stiff_poles_settle_in_one_step():
    step, forced = exact_step(np.diag([-1e7, -1.0]), np.ones((2, 1)), 10.0, 0)
    assert np.allclose(forced[0][:, 0], [1e-7, 1 - np.exp(-10.0)], rtol=1e-12)
    assert step[0, 0] == 0.0


def test_overflow_is_named():
    with pytest.raises(SolverError) as caught:
        exact_step(np.array([[50.0]]), np.ones((1, 1)), 1000.0, 0)
    assert str(caught.value).splitlines() == [
        "The response grows beyond the largest number.",
        "  pole 50 over an interval of 1000",
        "  Because exp(A t) overflows.",
        "  Try: times closer together and a shorter span, or a stable system",
    ]
