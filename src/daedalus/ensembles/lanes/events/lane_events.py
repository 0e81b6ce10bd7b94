"""The events of a model as a kernel takes them: guards and resets as instruction lists, or why it cannot have them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daedalus.compilation.lanes.lane_formulas import MOST_INSTRUCTIONS, check_known
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError, read_instructions
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.settings import assignments
from daedalus.simulation.switching.guard_times import timed_guards


@dataclass(frozen=True, eq=False)
class LaneEvents:
    """Guards that end a step where they pass zero, and what each of them assigns to states and discrete variables."""

    guards: Instructions  # (t, x, u, p) -> one number an event
    resets: Instructions  # (t, x, u, p) -> states, then discrete variables behind each event, below each other
    names: tuple[str, ...]
    directions: tuple[int, ...]
    sides: tuple[int, ...]
    terminal: tuple[bool, ...]
    writes: tuple[tuple[bool, ...], ...]  # which states and discrete variables an event assigns
    discretes: int

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.names)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What distinguishes the text of a kernel by its events."""
        lists = self.guards.digest(), self.resets.digest()
        return *lists, self.directions, self.sides, self.terminal, self.writes, self.discretes


def why_no_lane_events(road: Road) -> str | None:
    """What of the events of a road no lane can do, None where there is nothing."""
    settings, system = road.settings, road.system
    if any(event.is_clock for event in system.events):
        return "the model has clocks"
    if settings.contacts is not None:
        return "the model has contacts"
    if timed_guards(system):
        return "the model has events at known times"
    if any(event.manner.at_start for event in system.events):
        return "events of the model may happen at the start"
    if settings.plant.is_implicit:
        return "events on lanes are those of explicit methods"
    if settings.plant.has_constraints or "restart" in settings.call:
        return "constraints decide what lies behind an event"
    if "projection" in settings.call or not system.events:
        return "the model has events and invariants" if system.events else "discrete variables are never assigned"
    if road.request.step is not None:
        return "events cut steps of fixed length"
    if road.drive.tables:
        return "the model has events, and inputs that follow a table"
    return None


def lane_events(system: System) -> LaneEvents | str:
    """The events of a system of formulas, or why a kernel cannot have them."""
    return once(system, _read)


def _read(system: System) -> LaneEvents | str:
    plant, events = plant_of(system), system.events
    lists: list[Instructions] = []
    for function in (plant.guards.function, plant.resets.function):
        if function.n_instructions() > MOST_INSTRUCTIONS:
            return "its formulas are too long for a kernel"
        own = [ca.SX.sym(function.name_in(k), function.size1_in(k)) for k in range(4)]
        whole = ca.Function(function.name(), own, function.call(own), {"cse": True})
        try:
            rows = read_instructions(whole)
            check_known(rows)
        except UnknownOperationError as unknown:
            return str(unknown)
        lists.append(rows)
    return LaneEvents(
        guards=lists[0],
        resets=lists[1],
        names=tuple(event.name for event in events),
        directions=tuple(event.direction for event in events),
        sides=tuple(event.manner.side for event in events),
        terminal=tuple(event.terminal for event in events),
        writes=tuple(tuple(bool(v) for v in row) for row in assignments(plant).tolist()),
        discretes=system.discrete_count,
    )
