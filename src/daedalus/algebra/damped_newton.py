"""Newton's method for F(v) = 0 with affine-invariant damping; more or fewer equations than unknowns are allowed.

Each step solves J dv = -F in the least-squares sense with the shortest dv, lengths counted in the usual size of each
unknown. The damping is chosen by the natural monotonicity test: the next correction with the old Jacobian must be
shorter than this one. It does not depend on how the equations are scaled (P. Deuflhard, Newton Methods for Nonlinear
Problems, 2004: algorithm NLEQ-ERR of chapter 3, with the pseudo-inverse of chapter 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.agreement import HALF_OF_DIGITS
from daedalus.algebra.newton_record import new_record
from daedalus.algebra.newton_steps import SHORTENING
from daedalus.algebra.rank_decision import ROUNDING, SINGULAR, sparse_factors
from daedalus.deadline import poll

# A full matrix, a sparse one of SciPy, or one with factors of its own (`factors`, `toarray`, `data`).
Matrix = Any
# v -> F(v), ∂F/∂v as a full matrix or a sparse one, and the size of each equation.
Equations = Callable[[np.ndarray], tuple[np.ndarray, Matrix, np.ndarray]]

# Corrections below this share of an unknown's size count as zero.
TOLERANCE = ROUNDING
# Where rounding keeps corrections from shrinking further they must at least be this small.
STALLED = HALF_OF_DIGITS
# Equations hold when what is left of them is at most this share of their size.
SOLVED = 1e-9
# The same where ranks are lost on the solutions, or where a run has passed by: such values have half their digits.
CONSISTENT = HALF_OF_DIGITS
# An equation whose slopes are at most this share of its size does not depend on the unknowns: that is rounding.
DEAD = 1e-14
SMALLEST_DAMPING = 1e-8


class Factors:
    """A Jacobian scaled by rows and columns, ready to solve with; `null` spans what it cannot tell apart."""

    def __init__(self, jacobian: Matrix, size: np.ndarray, scale: np.ndarray) -> None:
        self.size = size
        self.rows, self.dead, self._lu, matrix = _scaled(jacobian, size, scale)
        if matrix is not None:
            left, values, right = np.linalg.svd(matrix, full_matrices=True)
            rank = int(np.sum(values > SINGULAR * values[0])) if values.size else 0
            self._left, self._values, self._right = left[:, :rank], values[:rank], right[:rank]
            self.null = right[rank:].T
        else:
            self.null = np.zeros((len(size), 0))

    def solve(self, residual: np.ndarray) -> np.ndarray:
        """The shortest dv with J dv nearest to the residual."""
        scaled = residual / self.rows
        if self._lu is not None:
            return self.size * self._lu.solve(scaled)
        return self.size * (self._right.T @ (self._left.T @ scaled / self._values))


@dataclass(frozen=True, eq=False)
class _InUnits:
    """Factors whose solutions are in units, as factors in sizes of the unknowns."""

    factors: Any
    size: np.ndarray

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution in sizes."""
        return np.asarray(self.factors.solve(right) / self.size)


def _scaled(
    jacobian: Matrix, size: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Any, np.ndarray | None]:
    """Row scales, dead rows, and either LU factors of a sparse matrix that is safely regular or the full matrix."""
    if isinstance(jacobian, np.ndarray):
        matrix = jacobian * size
        rows, dead = _row_scale(np.abs(matrix).max(axis=1, initial=0.0), scale)
        return rows, dead, None, matrix / rows[:, None]
    if hasattr(jacobian, "factors"):
        # A matrix with a structure of its own brings its factors.
        factors, condition = jacobian.factors(size)
        if condition < 1 / SINGULAR:
            return np.ones(len(size)), np.zeros(0, dtype=int), _InUnits(factors, size), None
        return _scaled(jacobian.toarray(), size, scale)
    from scipy.sparse import csc_matrix

    # On the numbers themselves: products with diagonal matrices take longer than the factors of some hundred unknowns.
    given = jacobian.tocsc()
    numbers, largest = given.data * np.repeat(size, np.diff(given.indptr)), np.zeros(given.shape[0])
    np.maximum.at(largest, given.indices, np.abs(numbers))
    rows, dead = _row_scale(largest, scale)
    sparse = csc_matrix((numbers / rows[given.indices], given.indices, given.indptr), given.shape)
    if sparse.shape[0] == sparse.shape[1] and not len(dead):
        factors, condition = sparse_factors(sparse)
        if condition < 1 / SINGULAR:
            return rows, dead, factors, None
    return rows, dead, None, sparse.toarray()


