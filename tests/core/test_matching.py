"""Pairs of rows and columns: as many as brute force finds, as cheap as a dense solver finds, in bounded work."""

from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from scipy.optimize import linear_sum_assignment

from daedalus import _core


@st.composite
def patterns(draw):
    """(shape, rows, columns, costs) with entries in any order, some given twice."""
    shape = draw(st.integers(0, 7)), draw(st.integers(0, 7))
    if not all(shape):
        return shape, *(np.zeros(0, dtype=int) for _ in range(3))
    entry = st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1), st.integers(-4, 9))
    entries = np.array(draw(st.lists(entry, max_size=30)), dtype=int).reshape(-1, 3)
    return shape, *entries.T


def most_pairs_by_trial(neighbours, row=0, taken=frozenset()):
    if row == len(neighbours):
        return 0
    without = most_pairs_by_trial(neighbours, row + 1, taken)
    others = (most_pairs_by_trial(neighbours, row + 1, taken | {c}) for c in neighbours[row] - taken)
    return max([without, *(1 + count for count in others)])


def check_pairs(found, shape, rows, columns):
    """Every row and every column is taken once, by an entry that is there."""
    partner = found.columns
    assert partner.shape == (shape[0],)
    paired = np.flatnonzero(partner >= 0)
    assert len(set(partner[paired].tolist())) == len(paired)
    assert {(i, int(partner[i])) for i in paired.tolist()} <= set(zip(rows.tolist(), columns.tolist()))
    return len(paired)


@given(patterns())
@settings(max_examples=examples(300), deadline=None)
def test_as_many_pairs_as_there_can_be(pattern):
    shape, rows, columns, _ = pattern
    found = _core.maximum_matching(*shape, rows, columns)
    neighbours = [set(columns[rows == i].tolist()) for i in range(shape[0])]
    assert check_pairs(found, shape, rows, columns) == most_pairs_by_trial(neighbours)


@given(patterns())
@settings(max_examples=examples(300), deadline=None)
def test_the_cheapest_pairs_and_their_prices(pattern):
    shape, rows, columns, costs = pattern
    found = _core.cheapest_matching(*shape, rows, columns, costs)
    pairs = check_pairs(found, shape, rows, columns)
    # A dense solver with entries that cost more than all others where there are none.
    none = 1000.0
    dense = np.full(shape, none)
    np.minimum.at(dense, (rows, columns), costs)
    chosen = dense[linear_sum_assignment(dense)] if dense.size else np.zeros(0)
    assert pairs == np.count_nonzero(chosen < none)
    cost = sum(int(dense[i, j]) for i, j in enumerate(found.columns.tolist()) if j >= 0)
    assert cost == chosen[chosen < none].sum()
    # Feasible prices, equal where there is a pair: no other choice is cheaper.
    u, v = found.row_prices, found.column_prices
    slack = costs - u[rows] - v[columns]
    assert np.all(slack >= 0)
    assert np.all(v <= 0)
    free = np.ones(shape[1], dtype=bool)
    free[found.columns[found.columns >= 0]] = False
    assert np.all(v[free] == 0)
    left_over = found.columns < 0
    if left_over.any():
        assert np.all(u <= found.alone)
        assert np.all(u[left_over] == found.alone)
    assert u.sum() + v.sum() == cost + found.alone * left_over.sum()


def ladder(depth):
    """Two rows that greedy pairs leave over: one has a single path to a free column, `depth` pairs away; from the other
    two ways lead on from each of as many layers, and none to an end. A search that enters dead ends again takes
    2^depth steps.
    """
    layers = [[(2 * k + i, 2 * k + i), *((2 * k + i, 2 * k + j) for j in (2, 3))] for k in range(depth) for i in (0, 1)]
    path = [[(k, k), (k, k + 1)] for k in range(2 * depth, 3 * depth)]
    free = [[(3 * depth, 0), (3 * depth, 1), (3 * depth + 1, 2 * depth)]]
    entries = np.array([entry for part in layers + path + free for entry in part])
    inside = (entries[:, 0] >= 2 * depth) | (entries[:, 1] < 2 * depth)
    return (3 * depth + 2, 3 * depth + 1), *entries[inside].T


@pytest.mark.parametrize("depth", [3, 40, 5000])
def test_dead_ends_are_entered_once(depth):
    shape, rows, columns = ladder(depth)
    found = _core.maximum_matching(*shape, rows, columns)
    assert check_pairs(found, shape, rows, columns) == shape[1]
    assert found.phases == 2
    # Each phase looks at every entry twice at most, and one more search finds that there is no path left.
    assert found.visits <= (2 * found.phases + 1) * len(rows)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(30), deadline=None)
def test_phases_grow_with_the_root_of_the_size(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, 2000))
    rows, columns = draw.integers(0, n, (2, 3 * n))
    found = _core.maximum_matching(n, n, rows, columns)
    assert found.phases <= 2 * isqrt(check_pairs(found, (n, n), rows, columns)) + 2
    assert found.visits <= (2 * found.phases + 1) * len(rows)


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 1_000_000]))
@settings(max_examples=examples(30), deadline=None)
def test_every_row_is_searched_from_once_at_most(seed, largest):
    draw = np.random.default_rng(seed)
    n = 300
    rows = np.concatenate([np.arange(n), draw.integers(0, n, 4 * n)])
    columns = np.concatenate([draw.permutation(n), draw.integers(0, n, 4 * n)])
    costs = draw.integers(0, largest + 1, len(rows))
    found = _core.cheapest_matching(n, n, rows, columns, costs)
    assert check_pairs(found, (n, n), rows, columns) == n
    assert found.phases <= 2 * (2 * isqrt(n) + 2)
    # Two rounds of phases, then searches that look at every entry once at most.
    assert found.searches < n
    assert found.visits <= (2 * found.phases + 2 + found.searches) * len(rows)


def test_rows_that_go_without_a_column_are_the_dearest():
    # Three rows for one column: the cheapest takes it.
    found = _core.cheapest_matching(3, 1, np.array([0, 1, 2]), np.array([0, 0, 0]), np.array([5, -7, 2]))
    assert found.columns.tolist() == [-1, 0, -1]


def test_large_costs_are_exact():
    big = 2**55
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    found = _core.cheapest_matching(2, 2, rows, columns, np.array([big, big + 1, big, big]))
    assert found.columns.tolist() == [0, 1]
    assert _core.cheapest_matching(2, 2, rows, columns, np.array([big + 1, big, big, big])).columns.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("rows", "columns", "costs", "told"),
    [
        ([0], [0, 1], [1], "rows and columns of the entries must be equally many"),
        ([0], [2], [1], "an entry lies outside the pattern"),
        ([-1], [0], [1], "an entry lies outside the pattern"),
        ([0], [0], [1, 2], "there must be one cost an entry"),
        ([0], [0], [2**62], "the costs are too large to be added exactly"),
    ],
)
def test_patterns_that_are_none_are_refused(rows, columns, costs, told):
    with pytest.raises(ValueError, match=told):
        _core.cheapest_matching(2, 2, *(np.array(k, dtype=int) for k in (rows, columns, costs)))
