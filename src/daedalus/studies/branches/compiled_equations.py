"""Equations R(Y; c) = 0 with their Jacobian in machine code, full or sparse by size."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_MATRIX
from daedalus.analysis.points.partial_derivatives import full_matrix
from daedalus.compilation import compile_function


class CompiledEquations:
    """R(Y; constants) and ∂R/∂Y.

    Example
    -------
    >>> import casadi as ca
    >>> Y, c = ca.SX.sym("Y", 2), ca.SX.sym("c")
    >>> circle = CompiledEquations(ca.sumsqr(Y) - c, Y, [c])
    >>> value, slopes = circle([3.0, 4.0], [24.0])
    >>> float(value[0]), slopes.tolist()
    (1.0, [[6.0, 8.0]])
    """

    def __init__(self, residual: ca.SX, unknowns: ca.SX, constants: list[ca.SX]) -> None:
        slopes = ca.jacobian(residual, unknowns)
        self.pattern = slopes.sparsity()
        self.size = int(unknowns.numel())
        self._function = compile_function(
            ca.Function("equations", [unknowns, *constants], [ca.densify(residual), slopes])
        )

    def __call__(self, unknowns: Any, *constants: Any) -> tuple[np.ndarray, Any]:
        """The residual and its Jacobian: a full matrix of a small system, a sparse one of a large one."""
        value, entries = self._function(unknowns, *constants)
        if self.size <= FULL_MATRIX:
            return value, full_matrix(self.pattern, entries)
        from scipy.sparse import csc_matrix

        return value, csc_matrix((entries, self.pattern.row(), self.pattern.colind()), shape=self.pattern.shape)
