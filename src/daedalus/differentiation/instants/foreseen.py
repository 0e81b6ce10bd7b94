"""What happens when in a run with clocks, conditions or discrete variables, as `dd.simulate` finds it.

The rules of an instant are those of the core: it runs the model once, and what it tells is differentiated. Between two
instants nothing is assigned, and the equations are those of an ordinary system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedalus.errors import SolverError
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import Next, Piece, run_in_pieces
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.sliding.slide import leave_surface, slide_along
from daedalus.simulation.switching.agenda import levels_of, order_of, ticks_of
from daedalus.simulation.switching.guard_times import rounding_of


@dataclass(frozen=True, eq=False)
class Instant:
    """One moment of change: positions of the clocks due, round by round, and of the events with x before each."""

    time: float
    clocks: tuple[tuple[int, ...], ...] = ()
    events: tuple[tuple[int, np.ndarray], ...] = ()


@dataclass(frozen=True, eq=False)
class Foreseen:
    """All instants of a run, where it begins, ends and was asked to end, and the run that told of them."""

    instants: tuple[Instant, ...]
    begin: float
    end: float
    asked: float
    rests: tuple[int, ...]  # positions of discrete variables among the states
    nominal: Trajectory

    def names(self, system: System) -> tuple[str, ...]:
        """The names of the discrete variables among the states of a system."""
        places = system.places
        return tuple(v.name for v in system.of_kind("state") if places[v.name].positions[0] in self.rests)

    def until(self, passed: int) -> float:
        """Where the stretch behind so many instants ends."""
        return self.instants[passed].time if passed < len(self.instants) else self.end


@dataclass(frozen=True, eq=False)
class NominalRun:
    """How `dd.simulate` runs the model: its settings, and where its x and its discrete variables stand among states.

    fired: what happened at the start already. road: how pieces that slide along conditions are made.
    """

    settings: Settings
    states: np.ndarray
    rests: np.ndarray
    fired: frozenset[str]
    road: Road

    @property
    def system(self) -> System:
        """The system as it is run."""
        return self.settings.plant.system

    def run(
        self,
        drive: Drive,
        p: np.ndarray,
        span: tuple[float, float],
        row: np.ndarray,
        call: dict[str, Any] | None = None,
    ) -> Trajectory:
        """The run from a row (x, z, x') of all states, those that rest among them. call: changes of the settings."""
        n = len(self.states) + len(self.rests)
        x, z, rate = row[:n], row[n:-n], row[-n:]
        own = x[self.states]
        if self.settings.plant.is_implicit:
            own = np.concatenate([own, z, rate[self.states]])
        settings, request = self.settings, self.road.request
        if call:
            settings = replace(settings, call={**settings.call, **call})
            if "rtol" in call:
                atol, share = request.atol, call["rtol"] / request.rtol
                atol = atol * share if isinstance(atol, (int, float)) else atol
                request = request._replace(rtol=call["rtol"], atol=atol)
        first = Piece(settings, drive, np.concatenate([p, x[self.rests]]), span[0], own, None, self.fired)
        road = self.road._replace(request=request)

        def rule(done: Trajectory) -> Next:
            following = leave_surface(road, first, done)
            return slide_along(road, first, done) if following is None else following

        return run_in_pieces(first, rule, span[1])

    def all_states(self, x: np.ndarray, discretes: np.ndarray) -> np.ndarray:
        """x of the run and its discrete variables as states."""
        found = np.zeros(len(self.states) + len(self.rests))
        found[self.states], found[self.rests] = x[: len(self.states)], discretes
        return found


def foreseen(nominal: NominalRun, run: Trajectory, span: tuple[float, float]) -> Foreseen | None:
    """The instants of a run over a span; None where it is stiff, an error where it stopped early."""
    if run.status is Ending.STIFF:
        return None
    refuse_early_stop(run, nominal.system.name)
    end = float(run.end.time)
    fired = [found for piece in run.pieces for found in _fired(nominal, piece)]
    instants = _instants(nominal.system, nominal.fired, (span[0], end), fired)
    return Foreseen(instants, span[0], end, span[1], tuple(nominal.rests.tolist()), run)


def refuse_early_stop(run: Trajectory, name: str) -> None:
    """Raise where `dd.simulate` stops before the end: nothing behind it has a derivative."""
    if not run.success:
        raise SolverError(
            f"The run of {name!r} with its derivatives stopped early.", run.stop_reason, remedy=run.status.remedy
        )


def _fired(nominal: NominalRun, piece: Trajectory) -> list[tuple[int, float, np.ndarray]]:
    """The events of the model in a piece, which may slide along a condition and has more events then."""
    width, known = piece._plant.row_width, piece.system.events
    return [
        (event, t, nominal.all_states(before[:width], before[width:]))
        for event, t, before, _ in piece.outcome.events
        if known[event].purpose is not EventPurpose.LEAVES_SURFACE
    ]


def _instants(
    system: System,
    done: frozenset[str],
    span: tuple[float, float],
    fired: Sequence[tuple[int, float, np.ndarray]],
) -> tuple[Instant, ...]:
    clocks = order_of(system).clocks
    due: list[tuple[float, int, int]] = []
    for k, level in zip(clocks, levels_of(system)):
        due += [(t, level, k) for t in ticks_of(system.events[k], span, system.events[k].name in done).tolist()]
    moments = sorted([*(t for t, *_ in due), *(t for _, t, _ in fired)], reverse=span[1] < span[0])
    found: list[Instant] = []
    ticks, events, close = sorted(due, reverse=span[1] < span[0]), list(fired), rounding_of(span)
    tick = event = 0
    for t in moments:
        if found and abs(t - found[-1].time) <= close:
            continue
        first, first_event = tick, event
        while tick < len(ticks) and abs(ticks[tick][0] - t) <= close:
            tick += 1
        while event < len(events) and abs(events[event][1] - t) <= close:
            event += 1
        own = sorted((level, k) for _, level, k in ticks[first:tick])
        rounds = tuple(tuple(k for level, k in own if level == each) for each in sorted({level for level, _ in own}))
        found.append(Instant(t, rounds, tuple((k, x) for k, _, x in events[first_event:event])))
    return tuple(found)
