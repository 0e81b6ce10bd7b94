"""Checks by numbers that share nothing with the derivation: slopes and rates by differences at random points.

Differences of order six, f' ≈ Σ w_k (f(kh) − f(−kh)) / h with w = 3/4, −3/20, 1/60, of functions that are evaluated at
random values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import casadi as ca
import numpy as np

from daedalus.derivations.usual_values import drawn_near

_WEIGHTS = (3 / 4, -3 / 20, 1 / 60)
# Near the step at which the sixth order and rounding meet for values near one; shorter ones where functions bend, and
# a longer one where values are large.
STEPS = (4e-3, 1e-3, 4e-4, 1e-4, 2e-2)
ENOUGH = 1e-10
POINTS = 6
# Expected derivatives at a point, and the directions that they are taken along.
Along = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def slope_residual(of: ca.SX, by: Sequence[ca.SX], found: ca.SX) -> float:
    """The largest relative difference between ∂of/∂by as found and by differences.

    of: a column. found: a column of slopes where `of` is a scalar, else a matrix with a row for each entry of it.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> slope_residual(ca.sin(x), [x], ca.cos(x)) < 1e-11
    True
    """
    column, entries = ca.densify(ca.vec(of)), list(by)
    if not entries or not column.numel():
        return 0.0
    slopes = ca.reshape(ca.densify(found), column.numel(), len(entries))
    every = ca.symvar(ca.vertcat(column, ca.vec(slopes), *entries))
    place = {s.element_hash(): k for k, s in enumerate(every)}
    own = [place[s.element_hash()] for s in entries]
    value = ca.Function("value", [ca.vertcat(*every)], [column])
    derived = ca.Function("derived", [ca.vertcat(*every)], [slopes])

    def along(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        directions = np.zeros((len(entries), len(every)))
        directions[np.arange(len(entries)), own] = 1.0
        return derived(point).full().ravel("F"), directions

    return _largest_error(value, along, every, {})


def rate_residual(
    of: ca.SX, symbols: Sequence[ca.SX], rates: Sequence[ca.SX], found: ca.SX, usual: Mapping[int, float]
) -> float:
    """The largest relative difference between the rate of expressions as found and by differences.

    symbols: what moves. rates: how fast, as expressions. usual: values near which the expressions are defined.
    """
    column, result = ca.densify(ca.vec(of)), ca.densify(ca.vec(found))
    moving, speed = ca.vertcat(*symbols), ca.vertcat(*(ca.SX(r) for r in rates))
    every = ca.symvar(ca.vertcat(column, result, moving, speed))
    place = {s.element_hash(): k for k, s in enumerate(every)}
    own = np.array([place[s.element_hash()] for s in symbols], dtype=int)
    value = ca.Function("value", [ca.vertcat(*every)], [column])
    derived = ca.Function("derived", [ca.vertcat(*every)], [result, speed])

    def along(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        expected, speeds = (part.full().ravel() for part in derived(point))
        direction = np.zeros((1, len(every)))
        np.add.at(direction[0], own, speeds)
        return expected, direction

    return _largest_error(value, along, every, usual)


def _largest_error(value: ca.Function, along: Along, symbols: list[ca.SX], usual: Mapping[int, float]) -> float:
    """The largest error of derivatives along directions, at points at which everything is finite.

    An entry counts by the best of several lengths of the difference: a wrong derivative is wrong at all of them. What
    differences of two lengths disagree by (rounding beside large values, a pole nearby) is no error of the derivative.
    """
    draw, worst, count, size = np.random.default_rng(1736), 0.0, 0, len(symbols)
    for k in range(6 * POINTS if usual else 4 * POINTS):
        if k >= 4 * POINTS and count:
            break
        point = draw.uniform(0.3, 1.5, size) if k < 4 * POINTS else drawn_near(draw, symbols, usual)
        if k < 2 * POINTS:
            point *= draw.choice([-1.0, 1.0], size)
        expected, directions = along(point)
        error, last = np.full(len(expected), np.inf), np.full(len(expected), np.nan)
        for step in STEPS:
            difference = np.concatenate([_difference(value, point, own, step) for own in directions])
            with np.errstate(invalid="ignore"):
                own = np.abs(difference - expected)
                own = np.fmin(own, np.maximum(own - 2 * np.abs(difference - last), 0.0))
                own /= np.maximum(1.0, np.abs(expected))
            last = difference
            error = np.fmin(error, own)
            if np.all(error < ENOUGH):
                break
        if np.all(np.isfinite(error)):
            count += 1
            worst = max(worst, float(error.max(initial=0.0)))
        if count == POINTS:
            break
    return worst if count else float("nan")


def _difference(value: ca.Function, point: np.ndarray, direction: np.ndarray, step: float) -> np.ndarray:
    """The derivative along a direction."""
    moves = [sign * n * step for n in range(1, len(_WEIGHTS) + 1) for sign in (1, -1)]
    rows = value(point[:, None] + np.outer(direction, moves)).full()
    with np.errstate(invalid="ignore"):
        return sum(w * (rows[:, 2 * k] - rows[:, 2 * k + 1]) for k, w in enumerate(_WEIGHTS)) / step
