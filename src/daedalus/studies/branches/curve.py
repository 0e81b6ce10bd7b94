"""Follow the curve that N equations in N + 1 unknowns define: pseudo-arclength with a tangent and a Newton corrector.

A step goes along the tangent, bent as the curve was on the step before, and comes back in the plane normal to it, so
that folds are points like others (H. B. Keller 1977; E. L. Allgower and K. Georg, Introduction to Numerical
Continuation Methods, 2003, chapters 2 and 6). Factors are kept for corrections so short that the matrix hardly changes.
The length of a step follows from how fast Newton's method converged and by how much the tangent turned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import STALLED
from daedalus.algebra.newton_steps import full_newton

# Corrections below this share of the unknowns' sizes end the iteration.
CONVERGED = 1e-11
MOST_CORRECTIONS = 8
# The second correction must be at most this share of the first.
TRUSTED = 0.15
# After a correction below this share of the unknowns' sizes, the next one uses the same factors. A correction that then
# exceeds a tenth of the one before takes new ones.
KEPT, SLOW = 1e-6, 0.1
# The tangent may turn by 30 degrees in a step; below 9 degrees, and with quick corrections, steps grow.
LARGEST_TURN, SMALL_TURN = np.cos(np.pi / 6), np.cos(np.pi / 20)
GROWTH = 1.5

# Y -> R (N,), ∂R/∂Y (N, N + 1).
Equations = Callable[[np.ndarray], tuple[np.ndarray, Any]]


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A point of the curve: its unknowns, unit tangent, and the sign of the determinant of [∂R/∂Y; tangentᵀ].

    turn: the cosine of the angle to the tangent before. corrections: Newton steps with factors of their own that it
    took. bend: how fast the tangent turned on the way from the point before, in a length.
    """

    unknowns: np.ndarray
    tangent: np.ndarray
    orientation: float
    turn: float = 1.0
    corrections: int = 0
    bend: np.ndarray | None = None


class ImplicitCurve:
    """The curve through a point; `sizes(Y)` are the lengths that the unknowns are measured in.

    Example
    -------
    >>> import numpy as np
    >>> def circle(Y):
    ...     return np.array([Y @ Y - 1.0]), 2 * Y[None, :]
    >>> curve = ImplicitCurve(circle, lambda Y: np.ones(2))
    >>> point = curve.through(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    >>> for _ in range(8):
    ...     point = curve.step(point, 0.2)
    >>> bool(abs(np.hypot(*point.unknowns) - 1) < 1e-12), bool(point.unknowns[1] < 0)
    (True, True)
    """

    def __init__(self, equations: Equations, sizes: Callable[[np.ndarray], np.ndarray]) -> None:
        self._equations, self._sizes = equations, sizes

    def through(self, unknowns: np.ndarray, along: np.ndarray) -> CurvePoint:
        """A point that obeys the equations already, with the tangent that points along a direction."""
        _, matrix = self._equations(unknowns)
        factors = bordered(matrix, along / self._sizes(unknowns) ** 2)
        return self._point(unknowns, factors, along)

    def step(self, point: CurvePoint, length: float) -> CurvePoint | None:
        """The next point at a distance along the tangent; None where Newton's method does not converge to it."""
        guess = point.unknowns + length * point.tangent
        if point.bend is not None:
            guess += (length**2 / 2) * point.bend
        normal = point.tangent / self._sizes(point.unknowns) ** 2
        after = self.corrected(guess, normal, point.tangent)
        return None if after is None else replace(after, bend=(after.tangent - point.tangent) / length)

    def between(self, first: CurvePoint, last: CurvePoint, share: float) -> np.ndarray:
        """Unknowns near the curve at a share of the way between two points, by both tangents."""
        gap = last.unknowns - first.unknowns
        length, rest = _length(gap, self._sizes(first.unknowns)), 1 - share
        swing = rest * (length * first.tangent - gap) - share * (length * last.tangent - gap)
        return first.unknowns + share * gap + share * rest * swing

    def corrected(self, guess: np.ndarray, normal: np.ndarray, along: np.ndarray) -> CurvePoint | None:
        """The point of the curve in the plane through a guess with a given normal."""
        sizes, lengths, fresh = self._sizes(guess), list[float](), 0
        factors: BorderedFactors | None = None
        right = np.empty(len(guess))

        def correction(unknowns: np.ndarray) -> np.ndarray | None:
            nonlocal factors, fresh
            residual, matrix = self._equations(unknowns)
            if not np.isfinite(residual).all():
                return None
            np.negative(residual, out=right[:-1])
            right[-1] = normal @ (guess - unknowns)
            short = bool(lengths) and lengths[-1] <= KEPT
            step = factors.solve(right) if factors is not None and short else None
            if step is None or _length(step, sizes) > SLOW * lengths[-1]:
                fresh += 1
                factors = bordered(matrix, normal)
                step = None if factors is None else factors.solve(right)
            if step is None or not np.isfinite(step).all():
                return None
            lengths.append(_length(step, sizes))
            distrusted = len(lengths) == 2 and lengths[1] > max(TRUSTED * lengths[0], 1e-6)
            return None if distrusted else step

        done = full_newton(
            correction, guess.copy(), lambda step, unknowns: lengths[-1], most=MOST_CORRECTIONS, tolerance=CONVERGED,
            stalled=STALLED, contracts=True,
        )  # fmt: skip
        # The last factors are those of a point so near that the tangent is that of this one.
        return self._point(done.values, factors, along, fresh) if done.converged else None

    def _point(
        self, unknowns: np.ndarray, factors: BorderedFactors | None, along: np.ndarray, corrections: int = 0
    ) -> CurvePoint:
        sizes = self._sizes(unknowns)
        before = along / _length(along, sizes)
        unit, orientation = before, 0.0
        if factors is not None:
            right = np.zeros(len(unknowns))
            right[-1] = 1.0
            tangent, orientation = factors.solve(right), factors.sign
            length = _length(tangent, sizes)
            if math.isfinite(length) and length > 0:
                unit = tangent / length
        turn = float((unit / sizes) @ (before / sizes)) / _weight(len(unknowns))
        if turn < 0:
            unit, orientation, turn = -unit, -orientation, -turn
        return CurvePoint(unknowns, unit, orientation, turn, corrections)


