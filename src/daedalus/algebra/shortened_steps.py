"""Gauss-Newton steps for F(v) = 0, each shortened until what is left of the equations, in their sizes, falls.

Where F cannot vanish, or slopes do, steps are shortened and turned by Levenberg and Marquardt's term.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from daedalus.algebra.damped_newton import SOLVED, Equations, Matrix
from daedalus.algebra.newton_record import new_record
from daedalus.algebra.rank_decision import FULL_MATRIX, sparse_factors
from daedalus.deadline import poll

# ε in [I, Aᵀ; A, -ε] of sparse matrices, whose root is the singular value below which parts of a step are left out: as
# small as squares of entries are known to.
SQUARES_KNOWN = 1e-14

# Square matrices of a smaller condition are regular: no singular value is as small as that root.
REGULAR = 1e6

# Full matrices: pivots below this share of the largest are left out of a step. Where the Jacobian has less rank on the
# solutions than beside them, full steps along small singular values lead far away; without them the iteration arrives.
LEFT_OUT = 1e-6

# The term of Levenberg and Marquardt as a share of the squares: the first one, the factor from one to the next (D. W.
# Marquardt, J. SIAM 11, 1963), and one with which steps lead nowhere.
FIRST_TERM, TERM_FACTOR, LARGEST_TERM = 1e-3, 10.0, 1e10

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
    record = new_record("residual", SOLVED)
    if record is not None:
        record.at(v, residual / scale)
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
        if record is not None:
            record.at(v, residual / scale, share)
    return v, residual / scale, count


def shortest_steps(
    equations: Equations, guess: np.ndarray, sizes: np.ndarray, left_out: float = LEFT_OUT
) -> tuple[np.ndarray, np.ndarray, int]:
    """A root near a guess by steps J dv = -F, each the shortest in sizes; what is left there, and how many steps.

    Small matrices are factored by QR with pivots, without those below `left_out`; large ones stay sparse.

    Example
    -------
    >>> import numpy as np
    >>> def circle(v):
    ...     return np.array([v @ v - 1]), 2 * v[None, :], np.ones(1)
    >>> shortest_steps(circle, np.array([1.2, 1.2]), np.ones(2))[0].round(6).tolist()
    [0.707107, 0.707107]
    """
    if len(guess) > FULL_MATRIX:
        return sparse_steps(equations, guess, sizes)

    def step(v: np.ndarray, jacobian: np.ndarray, scale: np.ndarray, left: np.ndarray) -> np.ndarray:
        from scipy.linalg import lstsq

        size = np.maximum(sizes, np.abs(v))
        scaled = jacobian * size / scale[:, None]
        return -size * lstsq(scaled, left, cond=left_out, lapack_driver="gelsy", check_finite=False)[0]

    return gauss_newton(equations, guess, step, exact=1e-15, shortest=1e-3, most=40)


def sparse_steps(equations: Equations, guess: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The root nearest to a guess by sparse steps, what is left there, and how many steps it took."""
    from scipy.sparse import csc_matrix, diags

    def step(v: np.ndarray, jacobian: Any, scale: np.ndarray, left: np.ndarray) -> np.ndarray:
        return sizes * shortest_step(diags(1 / scale) @ csc_matrix(jacobian) @ diags(sizes), -left)

    return gauss_newton(equations, guess, step, exact=1e-13, shortest=1e-6, most=60)


def shortest_step(matrix: Any, right: np.ndarray) -> np.ndarray:
    """The shortest v with A v = b for a sparse A; a regular one has only one, found by its own factors."""
    m, n = matrix.shape
    if m == n:
        factors, condition = sparse_factors(matrix.tocsc())
        if condition < REGULAR:
            return np.asarray(factors.solve(right))
    return augmented_factors(matrix).solve(np.concatenate([np.zeros(n), right]))[:n]


def augmented_factors(matrix: Any) -> Any:
    """The factors of [I, Aᵀ; A, -ε]; the small ε keeps them regular where rows repeat each other."""
    from scipy.sparse import bmat, identity
    from scipy.sparse.linalg import splu

    m, n = matrix.shape
    augmented = bmat([[identity(n), matrix.T], [matrix, -SQUARES_KNOWN * identity(m)]], format="csc")
    return splu(augmented, permc_spec="MMD_AT_PLUS_A")


class Descent(NamedTuple):
    """A point of a descent: what is left of the equations there, its norm, and its slopes."""

    values: np.ndarray
    left: np.ndarray
    slopes: np.ndarray

    @property
    def size(self) -> float:
        """The norm of what is left."""
        return float(np.linalg.norm(self.left))


def levenberg_marquardt(
    at: Callable[[np.ndarray], Descent], guess: np.ndarray, moved: Callable[[np.ndarray, np.ndarray], np.ndarray], *,
    enough: float, most: int, free: Callable[[Descent, np.ndarray], np.ndarray] | None = None, least_scale: float = 0.0,
    progress: float = 0.0,
) -> Descent:  # fmt: skip
    """Where steps of steepest descent that turn into those of Gauss and Newton lead, by the norm of what is left.

    moved: where a step from some values leads; a step may have fewer entries than the values. enough: a norm that is
    small enough. free: which entries of a step may move, by the point and the slope of the square there. least_scale:
    the term counts in the squares of the slopes, at least this; in one where it is 0. progress: the least share of the
    norm that a step gains.

    Example
    -------
    >>> import numpy as np
    >>> def valley(v):
    ...     return Descent(v, np.array([v[0] - 1, 10 * (v[1] - v[0]**2)]), np.array([[1.0, 0.0], [-20 * v[0], 10.0]]))
    >>> levenberg_marquardt(valley, np.array([-1.2, 1.0]), np.add, enough=1e-9, most=99).values.round(9).tolist()
    [1.0, 1.0]
    """
    here, term = at(guess), FIRST_TERM
    record = new_record("residual", enough)
    if record is not None:
        record.at(here.values, here.left)
    for _ in range(most):
        poll("a root of the equations")
        slope = here.slopes.T @ here.left
        moving = np.ones(len(slope), dtype=bool) if free is None else free(here, slope)
        flat = np.abs(slope[moving]).max(initial=0.0) <= SQUARES_KNOWN * max(1.0, here.size)
        if here.size <= enough or flat or term > LARGEST_TERM:
            break
        normal = here.slopes[:, moving].T @ here.slopes[:, moving]
        scale = np.maximum(np.diag(normal), least_scale) if least_scale else np.ones(len(normal))
        step = np.zeros(len(slope))
        step[moving] = -np.linalg.solve(normal + term * np.diag(scale), slope[moving])
        trial = at(moved(here.values, step))
        if not trial.size < here.size:
            term *= TERM_FACTOR
            continue
        gained, here, term = here.size - trial.size, trial, max(term / TERM_FACTOR, SQUARES_KNOWN)
        if record is not None:
            record.at(here.values, here.left)
        if gained <= progress * here.size:
            break
    return here
