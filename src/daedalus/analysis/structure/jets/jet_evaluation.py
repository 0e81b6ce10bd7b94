"""Numbers of a stack of equations: rows and slopes at a jet, without a detour through CasADi's matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_MATRIX
from daedalus.analysis.structure.block_form import triangular_blocks


class JetEvaluation:
    """(t, p, u-jet, jet) -> rows and the nonzero slopes, in arrays of its own; not to be shared between threads.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> y = ca.SX.sym("y", 2)
    >>> stack = ca.vertcat(y[0] * y[1] - 6, y[1] - 2)
    >>> f = ca.Function("f", [ca.SX.sym("t"), ca.SX(0, 1), ca.SX(0, 1), y], [stack, ca.jacobian(stack, y)])
    >>> evaluation = JetEvaluation(f, np.zeros(1), np.zeros(0), np.zeros(0))
    >>> evaluation.rows(np.array([3.0, 1.0])).tolist(), evaluation.slopes.tolist()
    ([-3.0, -1.0], [1.0, 3.0, 1.0])
    """

    def __init__(self, function: ca.Function, time: np.ndarray, p: np.ndarray, u: np.ndarray) -> None:
        pattern = function.sparsity_out(1)
        self.shape: tuple[int, int] = pattern.shape
        self.row_of, self.column_of = (np.array(k, dtype=int) for k in pattern.get_triplet())
        # The entries row by row, the rows that have some, and where each begins.
        self._by_row = np.argsort(self.row_of, kind="stable")
        self._rows, self._begin = np.unique(self.row_of[self._by_row], return_index=True)
        self._arguments = [np.array(v, dtype=float) for v in (time, p, u, np.zeros(self.shape[1]))]
        self._results = [np.zeros(self.shape[0]), np.zeros(pattern.nnz())]
        buffer: Any
        buffer, self._trigger = function.buffer()
        for k, argument in enumerate(self._arguments):
            if argument.size:
                buffer.set_arg(k, argument.data)
        for k, result in enumerate(self._results):
            if result.size:
                buffer.set_res(k, result.data)
        self._kept = function, buffer  # they stay alive as long as this

    def rows(self, jet: np.ndarray) -> np.ndarray:
        """All rows at a jet; `slopes` holds the nonzeros of the Jacobian afterwards, column by column."""
        self._arguments[3][:] = jet
        self._trigger()
        return self._results[0].copy()

    @property
    def slopes(self) -> np.ndarray:
        """The nonzeros of the Jacobian where `rows` was called last."""
        return self._results[1]

    def sizes(self, sizes: np.ndarray) -> np.ndarray:
        """What each row amounts to there: its largest change when an unknown changes by its own size."""
        scale = np.zeros(self.shape[0])
        if len(self._by_row):
            slopes = np.abs(self.slopes)
            slopes = slopes if np.isfinite(slopes).all() else np.nan_to_num(slopes)
            scale[self._rows] = np.maximum.reduceat((slopes * sizes[self.column_of])[self._by_row], self._begin)
        return np.where(scale > 0, scale, 1.0)

    def jacobian(self) -> Any:
        """The whole Jacobian there, sparse."""
        from scipy.sparse import csc_matrix

        return csc_matrix((self.slopes.copy(), (self.row_of, self.column_of)), shape=self.shape)

    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Some rows and unknowns (masks) as irreducible blocks in the order in which they can be solved, as masks.

        Empty where there are not as many rows as unknowns, or where the pattern is singular.
        """
        inside = rows[self.row_of] & columns[self.column_of]
        own_row, own_column = np.cumsum(rows) - 1, np.cumsum(columns) - 1
        places = own_row[self.row_of[inside]].tolist(), own_column[self.column_of[inside]].tolist()
        pattern = ca.Sparsity.triplet(int(rows.sum()), int(columns.sum()), *places)
        if pattern.size1() != pattern.size2() or ca.sprank(ca.DM(pattern, 1)) < pattern.size1():
            return []
        found = []
        for own_rows, own_columns in triangular_blocks(pattern):
            masks = np.zeros_like(rows), np.zeros_like(columns)
            masks[0][np.flatnonzero(rows)[own_rows]] = True
            masks[1][np.flatnonzero(columns)[own_columns]] = True
            found.append(masks)
        return found

    def selected(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, sizes: np.ndarray, full: int = FULL_MATRIX
    ) -> Callable[[np.ndarray], tuple[np.ndarray, Any, np.ndarray]]:
        """Some rows as functions of some unknowns (masks), the others held: F, its Jacobian and the sizes of F.

        The Jacobian is full for at most `full` unknowns.
        """
        chosen_rows, chosen = np.flatnonzero(rows), np.flatnonzero(columns)
        inside = np.flatnonzero(rows[self.row_of] & columns[self.column_of])
        own_row, own_column = np.cumsum(rows) - 1, np.cumsum(columns) - 1
        at = own_row[self.row_of[inside]], own_column[self.column_of[inside]]
        shape, jet = (len(chosen_rows), len(chosen)), values.copy()

        def evaluate(own: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
            jet[chosen] = own
            residual = self.rows(jet)[chosen_rows]
            scale = self.sizes(np.maximum(sizes, np.abs(jet)))[chosen_rows]
            if shape[1] > full:
                from scipy.sparse import csc_matrix

                return residual, csc_matrix((self.slopes[inside], at), shape=shape), scale
            matrix = np.zeros(shape)
            matrix[at] = self.slopes[inside]
            return residual, matrix, scale

        return evaluate
