"""The symbolic solve by orthogonal factors: right on random systems, and accurate on badly scaled saddle points."""

import casadi as ca
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daedalus.reduction.forms.orthogonal_solve import power_of_two_scales, solve_orthogonal


def evaluated(matrix, right, scaled=True):
    """The solution at numbers, through a formula that does not know them."""
    n = len(right)
    a, b = ca.SX.sym("a", n, n), ca.SX.sym("b", n)
    formula = ca.Function("solve", [a, b], [solve_orthogonal(a, b, matrix if scaled else None)])
    return formula(matrix, right).full().ravel()


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_random_systems_against_numpy(n, seed):
    rng = np.random.default_rng(seed)
    matrix, right = rng.normal(size=(n, n)), rng.normal(size=n)
    bound = 1e-13 * np.linalg.cond(matrix) * np.linalg.norm(np.linalg.solve(matrix, right))
    assert np.abs(evaluated(matrix, right) - np.linalg.solve(matrix, right)).max() <= bound + 1e-14


def saddle(mass, constraints):
    m = len(constraints)
    return np.block([[np.diag(mass), -constraints.T], [constraints, np.zeros((m, m))]])


def test_a_badly_scaled_saddle_point_keeps_its_digits():
    """Masses over six orders of magnitude beside a constraint: scaled, all but the last digits are right."""
    rng = np.random.default_rng(5)
    matrix = saddle(10.0 ** np.linspace(-6, 0, 7), rng.normal(size=(3, 7)))
    exact = rng.integers(-5, 6, size=10).astype(float)
    right = (matrix.astype(np.longdouble) @ exact.astype(np.longdouble)).astype(float)
    error = np.abs(evaluated(matrix, right) - exact).max()
    assert error < 1e-9
    assert error <= np.abs(evaluated(matrix, right, scaled=False) - exact).max()


def test_zeros_stay_zeros():
    """A triangular matrix costs no more than its entries ask for."""
    a, b = ca.SX.sym("a", 6), ca.SX.sym("b", 6)
    diagonal = ca.Function("d", [a, b], [solve_orthogonal(ca.diag(a), b)])
    assert diagonal.n_instructions() < 6 * 12
    np.testing.assert_allclose(diagonal(np.arange(1, 7), np.ones(6)).full().ravel(), 1 / np.arange(1, 7))


def test_scales_are_powers_of_two_and_survive_zeros_and_nan():
    rows, columns = power_of_two_scales(np.array([[1e-6, 0.0], [3.0, 1e5]]))
    assert np.all(np.log2(rows) == np.round(np.log2(rows)))
    scaled = rows[:, None] * np.array([[1e-6, 0.0], [3.0, 1e5]]) * columns
    assert scaled.max(axis=1).min() > 0.2
    assert scaled.max() < 4
    rows, columns = power_of_two_scales(np.array([[np.nan, 1.0], [1.0, 1.0]]))
    assert rows.tolist() == columns.tolist() == [1.0, 1.0]