def _row_scale(largest: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What to divide the rows by, and the rows that hold nothing but rounding."""
    dead = largest <= DEAD * scale
    return np.where(dead, np.where(scale > 0, scale, 1.0), largest), np.flatnonzero(dead)


@dataclass(frozen=True, eq=False)
class Root:
    """Where the iteration ended.

    values: the unknowns. residual: F there. scaled: F in shares of the equations' sizes. null: (n, k) the directions,
    in sizes of the unknowns, along which F does not change to first order. iterations: Newton steps. converged: whether
    the corrections went to zero. step: the last correction in sizes. insensitive: equations that no unknown changes.
    """

    values: np.ndarray
    residual: np.ndarray
    scaled: np.ndarray
    null: np.ndarray
    iterations: int
    converged: bool
    step: np.ndarray
    insensitive: frozenset[int] = frozenset()

    @property
    def worst(self) -> float:
        """The largest scaled residual."""
        return float(np.abs(self.scaled).max(initial=0.0))

    @property
    def solved(self) -> bool:
        """Whether the equations hold."""
        return self.converged and self.worst <= SOLVED

    def loose(self) -> np.ndarray:
        """Positions of the unknowns that the equations leave undetermined."""
        return np.flatnonzero(np.linalg.norm(self.null, axis=1) > 1e-6)


def damped_newton(equations: Equations, guess: np.ndarray, nominal: np.ndarray, limit: int = 100) -> Root:
    """Solve F(v) = 0 from a guess.

    Parameters
    ----------
    equations: v -> F (m,), ∂F/∂v (m, n) as a full matrix or a sparse one, and the size of each equation (m,).
    guess: where to begin, (n,).
    nominal: the usual size of each unknown, (n,).
    limit: the most iterations.

    Example
    -------
    >>> import numpy as np
    >>> def circle_and_line(v):
    ...     return np.array([v @ v - 2, v[0] - v[1]]), np.array([[2 * v[0], 2 * v[1]], [1.0, -1.0]]), np.ones(2)
    >>> root = damped_newton(circle_and_line, np.array([10.0, 1.0]), np.ones(2))
    >>> root.values.round(12).tolist(), root.solved
    ([1.0, 1.0], True)
    """
    v = np.array(guess, dtype=float)
    state = equations(v)
    damping = 1.0
    before: tuple[np.ndarray, float] | None = (
        None  # the simplified correction after the last step, and that step's length
    )
    if not _finite(state):
        dead = np.full(state[0].shape, np.inf)
        return Root(v, state[0], dead, np.zeros((v.size, 0)), 0, False, np.zeros_like(v))
    record = new_record("residual", SOLVED)
    if record is not None:
        record.at(v, _in_sizes(state))
    for iteration in range(limit):
        poll("a root of the equations")
        size = np.maximum(nominal, np.abs(v))
        factors = Factors(state[1], size, state[2])
        step = -factors.solve(state[0])
        length = _length(step, size)
        if length <= TOLERANCE:
            # The last correction is as good as the others unless rounding spoils it.
            last = equations(v + step)
            if _finite(last) and np.linalg.norm(last[0] / state[2]) < np.linalg.norm(state[0] / state[2]):
                v, state = v + step, last
                if record is not None:
                    record.at(v, _in_sizes(state))
            return _root(v, state, factors, iteration, True, step)
        damping = _predicted(before, step, length, damping, size)
        trial = _damped_step(equations, v, step, damping, factors)
        if trial is None:
            return _root(v, state, factors, iteration, length <= STALLED, step)
        v, state, damping, successor = trial
        before = (successor, length)
        if record is not None:
            record.at(v, _in_sizes(state), damping)
    return _root(v, state, factors, limit, False, step)


def newton_over_corners(equations: Equations, guess: np.ndarray, nominal: np.ndarray, limit: int = 50) -> Root:
    """Solve F(v) = 0 where F has corners or jumps in v: by full steps, and by the damped method where these fail.

    Full steps pass from one straight piece to the next, where damped ones go slowly; on pieces that are nearly linear
    they end on the right one after some steps (J. Katzenelson, Bell System Technical Journal 44 (1965)).

    Example
    -------
    >>> import numpy as np
    >>> def diode_like(v):
    ...     slope = 1e6 if v[0] > 1 else 1e-6
    ...     return np.array([slope * (v[0] - 1) - 2.0]), np.array([[slope]]), np.ones(1)
    >>> newton_over_corners(diode_like, np.zeros(1), np.ones(1)).values.round(9).tolist()
    [1.000002]
    """
    v, before = np.array(guess, dtype=float), np.inf
    record = new_record("residual", SOLVED)
    for iteration in range(limit):
        poll("a root of the equations")
        state = equations(v)
        if not _finite(state):
            break
        if record is not None:
            record.at(v, _in_sizes(state))
        factors = Factors(state[1], np.maximum(nominal, np.abs(v)), state[2])
        step = -factors.solve(state[0])
        length = _length(step, factors.size)
        if length <= TOLERANCE or (length <= STALLED and length >= before):
            return _root(v, state, factors, iteration, True, step)
        v, before = v + step, length
    return damped_newton(equations, guess, nominal)


def _predicted(
    before: tuple[np.ndarray, float] | None, step: np.ndarray, length: float, damping: float, size: np.ndarray
) -> float:
    """The damping that the last iteration suggests for this one: last curvature, this length."""
    if before is None:
        # No unknown leaves its usual size in the first step; the test raises this at once where F is nearly linear.
        return float(np.clip(1.0 / np.abs(step / size).max(), SMALLEST_DAMPING, 1.0))
    successor, last = before
    gap = _length(successor - step, size) * length
    return 1.0 if gap == 0 else float(np.clip(last * _length(successor, size) / gap * damping, SMALLEST_DAMPING, 1.0))


def _damped_step(
    equations: Equations, v: np.ndarray, step: np.ndarray, damping: float, factors: Factors
) -> tuple[np.ndarray, Any, float, np.ndarray] | None:
    """The longest damped step that passes the monotonicity test, or None when there is none."""
    size, raised = factors.size, False
    length = _length(step, size)
    while damping >= SMALLEST_DAMPING:
        poll("a root of the equations")
        trial = v + damping * step
        state = equations(trial)
        if not _finite(state):
            damping, raised = damping / 2, True
            continue
        successor = -factors.solve(state[0])
        curvature = _length(successor - (1 - damping) * step, size)
        suggestion = 0.5 * length * damping**2 / curvature if curvature > 0 else 1.0
        if _length(successor, size) > (1 - SHORTENING * damping) * length:
            damping, raised = min(suggestion, damping / 2), True
            continue
        if not raised and damping < 1 and suggestion >= min(1.0, 4 * damping):
            damping, raised = min(1.0, suggestion), True
            continue
        return trial, state, damping, successor
    return None


def sizes_of_equations(slopes: np.ndarray, v: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """What each equation counts in: the largest that one unknown, of its usual size, makes of it; never zero."""
    size = (np.abs(slopes) * np.maximum(nominal, np.abs(v))).max(axis=1, initial=0.0)
    return np.where(size > 0, size, 1.0)


def _root(
    v: np.ndarray, state: tuple[np.ndarray, Matrix, np.ndarray], factors: Factors, iterations: int, converged: bool,
    step: np.ndarray,
) -> Root:  # fmt: skip
    residual, scaled = state[0], _in_sizes(state)
    dead = frozenset(factors.dead.tolist())
    return Root(v, residual, scaled, factors.null, iterations, converged, step / factors.size, dead)


def _in_sizes(state: tuple[np.ndarray, Matrix, np.ndarray]) -> np.ndarray:
    """The residual in sizes of the equations."""
    residual, _, scale = state
    return residual / np.where(scale > 0, scale, 1.0)


def _length(step: np.ndarray, size: np.ndarray) -> float:
    share = step / size
    return math.sqrt(np.add.reduce(share * share) / share.size) if share.size else 0.0


def _finite(state: tuple[np.ndarray, Matrix, np.ndarray]) -> bool:
    residual, jacobian, _ = state
    entries = jacobian if isinstance(jacobian, np.ndarray) else jacobian.data
    return bool(np.isfinite(residual).all() and np.isfinite(entries).all())
