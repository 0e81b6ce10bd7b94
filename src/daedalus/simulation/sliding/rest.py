"""Where a run comes to rest: on a condition to which infinite slopes lead it, as in a tank that runs empty.

A run that crosses such a condition by rounding rests there, whichever side rounding leaves it on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import BESIDE
from daedalus.model.expressions import concatenate, contains
from daedalus.model.system.once import once, remembered
from daedalus.model.system.system import System
from daedalus.reduction.forms.linearity import surely_without
from daedalus.reduction.switches import switches_of
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.event_records import TransitionKind, TurnedCondition
from daedalus.simulation.sliding.sliding_system import resting_system
from daedalus.simulation.sliding.solved_slopes import Undetermined, slopes_of
from daedalus.simulation.sliding.surface import Surface, conditions_at_zero

# Where a run has been on a surface it goes on this far beside it.
LEAVES = 1e-12
# So much nearer to the surface a rate falls by as much where the equations are smooth, and by a tenth of that at most
# where their slopes are infinite; where they jump it does not fall.
NEARER, STEEP, FALLS = 1e-4, 10.0, 0.9
# Not nearer than so many spacings of the state.
RESOLVED = 64.0
# A surface that is this many tolerances away is met, and a run that is no farther from it stays on it.
WITHIN = 10.0
# What may have infinite slopes where it is finite.
ROOTS = (ca.OP_SQRT, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_ASIN, ca.OP_ACOS)

# Inputs and parameters.
Held = tuple[np.ndarray, np.ndarray]


def rate_beside(
    surface: Surface, away: float, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, near: np.ndarray | None
) -> float:
    """ġ at a place that is moved across the surface by a part of its nominal values."""
    try:
        moved = surface.moved(away, t, x, u, p, near)
        y = slopes_of(surface.system).at(t, moved, u, p, near)
    except Undetermined:
        return 0.0
    return surface.rate(t, y, moved, u, p)


def is_steep(close: np.ndarray | float, wide: np.ndarray | float, nearer: float = NEARER) -> np.ndarray:
    """Which changes towards a place hardly fall where they are taken so much nearer to it: slopes are infinite."""
    return np.asarray(np.abs(close) > STEEP * nearer * np.abs(wide))


def leads_to_rest(
    surface: Surface, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, near: np.ndarray | None
) -> bool:
    """Whether slopes that are infinite on a surface lead to it, from both sides or from one while the other stands.

    A tank that runs empty stands there: ḣ = -√h for h > 0, and nothing flows below.
    """
    nearer = max(
        NEARER, RESOLVED * float(np.max(np.spacing(np.abs(x)) / surface.system.nominal["x"], initial=0.0)) / BESIDE
    )
    rates = [rate_beside(surface, away, t, x, u, p, near) for away in (BESIDE, -BESIDE)]
    closer = [abs(rate_beside(surface, nearer * away, t, x, u, p, near)) for away in (BESIDE, -BESIDE)]
    steep = [bool(is_steep(close, rate, nearer)) and close < FALLS * abs(rate) for rate, close in zip(rates, closer)]
    stands = [rate == 0 == close for rate, close in zip(rates, closer)]
    leads = any(steep) and all(one or other for one, other in zip(steep, stands))
    return rates[0] <= 0 <= rates[1] and leads


def ways_to_rest(
    surface: Surface, still: np.ndarray, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray
) -> list[np.ndarray]:
    """On which ways states are led to a rest from above and from below: what of x' has infinite slopes there.

    still: x' at the rest.
    """
    ways = []
    for side in (1.0, -1.0):
        close, wide = (
            slopes_of(surface.system).at(t, surface.moved(side * away, t, x, u, p), u, p)[: len(x)] - still
            for away in (2 * LEAVES, 2 * LEAVES / NEARER)
        )
        ways.append(np.where(is_steep(close, wide), close, 0.0))
    return ways


def has_roots(expression: ca.SX) -> bool:
    """Whether anything in an expression may have infinite slopes where it is finite."""
    return contains(ca.Function("roots", [concatenate(ca.symvar(expression))], [expression]), ROOTS)


def equations_have_roots(system: System) -> bool:
    """The same of all equations of a system; of many the operations are known."""
    return not surely_without(system, ROOTS) and has_roots(system.residual)


def is_of_states(system: System, guard: ca.SX) -> bool:
    """Whether states, time and parameters alone decide a condition."""
    return not any(ca.depends_on(guard, system.symbol(letter)) for letter in ("xdot", "z", "u"))


@remembered
def resting_places(system: System) -> tuple[int, ...]:
    """The conditions of a system on which it may rest."""
    switches = switches_of(system)
    if switches is None:
        return ()
    found = [k for k in range(switches.count) if is_of_states(system, switches.guards[k])]
    if not found or not equations_have_roots(system):
        return ()
    return tuple(k for k in found if once(system, resting_system, k) is not None)


class StatesAtSteps(NamedTuple):
    """Where a piece of a run went: the times of its steps with x at each, and x right behind any of them."""

    times: np.ndarray
    states: np.ndarray
    behind: Callable[[float], np.ndarray]

    def stays_on(self, surface: Surface, begin: float, end: float, rtol: float, held: Callable[[float], Held]) -> bool:
        """Whether steps between two times are on a surface: the first, the middle and the last of them."""
        inside = np.flatnonzero((self.times - begin) * (end - self.times) > 0)
        size = WITHIN * rtol * np.maximum(np.abs(self.states).max(axis=0), surface.system.nominal["x"])
        for k in sorted({inside[0], inside[len(inside) // 2], inside[-1]}) if len(inside) else ():
            t, x = float(self.times[k]), self.states[k]
            if np.any(np.abs(surface.nearest(t, x, *held(t)) - x) > size):
                return False
        return True


def with_rests(
    system: System,
    turns: Sequence[TurnedCondition],
    path: StatesAtSteps,
    span: tuple[float, float],
    drive: Drive,
    p: np.ndarray,
    rtol: float,
    begins: bool = True,
) -> tuple[TurnedCondition, ...]:
    """The changes of conditions in a piece of a run, with those at which it comes to rest and leaves again.

    While a run rests, rounding turns the condition that it rests on: nothing changes. It leaves with the turn behind
    which it is found elsewhere, whatever the rates are at that moment. begins: whether the run begins with this piece,
    so that a rest at its start is told.
    """
    places, switches = resting_places(system), switches_of(system)
    if not places or switches is None:
        return tuple(turns)
    by_text = {switches.conditions[k]: k for k in places}

    def held(t: float) -> Held:
        return drive.at_time(t), p

    def rests_on(which: int, t: float, x: np.ndarray, until: float) -> bool:
        surface = once(system, Surface, which)
        return leads_to_rest(surface, t, x, *held(t), None) and path.stays_on(surface, t, until, rtol, held)

    t0, found, resting = span[0], list[TurnedCondition](), set[str]()
    first = {turn.condition: turn.time for turn in reversed(turns)}
    x0 = path.behind(t0)
    for k in conditions_at_zero(system, t0, x0, *held(t0)) if t0 <= span[1] else ():
        text = switches.conditions[k]
        if text in by_text and rests_on(k, t0, x0, first.get(text, span[1])):
            resting.add(text)
            if begins:
                found.append(TurnedCondition(t0, text, 0.0, TransitionKind.RESTS))
    for place, turn in enumerate(turns):
        which = by_text.get(turn.condition)
        if which is None:
            found.append(turn)
            continue
        until = next((other.time for other in turns[place + 1 :] if other.condition == turn.condition), span[1])
        rests = rests_on(which, turn.time, path.behind(turn.time), until)
        was = turn.condition in resting
        if rests != was:
            found.append(turn._replace(kind=TransitionKind.RESTS if rests else TransitionKind.LEAVES))
            resting ^= {turn.condition}
        elif not rests:
            found.append(turn)
    return tuple(found)
