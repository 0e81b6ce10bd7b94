"""All zeros of functions of time in a span, however close to each other: none is passed over by looking too seldom.

A stretch on which bounds of the function exclude zero has none; one on which bounds of its derivative do has at most
one, seen by the signs at its ends; any other is halved (R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to
Interval Analysis, 2009, section 8.1). What is left below the resolution, RESOLVED of the largest time,
is a zero without a clear change of sign, or two in one: it counts as one.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from daedalus.analysis.interval_arithmetic import Interval, are_bounded, range_over
from daedalus.compilation import compile_function
from daedalus.deadline import poll
from daedalus.model.system.instruction_list import read_instructions

# The shortest stretch that is still halved, as a part of the largest time; so many are looked at together; so many for
# each zero that may be found, where bounds stay wide, before the search gives up.
RESOLVED = 1e-13
TOGETHER, MOST_LOOKS = 20_000, 40
# A slope as small as the bounds of rounding around zero: the expression is constant there.
CONSTANT = 1e-290


class NotEnclosed(Exception):
    """There are no bounds, or none that get narrower."""


def all_zeros(
    argument: ca.SX,
    t: ca.SX,
    held: ca.SX,
    begin: np.ndarray,
    end: np.ndarray,
    values: np.ndarray,
    steps: bool,
    most: int = 200_000,
) -> np.ndarray:
    """Where an expression of t is zero, or any whole number where it `steps`, in stretches (begin, end) of time.

    held: further symbols, constant in each stretch with `values` (symbols, stretches). The search ends early where it
    has found more than `most`. NotEnclosed is raised where an operation has no bounds.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> t, none = ca.SX.sym("t"), ca.SX.sym("none", 0)
    >>> whole = np.array([0.0]), np.array([1000.0]), np.zeros((0, 1))
    >>> found = all_zeros(ca.sin(2 * np.pi * 50 * t) - 0.9999999, t, none, *whole, False)
    >>> len(found), float(found[0].round(7)), float(found[1].round(7))
    (100000, 0.0049986, 0.0050014)
    """
    search = _Enclosed(argument, t, held, steps)
    found: list[np.ndarray] = []
    smallest = RESOLVED * max(np.max(np.abs(begin), initial=0.0), np.max(np.abs(end), initial=0.0))
    left, looks, count = [(begin, end, values)], 0, 0
    while left and count <= most:
        poll("conditions that change")
        begin, end, values = left.pop()
        if len(begin) > TOGETHER:
            half = len(begin) // 2
            left.append((begin[half:], end[half:], values[:, half:]))
            begin, end, values = begin[:half], end[:half], values[:, :half]
        looks += len(begin)
        if looks > MOST_LOOKS * most:
            raise NotEnclosed
        possible, monotone = search.look(begin, end, values)
        single = possible & monotone
        found.append(search.solve(begin[single], end[single], values[:, single]))
        rest = possible & ~monotone
        begin, end, values = begin[rest], end[rest], values[:, rest]
        short = end - begin <= smallest
        found.append(0.5 * (begin[short] + end[short]))
        begin, end, values = begin[~short], end[~short], values[:, ~short]
        count += len(found[-1]) + len(found[-2])
        if len(begin):
            middle = 0.5 * (begin + end)
            halves = np.concatenate([begin, middle]), np.concatenate([middle, end])
            left.append((*halves, np.concatenate([values, values], axis=1)))
    return np.unique(np.concatenate(found)) if found else np.zeros(0)


class _Enclosed:
    """Bounds, values and zeros of one expression."""

    def __init__(self, argument: ca.SX, t: ca.SX, held: ca.SX, steps: bool) -> None:
        self.steps = steps
        slope = ca.jacobian(argument, t)
        self.rows = read_instructions(ca.Function("both", [t, held], [ca.densify(ca.vertcat(argument, slope))]))
        self.value = compile_function(ca.Function("value", [t, held], [ca.densify(argument)]))
        if not are_bounded(self.rows):
            raise NotEnclosed

    def at(self, times: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The expression at one time of each stretch."""
        return np.ravel(self.value.core.evaluate_many(times[:, None], np.ascontiguousarray(values.T))[0])

    def bounds(self, begin: np.ndarray, end: np.ndarray, values: np.ndarray) -> tuple[Interval, Interval]:
        """Bounds of the expression and of its derivative."""
        found = range_over(self.rows, [begin[:, None], values.T], [end[:, None], values.T])
        low, high = found.low[0].T, found.high[0].T
        return (low[0], high[0]), (low[1], high[1])

    def look(self, begin: np.ndarray, end: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether each stretch may hold a zero, and whether the expression only rises or only falls in it."""
        (low, high), (least, most) = self.bounds(begin, end, values)
        # The mean value form is closer than plain bounds on short stretches.
        middle, half = self.at(0.5 * (begin + end), values), 0.5 * (end - begin)
        with np.errstate(invalid="ignore"):
            reach = half * np.maximum(np.abs(least), np.abs(most))
            reach = np.where(np.isfinite(reach) & np.isfinite(middle), reach + 1e-15 * np.abs(middle), np.inf)
        centre = np.where(np.isfinite(middle), middle, 0.0)
        low, high = np.maximum(low, centre - reach), np.minimum(high, centre + reach)
        monotone = ((least > 0) | (most < 0)) & np.isfinite(middle)
        low = np.where((least >= -CONSTANT) & (most <= CONSTANT), np.inf, low)
        if not self.steps:
            return (low <= 0) & (high >= 0), monotone
        first, last = np.ceil(low), np.floor(high)
        return first <= last, monotone & (last - first <= 0)

    def solve(self, begin: np.ndarray, end: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The zeros of stretches in which the expression only rises or only falls, where it has one."""
        low, high = self.at(begin, values), self.at(end, values)
        level = np.ceil(np.minimum(low, high)) if self.steps else np.zeros(len(begin))
        # A zero at an end is one of both neighbours.
        crossing = (np.minimum(low, high) <= level) & (np.maximum(low, high) >= level)
        begin, end, level = begin[crossing], end[crossing], level[crossing]
        values, rising = values[:, crossing], (low < high)[crossing]
        return bisected(lambda times: (self.at(times, values) >= level) == rising, begin, end)


def bisected(beyond: Callable[[np.ndarray], np.ndarray], begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The first number of each stretch from which on something holds."""
    begin, end = begin.copy(), end.copy()
    while True:
        poll("conditions that change")
        middle = begin + 0.5 * (end - begin)
        inside = (middle > begin) & (middle < end)
        if not inside.any():
            return end
        passed = beyond(middle)
        begin, end = np.where(inside & ~passed, middle, begin), np.where(inside & passed, middle, end)
