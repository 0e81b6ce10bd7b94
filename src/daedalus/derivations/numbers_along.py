"""Checks by numbers that share nothing with the derivation: slopes and rates by differences at random points.

Differences of order six, f' ≈ Σ w_k (f(kh) − f(−kh)) / h with w = 3/4, −3/20, 1/60, of functions that are evaluated at
random values.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

_WEIGHTS = (3 / 4, -3 / 20, 1 / 60)
# Near the step at which the sixth order and rounding meet for values near one.
STEP = 4e-3
POINTS = 6


def slope_residual(of: ca.SX, by: Sequence[ca.SX], found: ca.SX) -> float:
    """The largest relative difference between ∂of/∂by as found and by differences.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> slope_residual(ca.sin(x), [x], ca.cos(x)) < 1e-11
    True
    """
    entries = list(by)
    directions = [[ca.SX(float(i == j)) for j in range(len(entries))] for i in range(len(entries))]
    checks = [rate_residual(of, entries, direction, found[i]) for i, direction in enumerate(directions)]
    return max(checks, default=0.0)


def rate_residual(of: ca.SX, symbols: Sequence[ca.SX], rates: Sequence[ca.SX], found: ca.SX) -> float:
    """The largest relative difference between the rate of expressions as found and by differences.

    symbols: what moves. rates: how fast, as expressions.
    """
    column, result = ca.densify(ca.vec(of)), ca.densify(ca.vec(found))
    moving, speed = ca.vertcat(*symbols), ca.vertcat(*(ca.SX(r) for r in rates))
    every = ca.symvar(ca.vertcat(column, result, moving, speed))
    place = {s.element_hash(): k for k, s in enumerate(every)}
    own = np.array([place[s.element_hash()] for s in symbols], dtype=int)
    value = ca.Function("value", [ca.vertcat(*every)], [column])
    derived = ca.Function("derived", [ca.vertcat(*every)], [result, speed])
    draw, worst, count = np.random.default_rng(1736), 0.0, 0
    for k in range(4 * POINTS):
        point = draw.uniform(0.3, 1.5, len(every))
        if k < 2 * POINTS:
            point *= draw.choice([-1.0, 1.0], len(every))
        expected, along = (part.full().ravel() for part in derived(point))
        difference = np.zeros(len(expected))
        for n, weight in enumerate(_WEIGHTS, start=1):
            ends = []
            for sign in (1, -1):
                moved = point.copy()
                np.add.at(moved, own, sign * n * STEP * along)
                ends.append(value(moved).full().ravel())
            difference += weight * (ends[0] - ends[1]) / STEP
        if np.all(np.isfinite(difference)) and np.all(np.isfinite(expected)):
            count += 1
            worst = max(worst, float(np.max(np.abs(difference - expected) / np.maximum(1.0, np.abs(expected)))))
        if count == POINTS:
            break
    return worst if count else float("nan")
