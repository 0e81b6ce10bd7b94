"""Gauss-Newton steps for F(v) = 0, each shortened until what is left of the equations, in their sizes, falls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daedalus.analysis.points.damped_newton import Equations, Matrix
from daedalus.model.deadline import poll

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
