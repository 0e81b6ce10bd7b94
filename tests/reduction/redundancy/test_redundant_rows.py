"""Independent rows: the right number of them, with small shares; the smallest multipliers against least squares."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.reduction.redundancy.independent_constraints import group_forms, smallest_multipliers
from daedalus.reduction.redundancy.redundant_rows import (
    IndependentRows,
    are_independent,
    chosen_rows,
    grouped,
    rank_of_rows,
    scaled,
)


def dependent_rows(seed, rows, columns, rank):
    draw = np.random.default_rng(seed)
    return draw.standard_normal((rows, rank)) @ draw.standard_normal((rank, columns))


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 5))
@settings(max_examples=examples(40), deadline=None)
def test_the_rest_follow_from_the_chosen_rows(seed, rows, rank):
    matrix = scaled(dependent_rows(seed, rows, rank + 2, rank))
    rank = min(rank, rows)
    assert rank_of_rows(matrix) == rank
    independent, dependent, shares = chosen_rows(matrix, rank)
    assert sorted([*independent, *dependent]) == list(range(rows))
    assert shares @ matrix[independent] == pytest.approx(matrix[dependent], abs=1e-10)
    assert np.abs(shares).max(initial=0.0) <= 1.5 + 1e-9


@pytest.mark.parametrize(
    ("values", "rank"),
    [([1.0, 0.5, 1e-9], 2), ([1.0, 1e-5, 1e-12], 2), ([1.0, 0.3, 3e-7], 2), ([1.0, 1e-4, 3e-6], 3), ([0.0, 0.0], 0)],
)
def test_a_doubtful_rank_is_decided_by_the_gap(values, rank):
    assert rank_of_rows(np.diag(values)) == rank


def test_groups_are_those_that_share_rows():
    used = np.array([[True, True, False], [False, True, False], [False, False, True], [False, False, False]])
    groups = grouped([0, 1, 2], [3, 4, 5, 6], used)
    assert [(g.independent, g.dependent) for g in groups] == [((0, 1), (3, 4)), ((2,), (5,)), ((), (6,))]


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 4))
@settings(max_examples=examples(25), deadline=None)
def test_the_smallest_multipliers_are_those_of_least_squares(seed, rows, rank):
    matrix = dependent_rows(seed, rows, rank + 1, rank)
    rank = min(rank, rows)
    unit = scaled(matrix)
    independent, dependent, shares = chosen_rows(unit, rank)
    choice = IndependentRows(
        tuple(independent), tuple(dependent), grouped(independent, dependent, np.abs(shares) > 1e-7)
    )
    draw = np.random.default_rng(seed)
    alone = {k: draw.standard_normal() for k in independent}
    forms = group_forms(ca.SX(matrix), choice, np.linalg.norm(matrix, axis=1))
    found = smallest_multipliers(forms, choice, {k: ca.SX(v) for k, v in alone.items()})
    shown = np.array([float(found[k]) for k in range(rows)])
    force = sum(value * matrix[k] for k, value in alone.items())
    smallest = np.linalg.lstsq(unit.T, force, rcond=1e-9)[0]
    assert shown * np.linalg.norm(matrix, axis=1) == pytest.approx(smallest, abs=1e-8)


@pytest.mark.parametrize(("weakest", "rank"), [(0.3, 450), (1e-3, 450), (1e-6, 449), (1e-9, 449), (0.0, 449)])
def test_large_sparse_rows_have_the_rank_of_their_singular_values(weakest: float, rank: int) -> None:
    """Above some hundred rows sparse factors answer where they surely can; a row that nearly follows is left open."""
    count, draw = 450, np.random.default_rng(11)
    rows = np.zeros((count, count + 3))
    for k in range(count):
        rows[k, k : k + 4] = 1.0, *(0.3 * draw.standard_normal(3))
    rows = scaled(rows)
    rows[-1] = rows[-2] + weakest * rows[-1]
    rows = scaled(rows)
    values = np.linalg.svd(rows, compute_uv=False)
    assert rank_of_rows(rows) == rank
    if are_independent(rows):
        assert values[-1] > 1e-5
    assert are_independent(rows) == (weakest >= 1e-3)
