"""Tearing: solve coupled equations through a few of their unknowns, the others following one after another.

With the torn unknowns known, each further equation gives one further unknown by a division that is safe; the equations
left over determine the torn ones (G. Kron, Diakoptics, 1963; H. Elmqvist, M. Otter, Methods for tearing systems of
equations in object-oriented modeling, European Simulation Multiconference 1994). Small tearing sets are found greedily:
of the equation with the fewest open unknowns the one that stands in most equations is torn. A long way from the torn
unknowns may magnify their rounding errors without bound, as on a ladder of resistors: with

    g_c = Σ_j |a_rj| g_j / |a_rc|,    g = 1 for torn unknowns

an upper bound of that growth in scaled equations, an unknown with too large a g is torn as well.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daedalus.deadline import poll

# Rounding errors may grow by this factor between the torn unknowns and the others.
LARGEST_GROWTH = 1e3


@dataclass(frozen=True, eq=False)
class Tearing:
    """torn: unknowns that are solved for together; order: (equation, unknown) that follow; left: the equations left."""

    torn: list[int]
    order: list[tuple[int, int]]
    left: list[int]


def tear(
    rows: Sequence[int],
    columns: Sequence[int],
    safe: Sequence[bool],
    shape: tuple[int, int],
    values: np.ndarray | None = None,
    most: int | None = None,
) -> Tearing | None:
    """A tearing of equations with entries (row, column); `safe` entries may be divided by.

    `shape` is the number of equations and of unknowns. `values`, scaled so that each equation and unknown has entries
    near one (`balanced`), bound the growth of rounding errors. Where more than `most` unknowns would be torn there is
    no tearing.

    Example
    -------
    >>> # a flow q through two pipes: a = 1 - q, b = a - q, q = b, with the unknowns a, b, q
    >>> found = tear([0, 0, 1, 1, 1, 2, 2], [0, 2, 0, 1, 2, 1, 2], [True] * 7, (3, 3))
    >>> found.torn, found.order, found.left
    ([2], [(0, 0), (2, 1)], [1])
    """
    return _TearingSearch(rows, columns, safe, shape, values).found(shape[1] if most is None else most)


def balanced(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Entries of a sparse matrix near one: rows and columns divided by the roots of their largest entries (Ruiz)."""
    found = np.abs(values)
    for _ in range(5):
        for places, count in ((rows, shape[0]), (columns, shape[1])):
            largest = np.zeros(count)
            np.maximum.at(largest, places, found)
            found = found / np.sqrt(np.where(largest > 0, largest, 1.0))[places]
    return found


class _TearingSearch:
    def __init__(
        self,
        rows: Sequence[int],
        columns: Sequence[int],
        safe: Sequence[bool],
        shape: tuple[int, int],
        values: np.ndarray | None,
    ) -> None:
        size, self.unknowns = shape
        self.size = size
        self.of_row: list[dict[int, tuple[bool, float]]] = [{} for _ in range(size)]
        self.of_column: list[list[int]] = [[] for _ in range(self.unknowns)]
        weights = np.ones(len(rows)) if values is None else np.abs(values)
        for r, c, flag, weight in zip(rows, columns, safe, weights.tolist()):
            self.of_row[r][c] = (bool(flag) and weight > 0, weight)
            self.of_column[c].append(r)
        self.bounded = values is not None
        self.open = [len(own) for own in self.of_row]
        self.open_sum = [sum(own) for own in self.of_row]
        self.resolved = [False] * self.unknowns
        self.used = [False] * size
        self.growth = [1.0] * self.unknowns
        self.torn: list[int] = []
        self.order: list[tuple[int, int]] = []
        self.ready = deque(r for r in range(size) if self.open[r] == 1)
        self.waiting = [(self.open[r], r) for r in range(size)]
        heapq.heapify(self.waiting)

    def found(self, most: int) -> Tearing | None:
        while True:
            self._follow()
            unknown = self._next_torn()
            if unknown is None:
                break
            self.torn.append(unknown)
            if len(self.torn) > most:
                return None
            self._resolve(unknown)
        return Tearing(self.torn, self.order, [r for r in range(self.size) if not self.used[r]])

    def _follow(self) -> None:
        """Assign every equation with one open unknown, as long as there are any."""
        while self.ready:
            r = self.ready.popleft()
            if self.used[r] or self.open[r] != 1:
                continue
            c = self.open_sum[r]
            fits, pivot = self.of_row[r][c]
            if not fits:
                continue
            grown = sum(w * self.growth[j] for j, (_, w) in self.of_row[r].items() if j != c) / pivot
            if self.bounded and grown > LARGEST_GROWTH:
                continue
            self.growth[c] = grown
            self.used[r] = True
            self.order.append((r, c))
            self._resolve(c)

    def _resolve(self, c: int) -> None:
        self.resolved[c] = True
        for r in self.of_column[c]:
            self.open[r] -= 1
            self.open_sum[r] -= c
            if not self.used[r] and self.open[r] > 0:
                heapq.heappush(self.waiting, (self.open[r], r))
                if self.open[r] == 1:
                    self.ready.append(r)

    def _next_torn(self) -> int | None:
        """The unknown to tear: it stands in an equation with few open unknowns and in many equations."""
        while self.waiting:
            poll("reducing the index")
            count, r = self.waiting[0]
            if self.used[r] or count != self.open[r] or not count:
                heapq.heappop(self.waiting)
                continue
            return max((c for c in self.of_row[r] if not self.resolved[c]), key=lambda c: (self._uses(c), -c))
        return next((c for c in range(self.unknowns) if not self.resolved[c]), None)

    def _uses(self, c: int) -> int:
        """In how many open equations an unknown stands; looked at for short columns only."""
        own = self.of_column[c]
        return sum(not self.used[r] for r in own) if len(own) <= 64 else len(own)
