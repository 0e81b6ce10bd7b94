"""The jet nearest to a guess that obeys rows of differentiated equations: positions, then rates, then accelerations.

Each step is the shortest correction dv with J dv = -F, lengths counted in sizes of the unknowns. Rows of one level with
the unknowns of that level are a problem of their own, the lower levels being known; where such problems have no
solution with what is held, all levels are solved together. Small matrices are factored by QR with pivots, which leaves
out what is nearly singular; large ones stay sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.analysis.points.damped_newton import Equations
from daedalus.analysis.points.shortened_steps import gauss_newton
from daedalus.analysis.structure.jets.jet_evaluation import JetEvaluation

# Equations hold when what is left of them is at most this share of their size.
CONSISTENT = 1e-8
# Full matrices: pivots below this share of the largest are left out of a step. Where the Jacobian has less rank on the
# solutions than beside them, full steps along small singular values lead far away; without them the iteration arrives.
LEFT_OUT = 1e-6
# Sparse matrices: ε, whose root is the singular value below which parts of a step are left out.
SMALL = 1e-14


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


def sparse_steps(equations: Equations, guess: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The root nearest to a guess by sparse steps, what is left there, and how many steps it took."""
    from scipy.sparse import csc_matrix, diags

    def step(v: np.ndarray, jacobian: Any, scale: np.ndarray, left: np.ndarray) -> np.ndarray:
        return sizes * shortest_step(diags(1 / scale) @ csc_matrix(jacobian) @ diags(sizes), -left)

    return gauss_newton(equations, guess, step, exact=1e-13, shortest=1e-6, most=60)


def shortest_step(matrix: Any, right: np.ndarray) -> np.ndarray:
    """The shortest v with A v = b for a sparse A, through the system [I, Aᵀ; A, -ε]."""
    from scipy.sparse import bmat, identity
    from scipy.sparse.linalg import splu

    m, n = matrix.shape
    # The small ε keeps the system regular where equations repeat each other.
    augmented = bmat([[identity(n), matrix.T], [matrix, -SMALL * identity(m)]], format="csc")
    return splu(augmented, permc_spec="MMD_AT_PLUS_A").solve(np.concatenate([np.zeros(n), right]))[:n]
