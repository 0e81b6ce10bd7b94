"""A function F(t, y, y') that cannot be traced, on numbers: its Jacobians by differences, and what occurs where.

Jacobians are the user's or forward differences with steps √ε of a component's size; a start is judged by central ones.
Which derivatives occur in which equation, and so the structural index, is read off the Jacobians at the start and at
points nearby.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import CENTRAL, ONE_SIDED
from daedalus.analysis.structure.signature import Signature, signature_by_patterns
from daedalus.tracing.trace import nearby

Residual = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
Jacobians = Callable[[float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
Differences = Callable[[Callable[[np.ndarray], np.ndarray], np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class CallbackDae:
    """F and (∂F/∂y, ∂F/∂y') on numbers, and what the structure of the Jacobians tells."""

    residual: Residual
    jacobians: Jacobians
    dot: np.ndarray  # (n, n) whether y'_j occurs in F_i
    whole: np.ndarray  # (n, n) whether y_j does
    structure: Signature
    # Whether ∂F/∂y' is the same at the points that were looked at, to the accuracy of differences.
    constant_dot: bool = True
    # The Jacobians as exactly as they can be had, for the start: central differences where a run takes forward ones.
    at_start: Jacobians | None = None

    @property
    def sharp(self) -> Jacobians:
        """The Jacobians that a start is judged by."""
        return self.at_start or self.jacobians

    @property
    def size(self) -> int:
        """How many components y has."""
        return len(self.dot)


def callback_dae(
    residual: Residual,
    jacobians: Jacobians | None,
    start: tuple[float, np.ndarray, np.ndarray],
    end: float,
    at_start: Jacobians | None = None,
) -> CallbackDae:
    """The description of a function on numbers, its structure probed at the start and nearby."""
    if jacobians is None:
        at_start = differences(residual, central_differences)
    taken = jacobians or differences(residual, forward_differences)
    dot, whole, constant_dot = _occurrences(taken, start, end)
    return CallbackDae(residual, taken, dot, whole, _structure(dot, whole), constant_dot, at_start)


def differences(residual: Residual, by: Differences) -> Jacobians:
    """∂F/∂y and ∂F/∂y' by differences."""

    def jacobians(t: float, y: np.ndarray, yp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        base = residual(t, y, yp)
        return by(lambda moved: residual(t, moved, yp), y, base), by(lambda moved: residual(t, y, moved), yp, base)

    return jacobians


def forward_differences(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray, base: np.ndarray) -> np.ndarray:
    """The Jacobian (m, n) of a function at a point where its value is `base`."""
    found = np.empty((base.size, at.size))
    for j in range(at.size):
        moved = at.copy()
        # A step that is exactly a difference of two numbers.
        moved[j] += ONE_SIDED * max(abs(at[j]), 1e-3)
        found[:, j] = (function(moved) - base) / (moved[j] - at[j])
    return found


def central_differences(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray, base: np.ndarray) -> np.ndarray:
    """The same by values on both sides, a thousand times nearer for twice the calls."""
    found = np.empty((base.size, at.size))
    for j in range(at.size):
        ahead, behind = at.copy(), at.copy()
        step = CENTRAL * max(abs(at[j]), 0.1)
        ahead[j] += step
        behind[j] -= step
        found[:, j] = (function(ahead) - function(behind)) / (ahead[j] - behind[j])
    return found


def _occurrences(
    jacobians: Jacobians, start: tuple[float, np.ndarray, np.ndarray], end: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    t, y, yp = start
    dot, whole = np.zeros((2, y.size, y.size), dtype=bool)
    seen = []
    points: Iterable[tuple[float, np.ndarray, np.ndarray]] = (
        (time, near, near_rate) for (time, near), (_, near_rate) in zip(nearby(t, y, end), nearby(t, yp, end))
    )
    for k, point in enumerate([start, *points]):
        if k > 4:
            break
        with np.errstate(all="ignore"):
            by_y, by_rate = jacobians(*point)
        whole |= np.isfinite(by_y) & (by_y != 0)
        dot |= np.isfinite(by_rate) & (by_rate != 0)
        seen.append(by_rate)
    constant = all(np.allclose(by_rate, seen[0], rtol=1e-5, atol=1e-6 * np.abs(seen[0]).max()) for by_rate in seen)
    return dot, whole, constant


def _structure(dot: np.ndarray, whole: np.ndarray) -> Signature:
    """The signature of equations in which these entries occur."""
    patterns = [
        ca.Sparsity.triplet(*occurs.shape, *(k.tolist() for k in np.nonzero(occurs))) for occurs in (whole, dot)
    ]
    return signature_by_patterns(len(dot), len(dot), patterns)
