"""Run a model in pieces: core runs one after the other, each with settings and equations of its own, read as one.

A piece is `Piece(road, parameters, begin, row)`: a core run that may begin. `run_in_pieces(first, next_piece, t1, ...)`
runs it; where it stops before t1 the rule `next_piece(done)` says how it goes on. The rule gets the piece that stopped
as a `Trajectory`: `done.status` is why, `done.end` has every value by name at `done.end.time`, `done.system` is what
was run. It returns

- the next `Piece`, which begins at `done.end.time`; an event that ended `done` is then no event of the whole run,
- a `Trajectory`, a piece that is there already, such as a way over a place where nothing can be integrated; `done` is
  cut where it begins, and the rule is asked again for what follows it,
- a `Stop`, where the run ought to go on and cannot: it ends there, without success, for what the record says,
- None, where the end of `done` is the end of the run, such as at a terminal event of the model.

The limits max_steps and time_limit, the times of save_at, progress and cancellation are those of the whole run; what
the rules take counts as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import takewhile
from time import perf_counter
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.deadline import Deadline, OutOfTime, current_deadline, poll, undisturbed
from daedalus.reduction.switches import switches_of
from daedalus.simulation.between.rows_between_steps import keep_between_steps
from daedalus.simulation.contacts.contact_run import settled_moments
from daedalus.simulation.contacts.held_between_steps import sharing_frictions, stops_where_broken
from daedalus.simulation.inputs.callbacks import rhs_with_callbacks
from daedalus.simulation.result.ending import ENDINGS, Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.event_records import SettledMoment
from daedalus.simulation.result.held_values import ConditionModes, HeldModes, HeldValues
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.records_on_the_way import BrokenBetweenSteps, LoadShared
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.onlooker import Onlooker
from daedalus.simulation.run.reported_outcome import outcome_of
from daedalus.simulation.run.road import Piece
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.run.stop_reason import ended_from_outside
from daedalus.simulation.singular.beside_roots import broken_beside_roots
from daedalus.simulation.singular.leading_over import until
from daedalus.simulation.switching.agenda import Agenda, agenda_of, near_zero
from daedalus.simulation.switching.instant_end import jumps_at_end
from daedalus.simulation.switching.output_switches import with_output_switches

# So many pieces in a row without a step lead nowhere.
MOST_STILL = 3
# Ends that somebody asked for.
CUT_SHORT = (Ending.INTERRUPTED, Ending.CANCELLED, Ending.TIME_LIMIT, Ending.STEP_LIMIT)
# So often a piece is repeated in which something did not hold between the steps.
MOST_REPEATED = 8


Next = Piece | Trajectory | Stop | None
Rule = Callable[[Trajectory], Next]


def run_in_pieces(
    first: Piece,
    next_piece: Rule,
    t1: float,
    save_at: np.ndarray | None = None,
    progress: Any = None,
    cancel: Any = None,
) -> Trajectory:
    """The run from the first piece to t1, or to where it stops.

    Example
    -------
    >>> import numpy as np
    >>> import daedalus as dd
    >>> from daedalus.simulation.run.request import read_request
    >>> from daedalus.simulation.run.road import find_road
    >>> m = dd.Model("ball")
    >>> h = m.state("h", start=1.0); v = m.state("v", start=0.0)
    >>> m.equation(m.der(h), v); m.equation(m.der(v), -9.81); m.event("floor", h, direction=-1, terminal=True)
    >>> road, none = find_road(read_request(m, 0.8, options={"method": "tsit5", "rtol": 1e-8})), np.zeros(0)
    >>> def bounce(done):
    ...     row = np.array([0.0, -0.5 * float(done.end["v"])])
    ...     return Piece(road, none, float(done.end.time), row) if len(done.time) > 3 else None
    >>> tr = run_in_pieces(Piece(road, none, 0.0, np.array([1.0, 0.0])), bounce, 0.8)
    >>> len(tr.pieces), tr.stop_reason
    (2, 'reached t = 0.8')
    """
    begun = run_piece(first, t1, save_at, progress, cancel)
    return begun if begun.status.final else go_on(begun, next_piece, t1, save_at, progress, cancel)


def go_on(
    begun: Trajectory, next_piece: Rule, t1: float, save_at: np.ndarray | None = None, progress: Any = None,
    cancel: Any = None, spent: float = 0.0,
) -> Trajectory:  # fmt: skip
    """The rest of a run whose first piece is there, joined to it; so many seconds were spent before that."""
    done, clock = [begun], perf_counter() - begun.work.seconds - spent
    while not done[-1].status.final:
        try:
            poll("how the run goes on")
            following = next_piece(done[-1])
        except (OutOfTime, KeyboardInterrupt) as reason:
            following = ended_by(reason, done[-1])
        if following is None:
            break
        if isinstance(following, Piece) and (limit := _over(following.settings, clock, cancel)):
            following = ended_from_outside(limit, float(done[-1].end.time), following.settings.time_limit)
        if len(done) >= MOST_STILL and not any(piece.work.steps for piece in done[-MOST_STILL:]):
            following = _standstill(done)
        if isinstance(following, Stop):
            done[-1] = _stuck(done[-1], following)
            break
        if isinstance(following, Trajectory):
            done[-1] = until(done[-1], float(following.dense_spans[0][0]), save_at is None)
        if save_at is not None:
            if isinstance(following, Piece):
                done[-1] = _before_time(done[-1], following.begin)
            save_at = save_at[len(done[-1]._times) :]
        if isinstance(following, Trajectory):
            done.append(following if save_at is None else sampled_piece(following, save_at, project=False))
        else:
            following = following._replace(fired=None, told=_told_last(done[-1], following.begin))
            try:
                done.append(run_piece(following, t1, save_at, progress, cancel, _left(following.settings, done, clock)))
            except (OutOfTime, KeyboardInterrupt) as reason:
                done[-1] = _stuck(done[-1], ended_by(reason, done[-1]))
    return joined(done)


def ended_by(reason: BaseException, last: Trajectory) -> Stop:
    """The end of a run behind its last piece for the time of its call, or by Ctrl-C, while nothing was integrated."""
    if isinstance(reason, KeyboardInterrupt):
        return ended_from_outside(Ending.INTERRUPTED, float(last.end.time), None)
    if not isinstance(reason, OutOfTime) or reason.deadline is not current_deadline():
        raise reason
    reason.deadline.dismiss()
    return ended_from_outside(Ending.TIME_LIMIT, float(last.end.time), reason.deadline.seconds)


def cut_short(whole: Trajectory, reason: BaseException) -> Trajectory:
    """A run whose end could not be judged, for the time of its call or by Ctrl-C: it ends there without success."""
    *before, last = whole.pieces
    return joined([*before, _stuck(last, ended_by(reason, last))])


def sampled_piece(piece: Trajectory, save_at: np.ndarray, project: bool = True) -> Trajectory:
    """A piece that is there already with the times of save_at that it covers as its samples."""
    begin, end = (float(ends[k]) for ends, k in zip(piece.dense_spans, (0, -1)))
    inside = save_at[(save_at - begin) * (save_at - end) <= 0]
    x = piece.at(inside, project=project)._x if len(inside) else piece._x[:0]
    held = None if piece._held_values is None else piece._held_values.sampled(inside)
    sampled = piece.remade(piece.status, piece.outcome, (inside, x), held)
    sampled.has_given_times = True
    return sampled


def run_piece(
    piece: Piece,
    t1: float,
    save_at: np.ndarray | None,
    progress: Any,
    cancel: Any,
    limits: dict[str, Any] | None = None,
    keep_between: bool = True,
) -> Trajectory:
    """One core run; `limits` take the place of those in the settings.

    keep_between: whether an implicit run keeps the rows of its steps and values between them, beside those of save_at.
    """
    road, p, begin, row, _, _, goes_on, _ = piece
    settings, drive = road.settings, road.drive
    plan, deadline = settings.plan, current_deadline()
    if deadline is not None:
        limits = _limits_within(deadline, settings, limits)
    if goes_on and any(settings.call.get("at_start", ())):
        limits = {**(limits or {}), "at_start": [0] * len(settings.call["at_start"])}
    if drive.callbacks or limits:
        rhs = rhs_with_callbacks(settings, drive) if drive.callbacks else settings.rhs
        kinked = {"kinked": True} if drive.callbacks and settings.plant.is_implicit else {}
        call = {**settings.call, **kinked, **(limits or {})}
        plan = _core.Plan(rhs, settings.core_method, **call, rows_at_jumps=True)
    tables = drive.core_tables() if drive.tables else None
    u, core_p, tables = settings.core_numbers(drive.constants, p, tables, (begin, t1))
    agenda = None
    if settings.plant.system.events:
        agenda, core_p = _agenda_of_piece(piece, t1, u, core_p)
    due, codes = (None, None) if agenda is None else agenda
    delays = None if drive.delayed is None else drive.delayed.core(settings.core_plant, settings.plant.system)
    seen = progress.of_piece(settings.plant, drive, p, begin, t1) if isinstance(progress, Onlooker) else None

    def core_run(tables: list[Any] | None) -> Trajectory:
        numbers = (begin, t1, row, u, core_p, save_at, tables, progress, cancel, due, delays, seen, keep_between)
        settled: list[SettledMoment] | None = None
        if deadline is None and settings.contacts is None:
            run = plan.run(*numbers)
        else:  # the core looks at a deadline itself
            watched = settled_moments() if settings.contacts is not None else nullcontext()
            with undisturbed(), watched as settled:
                run = plan.run(*numbers)
        if deadline is not None:
            if run.status == Ending.TIME_LIMIT.value and settings.time_limit is not None:
                deadline.dismiss()
            elif run.status == Ending.TIME_LIMIT.value:
                deadline.check("a run on the way")
        if settings.preconditioner is not None:
            settings.preconditioner.check()
        own = None if settled is None else tuple(settled)
        return read_piece(piece, run, t1, save_at is not None, codes, own)

    def with_stops(stops: np.ndarray) -> Trajectory:
        return core_run([*(tables or []), _core.Table(stops, np.zeros((len(stops), 0)), [], False)])

    done = _held_between_steps(core_run(tables), settings.contacts, (begin, t1), with_stops)
    if names := sharing_frictions(done, settings.contacts):
        done = done.remade(done.status, replace(done.outcome, records=(*done.outcome.records, LoadShared(names))))
    if (broken := broken_beside_roots(done, settings)) is not None:
        done = _stuck(done, broken)
    if isinstance(progress, Onlooker):
        progress.ended(done)
    return done


def _held_between_steps(
    done: Trajectory, contacts: Any, span: tuple[float, float], with_stops: Callable[[np.ndarray], Trajectory]
) -> Trajectory:
    """A core run, repeated with stops where contacts break their law between its steps; a record where they still do.

    with_stops: the run once more, with steps that end at some times.
    """
    stops = np.array([span[0]])
    for repeated in range(MOST_REPEATED + 1):
        more = np.zeros(0) if done.status in CUT_SHORT else stops_where_broken(done, contacts, span)
        if not len(more):
            break
        if repeated == MOST_REPEATED:
            record = BrokenBetweenSteps(float(more[0]), len(more) // 2)
            return done.remade(done.status, replace(done.outcome, records=(*done.outcome.records, record)))
        stops = np.unique(np.concatenate([stops, more]))
        done = with_stops(stops)
    return done


def _agenda_of_piece(piece: Piece, t1: float, u: np.ndarray, core_p: np.ndarray) -> tuple[Agenda | None, np.ndarray]:
    """What is known to happen in a piece to t1, and its numbers with the modes that are known where it begins."""
    _, p, begin, row, fired, told, _, modes = piece
    settings, u_there, known = piece.settings, piece.drive.at_time(begin), list[int]()
    if modes is not None and settings.switches is not None and modes.conditions == settings.switches.conditions:
        # u_there: inputs of tables too; behind them come conditions on time
        inputs_there = np.concatenate([u_there, u[len(u_there) :]])
        core_p, known = known_modes(settings, modes, begin, row, (inputs_there, core_p))
    agenda = agenda_of(settings.plant, settings.core_plant, p, (begin, t1), (fired, told), row, u_there, known)
    return agenda, core_p


def read_piece(
    piece: Piece, run: Any, t1: float, sampled: bool = False, codes: Mapping[str, Any] | None = None,
    settled: tuple[SettledMoment, ...] | None = None,
) -> Trajectory:  # fmt: skip
    """A core run of a piece as a trajectory; records are made when somebody asks for them."""
    road, p, begin, *_ = piece
    settings, drive, plant = road.settings, road.drive, road.settings.plant
    if drive.delayed is not None:
        drive = drive._replace(delayed=drive.delayed.recorded(run))
    if plant.has_constraints:
        conditions = () if settings.switches is None else settings.switches.conditions
        keep_between_steps(plant, drive, p, run, settings.rtol, road.request.step is not None, conditions)
    count = plant.system.discrete_count
    held = HeldValues.of_run(run, count, sampled) if count else None
    if held is not None:
        p = np.concatenate([p[: len(p) - count], held.values[-1]])
    switches = settings.switches
    modes = None
    if switches is not None and switches.count:
        modes = partial(HeldModes.of_run, run, switches.conditions)
    times = x = None
    if not sampled and (more := with_output_switches(plant, drive, p, run, held)) is not None:
        times, x, held = more
    if not sampled and jumps_at_end(settings, drive, p, run, (begin, t1)):
        times, x = (run.t, run.x) if times is None or x is None else (times, x)
        if len(times) < 2 or times[-2] != times[-1]:
            times, x = np.append(times, times[-1]), np.concatenate([x, x[-1:]])
    if type(road.request.start) not in (dict, type(None)) or held is not None or drive is not road.drive:
        request = road.request._replace(start=None)  # the run that it began with is let go
        piece = piece._replace(road=road._replace(request=request, drive=drive), parameters=p)
    outcome = partial(outcome_of, piece, run, t1, codes, settled)
    done = Trajectory(plant, drive, p, times, x, ENDINGS[run.status], outcome, run, held, modes)
    done.has_given_times = sampled
    return done


def known_modes(
    settings: Settings, modes: ConditionModes, t: float, row: np.ndarray, given: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, list[int]]:
    """p with the modes that a moment had, and the guards of those that rounding has left on the other side of zero."""
    plant, count = settings.core_plant, len(modes.values)
    if plant.guards.function.n_in() != 4:  # they need a solve
        return given[1], []
    u, p = given[0], np.concatenate([given[1][: len(given[1]) - count], modes.values])
    values, near = near_zero(plant, t, row, u, p)
    first = len(values) - count
    wrong = (values[first:] > 0) != (modes.values > 0.5)
    return p, (first + np.flatnonzero(wrong & near[first:])).tolist()


def _before_time(piece: Trajectory, t: float) -> Trajectory:
    """A piece whose rows are those of given times, without a row at t: the later values are those of the next one."""
    times = piece._times
    if not len(times) or times[-1] != t:
        return piece
    return piece.remade(piece.status, piece.outcome, (times[times != t], piece._x[times != t]))


def _told_last(done: Trajectory, t: float) -> frozenset[str]:
    """The events that a piece told where the next one begins, which does not tell them again."""
    return done.fired_at_end(t) if done.system.events else frozenset()


def _over(settings: Settings, clock: float, cancel: Any) -> Ending | None:
    """Why no further piece is begun: the time of the run, counted from `clock` on, is spent, or it was cancelled."""
    if cancel is not None and cancel.is_set:
        return Ending.CANCELLED
    spent = settings.time_limit is not None and perf_counter() - clock > settings.time_limit
    return Ending.TIME_LIMIT if spent else None


def _left(settings: Settings, done: list[Trajectory], clock: float) -> dict[str, Any]:
    """What earlier pieces left of the limits of the run; its start and its first step are done already."""
    limits: dict[str, Any] = {"first_step": None}
    if "at_start" in settings.call:
        limits["at_start"] = [0] * len(settings.call["at_start"])
    if settings.max_steps is not None:
        limits["max_steps"] = max(0, settings.max_steps - sum(piece.work.steps for piece in done))
    if settings.time_limit is not None:
        limits["time_limit"] = max(1e-9, settings.time_limit - (perf_counter() - clock))
    return limits


def _limits_within(deadline: Deadline, settings: Settings, limits: dict[str, Any] | None) -> dict[str, Any]:
    """The limits of a piece, with the time that its call has left."""
    own = settings.time_limit
    left = deadline.left if own is None or limits is not None else deadline.begin_steps()
    known = (limits or {}).get("time_limit", own)
    return {**(limits or {}), "time_limit": left if known is None else min(left, known)}


def _stuck(piece: Trajectory, stop: Stop) -> Trajectory:
    """A piece with another end: what stopped it was meant to be passed."""
    events = piece.outcome.events[: -1 if piece.status is Ending.EVENT else None]
    return piece.remade(stop.ending, replace(piece.outcome, stop=stop, events=events))


def _standstill(done: list[Trajectory]) -> Stop:
    """The end of pieces that lead nowhere: conditions between which they switch to and fro are named."""
    t = float(done[-1].end.time)
    what = f"the equations were changed {MOST_STILL} times without a step at {time_text(t)}"
    last = takewhile(lambda piece: piece.status is Ending.CHATTERING, reversed(done))
    found = sorted({text for piece in last for text in _turned_last(piece)})
    if not found:
        return Stop(Ending.STUCK, t, what, obstacle=Obstacle.STANDSTILL)
    return Stop(
        Ending.STUCK, t, what, (f"it switches to and fro at {' and '.join(found)}, and no motion leads away",),
        "a smooth law such as tanh(v/0.001) for sign(v)", condition=found[0], obstacle=Obstacle.STANDSTILL,
    )  # fmt: skip


def _turned_last(piece: Trajectory) -> list[str]:
    """The condition that turned last in a piece that ended by switching to and fro."""
    found, last = switches_of(piece.system), getattr(piece._source, "last_turned", -1)
    return [] if found is None or last < 0 else [found.conditions[last]]
