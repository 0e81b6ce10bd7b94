"""Which rows of a constraint Jacobian are independent, which follow from them, and with what shares.

With every row divided by its usual length, Ĝ_D = C Ĝ_I. (Divided by its present length, a row that passes zero would
look as good as any other, though forces and corrections by it then grow out of rounding errors.) The rows are chosen by
QR with column pivoting, then exchanged while a share is larger than one: each exchange multiplies the volume of the
chosen rows by that share, so that it ends (S. A. Goreinov, I. V. Oseledets, D. V. Savostyanov, E. E. Tyrtyshnikov,
N. L. Zamarashkin: How to find a good submatrix).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import (
    FULL_RANK,
    KNOWN,
    REDUNDANT_ON_A_MOTION,
    SAFELY_REGULAR,
    STILL,
    decide_rank,
    singular_values,
    sparse_factors,
)
from daedalus.analysis.kept_decisions import NotADecisionError
from daedalus.deadline import poll

# Rows are exchanged while a share exceeds this.
LARGEST_SHARE = 1.5
MOST_EXCHANGES = 1000
# A row shorter than this share of its usual length has lost its direction to the errors of the state.
VANISHED = STILL


@dataclass(frozen=True)
class DependentRows:
    """Rows that depend on each other: independent ones, and those that follow from them alone."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]


@dataclass(frozen=True)
class IndependentRows:
    """Which rows are independent, which depend on them, and the groups in which they do."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    groups: tuple[DependentRows, ...]

    @property
    def involved(self) -> list[int]:
        """The rows that take part in a dependence."""
        return sorted(k for group in self.groups for k in (*group.independent, *group.dependent))

    def to_plain(self) -> list[Any]:
        """The choice as lists of numbers."""
        groups = [[list(group.independent), list(group.dependent)] for group in self.groups]
        return [list(self.independent), list(self.dependent), groups]

    @staticmethod
    def from_plain(plain: Any) -> IndependentRows:
        """The inverse of `to_plain`; a NotADecisionError for other data.

        Example
        -------
        >>> choice = IndependentRows((0, 2), (1,), (DependentRows((0,), (1,)),))
        >>> IndependentRows.from_plain(choice.to_plain()) == choice
        True
        """
        try:
            independent, dependent, groups = plain
            found = IndependentRows(
                _numbers(independent), _numbers(dependent),
                tuple(DependentRows(_numbers(own), _numbers(others)) for own, others in groups),
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise NotADecisionError from error
        own, others = set(found.independent), set(found.dependent)
        if not all(own >= set(g.independent) and others >= set(g.dependent) for g in found.groups):
            raise NotADecisionError
        return found


def _numbers(plain: Any) -> tuple[int, ...]:
    if not all(type(k) is int for k in plain):
        raise NotADecisionError
    return tuple(plain)


def scaled(jacobian: np.ndarray, usual: np.ndarray | None = None) -> np.ndarray:
    """The rows divided by their lengths; a row of zeros stays.

    usual: the lengths that rows have elsewhere; one below the share VANISHED of that has no direction to speak of.

    Example
    -------
    >>> scaled(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    >>> scaled(np.array([[0.0, 1e-16]]), np.array([1.0])).round(6).tolist()
    [[0.0, 0.0]]
    """
    lengths = np.linalg.norm(jacobian, axis=1, keepdims=True)
    if usual is not None:
        lengths = np.maximum(lengths, VANISHED * usual[:, None])
    return jacobian / np.where(lengths > 0, lengths, 1.0)


def rank_of_rows(matrix: np.ndarray) -> int:
    """The rank of a scaled Jacobian; of singular values within two decades of the tolerance the widest gap decides.

    Example
    -------
    >>> rank_of_rows(np.diag([1.0, 1e-3, 1e-12]))
    2
    """
    if len(matrix) > FULL_RANK and are_independent(matrix):
        return len(matrix)
    values = singular_values(matrix)
    return decide_rank(
        values, matrix.shape, 1.0, REDUNDANT_ON_A_MOTION, "constraints", amplification=100.0, noise=KNOWN
    ).rank


def are_independent(rows: np.ndarray) -> bool:
    """Whether rows of length one are surely independent, by sparse factors of G Gᵀ; False leaves it open.

    The condition of G Gᵀ is the square of that of G, so that what passes is regular by more than it has to be.

    Example
    -------
    >>> are_independent(np.eye(2, 3)), are_independent(np.array([[1.0, 0.0], [1.0, 0.0]]))
    (True, False)
    """
    from scipy.sparse import csc_matrix

    matrix = csc_matrix(rows)
    return sparse_factors((matrix @ matrix.T).tocsc())[1] < SAFELY_REGULAR


def chosen_rows(matrix: np.ndarray, rank: int) -> tuple[list[int], list[int], np.ndarray]:
    """Independent rows of a scaled Jacobian, dependent ones, and the shares C of the former in the latter.

    Example
    -------
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> independent, dependent, shares = chosen_rows(rows, 2)
    >>> len(independent), shares.round(6).tolist()
    (2, [[1.0, 0.0]])
    """
    from scipy.linalg import qr

    _, _, order = qr(matrix.T, mode="economic", pivoting=True)
    chosen, others = [int(k) for k in order[:rank]], [int(k) for k in order[rank:]]
    for _ in range(MOST_EXCHANGES if others and chosen else 0):
        poll("reducing the index")
        shares = _shares(matrix, chosen, others)
        i, j = np.unravel_index(np.abs(shares).argmax(), shares.shape)
        if abs(shares[i, j]) <= LARGEST_SHARE:
            break
        chosen[j], others[i] = others[i], chosen[j]
    chosen.sort()
    others.sort()
    return chosen, others, _shares(matrix, chosen, others)


def _shares(matrix: np.ndarray, chosen: list[int], others: list[int]) -> np.ndarray:
    return np.linalg.lstsq(matrix[chosen].T, matrix[others].T, rcond=None)[0].T


def grouped(independent: list[int], dependent: list[int], used: np.ndarray) -> tuple[DependentRows, ...]:
    """The groups of rows that depend on each other; `used` says which independent row has a share in which other.

    Example
    -------
    >>> grouped([0, 2, 4], [1, 3], np.array([[True, False, False], [False, True, False]]))
    (DependentRows(independent=(0,), dependent=(1,)), DependentRows(independent=(2,), dependent=(3,)))
    """
    groups: list[tuple[set[int], set[int]]] = []
    for i, d in enumerate(dependent):
        own, deps = {independent[j] for j in np.flatnonzero(used[i])}, {d}
        for group in [g for g in groups if g[0] & own]:
            groups.remove(group)
            own, deps = own | group[0], deps | group[1]
        groups.append((own, deps))
    return tuple(DependentRows(tuple(sorted(own)), tuple(sorted(deps))) for own, deps in groups)
