"""What happens at instants in the run of an FMU: events with guards, then clocks, as the tables of its runtime."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.exchange.fmu.frictions import frictions_of
from daedalus.model.switching.schedule import Schedule
from daedalus.model.system.system import System
from daedalus.simulation.switching.agenda import levels_of, order_of

# The tables of numbers.
TIMES = ("period", "offset", "divisor", "times")
# Products of whole numbers up to here with a million ticks are exact.
EXACT = 2**33


@dataclass(frozen=True, eq=False)
class Instants:
    """Events and clocks of a system, numbered as the runtime does: those with guards first.

    order: positions in the system. terminal: of all; levels: how many rounds a clock comes behind those that it reads.
    Tick k of a clock is at (offset + k period) / divisor; its period is zero where its times are given, which are
    times[first[c]:first[c + 1]]. friction_guards, friction_modes: of each friction its event and its discrete variable.
    """

    guards: int
    clocks: int
    discretes: int
    order: tuple[int, ...]
    directions: tuple[int, ...]
    terminal: tuple[int, ...]
    at_start: tuple[int, ...]
    levels: tuple[int, ...]
    first: tuple[int, ...]
    friction_guards: tuple[int, ...]
    friction_modes: tuple[int, ...]
    period: np.ndarray
    offset: np.ndarray
    divisor: np.ndarray
    times: np.ndarray

    @property
    def whole_numbers(self) -> tuple[int, ...]:
        """All tables of whole numbers, one behind the other."""
        return (
            *self.directions, *self.terminal, *self.at_start, *self.levels, *self.first, *self.friction_guards,
            *self.friction_modes,
        )  # fmt: skip


def instants_of(system: System) -> Instants:
    """The instants of a system; refuses what the runtime cannot decide."""
    for event in system.events:
        what = "calls Python code" if event.manner.code is not None else ""
        contact = event.manner.contact
        what = what or ("is a contact" if contact is not None and not contact.is_friction else "")
        if what:
            raise InputError(
                f"The model {system.name!r} cannot be an FMU yet.",
                f"{event.name} {what}",
                because="the library inside evaluates formulas; the only modes it determines are of dry friction.",
                remedy="m.every(period, {name: formula}) in place of code; a stiff spring and damper for a contact",
            )
    order = order_of(system)
    events, clocks = ([system.events[k] for k in part] for part in (order.events, order.clocks))
    schedules = [clock.manner.schedule for clock in clocks]
    given = [() if s is None or s.period is not None else tuple(sorted(set(s.times))) for s in schedules]
    ratios = np.array([_ratio(schedule) for schedule in schedules]).reshape(-1, 3)
    modes = frictions_of(system).modes
    rubs = [k for k, event in enumerate(events) if event.manner.contact is not None]
    first = np.concatenate([[0], np.cumsum([len(times) for times in given])]).astype(int)
    return Instants(
        guards=len(events),
        clocks=len(clocks),
        discretes=system.discrete_count,
        order=order.all,
        directions=tuple(int(e.direction) for e in events),
        terminal=tuple(int(e.terminal) for e in (*events, *clocks)),
        at_start=tuple(int(e.manner.at_start) for e in events),
        levels=tuple(levels_of(system)),
        first=tuple(first.tolist()),
        friction_guards=tuple(rubs),
        friction_modes=tuple(place - system.sizes["p"] + system.discrete_count for place in modes),
        period=ratios[:, 0],
        offset=ratios[:, 1],
        divisor=ratios[:, 2],
        times=np.array([t for times in given for t in times], dtype=float),
    )


def _ratio(schedule: Schedule | None) -> tuple[float, float, float]:
    """Period and offset as whole numbers by one divisor, which are exact; as they are if that takes many digits."""
    if schedule is None or schedule.period is None:
        return 0.0, 0.0, 1.0
    period, offset = (Fraction(Decimal(repr(float(value)))) for value in (schedule.period, schedule.offset))
    divisor = lcm(period.denominator, offset.denominator)
    whole = int(period * divisor), int(offset * divisor), divisor
    if max(map(abs, whole)) < EXACT:
        return float(whole[0]), float(whole[1]), float(whole[2])
    return float(schedule.period), float(schedule.offset), 1.0


def guards_of(system: System, instants: Instants) -> ca.SX:
    """The guards of the events that have one."""
    return system.guards[list(instants.order[: instants.guards])] if instants.guards else ca.SX(0, 1)


def assigned_by(system: System, instants: Instants, resets: ca.SX) -> ca.SX:
    """Event after event, clocks last, the states (one row of `resets` each) and the discrete variables behind it."""
    if not instants.order:
        return ca.SX(0, 1)
    rows = ca.horzcat(resets, system.assigned)[list(instants.order), :]
    return ca.vec(rows.T)
