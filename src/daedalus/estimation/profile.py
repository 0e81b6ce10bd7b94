"""Confidence intervals by profile likelihood: how far one unknown may go while all others make the best of it.

min over the others of χ²(θ) − χ²(θ̂) = q²      with q the quantile of the level that is asked for
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.estimation.weighted_residuals import WeightedResiduals

# How far, in widths of the linear interval, an end is looked for, and how closely it is found.
FARTHEST, CLOSE = 64.0, 1e-4


def profile_interval(
    problem: WeightedResiduals, theta: np.ndarray, k: int, width: float, q: float, bounds: tuple[np.ndarray, np.ndarray]
) -> tuple[float, float]:
    """The ends of the interval of unknown k; an end that data does not give is the bound, or infinite."""
    least = float(np.sum(problem.value(theta) ** 2))
    ends = []
    for step, limit in ((-width, bounds[0][k]), (width, bounds[1][k])):
        others = np.array(theta)

        def excess(value: float, others: np.ndarray = others) -> float:
            """The root of what χ² grows by, less q; the others begin where they were best the last time."""
            cost, others[:] = _best_with(problem, others, k, value, bounds)
            return float(np.sqrt(max(cost - least, 0.0))) - q

        ends.append(_end(excess, float(theta[k]), step, float(limit), CLOSE * q))
    return ends[0], ends[1]


def _end(excess: Callable[[float], float], middle: float, step: float, limit: float, close: float) -> float:
    """Where the excess is zero, from the middle on in the direction of a step; the limit where it is nowhere."""
    inside, share = 0.0, 1.0
    while True:
        value = middle + share * step
        if (value - limit) * step >= 0:
            value = limit
        beyond = excess(value)
        if abs(beyond) < close:
            return float(value)
        if beyond > 0:
            break
        if value == limit or share > FARTHEST:
            return limit
        inside, share = share, 2 * share
    from scipy.optimize import brentq

    return float(brentq(excess, middle + inside * step, value, xtol=CLOSE * abs(step), rtol=1e-12))


def _best_with(
    problem: WeightedResiduals, theta: np.ndarray, k: int, value: float, bounds: tuple[np.ndarray, np.ndarray]
) -> tuple[float, np.ndarray]:
    """The least χ² with unknown k held at a value, and where it is."""
    from scipy.optimize import least_squares

    free = [i for i in range(len(theta)) if i != k]
    whole = np.array(theta)
    whole[k] = value
    if not free:
        return float(np.sum(problem.value(whole) ** 2)), whole

    def full(part: np.ndarray) -> np.ndarray:
        found = np.array(whole)
        found[free] = part
        return found

    solver: Any = least_squares
    done = solver(
        lambda part: problem.value(full(part)), whole[free], jac=lambda part: problem.both(full(part))[1][:, free],
        bounds=(bounds[0][free], bounds[1][free]), x_scale="jac", method="trf",
    )  # fmt: skip
    return float(2 * done.cost), full(done.x)
