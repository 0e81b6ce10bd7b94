"""The rounds of the instants of a run, as it recorded them: what happened together, and what behind it.

The core puts all clocks that are due and all events located at a moment into one round. They read the values before it.
Clocks behind others, and events that a round brings about, come in rounds of their own (core/events/instants.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from daedalus.model.event_purpose import EventPurpose
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.system import System
from daedalus.simulation.result.event_records import FiredEvent
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.switching.agenda import levels_of, order_of, ticks_of


class Round(NamedTuple):
    """What happens together within an instant and reads the values before: positions of events and of clocks.

    follows: whether another round has brought it about. led: those of the events whose guards the motion led to zero.
    """

    events: tuple[int, ...]
    clocks: tuple[int, ...]
    follows: bool = False
    led: tuple[int, ...] = ()


class _Tick(NamedTuple):
    """A tick of a clock: how many rounds it comes behind those that it reads, and its position."""

    time: float
    level: int
    clock: int


class _Fired(NamedTuple):
    """An event of the model: when, in which piece of the run and which round, and its position."""

    time: float
    piece: int
    round: int
    event: int
    led: bool


def rounds_of_run(
    system: System, done: frozenset[str], span: tuple[float, float], pieces: Sequence[Trajectory]
) -> list[tuple[float, tuple[Round, ...]]]:
    """When something happens in a run over a span, and its rounds; done: what happened at the start already."""
    backwards, close = span[1] < span[0], same_instant(*span)
    fired = [_Fired(e.time, k, e.round, e.event, e.led) for k, piece in enumerate(pieces) for e in _model_events(piece)]
    ticks: list[_Tick] = []
    for clock, level in zip(order_of(system).clocks, levels_of(system)):
        event = system.events[clock]
        ticks += [_Tick(t, level, clock) for t in ticks_of(event, span, event.name in done).tolist()]
    ticks.sort(reverse=backwards)
    moments: list[tuple[float, tuple[Round, ...]]] = []
    tick = event_count = 0
    for t in sorted([*(tick.time for tick in ticks), *(event.time for event in fired)], reverse=backwards):
        if moments and abs(t - moments[-1][0]) <= close:
            continue
        first_tick, first_event = tick, event_count
        while tick < len(ticks) and abs(ticks[tick].time - t) <= close:
            tick += 1
        while event_count < len(fired) and abs(fired[event_count].time - t) <= close:
            event_count += 1
        moments.append((t, _rounds(ticks[first_tick:tick], fired[first_event:event_count], backwards)))
    return moments


def _model_events(piece: Trajectory) -> list[FiredEvent]:
    """The events of the model in a piece, which may slide along a condition and has more events then."""
    known = piece.system.events
    return [fired for fired in piece.outcome.events if known[fired.event].purpose is EventPurpose.MODEL]


def _rounds(ticks: Sequence[_Tick], fired: Sequence[_Fired], backwards: bool) -> tuple[Round, ...]:
    """The rounds of a moment: the clocks that are due, level by level, beside the events of each round."""
    levels = sorted({tick.level for tick in ticks})
    clocks = [tuple(sorted(tick.clock for tick in ticks if tick.level == level)) for level in levels]
    due = {tick.time for tick in ticks}
    # A root just beside a tick, and what happens where a next piece begins, are rounds of their own.
    parts: dict[tuple[float, int], list[_Fired]] = {}
    for event in fired:
        parts.setdefault((event.time, event.piece), []).append(event)
    at_ticks = next((part for part in parts if part[0] in due), (ticks[0].time, -1) if ticks else None)
    if at_ticks is not None:
        parts.setdefault(at_ticks, [])
    rounds: list[Round] = []
    for part in sorted(parts, key=lambda part: (-part[0] if backwards else part[0], part[1])):
        beside = clocks if part == at_ticks else []
        for k in range(max([len(beside), *(event.round + 1 for event in parts[part])])):
            events = tuple(event.event for event in parts[part] if event.round == k)
            led = tuple(event.event for event in parts[part] if event.round == k and event.led)
            rounds.append(Round(events, beside[k] if k < len(beside) else (), k > 0, led))
    return tuple(own for own in rounds if own.events or own.clocks)
