"""Follow a solution from the guess to the equations when Newton's method does not arrive.

The Newton homotopy H(v, s) = F(v) - (1 - s) F(v₀) has the solution v₀ at s = 0 and that of F(v) = 0 at s = 1. The curve
between them is followed by its arc length, so that it may turn back in s on the way (E. L. Allgower and K. Georg,
Introduction to Numerical Continuation Methods, 1990: predictor along the tangent, Gauss–Newton corrector).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import Equations, Factors
from daedalus.algebra.least_change import Arrival, Scaled, least_change
from daedalus.algebra.newton_steps import full_newton
from daedalus.algebra.rank_decision import FULL_NULL_SPACE
from daedalus.deadline import poll

# Points of a curve at most, by judgement, and its steps in lengths of the curve: the first, the longest and the
# shortest one.
MOST_STEPS = 400
FIRST_STEP, LARGEST_STEP, SMALLEST_STEP = 0.05, 5.0, 1e-7
# The corrector brings H below this, and gives up after so many iterations.
ON_CURVE, CORRECTIONS = 1e-6, 6
# The tangent may turn by this angle in a step: cos 45°.
SHARPEST_TURN = 0.7
# A curve that went back in s so far does not come again.
FARTHEST_BACK = -10.0


def follow(equations: Equations, guess: np.ndarray, spread: np.ndarray) -> Arrival | None:
    """The end of the curve that begins at the guess, or None where it leads nowhere.

    Example
    -------
    >>> import numpy as np
    >>> def valley(v):      # |F| has a local minimum between the guess and the root: damped Newton stops there
    ...     x = v[0]
    ...     return np.array([x**3 - 2 * x + 2]), np.array([[3 * x**2 - 2]]), np.ones(1)
    >>> follow(valley, np.array([2.0]), np.ones(1)).values.round(6).tolist()
    [-1.769292]
    """
    scaled = Scaled(equations, guess, spread)
    m, n = scaled.shape
    if n > FULL_NULL_SPACE or n == 0 or m == 0:
        return None
    curve = _HomotopyCurve(scaled)
    if not curve.usable:
        return None
    point, tangent, step = np.zeros(n + 1), np.zeros(n + 1), FIRST_STEP
    tangent[-1] = 1.0
    count = 0
    for count in range(1, MOST_STEPS + 1):
        poll("a consistent start")
        found = curve.tangent(point, tangent)
        if found is None:
            return None
        if found @ tangent < SHARPEST_TURN and step > SMALLEST_STEP and count > 1:
            # Too sharp a turn: the last step may have jumped to another piece of the curve.
            step /= 2
        tangent = found
        ahead = curve.corrected(point + step * tangent)
        while ahead is None:
            poll("a consistent start")
            step /= 2
            if step < SMALLEST_STEP:
                return None
            ahead = curve.corrected(point + step * tangent)
        if ahead[-1] < FARTHEST_BACK:
            return None
        if ahead[-1] >= 1.0:
            # The curve crossed s = 1 between the two: begin Newton's method there.
            share = (1.0 - point[-1]) / (ahead[-1] - point[-1])
            crossing = point + share * (ahead - point)
            arrival = least_change(equations, scaled.forth(crossing[:-1]), spread, anchor=guess)
            if arrival.solved:
                return Arrival(arrival.values, arrival.scaled, True, count + arrival.iterations)
            return None
        point, step = ahead, min(1.7 * step, LARGEST_STEP)
    return None


class _HomotopyCurve:
    """H(w, s) = 0 in scaled unknowns; each equation counts in what is left of it at the guess, or in its own size."""

    def __init__(self, equations: Scaled) -> None:
        self.equations = equations
        residual, _, scale = equations(np.zeros(equations.shape[1]))
        self.usable = bool(np.all(np.isfinite(residual)))
        self.rows = np.maximum(np.abs(residual), np.where(scale > 0, scale, 1.0)) if self.usable else scale
        self.first = residual / self.rows

    def value(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        residual, jacobian, _ = self.equations(point[:-1])
        full = jacobian if isinstance(jacobian, np.ndarray) else jacobian.toarray()
        if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(full))):
            return None
        h = residual / self.rows - (1 - point[-1]) * self.first
        return h, np.hstack([full / self.rows[:, None], self.first[:, None]])

    def tangent(self, point: np.ndarray, before: np.ndarray) -> np.ndarray | None:
        """The direction of the curve, as near as possible to the one before."""
        state = self.value(point)
        if state is None:
            return None
        null = _factors(state).null
        ahead = null @ (null.T @ before)
        length = np.linalg.norm(ahead)
        return ahead / length if length > 1e-8 else None

    def corrected(self, point: np.ndarray) -> np.ndarray | None:
        """The nearest point of the curve, or None when it is not found quickly."""

        def correction(at: np.ndarray) -> np.ndarray | None:
            state = self.value(at)
            if state is None or np.linalg.norm(at - point) > 1.0:
                return None
            return np.asarray(-_factors(state).solve(state[0]))

        done = full_newton(
            correction, point, lambda step, at: float(np.linalg.norm(step)), most=CORRECTIONS, tolerance=ON_CURVE,
            contracts=True,
        )  # fmt: skip
        return done.values if done.converged else None


def _factors(state: tuple[np.ndarray, np.ndarray]) -> Any:
    h, matrix = state
    return Factors(matrix, np.ones(matrix.shape[1]), np.ones(len(h)))
