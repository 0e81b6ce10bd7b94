"""A null vector of a matrix of expressions, by elimination with pivots that numbers choose."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import TWELVE_DIGITS
from daedalus.algebra.rank_decision import SINGULAR

# Numbers above this share of the largest are safe to divide by.
LARGE = 1e-2


def _pivot(rows: list[list[ca.SX]], numbers: np.ndarray, first: int, column: int) -> int:
    """The row to divide by: of those with large numbers one with a constant, or else a short expression."""
    sizes = np.abs(numbers[first:, column])
    large = first + np.flatnonzero(sizes >= LARGE * sizes.max())
    return int(
        min(large, key=lambda k: (not rows[k][column].is_constant(), ca.n_nodes(rows[k][column]), -sizes[k - first]))
    )


def left_null_vector(matrix: ca.SX, shadow: np.ndarray) -> list[ca.SX] | None:
    """u with uᵀ M = 0 by elimination on Mᵀ; the numbers in `shadow`, taken at random values, choose the pivots."""
    rows = [[matrix[j, i] for j in range(matrix.shape[0])] for i in range(matrix.shape[1])]
    numbers = shadow.T.copy()
    scale = np.abs(numbers).max(initial=0.0) or 1.0
    pivots: list[int] = []
    for c in range(len(rows)):
        r = len(pivots)
        best = _pivot(rows, numbers, r, c) if r < len(rows) else r
        if r == len(rows) or abs(numbers[best, c]) < SINGULAR * scale:
            # Column c is free: it follows from the pivots before it.
            u = [ca.SX(0) for _ in rows]
            u[c] = ca.SX(1)
            for k, column in enumerate(pivots):
                u[column] = -rows[k][c] if abs(numbers[k, c]) > TWELVE_DIGITS * scale else ca.SX(0)
            return u
        rows[r], rows[best] = rows[best], rows[r]
        numbers[[r, best]] = numbers[[best, r]]
        factor, number = rows[r][c], numbers[r, c]
        rows[r] = [entry / factor for entry in rows[r]]
        numbers[r] /= number
        for k in range(len(rows)):
            if k != r and abs(numbers[k, c]) > TWELVE_DIGITS * scale:
                own = rows[k][c]
                rows[k] = [entry - own * other for entry, other in zip(rows[k], rows[r])]
                numbers[k] -= numbers[k, c] * numbers[r]
        pivots.append(c)
    return None
