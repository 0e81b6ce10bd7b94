"""The choice of columns: dominant, near the one before, and none where the rows have no full rank."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.reduction.selection.dominant_columns import dominant_columns, partners, worst_rate


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 5), st.integers(0, 5), st.integers(0, 10**6))
def test_no_other_column_counts_more(count, more, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(count, count + more))
    chosen = dominant_columns(matrix)
    assert worst_rate(matrix, chosen) <= 1 + 1e-5
    # A single exchange does not enlarge the determinant; the best of all is larger by a bounded factor at most.
    volume = abs(np.linalg.det(matrix[:, chosen]))
    best = max(abs(np.linalg.det(matrix[:, list(c)])) for c in combinations(range(count + more), count))
    assert best <= (1 + 1e-4) * np.sqrt(count + 1) ** count * volume
    for i, j in ((i, j) for i in range(count) for j in range(count + more) if j not in chosen):
        other = list(chosen)
        other[i] = j
        assert abs(np.linalg.det(matrix[:, other])) <= (1 + 1e-4) * volume
    # Units of the constraints do not matter.
    assert dominant_columns(10.0 ** rng.uniform(-5, 5, (count, 1)) * matrix, chosen) == chosen


def test_as_few_as_possible_change():
    matrix = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 3.0]])
    assert dominant_columns(matrix, [1, 2]) == [1, 3]
    assert dominant_columns(matrix, [0, 2]) == [0, 3]


def test_dependent_rows_have_no_choice():
    assert dominant_columns(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])) is None
    assert dominant_columns(np.array([[0.0, 0.0]])) is None
    assert dominant_columns(np.array([[np.nan, 1.0]])) is None
    assert worst_rate(np.array([[0.0, 1.0]]), [0]) == np.inf


def test_each_row_has_a_partner_of_its_own():
    matrix = np.array([[1.0, 5.0, 0.0], [2.0, 1.0, 0.0]])
    assert partners(matrix, [0, 1], matrix != 0) == [1, 0]
    allowed = np.array([[True, False, False], [True, True, False]])
    assert partners(matrix, [0, 1], allowed) == [0, 1]
    assert worst_rate(matrix, [0, 1]) == pytest.approx(0.0)
