"""Gauss-Newton steps for F(v) = 0, each shortened until what is left of the equations, in their sizes, falls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import Equations, Matrix
from daedalus.deadline import poll

# Sparse matrices: ε, whose root is the singular value below which parts of a step are left out.
SMALL = 1e-14

# From the values, ∂F/∂v, the sizes of the equations and the scaled residual to the whole step.
Step = Callable[[np.ndarray, Matrix, np.ndarray, np.ndarray], np.ndarray]


def gauss_newton(
    equations: Equations, guess: np.ndarray, step: Step, *, exact: float, shortest: float, most: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Where at most so many steps lead from a guess, the scaled residual there, and how many were tried.

    Residuals below `exact` count as zero; no share of a step smaller than `shortest` is tried.
    """
    v = guess.copy()
    residual, jacobian, scale = equations(v)
    count = 0
    while count < most:
        poll("a root of the equations")
        count += 1
        scaled = residual / scale
        entries = jacobian if isinstance(jacobian, np.ndarray) else jacobian.data
        finite = np.all(np.isfinite(scaled)) and np.all(np.isfinite(entries))
        if not finite or np.abs(scaled).max(initial=0.0) < exact:
            break
        whole, share = step(v, jacobian, scale, scaled), 1.0
        while share > shortest:
            trial = equations(v + share * whole)
            # A linear system would leave 1 - share.
            if np.linalg.norm(trial[0] / scale) < (1 - 0.1 * share) * np.linalg.norm(scaled):
                break
            share /= 2
        else:
            break
        v = v + share * whole
        residual, jacobian, scale = trial
    return v, residual / scale, count


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
