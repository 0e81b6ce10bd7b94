"""Follow the curve that N equations in N + 1 unknowns define: pseudo-arclength with a tangent and a Newton corrector.

A step goes along the tangent and comes back in the plane normal to it, so that folds are points like others (H. B.
Keller 1977; E. L. Allgower and K. Georg, Introduction to Numerical Continuation Methods, 2003, chapters 2 and 6). The
step follows from how fast Newton's method converged and by how much the tangent turned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import STALLED
from daedalus.algebra.newton_steps import full_newton

# Corrections below this share of the unknowns' sizes end the iteration.
CONVERGED = 1e-11
MOST_CORRECTIONS = 8
# The second correction must be at most this share of the first.
TRUSTED = 0.15
# The tangent may turn by 30 degrees in a step; below 9 degrees, and with quick corrections, steps grow.
LARGEST_TURN, SMALL_TURN = np.cos(np.pi / 6), np.cos(np.pi / 20)
GROWTH = 1.5

# Y -> R (N,), ∂R/∂Y (N, N + 1).
Equations = Callable[[np.ndarray], tuple[np.ndarray, Any]]


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A point of the curve: its unknowns, unit tangent, and the sign of the determinant of [∂R/∂Y; tangentᵀ].

    turn: the cosine of the angle to the tangent before. corrections: Newton steps that it took.
    """

    unknowns: np.ndarray
    tangent: np.ndarray
    orientation: float
    matrix: Any
    turn: float = 1.0
    corrections: int = 0


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
        return self._point(unknowns, matrix, along / self._length(along, unknowns))

    def step(self, point: CurvePoint, length: float) -> CurvePoint | None:
        """The next point at a distance along the tangent; None where Newton's method does not converge to it."""
        sizes = self._sizes(point.unknowns)
        guess = point.unknowns + length * point.tangent
        normal = point.tangent / sizes**2
        return self.corrected(guess, normal, point.tangent)

    def corrected(self, guess: np.ndarray, normal: np.ndarray, along: np.ndarray) -> CurvePoint | None:
        """The point of the curve in the plane through a guess with a given normal."""
        sizes: list[float] = []

        def correction(unknowns: np.ndarray) -> np.ndarray | None:
            residual, matrix = self._equations(unknowns)
            if not np.all(np.isfinite(residual)):
                return None
            solved = bordered(matrix, normal, np.append(-residual, -normal @ (unknowns - guess)))
            if solved is None or not np.all(np.isfinite(solved[0])):
                return None
            sizes.append(self._length(solved[0], unknowns))
            distrusted = len(sizes) == 2 and sizes[1] > max(TRUSTED * sizes[0], 1e-6)
            return None if distrusted else solved[0]

        done = full_newton(
            correction, guess.copy(), self._length, most=MOST_CORRECTIONS, tolerance=CONVERGED, stalled=STALLED,
            contracts=True,
        )  # fmt: skip
        if not done.converged:
            return None
        return self._point(done.values, self._equations(done.values)[1], along, done.iterations)

    def _point(self, unknowns: np.ndarray, matrix: Any, along: np.ndarray, corrections: int = 0) -> CurvePoint:
        sizes = self._sizes(unknowns)
        border = along / sizes**2
        right = np.zeros(len(unknowns))
        right[-1] = 1.0
        solved = bordered(matrix, border, right)
        if solved is None:
            tangent, orientation = along, 0.0
        else:
            tangent, orientation = solved
        length = self._length(tangent, unknowns)
        unit = tangent / length if np.isfinite(length) and length > 0 else along
        before = along / self._length(along, unknowns)
        turn = float(np.sum(unit * before / sizes**2) / self._weight(len(unknowns)))
        return CurvePoint(unknowns, unit, orientation, matrix, turn, corrections)

    def _length(self, step: np.ndarray, unknowns: np.ndarray) -> float:
        sizes = self._sizes(unknowns)
        return float(np.sqrt(np.sum((step / sizes) ** 2) / self._weight(len(unknowns))))

    @staticmethod
    def _weight(count: int) -> float:
        # Between the mean over the unknowns, which hides one that moves alone, and their sum, which shrinks the steps.
        return float(np.sqrt(count))


def next_length(point: CurvePoint, length: float, largest: float) -> float:
    """The length of the next step from how the last one went."""
    if point.turn < SMALL_TURN or point.corrections > 4:
        return length / (1.0 if point.corrections <= 4 and point.turn > (SMALL_TURN + LARGEST_TURN) / 2 else 1.3)
    return min(length * GROWTH, largest)


def bordered(matrix: Any, row: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float] | None:
    """The solution of [matrix; row] v = right and the sign of the determinant; None of a singular matrix.

    A matrix with a structure of its own brings its own method `bordered`.
    """
    if isinstance(matrix, np.ndarray):
        whole = np.vstack([matrix, row])
        if not np.all(np.isfinite(whole)):
            return None
        # Rows of one size, so that their units do not decide.
        scale = np.abs(whole).max(axis=1)
        if np.any(scale == 0):
            return None
        from scipy.linalg.lapack import dgetrf, dgetrs

        factors, swaps, failed = dgetrf(whole / scale[:, None])
        if failed:
            return None
        sign = np.prod(np.sign(np.diag(factors))) * (-1.0) ** np.count_nonzero(swaps != np.arange(len(swaps)))
        return dgetrs(factors, swaps, right / scale)[0], float(sign)
    if hasattr(matrix, "bordered"):
        solution: tuple[np.ndarray, float] | None = matrix.bordered(row, right)
        return solution
    return _sparse_bordered(matrix, row, right)


def _sparse_bordered(matrix: Any, row: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float] | None:
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
    return factors.solve(right / scale), float(sign)


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
