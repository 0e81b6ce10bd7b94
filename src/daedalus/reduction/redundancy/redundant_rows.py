"""Which rows of a constraint Jacobian are independent, which follow from them, and with what shares.

With every row divided by its length, Ĝ_D = C Ĝ_I. The rows are chosen by QR with column pivoting, then exchanged while
a share is larger than one: each exchange multiplies the volume of the chosen rows by that share, so that it ends (S. A.
Goreinov, I. V. Oseledets, D. V. Savostyanov, E. E. Tyrtyshnikov, N. L. Zamarashkin: How to find a good submatrix).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.algebra.rank_decision import (
    FULL_RANK,
    KNOWN,
    REDUNDANT_ON_A_MOTION,
    SAFELY_REGULAR,
    decide_rank,
    singular_values,
    sparse_factors,
)
from daedalus.deadline import poll

# Rows are exchanged while a share exceeds this.
LARGEST_SHARE = 1.5
MOST_EXCHANGES = 1000


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


def scaled(jacobian: np.ndarray) -> np.ndarray:
    """The rows divided by their lengths; a row of zeros stays.

    Example
    -------
    >>> scaled(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(jacobian, axis=1, keepdims=True)
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
