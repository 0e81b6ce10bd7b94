"""Conditions in the equations of a piece of a run, and its equations with the modes that the run recorded for them.

`if_else(x < k, 1, 3)` and sign(v) move the solution on with another slope from the moment τ at which the condition
changes; τ moves with what is varied, so that S⁺ = S + (f⁻ - f⁺) dτ/dθ as at an event without reset. fabs, fmax and
branches that meet have a corner but no jump, f⁻ = f⁺, and need nothing but steps that end there. Which of them jump is
found by trying (simulation/switching/jumps_on_conditions.py). When they change, and where a run slides or rests
instead, the run itself has recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.differentiation.events.smoothness import corners as corners_in
from daedalus.differentiation.events.smoothness import stairs_of
from daedalus.errors import SolverError
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import STAIRS, concatenate, divided, elements
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.closed_loop import ClosedLoop
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Event
from daedalus.reduction.reduction_record import FormOf, Reduction
from daedalus.reduction.switches import switches_of
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import JumpNotDifferentiated
from daedalus.simulation.sliding.sliding_system import Sliding
from daedalus.simulation.switching.condition_times import condition_times
from daedalus.simulation.switching.jumps_on_conditions import on_condition

# (t, x', x, z, u, p)
Point = tuple[np.ndarray | float, ...]
# What ends a part: the passage of conditions, or of a row of the guards of the surface that it is on.
EndsBy = tuple[tuple[int, ...], int | None]
# Equations are compiled for each combination of modes that a run meets; with more conditions steps pass over corners.
MOST_CORNERS = 16


@dataclass(frozen=True, eq=False)
class FixedModes:
    """A part of a system with modes put in: the conditions of its piece, and which of them are put in.

    The events of the system are these conditions, and behind them the end of a stay on a surface where there is one.
    """

    conditions: JumpingConditions
    chosen: tuple[int, ...]


class JumpingConditions:
    """The conditions of the system of a piece, and its equations for each of their modes.

    corners: for each of them whether the equations only bend there, which matters where steps are differentiated.
    levels: where slopes are infinite at it, how far before it a part ends; else 0.
    Those that time and parameters decide come last; their times are known.
    """

    def __init__(self, system: System) -> None:
        switches = switches_of(system)
        self.system, sliding = system, system.part(Sliding)
        self.original = system if sliding is None else sliding.base
        self.shares = system.symbol("z")[self.original.sizes["z"] :]
        self.texts: list[str] = []
        self.located = 0 if switches is None else switches.count
        self._modes: list[ca.SX] = []
        self._guards: list[ca.SX] = []
        self._residual, self._of_events = system.residual, elements(system.guards)
        self._clock, self._timed, self._read = None, list[int](), list[int]()
        if switches is not None:
            self.texts, self._modes, self._guards = list(switches.conditions), switches.modes, switches.guards
            self._residual = switches.system.residual
            self._of_events = elements(switches.system.guards)[: -self.located or None]
            self._put_clock_in(system, switches)
        # A guard contains modes of conditions inside it, which come before it, and of those that time decides.
        self._inwards = [*reversed(range(self.located)), *range(self.located, len(self._modes))]
        self._inside = [
            {j for j in range(len(self._modes)) if j != k and ca.depends_on(guard, self._modes[j])}
            for k, guard in enumerate(self._guards)
        ]
        looked = [
            on_condition(system, self._residual, self._guards, self._modes, self._inwards, k)
            for k in range(len(self._modes))
        ]
        self.corners = tuple(not found.jumps for found in looked)
        self.levels = tuple(found.level for found in looked)

    def _put_clock_in(self, system: System, switches: Any) -> None:
        """What time decides alone has a fixed moment, unless a parameter moves it."""
        hidden = switches.system.sizes["u"] - system.sizes["u"]
        if not hidden:
            return
        self._clock = switches.clock
        clock = elements(switches.system.symbol("u"))[-hidden:]
        values = elements(switches.clock.call([system.symbol("t"), system.symbol("p")])[0])
        guards, known = self._guards, len(self._modes)
        for k, (symbol, value, text) in enumerate(zip(clock, values, switches.on_time)):
            put_in = value
            if ca.depends_on(value, system.symbol("p")):
                mode, guard, put_in = _moved_by_parameters(value)
                self._modes, guards = [*self._modes, mode], [*guards, guard]
                self.texts.append(text)
                self._timed.append(k)
                self._read.append(value.op())
            written = [self._residual, *guards, *self._of_events]
            self._residual, *written = ca.substitute(written, [symbol], [put_in])
            guards, self._of_events = written[: len(guards)], written[len(guards) :]
        self._guards = guards
        assert len(self._modes) == known + len(self._timed)

    @property
    def count(self) -> int:
        """How many conditions there are."""
        return len(self._modes)

    def times(self, p: np.ndarray, span: tuple[float, float]) -> tuple[np.ndarray, np.ndarray] | None:
        """When those that time and parameters decide change, and their values from then on; None without any."""
        if not self._timed:
            return None
        assert self._clock is not None
        times, values = condition_times(self.system, self._clock, p, span)
        columns = [_mode_of(operation, values[:, k]) for k, operation in zip(self._timed, self._read)]
        return times, np.stack(columns, axis=1)

    def clock_times(self, p: np.ndarray, span: tuple[float, float]) -> np.ndarray:
        """When conditions change that time decides, with parameters or without."""
        return np.zeros(0) if self._clock is None else condition_times(self.system, self._clock, p, span)[0]

    def chosen(self, corners: bool | None) -> tuple[int, ...]:
        """The conditions whose modes are put in: those that jump or are steep; with `corners` all, if they are few.

        None of them where corners is None.
        """
        if corners is None:
            return ()
        every = corners and self.count <= MOST_CORNERS
        needed = {k for k in range(self.count) if every or not self.corners[k] or self.levels[k] > 0}
        # Those that stand inside the guard of another turn it with them.
        return self._with_those_inside(needed)

    def in_event(self, event: int) -> tuple[int, ...]:
        """The conditions in the guard of an event."""
        guard = self._of_events[event]
        return self._with_those_inside({k for k, mode in enumerate(self._modes) if ca.depends_on(guard, mode)})

    def _with_those_inside(self, found: set[int]) -> tuple[int, ...]:
        waiting = list(found)
        while waiting:
            inside = self._inside[waiting.pop()] - found
            found |= inside
            waiting += inside
        return tuple(sorted(found))

    def guard(self, which: int, modes: tuple[int, ...]) -> ca.SX:
        """The guard of a condition with modes put in."""
        return self._with([self._guards[which]], modes, tuple(range(self.count)))[0]

    def guards_together(self) -> ca.SX:
        """All guards, with conditions as they are written in them."""
        return concatenate(self._with(list(self._guards), (), ()))

    def _with(self, expressions: list[ca.SX], modes: tuple[int, ...], chosen: tuple[int, ...]) -> list[ca.SX]:
        """Expressions with some modes put in, and the other conditions as they are written."""
        for k in self._inwards:
            value = ca.SX(modes[k]) if k in chosen else self._guards[k] > 0
            expressions = ca.substitute(expressions, [self._modes[k]], [value])
        return expressions

    def fixed(self, modes: tuple[int, ...], corners: bool | None, ends_by: EndsBy, at: Point) -> System:
        """The system with modes put in; at: where it begins."""
        return once(self.system, _fixed, self, modes, corners, ends_by, pivot_rows(self, modes, corners, at))

    def equations(self, modes: tuple[int, ...], corners: bool | None) -> tuple[ca.SX, ca.SX, dict[str, ca.SX]]:
        """Residual, guards of its own events, and outputs, of the symbols of the piece."""
        system, chosen = self.system, self.chosen(corners)
        (residual,) = self._with([self._residual], modes, chosen)
        return residual, system.guards, dict(system.outputs)


def _moved_by_parameters(value: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """A mode for what time and parameters decide, the guard that turns it, and the value by the mode.

    Of a stair the mode says whether the number of steps is even, so that every step turns it.
    """
    mode, operation = ca.SX.sym("mode of time"), value.op()
    if operation in (ca.OP_LT, ca.OP_LE):
        return mode, value.dep(1) - value.dep(0), mode
    if operation == ca.OP_SIGN:
        return mode, value.dep(0), 2 * mode - 1
    # fmod is written as the whole number of periods, of which x/T is what moves.
    steps = stairs_of(value)[-1]
    sign = -1 if operation == ca.OP_CEIL else 1
    odd = 1 - mode
    counted = 2 * ca.floor((sign * steps - 0.5 - odd) / 2 + 0.5) + odd
    return mode, ca.sin(np.pi * ca.remainder(sign * steps, 2)), sign * counted


def _mode_of(operation: int, values: np.ndarray) -> np.ndarray:
    """The modes that belong to values of the clock."""
    if operation in (ca.OP_LT, ca.OP_LE):
        return values
    if operation == ca.OP_SIGN:
        return (values > 0).astype(values.dtype)
    return (np.mod(values, 2) < 0.5).astype(values.dtype)


def pivot_rows(
    conditions: JumpingConditions, modes: tuple[int, ...], corners: bool | None, at: Point
) -> tuple[int, ...]:
    """The rows from which the shares of surfaces are eliminated: where the jumps are largest at a point."""
    if not conditions.shares.numel():
        return ()
    jumps = once(conditions.system, _jumps, conditions, modes, corners)
    own = conditions.original
    left = ca.Function("D", own.symbols(), [jumps])(*at).full()
    found: list[int] = []
    for _ in range(left.shape[1]):
        row, column = np.unravel_index(int(np.argmax(np.abs(left))), left.shape)
        if not left[row, column]:
            raise no_sliding(own, surface_text(conditions.system), "nothing in the equations jumps there")
        found.append(int(row))
        left = left - np.outer(left[:, column], left[row]) / left[row, column]
    return tuple(sorted(found))


def _jumps(system: System, conditions: JumpingConditions, modes: tuple[int, ...], corners: bool | None) -> ca.SX:
    """D: what the residual jumps by across each surface; refused where one changes the jump of another."""
    count, shares = int(conditions.original.residual.numel()), conditions.shares
    jumps = ca.densify(ca.jacobian(conditions.equations(modes, corners)[0][:count], shares))
    if ca.depends_on(ca.vec(jumps), shares):
        why = "two conditions switch to and fro together, and one changes the other's jump"
        raise no_sliding(conditions.original, surface_text(system), why)
    return jumps


def _fixed(
    system: System,
    conditions: JumpingConditions,
    modes: tuple[int, ...],
    corners: bool | None,
    ends_by: EndsBy,
    pivots: tuple[int, ...],
) -> System:
    own, chosen = conditions.original, conditions.chosen(corners)
    residual, stays, outputs = conditions.equations(modes, corners)
    if pivots:
        # r + D s = 0 and ġ = 0 give the shares s from some rows, in whose places ġ = 0 stands then.
        jumps, shares = once(system, _jumps, conditions, modes, corners), conditions.shares
        count, rows = int(own.residual.numel()), list(pivots)
        base = ca.substitute(residual[:count], shares, ca.SX.zeros(shares.numel()))
        found = -ca.solve(jumps[rows, :], ca.densify(base[rows]))
        told = list(outputs.values())
        whole = ca.substitute(concatenate([stays, residual[count:], *(ca.vec(v) for v in told)]), shares, found)
        stays, rates = whole[: stays.numel()], whole[stays.numel() : stays.numel() + len(rows)]
        outputs = dict(zip(outputs, divided(whole[stays.numel() + len(rows) :], told)))
        residual = ca.SX(base + ca.mtimes(ca.sparsify(jumps), found))
        for row, rate in zip(rows, elements(rates)):
            residual[row] = rate
    ending, leaving = ends_by
    signs = [1 - 2 * mode for mode in modes]
    events = [Event(conditions.texts[k], signs[k], k in ending) for k in chosen]
    guards = [conditions.guard(k, modes) + signs[k] * conditions.levels[k] for k in chosen]
    if leaving is not None:
        name = f"the end of {surface_text(system)}"
        events.append(Event(name, -1, True, (), EventPurpose.LEAVES_SURFACE))
        guards.append(stays[leaving])
    stay = ca.repmat(own.symbol("x").T, len(events), 1)
    return own.changed(
        residual=residual,
        outputs=outputs,
        events=(*own.events, *events),
        guards=concatenate([own.guards, *guards]),
        resets=ca.vertcat(own.resets, stay) if own.events else stay,
        parts=(FixedModes(conditions, chosen), *own.parts(Reduction, FormOf, ClosedLoop, HeldStates)),
    )


def surface_text(system: System) -> str:
    """The condition whose surface a system slides along, or rests on."""
    sliding = system.part(Sliding)
    return "" if sliding is None else sliding.condition


def conditions_of(system: System) -> JumpingConditions:
    """The conditions of the system of a piece, found once and kept with it."""
    return once(system, JumpingConditions)


def jumping_conditions(system: System, corners: bool = False) -> tuple[str, ...]:
    """The conditions of a system that make it jump, or have infinite slopes; with `corners` those that bend it, too.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=1.0)
    >>> m.equation(m.der(h), ca.if_else(h > 0.5, -1, -2) - ca.fabs(h))
    >>> jumping_conditions(m.freeze())
    ('h > 0.5',)
    >>> jumping_conditions(m.freeze(), corners=True)
    ('h > 0.5', 'h > 0')
    """
    if switches_of(system) is None:
        return ()
    found = conditions_of(system)
    return tuple(found.texts[k] for k in found.chosen(corners))


def unlocated_jumps(system: System) -> list[Record]:
    """Records of what jumps in the equations at places that are not looked for."""
    return list(once(system, _unlocated))


def _unlocated(system: System) -> tuple[Record, ...]:
    switches = switches_of(system)
    left = corners_in(system.residual) if switches is None else switches.left
    return tuple(JumpNotDifferentiated(name) for name in left if name in STAIRS.values())


def no_sliding(system: System, text: str, why: str) -> SolverError:
    """Refuse derivatives along a condition in words."""
    return SolverError(
        f"The derivatives of {system.name!r} cannot be continued along {text}.",
        f"both branches lead back to it, and {why}",
        because="the motion along the condition, and its derivative, are not determined there.",
        remedy="m.friction for what sticks, or a smooth law such as tanh(v/0.001) for sign(v)",
    )
