"""A root of F(v) = 0 along a curve from the guess v₀: F(v) - (1 - s) F(v₀) = 0 from s = 0 to s = 1, through folds.

E. L. Allgower and K. Georg, Introduction to Numerical Continuation Methods, 2003, section 11.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.deadline import poll
from daedalus.studies.branches.curve import LARGEST_TURN, ImplicitCurve, next_length

# Steps in lengths of the curve: the first, the largest and the smallest one, and how many there may be.
FIRST, LARGEST, SMALLEST, MOST = 1e-2, 0.5, 1e-6, 400


def root_by_continuation(
    equations: Callable[[np.ndarray], tuple[np.ndarray, Any]], guess: np.ndarray, sizes: np.ndarray
) -> np.ndarray | None:
    """A root of F, reached from a guess along a curve; None where the curve does not come to one.

    equations: v -> F (N,) and ∂F/∂v (N, N), full or with a method `with_column`. sizes: of the unknowns, (N,).

    Example
    -------
    >>> import numpy as np
    >>> def far(v):               # Newton's method leaves for infinity from 3
    ...     return np.arctan(v), np.diag(1 / (1 + v**2))
    >>> bool(abs(root_by_continuation(far, np.array([3.0]), np.ones(1))[0]) < 1e-9)
    True
    """
    first, _ = equations(guess)
    if not np.all(np.isfinite(first)):
        return None

    def homotopy(Y: np.ndarray) -> tuple[np.ndarray, Any]:
        residual, matrix = equations(Y[:-1])
        wide = matrix.with_column(first) if hasattr(matrix, "with_column") else np.column_stack([matrix, first])
        return residual - (1 - Y[-1]) * first, wide

    curve = ImplicitCurve(homotopy, lambda Y: np.append(np.maximum(sizes, np.abs(Y[:-1])), 1.0))
    along = np.zeros(len(guess) + 1)
    along[-1] = 1.0
    point, length = curve.through(np.append(guess, 0.0), along), FIRST
    for _ in range(MOST):
        poll("a root of the equations")
        after = curve.step(point, length)
        if after is None or after.turn < LARGEST_TURN:
            length /= 2
            if length < SMALLEST:
                return None
            continue
        if after.unknowns[-1] >= 1.0:
            share = (1.0 - point.unknowns[-1]) / (after.unknowns[-1] - point.unknowns[-1])
            last = curve.corrected(point.unknowns + share * (after.unknowns - point.unknowns), along, along)
            if last is not None:
                root: np.ndarray = last.unknowns[:-1]
                return root
            length /= 2
            continue
        point, length = after, next_length(after, length, LARGEST)
    return None
