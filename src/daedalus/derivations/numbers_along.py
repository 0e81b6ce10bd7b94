"""Checks by numbers that share nothing with the derivation: slopes and rates by differences at random points.

Differences of order six, f' ≈ Σ w_k (f(kh) − f(−kh)) / h with w = 3/4, −3/20, 1/60, of functions that are evaluated at
random values. Columns that share no row are moved together (Curtis, Powell and Reid, 1974): a thousand sparse columns
need a dozen differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import EPSILON, KNOWN
from daedalus.derivations.usual_values import drawn_near

_WEIGHTS = (3 / 4, -3 / 20, 1 / 60)
# Near the step at which the sixth order and rounding meet for values near one; shorter ones where functions bend, and
# a longer one where values are large.
STEPS = (4e-3, 1e-3, 4e-4, 1e-4, 2e-2)
POINTS = 6
# An entry is shown by a difference whose own uncertainty is a smaller part of it than this.
SHOWN = 1e-3
# Roundings of the size of a value that may add up in a difference of six of them.
ROUNDINGS = 8
# Expected derivatives at a point, and the directions that they are taken along.
Along = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def slope_residual(
    of: ca.SX, by: Sequence[ca.SX], found: ca.SX, usual: Mapping[int, float] = MappingProxyType({})
) -> float:
    """The largest relative difference between ∂of/∂by as found and by differences.

    of: a column. found: a column of slopes where `of` is a scalar, else a matrix with a row for each entry of it.
    usual: values near which the expressions are defined.

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
    own = np.array([place[s.element_hash()] for s in entries], dtype=int)
    value = ca.Function("value", [ca.vertcat(*every)], [column])
    derived = ca.Function("derived", [ca.vertcat(*every)], [slopes])
    pattern = ca.jacobian_sparsity(column, ca.vertcat(*entries))
    rows, columns = (np.array(side, dtype=int) for side in pattern.get_triplet())
    groups = np.array(pattern.uni_coloring(pattern.T).T.row(), dtype=int)
    directions = np.zeros((int(groups.max()) + 1, len(every)))
    directions[groups, own] = 1.0
    # Where the row of an entry stands in the differences, a group after the other.
    counted = groups[columns] * column.numel() + rows

    def along(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return derived(point).full()[rows, columns], directions

    inside = _largest_error(value, along, every, usual, counted)
    return float(np.maximum(inside, _largest_outside(derived, rows, columns, len(every))))


def _largest_outside(derived: ca.Function, rows: np.ndarray, columns: np.ndarray, size: int) -> float:
    """The largest slope at random points by a symbol on which a row does not depend: it ought to be zero."""
    draw, worst = np.random.default_rng(1736), 0.0
    for _ in range(POINTS):
        slopes = derived(draw.uniform(0.3, 1.5, size)).full()
        slopes[rows, columns] = 0.0
        worst = max(worst, float(np.abs(slopes[np.isfinite(slopes)]).max(initial=0.0)))
    return worst


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


def _largest_error(
    value: ca.Function,
    along: Along,
    symbols: list[ca.SX],
    usual: Mapping[int, float],
    counted: np.ndarray | slice = slice(None),
) -> float:
    """The largest error of derivatives along directions, at points at which everything is finite.

    counted: which entries of the differences, a direction after the other, the expected derivatives are for.

    An entry counts by the best of several lengths of the difference: a wrong derivative is wrong at all of them. What
    differences of two lengths disagree by (a pole nearby) and what rounding makes of them (beside large values) is no
    error of the derivative; a point at which these hide the derivative itself says nothing about that entry. NaN where
    no point says anything about some entry.
    """
    draw, size, tried = np.random.default_rng(1736), len(symbols), 6 * POINTS if usual else 4 * POINTS
    worst: np.ndarray | None = None
    seen, count = np.zeros(0, dtype=int), 0
    for k in range(tried):
        if k >= 4 * POINTS and count and np.all(seen):
            break
        point = draw.uniform(0.3, 1.5, size) if k < 4 * POINTS else drawn_near(draw, symbols, usual)
        if k < 2 * POINTS:
            point *= draw.choice([-1.0, 1.0], size)
        expected, directions = along(point)
        error, shown = _errors(value, point, expected, directions, counted)
        if worst is None:
            worst, seen = np.zeros(len(expected)), np.zeros(len(expected), dtype=int)
        if not np.all(np.isfinite(error[shown])) or not np.all(np.isfinite(expected)):
            continue
        count += 1
        seen += shown
        worst[shown] = np.maximum(worst[shown], error[shown])
        if count >= POINTS and np.all(seen):
            break
    if worst is None or not count or not np.all(seen):
        return float("nan")
    return float(worst.max(initial=0.0))


def _errors(
    value: ca.Function, point: np.ndarray, expected: np.ndarray, directions: np.ndarray, counted: np.ndarray | slice
) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors of derivatives at a point, and which of them the differences show at all."""
    error, shown = np.full(len(expected), np.inf), np.zeros(len(expected), dtype=bool)
    last = np.full(len(expected), np.nan)
    for step in STEPS:
        difference, rounding = (part[counted] for part in _differences(value, point, directions, step))
        with np.errstate(invalid="ignore"):
            apart = np.nan_to_num(np.abs(difference - last), nan=np.inf)
            hidden = SHOWN * np.maximum(1.0, np.abs(difference))
            own = np.abs(difference - expected)
            # The first length has none before it to be compared with: small errors count as they are.
            own = np.where(np.isinf(apart), own, np.maximum(own - 2 * apart, 0.0))
            own = np.maximum(own - rounding, 0.0) / np.maximum(1.0, np.abs(expected))
            visible = (rounding <= hidden) & ((apart <= hidden) | (own < KNOWN))
        error = np.where(visible, np.fmin(error, own), error)
        shown |= visible
        last = difference
        if np.all(error < KNOWN):
            break
    return error, shown


def _differences(
    value: ca.Function, point: np.ndarray, directions: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives along directions, one after the other, and how far rounding of the values may move them."""
    moves = np.array([sign * n * step for n in range(1, len(_WEIGHTS) + 1) for sign in (1, -1)])
    points = point[:, None, None] + directions.T[:, :, None] * moves
    values = value(points.reshape(len(point), -1)).full().reshape(-1, len(directions), len(moves))
    with np.errstate(invalid="ignore"):
        found = sum(w * (values[:, :, 2 * k] - values[:, :, 2 * k + 1]) for k, w in enumerate(_WEIGHTS)) / step
        rounding = ROUNDINGS * EPSILON * np.abs(values).max(axis=2) / step
    return found.ravel("F"), rounding.ravel("F")
