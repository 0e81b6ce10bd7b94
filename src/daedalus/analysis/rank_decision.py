"""The rank of a matrix of rounded numbers: singular values against a tolerance, with the gap on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Singular values that differ by less than this factor across a decision leave the rank in doubt.
CLEAR_GAP = 1e3
# What rounding can make of a singular value at most, relative to the size of the problem.
LARGEST_ROUNDING = 1e-4
POWER_STEPS = 8
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class RankDecision:
    """One decision: which matrix, its shape and rank, and the singular values on both sides of the cut.

    `gap` is the smallest singular value kept over the largest one dropped. Where all are kept, the rounding level
    stands for the dropped one; where none is kept, the size of the whole problem stands for the kept one.
    """

    matrix: str
    shape: tuple[int, int]
    rank: int
    smallest_kept: float
    largest_dropped: float
    gap: float

    def __str__(self) -> str:
        rows, columns = self.shape
        return f"{self.matrix} ({rows} × {columns}) has rank {self.rank}, gap {self.gap:.1e}"


def decide_rank(
    singular_values: np.ndarray,
    shape: tuple[int, int],
    scale: float,
    tolerance: float,
    matrix: str,
    amplification: float = 1.0,
) -> RankDecision:
    """How many singular values are more than rounding, where scale is the size of the whole problem.

    Those above tolerance · amplification · scale count, those below tolerance · scale do not. Between the two, the cut
    is at the widest gap: after a step that kept a singular value σ, the spaces that the next step works with are known
    to tolerance / σ only, which `amplified` passes on.

    Example
    -------
    >>> import numpy as np
    >>> decision = decide_rank(np.array([2.0, 1.0, 1e-16]), (3, 3), 2.0, 1e-12, "E")
    >>> decision.rank, decision.smallest_kept, decision.largest_dropped
    (2, 1.0, 1e-16)
    >>> decide_rank(np.array([2.0, 1.0, 1e-11]), (3, 3), 2.0, 1e-12, "E", amplification=100.0).rank
    2
    """
    count = len(singular_values)
    low = tolerance * scale
    high = max(low, min(low * amplification, LARGEST_ROUNDING * scale))
    rounding = max(scale * EPSILON * max(*shape, 1), float(np.finfo(float).tiny))
    kept = np.concatenate([[scale], singular_values])  # smallest kept, for ranks 0, 1, ...
    dropped = np.concatenate([singular_values, [0.0]])
    gaps = kept / np.maximum(dropped, rounding)
    first, last = int(np.count_nonzero(singular_values > high)), int(np.count_nonzero(singular_values > low))
    rank = first + int(np.argmax(gaps[first : last + 1]))
    gap = float(gaps[rank]) if count and scale > 0 else float("inf")
    return RankDecision(matrix, shape, rank, float(kept[rank]), float(dropped[rank]), gap)


def amplified(amplification: float, decision: RankDecision, scale: float) -> float:
    """The amplification of rounding after a decision: the largest ratio of scale to kept singular value so far."""
    return max(amplification, scale / decision.smallest_kept) if decision.rank else amplification


def singular_values(matrix: np.ndarray) -> np.ndarray:
    """The singular values of a matrix, largest first; none for an empty one."""
    from scipy.linalg import svdvals

    return svdvals(matrix) if matrix.size else np.zeros(0)


def largest_singular_value(matrix: np.ndarray) -> float:
    """The largest singular value to a few per cent, by the power method from the longest row: a size, cheaply.

    Example
    -------
    >>> import numpy as np
    >>> round(largest_singular_value(np.diag([3.0, -7.0])), 6)
    7.0
    """
    if not np.any(matrix):
        return 0.0
    vector = matrix[np.argmax(np.linalg.norm(matrix, axis=1))]
    for _ in range(POWER_STEPS):
        vector = matrix.T @ (matrix @ (vector / np.linalg.norm(vector)))
    return float(np.sqrt(np.linalg.norm(vector)))


def sparse_factors(matrix: Any) -> tuple[Any, float]:
    """LU factors of a square sparse matrix, and an estimate of its condition ‖A‖₁ ‖A⁻¹‖₁; (None, ∞) if singular.

    Example
    -------
    >>> from scipy.sparse import csc_matrix
    >>> sparse_factors(csc_matrix([[2.0, 0.0], [0.0, 1.0]]))[1], sparse_factors(csc_matrix([[1.0, 1.0], [1.0, 1.0]]))
    (2.0, (None, inf))
    """
    from scipy.sparse.linalg import LinearOperator, norm, onenormest, splu

    try:
        factors = splu(matrix)
    except RuntimeError:  # exactly singular
        return None, float("inf")
    inverse = LinearOperator(matrix.shape, matvec=factors.solve, rmatvec=lambda v: factors.solve(v, "T"))
    return factors, float(norm(matrix, 1) * onenormest(inverse))


def default_tolerance(*sizes: int) -> float:
    """The relative tolerance of rank decisions: a little above the rounding errors of orthogonal transformations."""
    return 64.0 * EPSILON * max(*sizes, 1)
