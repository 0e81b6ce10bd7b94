"""When guards pass zero that time alone decides: all of these times, at any span, before a run begins."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.compilation import compile_function
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.once import KEPT_BY_VALUES, By, once, remembered
from daedalus.model.system.system import System
from daedalus.simulation.switching.solved_times import solved_times


class Passages(NamedTuple):
    """Times in order at which a guard passes zero or reaches it, and whether it rises there."""

    times: np.ndarray
    rising: np.ndarray


@remembered
def timed_guards(system: System) -> tuple[int, ...]:
    """The events whose guards contain time and parameters only."""
    count = system.sizes["p"] - system.discrete_count
    others = system.symbols(("xdot", "x", "z", "u"))
    moving = ca.vertcat(*others, system.symbol("p")[count:])
    guards, t = system.guards, system.symbol("t")
    return tuple(
        k
        for k, event in enumerate(system.events)
        if not event.is_clock and ca.depends_on(guards[k], t) and not ca.depends_on(guards[k], moving)
    )


def passages(system: System, event: int, p: np.ndarray, span: tuple[float, float]) -> Passages | None:
    """When the guard of an event passes zero in a span, ends included; None where it cannot be solved for.

    Example
    -------
    >>> import casadi as ca, numpy as np, daedalus as dd
    >>> m = dd.Model("clock"); x = m.state("x", start=0.0); m.equation(m.der(x), 1)
    >>> m.event("tick", ca.sin(np.pi * m.time))
    >>> passages(m.freeze(), 0, np.zeros(0), (0.0, 2.5)).times.round(9).tolist()
    [0.0, 1.0, 2.0]
    """
    return once(system, _found, event, By(p, p.tobytes()), min(span), max(span), most=KEPT_BY_VALUES)


def _sides(system: System, event: int) -> ca.Function:
    guard = system.guards[event]
    own = system.symbols(("t", "p"))
    return ca.Function("sides", own, [ca.vertcat(guard > 0, guard < 0)])


def _found(system: System, event: int, parameters: By[np.ndarray], low: float, high: float) -> Passages | None:
    p, sides = parameters.value, once(system, _sides, event)
    closest = same_instant(low, high)
    known = solved_times(sides, p, low - 4 * closest - NOT_ZERO, high + 4 * closest + NOT_ZERO)
    if not known.all_of_them:
        return None
    times = known.times
    times = times[np.append(np.diff(times) > closest, True)] if len(times) else times
    ends = np.concatenate([[low - 8 * closest - 2 * NOT_ZERO], times, [high + 8 * closest + 2 * NOT_ZERO]])
    middle = 0.5 * (ends[1:] + ends[:-1])
    values = np.asarray(compile_function(sides).core.evaluate_many(middle[:, None], p)[0])
    sign = values[:, 0] - values[:, 1]
    before, after = sign[:-1], sign[1:]
    passed = (before != 0) & (after != before)
    inside = (times >= low - closest) & (times <= high + closest)
    chosen = passed & inside
    return Passages(np.clip(times[chosen], low, high), before[chosen] < 0)