def _length(step: np.ndarray, sizes: np.ndarray) -> float:
    shares = step / sizes
    return math.sqrt(float(shares @ shares) / _weight(len(shares)))


def _weight(count: int) -> float:
    # Between the mean over the unknowns, which hides one that moves alone, and their sum, which shrinks the steps.
    return math.sqrt(count)


def next_length(point: CurvePoint, length: float, largest: float) -> float:
    """The length of the next step from how the last one went."""
    if point.turn < SMALL_TURN or point.corrections > 4:
        return length / (1.0 if point.corrections <= 4 and point.turn > (SMALL_TURN + LARGEST_TURN) / 2 else 1.3)
    return min(length * GROWTH, largest)


@dataclass(frozen=True, eq=False)
class BorderedFactors:
    """Factors of [matrix; row], and the sign of its determinant."""

    solve: Callable[[np.ndarray], np.ndarray]
    sign: float


def bordered(matrix: Any, row: np.ndarray) -> BorderedFactors | None:
    """Factors of a matrix with one more row; None of a singular one.

    A matrix with a structure of its own brings its own method `bordered`, with `solve` and `sign`.
    """
    if isinstance(matrix, np.ndarray):
        whole = np.empty((len(row), len(row)))
        whole[:-1], whole[-1] = matrix, row
        # Rows of one size, so that their units do not decide.
        scale = np.abs(whole).max(axis=1)
        if not np.all(np.isfinite(scale)) or np.any(scale == 0):
            return None
        from scipy.linalg.lapack import dgetrf, dgetrs

        whole /= scale[:, None]
        # LAPACK takes columns: those of the transposed matrix are rows here, and nothing is copied.
        factors, swaps, failed = dgetrf(whole.T, overwrite_a=1)
        if failed:
            return None
        negative = np.count_nonzero(factors.diagonal() < 0) + np.count_nonzero(swaps != np.arange(len(swaps)))
        return BorderedFactors(
            lambda right: dgetrs(factors, swaps, right / scale, trans=1)[0], 1.0 - 2.0 * (negative % 2)
        )
    if hasattr(matrix, "bordered"):
        own = matrix.bordered(row)
        return None if own is None else BorderedFactors(own.solve, float(own.sign))
    return _sparse_bordered(matrix, row)


def _sparse_bordered(matrix: Any, row: np.ndarray) -> BorderedFactors | None:
    from scipy.sparse import csc_matrix, diags, vstack
    from scipy.sparse.linalg import splu

    whole = vstack([matrix, csc_matrix(row[None, :])], "csc")
    if not np.all(np.isfinite(whole.data)):
        return None
    scale = abs(whole).max(axis=1).toarray().ravel()
    if np.any(scale == 0):
        return None
    try:
        factors = splu((diags(1 / scale) @ whole).tocsc())
    except RuntimeError:
        return None
    sign = np.prod(np.sign(factors.U.diagonal())) * _parity(factors.perm_r) * _parity(factors.perm_c)
    return BorderedFactors(lambda right: factors.solve(right / scale), float(sign))


def _parity(permutation: np.ndarray) -> float:
    """+1 for an even permutation, -1 for an odd one."""
    seen, sign = np.zeros(len(permutation), bool), 1.0
    for first in range(len(permutation)):
        k, length = first, 0
        while not seen[k]:
            seen[k], k, length = True, permutation[k], length + 1
        if length and length % 2 == 0:
            sign = -sign
    return sign
