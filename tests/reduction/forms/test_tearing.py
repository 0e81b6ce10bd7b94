"""Tearing sets: small where the structure allows it, never through a pivot that is not safe or a path that grows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.reduction.forms.tearing import LARGEST_GROWTH, tear


def entries(matrix):
    rows, columns = np.nonzero(matrix)
    return rows.tolist(), columns.tolist(), matrix[rows, columns]


def cut_of(matrix, safe=None, bounded=True):
    rows, columns, values = entries(matrix)
    flags = [True] * len(rows) if safe is None else safe[rows, columns].tolist()
    return tear(rows, columns, flags, matrix.shape, values if bounded else None)


def check(matrix, cut, safe=None):
    """Every equation and unknown once; each in its order needs only what is known by then."""
    assert sorted([*cut.torn, *(c for _, c in cut.order)]) == list(range(matrix.shape[1]))
    assert sorted([*cut.left, *(r for r, _ in cut.order)]) == list(range(matrix.shape[0]))
    known = set(cut.torn)
    for r, c in cut.order:
        assert matrix[r, c] != 0
        assert safe is None or safe[r, c]
        assert set(np.flatnonzero(matrix[r])) - {c} <= known
        known.add(c)


def test_a_star_is_torn_at_its_centre():
    """Seventy branches between two points: all flows follow from the one difference of pressure."""
    n = 70
    matrix = np.zeros((n + 1, n + 1))
    matrix[:n, :n], matrix[:n, n], matrix[n, :n] = np.eye(n), -0.1, 1.0
    cut = cut_of(matrix)
    check(matrix, cut)
    assert cut.torn == [n]
    assert cut.left == [n]


def test_a_ring_is_torn_once():
    n = 60
    matrix = np.eye(n) - np.roll(np.eye(n), 1, axis=1) * 0.9
    cut = cut_of(matrix)
    check(matrix, cut)
    assert len(cut.torn) == 1


def ladder(cells):
    """Voltages and currents of a ladder of equal resistors: the way along it multiplies errors by 2.6 a cell."""
    matrix = np.zeros((2 * cells, 2 * cells))
    for k in range(cells):
        matrix[2 * k, 2 * k], matrix[2 * k, 2 * k + 1] = 1.0, 1.0
        matrix[2 * k + 1, 2 * k], matrix[2 * k + 1, 2 * k + 1] = -1.0, 1.0
        if k:
            matrix[2 * k, 2 * k - 2] = -1.0
        if k + 1 < cells:
            matrix[2 * k + 1, 2 * k + 3] = -1.0
    return matrix


def test_a_ladder_is_not_torn_to_one_unknown_where_errors_would_grow():
    matrix = ladder(40)
    careless = cut_of(matrix, bounded=False)
    check(matrix, careless)
    assert len(careless.torn) == 1
    cut = cut_of(matrix)
    check(matrix, cut)
    assert 5 < len(cut.torn) < 25
    for found, bound in ((careless, 1e12), (cut, LARGEST_GROWTH)):
        rows, columns = (list(side) for side in zip(*found.order))
        follow = np.linalg.solve(matrix[np.ix_(rows, columns)], -matrix[np.ix_(rows, found.torn)])
        assert (np.abs(follow).sum(axis=1).max() > bound) == (found is careless)
    assert len(cut_of(ladder(5)).torn) == 1


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 10**6))
def test_every_tearing_is_valid(count, size, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(0.5, 2.0, (count, size)) * (rng.uniform(size=(count, size)) < 0.35)
    safe = rng.uniform(size=matrix.shape) < 0.6
    check(matrix, cut_of(matrix, safe), safe)


def test_an_entry_of_zero_is_no_pivot():
    cut = tear([0, 0, 1, 1], [0, 1, 0, 1], [True] * 4, (2, 2), np.array([0.0, 1.0, 1.0, 0.0]))
    assert all((r, c) in {(0, 1), (1, 0)} for r, c in cut.order)


@pytest.mark.parametrize("size", [1000, 4000])
def test_the_work_grows_with_the_entries(size, monkeypatch):
    """Each entry is looked at a bounded number of times, however long the chain is."""
    from daedalus.reduction.forms import tearing

    looks = [0]
    resolve = tearing._TearingSearch._resolve

    def counted(self, c):
        looks[0] += len(self.of_column[c])
        resolve(self, c)

    monkeypatch.setattr(tearing._TearingSearch, "_resolve", counted)
    rows = [*range(size), *range(size)]
    columns = [*range(size), *(k - 1 for k in range(size))]
    columns[size] = size - 1
    cut = tear(rows, columns, [True] * (2 * size), (size, size))
    assert len(cut.torn) == 1
    assert looks[0] == 2 * size
