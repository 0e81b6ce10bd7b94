"""The jet nearest to a guess that obeys rows of differentiated equations: positions, then rates, then accelerations.

Each step is the shortest correction dv with J dv = -F, lengths counted in sizes of the unknowns. Rows of one level with
the unknowns of that level are a problem of their own, the lower levels being known; where such problems have no
solution with what is held, all levels are solved together. Small matrices are factored by QR with pivots, which leaves
out what is nearly singular; large ones stay sparse.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.damped_newton import CONSISTENT, Equations
from daedalus.algebra.shortened_steps import gauss_newton, sparse_steps
from daedalus.analysis.structure.jets.jet_evaluation import JetEvaluation

# Full matrices: pivots below this share of the largest are left out of a step. Where the Jacobian has less rank on the
# solutions than beside them, full steps along small singular values lead far away; without them the iteration arrives.
LEFT_OUT = 1e-6


def nearest_by_levels(
    evaluation: JetEvaluation,
    values: np.ndarray,
    rows: np.ndarray,
    free: np.ndarray,
    sizes: np.ndarray,
    levels: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Values near those given that obey some rows (a mask) where there are such; what is not free is held.

    levels: that of every row, and that of every value.
    """
    row_level, level = levels
    found = values.copy()
    for own in np.unique(row_level[rows]):
        found, left = nearest(evaluation, found, rows & (row_level == own), free & (level == own), sizes)
        if not np.abs(left).max(initial=0.0) <= CONSISTENT:
            return nearest(evaluation, values, rows, free, sizes)[0]
    return found


def nearest(
    evaluation: JetEvaluation,
    values: np.ndarray,
    rows: np.ndarray,
    free: np.ndarray,
    sizes: np.ndarray,
    left_out: float = LEFT_OUT,
    full: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Values near those given that obey some rows (a mask), and what is left of these in their sizes.

    free: which values may move. full: up to how many of them matrices are full.
    """
    found = values.copy()
    equations = evaluation.selected(rows, free, values, sizes, full)
    if np.count_nonzero(free) <= full:
        found[free], left = _full_steps(equations, values[free], sizes[free], left_out)
    else:
        found[free], left, _ = sparse_steps(equations, values[free], sizes[free])
    return found, left


def _full_steps(
    equations: Equations, guess: np.ndarray, sizes: np.ndarray, left_out: float
) -> tuple[np.ndarray, np.ndarray]:
    def step(v: np.ndarray, jacobian: np.ndarray, scale: np.ndarray, left: np.ndarray) -> np.ndarray:
        from scipy.linalg import lstsq

        size = np.maximum(sizes, np.abs(v))
        scaled = jacobian * size / scale[:, None]
        return -size * lstsq(scaled, left, cond=left_out, lapack_driver="gelsy", check_finite=False)[0]

    return gauss_newton(equations, guess, step, exact=1e-15, shortest=1e-3, most=40)[:2]
