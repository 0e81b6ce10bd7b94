"""Solves with a large sparse matrix and with its transpose: one pattern, ordered once, and many values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus import _core


class Iterated(NamedTuple):
    """Which cell of a field each unknown belongs to, and by which share iterations make residuals smaller."""

    cells: np.ndarray
    accuracy: float


class SparseFactors:
    """The factors of a square matrix whose entries are at known places; entries at one place add up.

    iterated: where factors would cost more, solve by iteration instead.

    Example
    -------
    >>> import numpy as np
    >>> factors = SparseFactors(2, np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1]))
    >>> factors.factor(np.array([2.0, 1.0, 3.0, 1.0]))
    True
    >>> factors.solve(np.array([2.0, 5.0])).tolist(), factors.solve(np.array([3.0, 4.0]), transposed=True).tolist()
    ([1.0, 1.0], [1.0, 1.0])
    """

    def __init__(
        self, size: int, rows: np.ndarray, columns: np.ndarray, complex_values: bool = False,
        iterated: Iterated | None = None,
    ) -> None:  # fmt: skip
        self.size, self._complex, self._iterated = size, complex_values, iterated
        places, self._place = np.unique(np.asarray(columns, np.int64) * size + rows, return_inverse=True)
        self._columns, self._rows = np.divmod(places, size)
        self._own = self._solver(self._rows, self._columns)
        # Made when a transposed system is solved first.
        self._turned: _core.LinearSolver | None = None
        self._order: np.ndarray | None = None
        self._values, self._turned_is_factored = np.zeros(len(places)), False

    @property
    def iterates(self) -> bool:
        """Whether solutions come from iterations; known behind a factorisation."""
        return self._own.iterates

    def factor(self, values: np.ndarray) -> bool:
        """Whether the matrix with these values can be solved with."""
        count = len(self._rows)
        summed: np.ndarray = np.bincount(self._place, values.real, count)
        if self._complex:
            summed = summed + 1j * np.bincount(self._place, values.imag, count)
        self._values, self._turned_is_factored = summed, False
        return bool(np.all(np.isfinite(summed))) and self._own.factor(summed)

    def solve(self, right: np.ndarray, transposed: bool = False) -> np.ndarray:
        """A⁻¹ right, or A⁻ᵀ right; not numbers where the transposed factors fail."""
        if not transposed:
            return self._own.solve(right)
        if self._turned is None or self._order is None:
            self._order = np.lexsort((self._columns, self._rows))
            self._turned = self._solver(self._columns[self._order], self._rows[self._order])
        if not self._turned_is_factored:
            if not self._turned.factor(self._values[self._order]):
                return np.full(self.size, np.nan)
            self._turned_is_factored = True
        return self._turned.solve(right)

    def _solver(self, rows: np.ndarray, columns: np.ndarray) -> _core.LinearSolver:
        """For places sorted by column, then row."""
        begins = np.append(0, np.cumsum(np.bincount(columns, minlength=self.size)))
        pattern = (self.size, begins.tolist(), rows.tolist(), self._complex)
        if self._iterated is None:
            return _core.LinearSolver(*pattern)
        cells, accuracy = self._iterated
        return _core.LinearSolver(*pattern, "chosen", cells.tolist(), accuracy=accuracy)
