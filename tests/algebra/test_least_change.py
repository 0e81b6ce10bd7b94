"""The nearest solution in a norm, dense and sparse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.algebra.least_change import Scaled, by_sparse_steps, least_change


def linear(matrix, right):
    return lambda v: (matrix @ v - right, matrix, np.ones(len(right)))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_linear_equations_are_solved_as_the_formula_says(seed):
    draw = np.random.default_rng(seed)
    m, n = 3, 6
    matrix, right, guess = draw.standard_normal((m, n)), draw.standard_normal(m), draw.standard_normal(n)
    factor = np.tril(draw.standard_normal((n, n))) + 3 * np.eye(n)
    mass = factor @ factor.T
    spread = np.linalg.inv(factor).T
    found = least_change(linear(matrix, right), guess, spread)
    # min (v-g)ᵀ M (v-g) with A v = b.
    inverse = np.linalg.inv(mass)
    change = inverse @ matrix.T @ np.linalg.solve(matrix @ inverse @ matrix.T, right - matrix @ guess)
    assert found.solved
    np.testing.assert_allclose(found.values, guess + change, atol=1e-7)


def test_the_nearest_point_of_an_ellipse_not_only_some_point():
    def ellipse(v):
        return np.array([v[0] ** 2 / 9 + v[1] ** 2 - 1]), np.array([[2 * v[0] / 9, 2 * v[1]]]), np.ones(1)

    guess = np.array([2.0, 2.0])
    found = least_change(ellipse, guess, np.ones(2))
    angle = np.linspace(0, np.pi / 2, 200001)
    points = np.array([3 * np.cos(angle), np.sin(angle)]).T
    best = points[np.argmin(np.linalg.norm(points - guess, axis=1))]
    np.testing.assert_allclose(found.values, best, atol=1e-4)
    # The change is orthogonal to the curve.
    normal = np.array([2 * found.values[0] / 9, 2 * found.values[1]])
    change = found.values - guess
    assert abs(normal[0] * change[1] - normal[1] * change[0]) < 1e-7


def test_sparse_and_dense_corrections_agree():
    from scipy.sparse import csc_matrix

    draw = np.random.default_rng(7)
    matrix, right = draw.standard_normal((4, 9)), draw.standard_normal(4)
    sizes = draw.uniform(0.5, 2.0, 9)

    def sparse(v):
        return matrix @ v - right, csc_matrix(matrix), np.ones(4)

    one = least_change(linear(matrix, right), np.ones(9), sizes)
    two = by_sparse_steps(Scaled(sparse, np.ones(9), sizes))
    assert two.solved
    np.testing.assert_allclose(two.values, one.values, atol=1e-9)


def test_equations_without_unknowns():
    found = least_change(lambda v: (np.array([0.3]), np.zeros((1, 0)), np.ones(1)), np.zeros(0), np.zeros(0))
    assert not found.solved
    assert found.worst == pytest.approx(0.3)
