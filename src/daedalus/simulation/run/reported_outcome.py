"""What the core reports of a piece of a run, as the records that the result keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from daedalus.model.system.system import System
from daedalus.simulation.contacts.contact_run import has_contacts
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.ending import Ending, Stop
from daedalus.simulation.result.event_records import FiredEvent, SettledMoment, TurnedCondition
from daedalus.simulation.result.held_values import HeldModes
from daedalus.simulation.result.outcome import Outcome, Work
from daedalus.simulation.result.records_of_methods import LinearSystems
from daedalus.simulation.result.records_on_the_way import SwitchesLocated
from daedalus.simulation.run.long_oscillations import long_oscillations
from daedalus.simulation.run.road import Piece
from daedalus.simulation.run.small_states import small_states
from daedalus.simulation.run.stop_reason import refused_contacts, refused_reset, sliding, stop_of
from daedalus.simulation.singular.growing_modes import growing_modes
from daedalus.simulation.singular.leading_matrix import undetermined_places
from daedalus.simulation.sliding.rest import StatesAtSteps, resting_places, with_rests
from daedalus.simulation.sliding.sliding_system import rests_on_surface, surfaces_of
from daedalus.simulation.switching.agenda import order_of
from daedalus.simulation.switching.instant_end import held_at_start, instant_end
from daedalus.simulation.switching.touches import touches

# Numbers in a row from which on a note tells how linear systems were solved.
LARGE = 1000


def _refused(piece: Piece, run: Any) -> Stop | None:
    """The end at an event whose reset is refused, or at contacts that nothing lies behind."""
    if run.culprit_stage != "event":
        return None
    settings, p, t, event = piece.settings, piece.parameters, float(run.stop_time), int(run.culprit)
    u = piece.drive.at_time(t)
    if settings.contacts is not None:
        refusal = settings.contacts.refusal(t, np.array(run.end), u, p, event)
        if refusal is not None:
            return refused_contacts(t, refusal)
    if settings.restart is None:
        return None
    error = settings.restart.refusal(t, np.array(run.end), u, p, event)
    return None if error is None else refused_reset(t, settings.events[event].name, error)


def _linear_systems(run: Any, preconditioner: str) -> LinearSystems | None:
    """How linear systems were solved; None where an explicit method ran, or none was factorised."""
    form, *counts = getattr(run, "linear", ("",))
    return replace(LinearSystems(form, *counts), preconditioner=preconditioner) if form and any(counts) else None


def outcome_of(
    piece: Piece, run: Any, t1: float, codes: Mapping[str, Any] | None = None,
    settled: tuple[SettledMoment, ...] | None = None,
) -> Outcome:  # fmt: skip
    """What the core reports of a piece to t1, as records; its parameters are those that the run ended with."""
    settings, drive, p, fired = piece.settings, piece.drive, piece.parameters, piece.fired
    limits = (settings.max_steps, settings.time_limit, settings.call.get("step"))
    stop = _refused(piece, run) or stop_of(run, settings.plant.system, *limits, events=settings.events)
    if stop.ending.of_an_instant:
        stop = instant_end(run, settings.plant.system, codes or {})
    told = settings.notes + undetermined_places(settings.plant, drive, p, run)
    told += held_at_start(settings.plant, drive, run, p, fired)
    told += growing_modes(piece, run)
    if stop.ending.success or not stop.ending.final:
        told += small_states(settings, run) + long_oscillations(piece, run)
    if settings.plant.system.events and settings.watched is None:
        told += touches(settings.plant, drive, p, run, settings.rtol)
    turns: tuple[TurnedCondition, ...] = ()
    if settings.switches is not None:
        in_time = settings.values_in_time(p, (piece.begin, t1), run.stop_time)
        timed = [] if in_time is None else _changed(*in_time, settings.switches.on_time)
        turns = _turns(run, settings.switches.conditions, timed, (piece.begin, t1))
        turns = _with_rests(piece, run, turns)
        conditions = (*settings.switches.conditions, *settings.switches.on_time)
        told += (SwitchesLocated(run.turns + len(timed), conditions),)
        if stop.ending is Ending.CHATTERING and run.last_turned >= 0:
            stop = sliding(run.stop_time, settings.switches.conditions[run.last_turned])
    solved = _linear_systems(run, settings.linear.called)
    if solved is not None and (settings.plant.row_width >= LARGE or solved.iterations):
        told += (solved,)
    return Outcome(
        stop=stop,
        method=settings.method,
        work=Work(
            run.steps, run.rejected, run.rhs_calls, run.jacobians, run.factorisations, run.newton, run.seconds,
            "" if solved is None else solved.how,
        ),
        records=(piece.road.why or settings.reason, *drive.notes, *settings.plant.notes, *told),
        events=_recorded_events(run) if settings.watched else _written_events(run, settings.plant.system),
        turns=turns,
        surfaces=surfaces_of(settings.plant.system),
        rests=rests_on_surface(settings.plant.system),
        settled=settled,
        done_at_start=fired or frozenset(),
        step_counts=run.step_counts(),
        step_times=np.zeros(0) if settings.plant.is_implicit else np.array(run.at_steps()[0]),
    )  # fmt: skip


def _turns(
    run: Any, conditions: tuple[str, ...], timed: list[TurnedCondition], span: tuple[float, float]
) -> tuple[TurnedCondition, ...]:
    """The conditions that changed in a core run, in order of time; timed: those that time alone decides."""
    modes = HeldModes.of_run(run, conditions)
    found = [] if modes is None else _changed(modes.held.times, modes.held.values, conditions)
    forward = 1.0 if span[1] >= span[0] else -1.0
    return tuple(sorted([*found, *timed], key=lambda turn: forward * turn.time))


def _with_rests(piece: Piece, run: Any, turns: tuple[TurnedCondition, ...]) -> tuple[TurnedCondition, ...]:
    """The same with those at which a core run comes to rest."""
    settings = piece.settings
    plant, begins = settings.plant, piece.begin == piece.road.request.t0 and not piece.goes_on
    if not run.steps or not resting_places(plant.system):
        return turns
    times, rows = run.at_steps()
    path = StatesAtSteps(np.array(times), np.array(rows)[:, plant.row_parts["x"]], partial(_state_behind, plant, run))
    span = (piece.begin, run.stop_time)
    return with_rests(plant.system, turns, path, span, piece.drive, piece.parameters, settings.rtol, begins)


def _state_behind(plant: Plant, run: Any, t: float) -> np.ndarray:
    """x right behind a time at which a step of a core run begins."""
    starts, _, coefficients = run.dense()
    return np.array(coefficients[int(np.argmin(np.abs(starts - t))), 0][plant.row_parts["x"]])


def _changed(times: np.ndarray, values: np.ndarray, conditions: tuple[str, ...]) -> list[TurnedCondition]:
    """What is another value behind each time than before it; of values at one time the last one counts."""
    last = np.append(np.flatnonzero(np.diff(times)), len(times) - 1)
    rows, columns = np.nonzero(values[last[1:]] != values[last[:-1]])
    return [
        TurnedCondition(float(times[last[1 + row]]), conditions[k], float(values[last[1 + row], k]))
        for row, k in zip(rows, columns)
    ]


def _recorded_events(run: Any) -> tuple[FiredEvent, ...]:
    """The events of a core run as it numbers them."""
    events = run.events
    told = zip(run.event_rounds, run.events_led) if events else ()
    return tuple(FiredEvent(k, t, a, b, count, led) for (k, t, a, b), (count, led) in zip(events, told))


def _written_events(run: Any, system: System) -> tuple[FiredEvent, ...]:
    """The events of a core run under their places in the system; a contact that stays as it was is none."""
    events = _recorded_events(run)
    if not events:
        return ()
    order = order_of(system).all
    events = tuple(fired._replace(event=order[fired.event]) for fired in events)
    if not has_contacts(system):
        return events
    contacts = [system.events[fired.event].manner.contact for fired in events]
    return tuple(e for e, contact in zip(events, contacts) if contact is None or not np.array_equal(e.before, e.after))
