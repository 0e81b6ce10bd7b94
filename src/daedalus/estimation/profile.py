"""Confidence intervals by profile likelihood: how far one unknown may go while all others make the best of it.

min over the others of χ²(θ) − χ²(θ̂) = q²      with q the quantile of the level that is asked for
"""

from __future__ import annotations

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
    return tuple(_end(problem, theta, k, sign * width, q, bounds, least) for sign in (-1.0, 1.0))  # type: ignore[return-value]


def _end(
    problem: WeightedResiduals,
    theta: np.ndarray,
    k: int,
    step: float,
    q: float,
    bounds: tuple[np.ndarray, np.ndarray],
    least: float,
) -> float:
    limit = float(bounds[1][k] if step > 0 else bounds[0][k])
    others = np.array(theta)

    def excess(value: float) -> float:
        cost, found = _best_with(problem, others, k, value, bounds)
        others[:] = found
        return float(np.sqrt(max(cost - least, 0.0))) - q

    inside, share = 0.0, 1.0
    while True:
        value = theta[k] + share * step
        if (value - limit) * step >= 0:
            value = limit
        beyond = excess(value)
        if abs(beyond) < CLOSE * q:
            return float(value)
        if beyond > 0:
            break
        if value == limit or share > FARTHEST:
            return limit
        inside, share = share, 2 * share
    from scipy.optimize import brentq

    return float(brentq(excess, theta[k] + inside * step, value, xtol=CLOSE * abs(step), rtol=1e-12))


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
