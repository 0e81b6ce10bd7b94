"""Terms that cancel in an expression though they are written in it: found by numbers, confirmed by rounding bounds.

CasADi does not expand: x' - (x' - 7) keeps its x'. An expression does not depend on a symbol when its slope is zero at
random values, as nearly as the rounding of its own operations explains (bounds by interval arithmetic).
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import TWELVE_DIGITS
from daedalus.algebra.rank_decision import KNOWN
from daedalus.analysis.interval_arithmetic import range_over
from daedalus.analysis.structure.jets.consistent_jet import Jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_jacobian import random_arguments, with_other_parameters
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate

# A sum is zero that lies within this many times the bounds of its own rounding.
ROUNDED = 1e3


def without_vanishing(
    array: DerivativeArray, expression: ca.SX, jet: Jet, has_to_go: Callable[[int, int], bool]
) -> ca.SX:
    """A scalar expression with every unknown, and time, removed that it does not depend on at random values.

    Parameters may have other values in a run: what vanishes at the present ones alone is zero times something, say,
    and stays. has_to_go(order, position): derivatives that are removed even so, since the structure asks for it.
    """
    symbols = ca.symvar(expression)
    own = [s for s in symbols if array.place(s)[0] in ("y", "t")]
    if not own:
        return expression
    slopes = ca.densify(ca.gradient(expression, ca.vertcat(*own)))
    order = len(array.y) - 1
    points = random_arguments(array, jet, order, 3)
    samples = array.values(slopes, points)
    size = max(float(np.abs(samples).max(initial=0.0)), 1.0)
    small = np.flatnonzero(np.abs(samples).max(axis=0) <= TWELVE_DIGITS * size).tolist()
    if small:
        there = array.values(slopes, [with_other_parameters(point) for point in points])
        vanishes = np.all(np.abs(there) <= TWELVE_DIGITS * np.maximum(np.abs(there).max(initial=0.0), size), axis=0)
        places = [array.place(own[k]) for k in range(len(own))]
        small = [k for k in small if vanishes[k] or (places[k][0] == "y" and has_to_go(*places[k][1:]))]
    if small and np.any(samples[:, small]):
        # Small beside steep others may still be true: it counts as zero only if it is small at the jet too, and if
        # rounding explains it. A constant has been rounded before.
        here = np.abs(array.values(slopes, [jet.arguments(order)])[0])
        inside = np.array([array.read(symbols, point) for point in points])
        small = [k for k in small if not here[k] > TWELVE_DIGITS * here.max()]
        doubtful = [k for k in small if samples[:, k].any() and not slopes[k].is_constant()]
        explained = are_rounding(concatenate(symbols), slopes[doubtful], inside)
        true = {k for k, rounded in zip(doubtful, explained) if not rounded}
        small = [k for k in small if k not in true]
    return _with_value(expression, [own[k] for k in small], 0.0)


def without_cancelled(row: ca.SX, is_unknown: Callable[[ca.SX], bool], value: float = 0.0) -> ca.SX:
    """An expression of any symbols with a value for the unknowns that cancel in it.

    Example
    -------
    >>> import casadi as ca
    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> without_cancelled((x + y) ** 2 - y * (2 * x + y), lambda s: s.name() == "y")
    SX(sq(x))
    """
    symbols = ca.symvar(row)
    movable = [k for k, symbol in enumerate(symbols) if is_unknown(symbol)]
    if not movable:
        return row
    every = concatenate(symbols)
    slopes = ca.densify(ca.gradient(row, concatenate(symbols[k] for k in movable)))
    draw = np.random.default_rng(2017)
    points = np.array([draw.uniform(0.4, 1.6, len(symbols)) for _ in range(3)])
    function = ca.Function("slopes", [every], [slopes])
    samples = np.array([function(point).full().ravel() for point in points])
    size = max(float(np.abs(samples).max(initial=0.0)), 1.0)
    small = np.flatnonzero(np.abs(samples).max(axis=0) <= TWELVE_DIGITS * size).tolist()
    gone = [k for k, own in zip(small, are_rounding(every, slopes[small], points)) if own]
    return _with_value(row, [symbols[movable[k]] for k in gone], value)


def _with_value(expression: ca.SX, symbols: list[ca.SX], value: float) -> ca.SX:
    """The expression with numbers for some symbols."""
    if not symbols:
        return expression
    return ca.substitute(expression, ca.vertcat(*symbols), ca.SX(value * np.ones(len(symbols))))


def are_rounding(symbols: ca.SX, slopes: ca.SX, points: np.ndarray) -> np.ndarray:
    """Whether zero lies within the rounding of each entry of a column at all points, by interval arithmetic.

    points: (points, symbols). Entries share most of their operations, so that all are bounded in one pass.
    """
    function = ca.Function("slopes", [symbols], [ca.densify(slopes)])
    try:
        found = range_over(function, [points], [points])
    except SolverError:  # an operation without bounds, in one of them at least
        if slopes.numel() == 1:
            return np.array([True])
        return np.concatenate([are_rounding(symbols, slopes[k], points) for k in range(slopes.numel())])
    low, high = found.low[0], found.high[0]
    # Coefficients are rounded as well as sums, hence the wider bounds.
    slack = ROUNDED * (high - low)
    return np.all((low - slack <= 0) & (high + slack >= 0), axis=0)


def constant_of(array: DerivativeArray, expression: ca.SX, jet: Jet) -> float | None:
    """The number that an expression without unknowns is, at the jet; None when unknowns are left."""
    if any(array.place(s)[0] == "y" for s in ca.symvar(expression)):
        return None
    value = float(array.values(expression, [jet.arguments(len(array.y) - 1)])[0, 0])
    return 0.0 if abs(value) < KNOWN else value
