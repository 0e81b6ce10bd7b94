"""A second way to integrate: Gragg's midpoint rule extrapolated to high order, in any arithmetic NumPy can add up.

T_j1 is the midpoint rule with n_j = 2j substeps, whose error is a series in (H/n_j)²; Aitken and Neville's scheme
T_jk = T_j,k-1 + (T_j,k-1 - T_j-1,k-1) / ((n_j/n_j-k+1)² - 1) gives order 2k (Hairer, Nørsett, Wanner I, II.9).
"""

from collections.abc import Callable

import numpy as np

Rhs = Callable[[np.ndarray], np.ndarray]


def extrapolate(
    rhs: Rhs, start: np.ndarray, span: tuple[float, float], tolerance: float, columns: int = 9
) -> np.ndarray:
    """The end values of y' = rhs(y); the tolerance is per step, relative to the largest entry of y."""
    y, t, end = start, span[0] + 0 * start[0], span[1] + 0 * start[0]
    step = (end - t) / 100
    while t < end:
        step = min(step, end - t)
        new, error = big_step(rhs, y, step, columns)
        ratio = min(float(error / (tolerance * np.max(np.abs(y)))), 1e30)
        if ratio <= 1:
            t, y = t + step, new
        step = step * min(2.0, max(0.1, 0.8 * (ratio + 1e-30) ** (-1 / (2 * columns - 1))))
    return y


def big_step(rhs: Rhs, y: np.ndarray, step: float, columns: int) -> tuple[np.ndarray, float]:
    """One step of order 2 × columns, and the difference to order 2 × columns - 2."""
    first = rhs(y)
    row: list[np.ndarray] = []
    for j in range(1, columns + 1):
        above, row = row, [midpoint_rule(rhs, y, first, step, 2 * j)]
        for k in range(1, j):
            weight = (step * j) ** 2 / (step * (j - k)) ** 2 - 1
            row.append(row[-1] + (row[-1] - above[k - 1]) / weight)
    return row[-1], np.max(np.abs(row[-1] - row[-2]))


def midpoint_rule(rhs: Rhs, y: np.ndarray, first: np.ndarray, step: float, substeps: int) -> np.ndarray:
    """Gragg's rule: one Euler step, then leapfrog."""
    h = step / substeps
    before, now = y, y + h * first
    for _ in range(substeps - 1):
        before, now = now, before + 2 * h * rhs(now)
    return now
