"""Which directions of unknowns measurements determine, whatever the units and the noise of either.

r = J δ      δ: relative changes of the unknowns      unseen: J δ = 0

Rows of one output share a unit and a noise, and so do the entries of a column: before the rank is decided, each output
and each column is divided by its largest entry. A parameter that moves one output by a millionth of what another one
moves is seen then; two columns that are parallel are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES, NOT_ZERO, ROUNDING

# Entries of a direction below this share of its largest belong to rounding.
COUNTED_FROM = 1e-3


@dataclass(frozen=True, eq=False)
class UnseenDirection:
    """A direction that changes nothing: the places of its unknowns, and the relative change of each.

    only: where all unseen directions of these unknowns leave a single one that is seen, the powers of the product that
    it is, as real numbers; else none.
    """

    places: tuple[int, ...]
    change: np.ndarray
    only: np.ndarray


@dataclass(frozen=True, eq=False)
class SeenSpace:
    """What rows of slopes say about n unknowns.

    seen: (rank, n), a basis of what is seen, in unknowns divided by `units`. unseen: one direction for each dimension
    that is not, those of unknowns that have nothing to do with each other apart.
    """

    units: np.ndarray
    seen: np.ndarray
    unseen: tuple[UnseenDirection, ...]

    @property
    def blind(self) -> np.ndarray:
        """Which unknowns are not determined, (n,) bool."""
        found = np.zeros(len(self.units), dtype=bool)
        for direction in self.unseen:
            found[list(direction.places)] = True
        return found

    def covariance(self, slopes: np.ndarray) -> np.ndarray:
        """(JᵀJ)⁻¹ of slopes (rows, n); infinite on the diagonal for unknowns that are not determined."""
        from scipy.linalg import solve_triangular

        triangle, pivots = self._triangle(slopes)
        half = np.zeros_like(triangle)
        half[pivots] = solve_triangular(triangle, np.eye(len(triangle)))
        part = self.units[:, None] * (self.seen.T @ half)
        found = np.asarray(part @ part.T)
        found[self.blind, self.blind] = np.inf
        return found

    def log_determinant(self, slopes: np.ndarray) -> float:
        """log det JᵀJ of slopes (rows, n); −∞ where some unknowns are not determined."""
        if self.unseen:
            return -np.inf
        return 2 * float(np.log(np.abs(np.diag(self._triangle(slopes)[0]))).sum() - np.log(self.units).sum())

    def _triangle(self, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """R of slopes along what is seen, and the order of its columns.

        Rows in the order of their size and columns by pivots keep small rows beside large ones (M. J. D. Powell, J. K.
        Reid, IFIP Congress 1968).
        """
        from scipy.linalg import qr

        along = (slopes * self.units) @ self.seen.T
        order = np.argsort(-np.abs(along).max(axis=1, initial=0.0), kind="stable")
        triangle, pivots = qr(along[order], mode="r", pivoting=True)
        return triangle[: len(self.seen)], pivots


def seen_space(slopes: np.ndarray, outputs: np.ndarray) -> SeenSpace:
    """What slopes (rows, n) by relative changes say, where outputs (rows,) numbers the output that a row belongs to.

    Example
    -------
    >>> import numpy as np
    >>> space = seen_space(np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1e-9]]), np.array([0, 0, 1]))
    >>> [direction.places for direction in space.unseen], space.blind.tolist()
    ([(0, 1)], [True, True, False])
    """
    tops = np.zeros(int(outputs.max(initial=-1)) + 1)
    np.maximum.at(tops, outputs, np.abs(slopes).max(axis=1, initial=0.0))
    rows = slopes / np.maximum(tops, NOT_ZERO)[outputs, None]
    largest = np.abs(rows).max(axis=0, initial=0.0)
    counts = largest > ROUNDING * max(float(largest.max(initial=0.0)), NOT_ZERO)
    units = 1.0 / np.where(counts, largest, 1.0)
    _, values, right = np.linalg.svd(np.where(counts, rows * units, 0.0))
    rank = int(np.count_nonzero(values > KNOWN_BY_DIFFERENCES * max(float(values.max(initial=0.0)), NOT_ZERO)))
    seen = np.eye(len(right)) if rank == len(right) else right[:rank]
    return SeenSpace(units, seen, tuple(_apart(right[rank:], units)))


def _apart(null: np.ndarray, units: np.ndarray) -> list[UnseenDirection]:
    """Directions of a null space, each of unknowns that belong together."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    projector, found = null.T @ null, []
    count, group_of = connected_components(csr_matrix(np.abs(projector) > COUNTED_FROM), directed=False)
    for group in range(count):
        places = np.flatnonzero(group_of == group)
        values, vectors = np.linalg.eigh(projector[np.ix_(places, places)])
        unseen = values > 0.5  # those of a projector are 0 or 1
        only = vectors[:, ~unseen].ravel() / units[places] if np.count_nonzero(~unseen) == 1 else np.zeros(0)
        for vector in vectors[:, unseen].T:
            change = vector * units[places]
            found.append(UnseenDirection(tuple(places.tolist()), change / np.linalg.norm(change), only))
    return found
