"""The matrix of a motion on a mesh: solutions and signs against those of the full matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rings import examples

from daedalus._core import interval_factors
from daedalus.studies import interval_matrix
from daedalus.studies.interval_matrix import IntervalMatrix


def random_matrix(N: int, n: int, inner: int, k: int, seed: int, growth: float = 1.0) -> IntervalMatrix:
    rng = np.random.default_rng(seed)
    block = rng.normal(size=(N, inner + n, 2 * n + inner))
    block[:, :inner, n : n + inner] += 3 * np.eye(inner)
    block[:, inner:, :n] *= growth
    block[:, inner:, n + inner :] = -np.eye(n)
    block[:, :inner, n + inner :] = 0.0
    return IntervalMatrix(
        block, rng.normal(size=(N, inner + n, k)), rng.normal(size=(n + k, N * (n + inner) + n + k)), inner
    )


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 7), st.integers(1, 4), st.integers(0, 6), st.integers(0, 3), st.integers(0, 10**6), st.booleans())
def test_solutions_are_those_of_the_full_matrix(N, n, inner, k, seed, wide):
    matrix = random_matrix(N, n, inner, k, seed)
    right = np.random.default_rng(seed + 1).normal(size=matrix.shape[0])
    sizes = 10.0 ** np.random.default_rng(seed + 2).uniform(-3, 3, matrix.shape[1])
    full = matrix.toarray()
    before = interval_matrix.WIDE
    interval_matrix.WIDE = -1 if wide and inner else before
    try:
        factors, condition = matrix.factors(sizes)
    finally:
        interval_matrix.WIDE = before
    found, expected = factors.solve(right), np.linalg.solve(full, right)
    assert np.allclose(found, expected, rtol=1e-7, atol=1e-9 * np.linalg.cond(full))
    assert condition < np.inf


@pytest.mark.parametrize("growth", [1e-8, 1.0, 1e8])
def test_motions_that_part_fast_do_no_harm(growth):
    matrix = random_matrix(12, 3, 4, 1, 5, growth)
    truth = np.random.default_rng(6).normal(size=matrix.shape[1])
    right = matrix.toarray() @ truth
    found = matrix.factors(np.ones(len(truth)))[0].solve(right)
    # The residual counts in the sizes of the rows, whatever the condition is.
    rows = np.abs(matrix.toarray()) @ np.abs(found) + np.abs(right)
    assert np.max(np.abs(matrix.toarray() @ found - right) / rows) < 1e-12


def test_the_sign_changes_with_the_determinant():
    matrix = random_matrix(4, 2, 3, 1, 1)
    row, signs = matrix.ends[-1].copy(), []
    short = IntervalMatrix(matrix.block, matrix.tail, matrix.ends[:-1], matrix.inner)
    for turned in (row, -row, row[::-1].copy()):
        matrix.ends[-1] = turned
        found = short.bordered(turned)
        assert found is not None
        signs.append(found.sign * np.linalg.slogdet(matrix.toarray())[0])
    assert len(set(signs)) == 1


def test_a_singular_matrix_has_no_factors_or_a_large_condition():
    matrix = random_matrix(3, 2, 3, 1, 2)
    matrix.ends[1] = matrix.ends[0]
    assert matrix.factors(np.ones(matrix.shape[1]))[1] > 1e12


def test_parts_that_do_not_belong_together_are_refused():
    matrix = random_matrix(3, 2, 3, 1, 2)
    with pytest.raises(ValueError, match="belong together"):
        interval_factors(matrix.block, matrix.tail, matrix.ends[:, :-1].copy(), np.ones(matrix.shape[1]), 3)
