"""Null vectors of sparse matrices against singular values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

from daedalus.analysis.structure.dependence.null_vectors import independent_components, moved, null_vectors


@given(st.integers(0, 3), st.integers(4, 30), st.integers(0, 10**6))
def test_without_the_chosen_rows_and_columns_a_matrix_is_regular(missing, size, seed):
    draw = np.random.default_rng(seed)
    left, right = (np.linalg.qr(draw.standard_normal((size, size)))[0] for _ in range(2))
    matrix = (left * np.where(np.arange(size) < missing, 0.0, draw.uniform(0.1, 1.0, size))) @ right
    found = null_vectors(csc_matrix(matrix))
    assert found.count == missing
    assert np.abs(found.left.T @ matrix).max(initial=0.0) < 1e-6
    assert np.abs(matrix @ found.right).max(initial=0.0) < 1e-6
    rows = independent_components(found.left, np.zeros(size))
    columns = independent_components(found.right, np.zeros(size))
    rest = np.delete(np.delete(matrix, rows, axis=0), columns, axis=1)
    assert rest.shape == (size - missing, size - missing)
    assert np.linalg.matrix_rank(rest, tol=1e-12) == size - missing


def test_cheap_components_come_first_and_the_last_of_equals():
    vectors = np.array([[0.6, 0.0], [0.6, 0.0], [0.5, 0.1], [0.0, 0.7], [0.0, 0.7]])
    assert independent_components(vectors, np.zeros(5)).tolist() == [1, 4]
    assert independent_components(vectors, np.array([1, 1, 0, 1, 0])).tolist() == [2, 4]
    # What is nearly zero is not taken, however cheap.
    assert independent_components(np.array([[1e-9], [1.0]]), np.array([0, 1])).tolist() == [1]


def test_components_that_take_part():
    assert moved(np.array([[0.5], [1e-9], [-0.5]])).tolist() == [0, 2]
