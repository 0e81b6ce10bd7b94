"""The times at which conditions on time alone change: a run ends a step at each of them, however long its steps are.

Those that can be solved for are. Others, of operations without bounds such as erf, are looked for on a grid over the
span, then on a finer one between each two times found, and so on until no more appear. Each is narrowed down to the
first number of t at which the new values hold.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.deadline import poll
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.once import KEPT_BY_VALUES, By, once
from daedalus.model.system.system import System
from daedalus.simulation.switching.all_zeros import bisected
from daedalus.simulation.switching.solved_times import MOST_TIMES, solved_times, too_often

# Looks in the whole span, and between two changes that were found.
FIRST, BETWEEN = 4096, 48
MOST_ROUNDS = 6


def condition_times(
    system: System, clock: ca.Function, p: np.ndarray, span: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """The beginning of the span and every change in it, (times,), with the values from there on, (times, conditions).

    Example
    -------
    >>> import casadi as ca, numpy as np, daedalus as dd
    >>> t, p = ca.SX.sym("t"), ca.SX.sym("p", 0)
    >>> m = dd.Model("nothing"); x = m.state("x", start=0.0); m.equation(m.der(x), 1)
    >>> clock = ca.Function("clock", [t, p], [ca.fmod(t, 1.0) > 0.5])
    >>> times, values = condition_times(m.freeze(), clock, np.zeros(0), (0.0, 2.0))
    >>> times.round(9).tolist(), values.ravel().tolist()
    ([0.0, 0.5, 1.0, 1.5, 2.0], [0.0, 1.0, 0.0, 1.0, 0.0])
    """
    low, high = min(span), max(span)
    return once(system, _found, clock, By(p, p.tobytes()), low, high, most=KEPT_BY_VALUES)


def behind_start(system: System, clock: ca.Function, p: np.ndarray, span: tuple[float, float]) -> float:
    """A time, the beginning of the span but for rounding, at which conditions are what a run begins with.

    What changes as the run begins, such as t > 0 at 0, has changed there.

    Example
    -------
    >>> import casadi as ca, numpy as np, daedalus as dd
    >>> t, p = ca.SX.sym("t"), ca.SX.sym("p", 0)
    >>> m = dd.Model("nothing"); x = m.state("x", start=0.0); m.equation(m.der(x), 1)
    >>> clock = ca.Function("clock", [t, p], [t > 0])
    >>> 0 < behind_start(m.freeze(), clock, np.zeros(0), (0.0, 2.0)) < 1e-14
    True
    """
    begin = span[0]
    times, values = condition_times(system, clock, p, span)
    if span[1] < begin:  # each value holds before its time there
        return begin - same_instant(*span) if len(times) > 1 and times[-1] == begin else begin
    there = np.ravel(clock(begin, p).full())
    return begin if np.array_equal(there, values[0]) else begin + same_instant(*span)


def _found(
    system: System, clock: ca.Function, parameters: By[np.ndarray], low: float, high: float
) -> tuple[np.ndarray, np.ndarray]:
    p = parameters.value
    machine = compile_function(clock)

    def at(times: np.ndarray) -> np.ndarray:
        """(times, conditions)"""
        return np.asarray(machine.core.evaluate_many(times[:, None], p)[0])

    if low == high:
        return np.array([low]), at(np.array([low]))
    # What changes at the end of the span, to rounding, has changed there: the next run begins behind it.
    closest = same_instant(low, high)
    last, high = high, high + 4 * closest
    known = solved_times(clock, p, low, high)
    # One look between each two times that may be changes.
    ends = np.unique(np.concatenate([[low], known.times, [high]]))
    between = np.concatenate([ends, 0.5 * (ends[1:] + ends[:-1])])
    first = np.zeros(0) if known.all_of_them else np.linspace(low, high, FIRST + 1)
    grid = np.unique(np.concatenate([between, first]))
    times = _changes(at, grid)
    for _ in range(0 if known.all_of_them else MOST_ROUNDS):
        poll("conditions that change")
        if len(times) > MOST_TIMES:
            raise too_often(low, high)
        ends = np.unique(np.concatenate([[low], times, [high]]))
        finer = np.unique(np.concatenate([np.linspace(ends[:-1], ends[1:], BETWEEN).ravel(), between]))
        more = _changes(at, finer)
        settled = len(more) == len(times)
        times = more
        if settled:
            break
    # Of times that differ by rounding only, such as those of sign(t) before and behind zero, the last one counts.
    times = times[times <= last + closest]
    times = times[np.append(np.diff(times) > closest, True)] if len(times) else times
    begin = times[times <= low + closest]
    times = np.concatenate([begin[-1:] if len(begin) else [low], times[times > low + closest]])
    values = at(times)
    times[0] = low
    return np.minimum(times, last), values


def _changes(at: Callable[[np.ndarray], np.ndarray], grid: np.ndarray) -> np.ndarray:
    """Where values change between neighbours of a grid: the first number of t with the later values, by bisection."""
    values = at(grid)
    places = np.flatnonzero(np.any(values[1:] != values[:-1], axis=1))
    left, right = grid[places], grid[places + 1]
    before, after = values[places], values[places + 1]
    found: list[np.ndarray] = []
    while len(left) and sum(map(len, found)) <= MOST_TIMES:
        poll("conditions that change")
        end = bisected(lambda times, old=before: np.any(at(times) != old, axis=1), left, right)  # type: ignore[misc]
        found.append(end)
        # Another condition may change between this time and the next of the grid.
        here = at(end)
        rest = np.any(here != after, axis=1) & (end < right)
        left, right, before, after = end[rest], right[rest], here[rest], after[rest]
    return np.unique(np.concatenate(found)) if found else np.zeros(0)
