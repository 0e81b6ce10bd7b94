"""The events of a model as a kernel takes them: guards and resets as instruction lists, or why it cannot have them.

Conditions in equations are hidden modes, 0 or 1, behind the discrete variables (`daedalus.reduction.switches`); each
has a guard behind those of the events, and turns where that passes zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from daedalus.compilation.lanes.lane_formulas import kernel_formulas
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.settings import Settings, assignments
from daedalus.simulation.switching.guard_times import timed_guards


@dataclass(frozen=True, eq=False)
class LaneEvents:
    """Guards that end a step where they pass zero, and what each of them assigns to states and discrete variables."""

    guards: Instructions  # (t, x, u, p) -> one number an event, then one a mode
    resets: Instructions | None  # (t, x, u, p) -> states, then discrete variables behind each event, below each other
    names: tuple[str, ...]
    directions: tuple[int, ...]
    sides: tuple[int, ...]
    terminal: tuple[bool, ...]
    writes: tuple[tuple[bool, ...], ...]  # which states and discrete variables an event assigns
    discretes: int
    modes: int

    @property
    def count(self) -> int:
        """How many guards there are, the last ones those of modes."""
        return len(self.directions)

    def is_mode(self, guard: int) -> bool:
        """Whether a guard is that of a mode."""
        return guard >= self.count - self.modes

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What distinguishes the text of a kernel by its events."""
        lists = self.guards.digest(), None if self.resets is None else self.resets.digest()
        return *lists, self.directions, self.sides, self.terminal, self.writes, self.discretes, self.modes


def why_no_lane_events(road: Road) -> str | None:
    """What of the events and switches of a road no lane can do, None where there is nothing."""
    settings, system, switches = road.settings, road.system, road.settings.switches
    if any(event.is_clock for event in system.events):
        return "the model has clocks"
    if settings.contacts is not None:
        return "the model has contacts"
    if timed_guards(system) or settings.stops is not None or (switches is not None and switches.clock is not None):
        return "the model has events at known times"
    if any(event.manner.at_start for event in system.events):
        return "events of the model may happen at the start"
    if not settings.plant.is_implicit and not isinstance(settings.core_plant, ExplicitPlant):
        return "a linear system is solved at each evaluation"
    if settings.plant.is_implicit:
        return "events on lanes are those of explicit methods"
    if settings.plant.has_constraints or "restart" in settings.call or "projection" in settings.call:
        return "constraints decide what lies behind an event"
    if system.discrete_count and not system.events:
        return "discrete variables are never assigned"
    if road.request.step is not None:
        return "events cut steps of fixed length"
    if road.drive.tables:
        return "the model has events, and inputs that follow a table"
    return None


def lane_events(settings: Settings) -> LaneEvents | str:
    """The events and switches of a way to run a system of formulas, or why a kernel cannot have them."""
    return once(settings.core_plant.system, _read, By(settings))


def _read(_: System, of: By[Settings]) -> LaneEvents | str:
    settings = of.value
    plant, core_plant = settings.plant, settings.core_plant
    system, modes = plant.system, 0 if settings.switches is None else settings.switches.count
    events = system.events
    try:
        guards, resets = _list(core_plant.guards), _list(core_plant.resets) if events else None
    except UnknownOperationError as unknown:
        return str(unknown)
    return LaneEvents(
        guards=guards,
        resets=resets,
        names=tuple(event.name for event in events),
        directions=(*(event.direction for event in events), *(0,) * modes),
        sides=(*(event.manner.side for event in events), *(0,) * modes),
        terminal=(*(event.terminal for event in events), *(False,) * modes),
        writes=tuple(tuple(bool(v) for v in row) for row in assignments(plant).tolist()) if events else (),
        discretes=system.discrete_count,
        modes=modes,
    )


def _list(compiled: Any) -> Instructions:
    return kernel_formulas(compiled.function, shared=True)
