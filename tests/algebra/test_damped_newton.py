import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix, diags

from daedalus.algebra.damped_newton import damped_newton


def affine(matrix: np.ndarray, right: np.ndarray):
    return lambda v: (matrix @ v - right, matrix, np.abs(matrix).max(axis=1))


@given(seed=st.integers(0, 10**6), m=st.integers(1, 7), n=st.integers(1, 7))
def test_linear_equations_give_the_nearest_solution(seed, m, n):
    draw = np.random.default_rng(seed)
    matrix = draw.standard_normal((m, n))
    solution, guess = draw.standard_normal(n), draw.standard_normal(n)
    root = damped_newton(affine(matrix, matrix @ solution), guess, np.full(n, 10.0))
    # The nearest one to the guess among all solutions: the pseudo-inverse takes the shortest way.
    nearest = guess + np.linalg.pinv(matrix) @ (matrix @ (solution - guess))
    np.testing.assert_allclose(root.values, nearest, atol=1e-8 * np.linalg.cond(matrix))
    assert root.solved
    assert root.null.shape == (n, max(0, n - m))


@given(seed=st.integers(0, 10**6), row=st.floats(1e-6, 1e6), column=st.floats(1e-3, 1e3))
def test_scaling_equations_and_unknowns_changes_nothing(seed, row, column):
    draw = np.random.default_rng(seed)
    shift = draw.standard_normal(2)

    def equations(v):
        x, y = v - shift
        return np.array([np.exp(x) + y - 1, x - np.arctan(y)]), np.array([[np.exp(x), 1.0], [1.0, -1 / (1 + y**2)]])

    def plain(v):
        return *equations(v), np.ones(2)

    def scaled(v):
        rows, columns = np.array([row, 1.0]), np.array([1.0, column])
        residual, jacobian = equations(v * columns)
        return residual * rows, jacobian * rows[:, None] * columns, rows

    first = damped_newton(plain, np.array([2.0, -1.0]), np.ones(2))
    second = damped_newton(scaled, np.array([2.0, -1.0 / column]), np.array([1.0, 1.0 / column]))
    assert first.iterations == second.iterations
    np.testing.assert_allclose(second.values * [1.0, column], first.values, atol=1e-9)


def test_sparse_and_full_matrices_agree():
    n = 150
    draw = np.random.default_rng(3)
    target = draw.standard_normal(n)

    def full(v):
        gap = v - target
        jacobian = np.diag(2 + 3 * gap**2) - np.eye(n, k=1) - np.eye(n, k=-1)
        residual = 2 * gap + gap**3
        residual[:-1] -= gap[1:]
        residual[1:] -= gap[:-1]
        return residual, jacobian, np.abs(jacobian).max(axis=1)

    def sparse(v):
        residual, jacobian, scale = full(v)
        return residual, csc_matrix(jacobian), scale

    one, two = (damped_newton(f, np.zeros(n), np.ones(n)) for f in (full, sparse))
    np.testing.assert_allclose(one.values, target, atol=1e-9)
    np.testing.assert_allclose(two.values, target, atol=1e-9)
    assert one.iterations == two.iterations


def test_singular_sparse_matrix_is_recognised():
    n = 150
    # A ring of springs: only the mean is free.
    ring = diags([2.0, -1.0, -1.0, -1.0, -1.0], [0, 1, -1, n - 1, 1 - n], shape=(n, n)).tocsc()
    load = np.zeros(n)
    load[0], load[70] = 1.0, -1.0
    guess = np.full(n, 5.0)
    root = damped_newton(lambda v: (ring @ v - load, ring, np.full(n, 2.0)), guess, np.ones(n))
    assert root.solved
    assert root.null.shape == (n, 1)
    np.testing.assert_allclose(root.values.mean(), 5.0, rtol=1e-9)
    assert len(root.loose()) == n


def test_inconsistent_equations_end_at_the_smallest_residual():
    matrix = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    root = damped_newton(affine(matrix, np.array([0.0, 1.0, 3.0])), np.zeros(2), np.ones(2))
    assert root.converged
    assert not root.solved
    np.testing.assert_allclose(root.values, [0.5, 3.0], atol=1e-12)


def test_equation_of_rounding_errors_is_left_alone():
    def equations(v):
        return np.array([v[0] - 1.0, 0.3 + 1e-17 * v[0]]), np.array([[1.0], [1e-17]]), np.ones(2)

    root = damped_newton(equations, np.zeros(1), np.ones(1))
    assert root.insensitive == {1}
    assert root.values[0] == 1.0
    assert not root.solved


def test_not_a_number_at_the_guess():
    root = damped_newton(lambda v: (v * np.nan, np.eye(1), np.ones(1)), np.array([-1.0]), np.ones(1))
    assert not root.converged
    assert root.iterations == 0


def test_a_linear_equation_is_solved_however_far_its_root_is():
    """1e-9 F of capacitance make 1e9 V/s: the first step goes far beyond the usual size of one."""
    root = damped_newton(lambda v: (1e-9 * v + 1.8, np.array([[1e-9]]), np.ones(1)), np.zeros(1), np.ones(1))
    assert root.solved
    np.testing.assert_allclose(root.values, -1.8e9, rtol=1e-14)
