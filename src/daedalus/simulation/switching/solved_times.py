"""Times at which conditions on time change, solved for one by one, so that no pulse is too narrow in any span.

Between the steps of floor(t), fmod(t, T) and of other conditions inside it, the argument of a condition on time is most
often affine, a + b t: a comparison changes at t = -a / b, floor(a + b t) at t = (k - a) / b for every whole k. Any
other argument is enclosed by bounds, see `daedalus.simulation.switching.all_zeros`; where it contains an operation
without bounds, it is not solved for.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.compilation.foreign_calls import calls_foreign_code
from daedalus.errors import SolverError
from daedalus.model.expressions import BENDS, CONDITIONS, CUT, STAIRS, symbol_key
from daedalus.model.switching.pole_free_guard import pole_free
from daedalus.model.system.instruction_list import Instructions, read_instructions
from daedalus.reduction.angle_cut import continued_angle, sector_guard
from daedalus.simulation.switching.all_zeros import NotEnclosed, all_zeros

# More changes than these in one run are refused, in words.
MOST_TIMES = 200_000
JUMPING = CONDITIONS | BENDS.keys() | STAIRS.keys() | CUT.keys()


class SolvedTimes(NamedTuple):
    """Times in order, to rounding, and whether no condition changes at other times."""

    times: np.ndarray
    all_of_them: bool


class _Line(NamedTuple):
    """What decides one operation: its value holds until the argument passes zero, or the next whole number."""

    held: ca.SX
    value: ca.SX  # of (t, p)
    argument: ca.SX  # of (t, p) and what is held before
    steps: bool


def solved_times(clock: ca.Function, p: np.ndarray, low: float, high: float) -> SolvedTimes:
    """The times in a span at which values of the clock may change, of those that can be solved for.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> t, p = ca.SX.sym("t"), ca.SX.sym("p", 0)
    >>> pulses = ca.Function("clock", [t, p], [ca.fmod(t, 1.0) < 1e-6])
    >>> solved_times(pulses, np.zeros(0), 0.0, 2.0).times.round(9).tolist()
    [0.0, 1e-06, 1.0, 1.000001, 2.0]
    """
    if calls_foreign_code(clock):
        return SolvedTimes(np.zeros(0), False)
    t, own = ca.SX.sym("t"), ca.SX.sym("p", len(p))
    lines = _lines(read_instructions(clock), t, own)
    times, complete = np.zeros(0), True
    held = ca.vertcat(ca.SX(0, 1), *(line.held for line in lines))
    values = ca.Function("values", [t, own], [ca.vertcat(ca.SX(0, 1), *(line.value for line in lines))])
    for line in lines:
        slope = ca.jacobian(line.argument, t)
        ends = np.unique(np.concatenate([[low], times, [high]]))
        middle = 0.5 * (ends[1:] + ends[:-1])
        p_all = np.tile(p[:, None], (1, len(middle)))
        inside = values(middle[None, :], p_all)
        if ca.depends_on(slope, t):
            constants = np.vstack([p_all, inside.full()])
            stretches = (ends[:-1], ends[1:], constants)
            try:
                more = all_zeros(line.argument, t, ca.vertcat(own, held), *stretches, line.steps, MOST_TIMES)
            except NotEnclosed:
                complete = False
                continue
        else:
            both = ca.Function("line", [t, own, held], [ca.vertcat(line.argument, slope)])
            argument, rate = both(middle[None, :], p_all, inside).full()
            more = _passed(ends, middle, argument, rate, line.steps)
        times = np.unique(np.concatenate([times, more]))
        if len(times) > MOST_TIMES:
            raise too_often(low, high)
    return SolvedTimes(times, complete)


def too_often(low: float, high: float) -> SolverError:
    """The refusal of a run whose conditions on time change more often than can be listed."""
    return SolverError(
        "Conditions on time change too often to be located.",
        f"more than {MOST_TIMES} times between t = {low:g} and {high:g}",
        remedy="a shorter span, or locate_switches=False",
    )


def _passed(ends: np.ndarray, middle: np.ndarray, value: np.ndarray, rate: np.ndarray, steps: bool) -> np.ndarray:
    """Where lines through (middle, value) pass zero, or any whole number, between their two ends."""
    moving = np.isfinite(value) & np.isfinite(rate) & (rate != 0)
    left, right, middle = ends[:-1][moving], ends[1:][moving], middle[moving]
    value, rate = value[moving], rate[moving]
    # A little beyond the ends: a time that belongs to both sides of one is found from either.
    reach = np.abs(rate) * 0.5 * (right - left) * (1 + 1e-9) + 4 * EPSILON * np.abs(rate * right)
    if not steps:
        near = np.abs(value) <= reach
        zeros: np.ndarray = np.clip(middle[near] - value[near] / rate[near], left[near], right[near])
        return zeros
    first, last = np.ceil(value - reach), np.floor(value + reach)
    count = np.maximum(last - first + 1, 0)
    if count.sum() > MOST_TIMES:
        raise too_often(float(ends[0]), float(ends[-1]))
    which = np.repeat(np.arange(len(count)), count.astype(int))
    whole = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count.astype(int))
    crossings: np.ndarray = np.clip(middle[which] + (whole - value[which]) / rate[which], left[which], right[which])
    return crossings


def _lines(rows: Instructions, t: ca.SX, p: ca.SX) -> list[_Line]:
    """The operations that jump, inner ones first; their values are held in the arguments of the outer ones."""
    lines: list[_Line] = []
    old: dict[int, ca.SX] = {}
    new: dict[int, ca.SX] = {}
    for row in range(len(rows)):
        operation, first, second = rows.operation[row], rows.first[row], rows.second[row]
        if operation == ca.OP_INPUT:
            old[row] = new[row] = t if first == 0 else p[second]
        elif operation == ca.OP_CONST:
            old[row] = new[row] = ca.SX(rows.constants[first])
        elif operation != ca.OP_OUTPUT:
            written, held = ((values[first], values.get(second, ca.SX(0))) for values in (old, new))
            old[row], new[row] = (_applied(operation, *pair, second >= 0) for pair in (written, held))
            if operation in JUMPING and ca.depends_on(old[row], t):
                new[row] = _held(lines, operation, written, held, old[row], t)
    return lines


def _applied(operation: int, x: ca.SX, y: ca.SX, binary: bool) -> ca.SX:
    return ca.SX.binary(operation, x, y) if binary else ca.SX.unary(operation, x)


def _held(
    lines: list[_Line], operation: int, old: tuple[ca.SX, ca.SX], new: tuple[ca.SX, ca.SX], written: ca.SX, t: ca.SX
) -> ca.SX:
    """An operation in terms of what it holds between two of its times."""
    k = ca.SX.sym(f"held {len(lines)}")
    (x, y), (a, b) = old, new
    if operation in BENDS:
        lines.append(_Line(k, x < y, a - b, False))
        if operation == ca.OP_FABS:
            return (1 - 2 * k) * a
        return k * a + (1 - k) * b if operation == ca.OP_FMIN else k * b + (1 - k) * a
    if operation in (ca.OP_FMOD, ca.OP_REMAINDER):
        shift = 0.5 if operation == ca.OP_REMAINDER else 0.0
        lines.append(_Line(k, ca.floor((x - written) / y + 0.5), a / b + shift, True))
        return a - b * k
    if operation in CUT:
        lines.append(_Line(k, sector_guard(x, y) > 0, a, False))
        return continued_angle(a, b, k)
    argument = a - b
    if operation in CONDITIONS:
        argument = pole_free(argument, lambda key: key == symbol_key(t))
    lines.append(_Line(k, written, argument, operation in STAIRS))
    return k
