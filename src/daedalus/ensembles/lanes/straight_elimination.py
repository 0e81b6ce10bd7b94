"""Linear systems on lanes without loops: the order of the pivots is found once, the elimination is written out.

The order is that of H. Markowitz (Management Science 3, 1957): of the entries that are large in their column, the one
that fills least. Large is judged by sample values of the matrix, scaled to entries of size one; a kernel then keeps the
order, and sees by the backward error of its first solve whether it still suits the numbers of a lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from daedalus.compilation.lanes.words import LaneText, Word

Place = tuple[int, int]  # row, column
# A pivot has at least this share of the largest entry of its column in every sample; less where there is none such.
SHARES = (0.1, 1e-2, 1e-4, 1e-6)
_PASSES = 5


@dataclass(frozen=True)
class Elimination:
    """The pivots of a square matrix of a fixed pattern, one after the other."""

    size: int
    pivots: tuple[Place, ...]


def find_elimination(size: int, places: Sequence[Place], samples: Sequence[np.ndarray]) -> Elimination | None:
    """The order of pivots for a pattern; `samples` are values at the places. None where the matrix is singular.

    Example
    -------
    >>> find_elimination(2, [(0, 0), (0, 1), (1, 0)], [np.array([1.0, 2.0, 3.0])])
    Elimination(size=2, pivots=((0, 1), (1, 0)))
    """
    rows, columns = [r for r, _ in places], [c for _, c in places]
    matrices = np.zeros((len(samples), size, size))
    for matrix, values in zip(matrices, samples):
        matrix[rows, columns] = values
    matrices = np.array([_scaled(matrix) for matrix in matrices])
    filled = np.zeros((size, size), dtype=bool)
    filled[rows, columns] = True
    pivots: list[Place] = []
    for _ in range(size):
        pivot = _cheapest(filled, np.abs(matrices))
        if pivot is None:
            return None
        pivots.append(pivot)
        r, c = pivot
        factors = matrices[:, :, c] / matrices[:, r, c][:, None]
        factors[:, r] = 0.0
        matrices -= factors[:, :, None] * matrices[:, r][:, None, :]
        filled |= np.outer(filled[:, c], filled[r])
        # What is done takes part no more.
        matrices[:, r], matrices[:, :, c], filled[r], filled[:, c] = 0.0, 0.0, False, False
    return Elimination(size, tuple(pivots))


def _scaled(matrix: np.ndarray) -> np.ndarray:
    """Rows and columns divided by roots of their largest entries, until these are of size one (D. Ruiz 2001)."""
    for _ in range(_PASSES):
        for axis in (0, 1):
            largest = np.abs(matrix).max(axis=axis, keepdims=True)
            matrix = matrix / np.sqrt(np.where(largest > 0, largest, 1.0))
    return matrix


def _cheapest(filled: np.ndarray, sizes: np.ndarray) -> Place | None:
    """The entry that fills least among those that are large in all samples; the first of equals."""
    largest = sizes.max(axis=1, keepdims=True, initial=0.0)
    cost = np.outer(filled.sum(axis=1) - 1, filled.sum(axis=0) - 1)
    for share in SHARES:
        fits = filled & ((sizes >= share * largest) & (sizes > 0)).all(axis=0)
        if fits.any():
            place = np.where(fits, cost, cost.max() + 1).argmin()
            return int(place) // len(filled), int(place) % len(filled)
    return None


def multiplications(elimination: Elimination, places: Iterable[Place]) -> int:
    """How many multiplications a factorisation and a solve take."""
    filled, count = set(places), 0
    left = list(elimination.pivots)
    while left:
        r, c = left.pop(0)
        below = [r2 for r2, _ in left if (r2, c) in filled]
        behind = [c2 for _, c2 in left if (r, c2) in filled]
        filled |= {(r2, c2) for r2 in below for c2 in behind}
        count += len(below) * (len(behind) + 2) + len(behind) + 1
    return count


class StraightFactors:
    """A matrix in a kernel, factored: solves with as many right-hand sides as one likes."""

    def __init__(self, w: LaneText, elimination: Elimination, entries: Mapping[Place, Word]) -> None:
        self._w, self._pivots, self._entries = w, elimination.pivots, dict(entries)
        self._inverse: dict[int, Word] = {}
        self._lower: list[tuple[int, int, Word]] = []  # row, row of the pivot, factor
        self._upper = dict(entries)
        for position, (r, c) in enumerate(self._pivots):
            self._eliminate(r, c, self._pivots[position + 1 :])

    def _eliminate(self, r: int, c: int, later: Sequence[Place]) -> None:
        w, a = self._w, self._upper
        self._inverse[r] = w.div(w.num(1.0), a[r, c])
        behind = [c2 for _, c2 in later if (r, c2) in a]
        for r2, _ in later:
            if (r2, c) not in a:
                continue
            factor = w.neg(w.mul(a[r2, c], self._inverse[r]))
            self._lower.append((r2, r, factor))
            for c2 in behind:
                known = a.get((r2, c2))
                a[r2, c2] = w.mul(factor, a[r, c2]) if known is None else w.fma(factor, a[r, c2], known)

    def solve(self, right: Sequence[Word]) -> list[Word]:
        """The solution for a right-hand side by rows, in the order of the columns."""
        w, b = self._w, list(right)
        for row, source, factor in self._lower:
            b[row] = w.fma(factor, b[source], b[row])
        found: dict[int, Word] = {}
        for r, c in reversed(self._pivots):
            total = b[r]
            for c2, word in found.items():
                if (r, c2) in self._upper:
                    total = w.fma(w.neg(self._upper[r, c2]), word, total)
            found[c] = w.mul(total, self._inverse[r])
        return [found[c] for c in range(len(b))]

    def is_sound(self, right: Sequence[Word], found: Sequence[Word], allowed: Word) -> Word:
        """Where a solution has a small backward error: |A x − b| ≤ allowed (|A| |x| + |b|) in every row.

        (W. Oettli, W. Prager, Numerische Mathematik 6, 1964.) Pivots that became too small show here. Rows that nothing
        was taken from hold to rounding, since their unknowns follow from them as they stand.
        """
        w, sound = self._w, self._w.everywhere()
        changed = {row for row, _, _ in self._lower}
        for r, b in enumerate(right):
            if r not in changed:
                continue
            rest, size = w.neg(b), w.abs(b)
            for c, x in enumerate(found):
                if (r, c) in self._entries:
                    rest = w.fma(self._entries[r, c], x, rest)
                    size = w.fma(w.abs(self._entries[r, c]), w.abs(x), size)
            small = w.compare("ole", w.abs(rest), w.mul(allowed, size))
            sound = w.both(sound, small)
        return sound
