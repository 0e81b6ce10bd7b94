"""What happens when in a run with clocks, conditions or discrete variables, as `dd.simulate` records it.

The rules of an instant are those of the core: it runs the model once, and what it tells is differentiated. Between two
instants nothing is assigned and no condition changes, and the equations are those of a smooth system: which modes the
conditions have, and which of them the run slides along or rests on, is read from the pieces of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np

from daedalus.differentiation.events.jumping_conditions import conditions_of
from daedalus.differentiation.instants.rounds import Round, rounds_of_run
from daedalus.errors import SolverError
from daedalus.model.lazy_values import cached_property
from daedalus.model.switching.held_states import without_instants
from daedalus.model.switching.schedule import same_instant
from daedalus.model.system.closed_loop import ClosedLoop
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.reduction_record import FormOf, Reduction
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.reduction.switches import switches_of
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.event_records import SettledMoment, TransitionKind
from daedalus.simulation.result.held_values import HeldModes, whole_text
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import ConstraintsRechosen
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.result.transitions import joint_kinds, led_back_at, moment
from daedalus.simulation.run.next_piece import DIFFERENTIATED, next_piece
from daedalus.simulation.run.pieces import run_in_pieces
from daedalus.simulation.run.road import Piece, Road
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.sliding.slide import begun_on_surfaces
from daedalus.simulation.sliding.sliding_system import Sliding, resting_system, staying
from daedalus.simulation.sliding.sliding_system import levels_of as surfaces_along
from daedalus.simulation.sliding.solved_slopes import Undetermined
from daedalus.simulation.sliding.surface import Surface, condition_like, held_state, random_place

# Points at which conditions are compared.
POINTS = 3


class Stretch(NamedTuple):
    """What holds between two instants: the system of the piece, the modes of its conditions, the row it begins with.

    The system has discrete variables as states. modes: None where steps crossed the conditions. row: (x, z, x').
    """

    system: System
    modes: tuple[int, ...] | None
    row: np.ndarray


class Change(NamedTuple):
    """A change of the equations that no event makes: of some conditions, or onto or off a surface.

    conditions: those of the stretch before it that changed. leaves: the row of the guards of the surface that was left.
    shift: how far the run moved the state beside the surface. is_timed: whether its time is known beforehand.
    located: those of the conditions that the motion led to zero.
    """

    kind: TransitionKind
    conditions: tuple[int, ...] = ()
    leaves: int | None = None
    shift: np.ndarray | None = None
    is_timed: bool = False
    located: tuple[int, ...] = ()
    records: tuple[Record, ...] = ()  # what the run tells of it

    @property
    def has_known_time(self) -> bool:
        """Whether the part before it ends at its time, and not where a guard passes zero."""
        return self.is_timed or (not self.conditions and self.leaves is None)


@dataclass(frozen=True, eq=False)
class Instant:
    """One moment of change: what happened in its rounds, as the run recorded it."""

    time: float
    rounds: tuple[Round, ...] = ()
    change: Change | None = None  # of the equations alone, where nothing happens
    led_conditions: tuple[str, ...] = ()  # those that the motion led to zero

    @property
    def has_clocks(self) -> bool:
        """Whether a clock ticks."""
        return any(each.clocks for each in self.rounds)

    @property
    def events(self) -> tuple[int, ...]:
        """Positions of all events, in the order in which they happened."""
        return tuple(event for each in self.rounds for event in each.events)

    @property
    def located_events(self) -> tuple[int, ...]:
        """Positions of the events that no other one has brought about."""
        return tuple(event for each in self.rounds if not each.follows for event in each.events)

    @property
    def led_events(self) -> frozenset[int]:
        """Positions of the events whose guards the motion led to zero."""
        return frozenset(event for each in self.rounds for event in each.led)

    @property
    def first_events(self) -> tuple[int, ...]:
        """Positions of the events that happened first, together."""
        return next((each.events for each in self.rounds if each.events), ())


@dataclass(frozen=True, eq=False)
class Foreseen:
    """All instants of a run, where it begins, ends and was asked to end, and the run that told of them.

    stretches: what holds before the first instant, and behind each of them; none where nothing but instants changes it.
    """

    instants: tuple[Instant, ...]
    begin: float
    end: float
    asked: float
    rests: tuple[int, ...]  # positions of discrete variables among the states
    nominal: Trajectory
    stretches: tuple[Stretch, ...] = ()
    corners: bool = False  # whether parts end at corners
    whole: Foreseen | None = None  # with the corners that were left out

    def __reduce__(self) -> tuple[Any, ...]:
        # What stretches consist of is in the parts of a run already.
        return Foreseen, (self.instants, self.begin, self.end, self.asked, self.rests, self.nominal)

    @cached_property
    def largest(self) -> np.ndarray:
        """How large each state becomes along the run, discrete variables among them."""
        sizes = []
        for piece in self.nominal.pieces:
            data = piece.run_data
            x = np.abs(data.rows[:, data.plant.row_parts["x"]]).max(axis=0, initial=0.0)
            values = data.held_values
            held = 0.0 if values is None else np.abs(values.values).max(axis=0, initial=0.0)
            whole = np.zeros(len(x) + len(self.rests))
            whole[list(self.rests)] = held
            whole[np.setdiff1d(np.arange(len(whole)), self.rests)] = x
            sizes.append(whole)
        return np.max(sizes, axis=0)

    def settled_at(self, instant: Instant) -> list[SettledMoment]:
        """What the run settled at its contacts in an instant."""
        close = same_instant(self.begin, self.end)
        kept = (moment for piece in self.nominal.pieces for moment in piece.outcome.settled or ())
        return [moment for moment in kept if abs(moment.time - instant.time) <= close]

    def names(self, system: System) -> tuple[str, ...]:
        """The names of the discrete variables among the states of a system."""
        places = system.places
        return tuple(v.name for v in system.of_kind("state") if places[v.name].positions[0] in self.rests)

    def until(self, passed: int) -> float:
        """Where the stretch behind so many instants ends at the latest: a change of conditions may end it before."""
        fixed = (i.time for i in self.instants[passed:] if i.change is None or i.change.has_known_time)
        return next(fixed, self.end)

    def with_corners(self, corners: bool) -> Foreseen:
        """The same without changes of conditions that do not matter: corners, where steps may pass over them."""
        if self.whole is not None:
            return self.whole.with_corners(corners)
        if not self.stretches:
            return self
        instants, stretches = list[Instant](), list(self.stretches[:1])
        for instant, behind in zip(self.instants, self.stretches[1:]):
            change, before = instant.change, stretches[-1]
            if change is not None and change.kind is TransitionKind.SWITCH and before.system is behind.system:
                own = conditions_of(before.system).chosen(corners)
                if before.modes is not None and not set(change.conditions) & set(own):
                    stretches[-1] = before._replace(modes=behind.modes)
                    continue
            instants.append(instant)
            stretches.append(behind)
        return replace(self, instants=tuple(instants), stretches=tuple(stretches), corners=corners, whole=self)


@dataclass(frozen=True, eq=False)
class NominalRun:
    """How `dd.simulate` runs the model: its road, and where its x and its discrete variables stand among states.

    fired: what happened at the start already.
    """

    road: Road
    states: np.ndarray
    rests: np.ndarray
    fired: frozenset[str] = frozenset()

    @property
    def settings(self) -> Settings:
        """How the core runs it."""
        return self.road.settings

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
        settings, labels = self.settings, self.system.labels["p"]  # behind those of p come discrete variables
        request = self.road.request._replace(parameters=dict(zip(labels, p.tolist())))  # later pieces begin from it
        if call:
            settings = replace(settings, call={**settings.call, **call})
            if "rtol" in call:
                atol, share = request.atol, call["rtol"] / request.rtol
                atol = atol * share if isinstance(atol, (int, float)) else atol
                request = request.with_options(rtol=call["rtol"], atol=atol)
        p = np.concatenate([p, x[self.rests]])
        road = self.road._replace(request=request, settings=settings, drive=drive, why=None)
        first = begun_on_surfaces(Piece(road, p, span[0], own, self.fired))
        return run_in_pieces(first, partial(next_piece, first, rules=DIFFERENTIATED), span[1])

    def all_states(self, x: np.ndarray, discretes: np.ndarray) -> np.ndarray:
        """x of the run and its discrete variables as states."""
        states = np.zeros(len(self.states) + len(self.rests))
        states[self.states], states[self.rests] = x[: len(self.states)], discretes
        return states


def foreseen(nominal: NominalRun, run: Trajectory, span: tuple[float, float], base: System) -> Foreseen | None:
    """The instants of a run over a span; None where it is stiff, an error where it stopped early.

    base: the system between instants, with discrete variables as states.
    """
    if run.status is Ending.STIFF:
        return None
    refuse_early_stop(run, nominal.system.name, nominal.road.solved.part(Redundancy) is not None)
    end = float(run.end.time)
    happened = rounds_of_run(nominal.system, nominal.fired, (span[0], end), run.pieces)
    close = same_instant(span[0], end)
    led = (conditions_led_at(run, t, close) if any(each.events for each in rounds) else () for t, rounds in happened)
    instants = tuple(Instant(t, rounds, None, conditions) for (t, rounds), conditions in zip(happened, led))
    stretches: tuple[Stretch, ...] = ()
    if switches_of(base) is not None or any(piece.system is not nominal.system for piece in run.pieces):
        changes = _changes(nominal, run, base, span)
        instants, stretches = with_changes(instants, changes, close)
    return Foreseen(instants, span[0], end, span[1], tuple(nominal.rests.tolist()), run, stretches)


def conditions_led_at(run: Trajectory, t: float, close: float) -> tuple[str, ...]:
    """The conditions that the motion led to zero at a moment of a run."""
    led: dict[str, None] = {}
    for piece in run.pieces:
        if (held := piece.run_data.held_modes) is not None:
            near = np.unique(held.held.times[np.abs(held.held.times - t) <= close])
            led.update({whole_text(held.conditions[k]): None for at in near for k in held.located_at(at)})
    return tuple(led)


def with_changes(
    instants: Sequence[Instant], changes: Sequence[tuple[float, Change, Stretch]], close: float
) -> tuple[tuple[Instant, ...], tuple[Stretch, ...]]:
    """Instants with changes of the equations between them, and what holds behind each; the first change is the start.

    A change at the time of an instant is made by it, unless the motion made it where a clock ticks.
    """
    first, *later = changes
    begin, forward = first[0], 1.0 if not later or later[-1][0] >= first[0] else -1.0
    if instants and instants[-1].time < begin:
        forward = -1.0
    merged, stretches, waiting = list[Instant](), [first[2]], list(instants)
    for t, change, behind in [*later, (forward * np.inf, Change(TransitionKind.SWITCH), first[2])]:
        while waiting and forward * (waiting[0].time - t) <= close:
            merged.append(waiting.pop(0))
            stretches.append(stretches[-1])
        if not np.isfinite(t):
            break
        is_same = bool(merged) and abs(merged[-1].time - t) <= close and merged[-1].change is None
        if is_same and (change.located or change.is_timed) and not merged[-1].events:
            merged.insert(-1, Instant(t, change=change))
            stretches.insert(-1, behind)
        if is_same or abs(t - begin) <= close:
            stretches[-1] = behind
        else:
            merged.append(Instant(t, change=change))
            stretches.append(behind)
    return tuple(merged), tuple(stretches)


def _changes(
    nominal: NominalRun, run: Trajectory, base: System, span: tuple[float, float]
) -> list[tuple[float, Change, Stretch]]:
    """When the equations of a run changed and how, as its pieces tell; the first one is its beginning."""
    changes: list[tuple[float, Change, Stretch]] = []
    before: Trajectory | None = None
    for piece in run.pieces:
        if not len(piece.dense_spans[0]):
            continue
        system = mirrored(base, nominal.system, piece.system)
        history = _modes(piece, system, span)
        begin = float(piece.dense_spans[0][0])
        first = _stretch(nominal, piece, system, begin, history[0].values if history else None)
        changes.append((begin, _joint(nominal, before, piece, changes[-1][2] if changes else None, first), first))
        led_back = led_back_at(piece, piece is not run.pieces[-1])
        texts, resting = conditions_of(system).texts, None
        kinds = {turn.time: turn for turn in piece.outcome.turns if turn.kind is not TransitionKind.SWITCH}
        for old, (t, modes, located, timed) in pairwise(history):
            if t == led_back:
                continue
            turned = tuple(k for k in range(len(modes)) if modes[k] != old.values[k])
            change = Change(TransitionKind.SWITCH, turned, is_timed=timed, located=located)
            if t in kinds:
                resting = texts.index(kinds[t].condition) if kinds[t].kind is TransitionKind.RESTS else None
                change = Change(kinds[t].kind, () if resting is None else (resting,))
            elif resting in turned:
                continue  # it is on the surface, wherever rounding moves it
            behind = _stretch(nominal, piece, system, t, modes)
            changes.append((t, change, behind if resting is None else _at_rest(behind, resting)))
        before = piece
    return changes


def _at_rest(stretch: Stretch, which: int) -> Stretch:
    """The same at rest on the surface of a condition, with the modes of all others."""
    resting = once(stretch.system, resting_system, which)
    assert resting is not None
    assert stretch.modes is not None
    places = once(resting, _places_among, stretch.system, which)
    return stretch._replace(system=resting, modes=tuple(stretch.modes[k] for k in places))


def _places_among(resting: System, outside: System, which: int) -> tuple[int, ...]:
    """Which conditions of the system outside those of a system at rest are: they agree on the surface."""
    old, new = conditions_of(outside), conditions_of(resting)
    guard = once(outside, Surface, which).side(None).guard
    held, symbols = held_state(outside, guard), outside.symbols()
    assert held is not None
    own = ca.Function("held", symbols, [held.formula])
    both = ca.Function("guards", symbols, [old.guards_together(), new.guards_together()])
    draw, seen = np.random.default_rng(6), []
    for _ in range(POINTS):
        point = random_place(outside, draw)
        point[2][held.place] = float(own(*point))
        seen.append([part.full().ravel() for part in both(*point)])
    outer, inner = (np.array(values) for values in zip(*seen))
    far = np.abs(inner[:, :, None] - outer[:, None, :]).max(axis=0)
    return tuple(int(np.argmin(row)) for row in far)


class ModesSince(NamedTuple):
    """The modes of all conditions from a time on, those that the motion turned there, and whether time turned one."""

    time: float
    values: tuple[int, ...]
    located: tuple[int, ...]
    is_timed: bool


def _modes(piece: Trajectory, system: System, span: tuple[float, float]) -> list[ModesSince]:
    """From when on the conditions of a piece had which modes; none where it crossed them."""
    conditions, held = conditions_of(system), _modes_in_equations(piece, system)
    begin, end = float(piece.dense_spans[0][0]), float(piece.dense_spans[1][-1])
    if conditions.located and held is None:
        return []
    forward = 1.0 if end >= begin else -1.0
    times = np.array([begin]) if held is None else held.held.times
    values = np.zeros((1, 0)) if held is None else held.held.values
    timed = conditions.times(piece.run_data.parameters[: system.sizes["p"]], span)
    inside = np.zeros(0)
    if timed is not None:
        inside = timed[0][(forward * (timed[0] - begin) > 0) & (forward * (timed[0] - end) <= 0)]
    moments = np.unique(np.concatenate([[begin], times, inside]))[:: int(forward)]
    history: list[ModesSince] = []
    for t in moments[forward * (moments - begin) >= 0].tolist():
        values_there = values[np.flatnonzero(forward * (t - times) >= 0)[-1]]
        if timed is not None:
            # A value holds from its time on, and before it where the run goes backwards.
            side = "right" if forward > 0 else "left"
            latest = max(0, int(np.searchsorted(timed[0], t, side=side)) - 1)  # type: ignore[call-overload]
            values_there = np.concatenate([values_there, timed[1][latest]])
        modes = tuple(int(value > 0.5) for value in values_there)
        if not history or modes != history[-1].values:
            # Where time turns one of them, others that turn at that moment do so since it did.
            by_time = bool(history) and modes[conditions.located :] != history[-1].values[conditions.located :]
            located = () if held is None or not history else held.located_at(t)
            turned = tuple(k for k in located if modes[k] != history[-1].values[k])
            history.append(ModesSince(t, modes, turned, by_time))
    return history


def _modes_in_equations(piece: Trajectory, system: System) -> HeldModes | None:
    """The modes of the conditions of a system along a piece, in which those of guards are recorded with them."""
    held, conditions = piece.run_data.held_modes, conditions_of(system)
    return None if held is None else held.of(conditions.texts[: conditions.located])


def _stretch(
    nominal: NominalRun,
    piece: Trajectory,
    system: System,
    t: float,
    modes: tuple[int, ...] | None,
    side: Literal["left", "right"] = "right",
) -> Stretch:
    """What holds in a piece from a moment on, with its row there."""
    there = moment(piece, t, side)
    row, held = there.run_data.rows[0], np.zeros(0) if there.run_data.held is None else there.run_data.held[0]
    x = nominal.all_states(row, held)
    n, parts = len(nominal.states), piece.run_data.plant.row_parts
    if len(row) == n:
        return Stretch(system, modes, x)
    z, rates = row[parts["z"]], row[len(row) - n :]
    z = z[: len(z) - depth_of(system)]
    return Stretch(system, modes, np.concatenate([x, z, nominal.all_states(rates, 0 * held)]))


def _joint(
    nominal: NominalRun, before: Trajectory | None, piece: Trajectory, old: Stretch | None, new: Stretch
) -> Change:
    """What happened between two pieces."""
    told = tuple(record for record in piece.outcome.records if isinstance(record, ConstraintsRechosen))
    if before is None or old is None:
        return Change(TransitionKind.EQUATIONS)
    kinds = joint_kinds(before, piece)
    kind, _ = kinds[-1] if kinds else (TransitionKind.EQUATIONS, "")
    if kind in (TransitionKind.RESTS, TransitionKind.SLIDES):
        onto = [text for own, text in kinds if own is kind]
        fresh = [level for level in surfaces_along(new.system) if level.condition in onto]
        with suppress(Undetermined):
            return Change(kind, tuple(condition_like(old.system, level.guard) for level in fresh))
        return Change(kind)
    if kind is TransitionKind.LEAVES:
        t = float(piece.dense_spans[0][0])
        ended = _stretch(nominal, before, old.system, t, None, "left").row
        n = len(nominal.states) + len(nominal.rests)
        shift = new.row[:n] - ended[:n]
        last = before.outcome.events[-1][0] if before.status is Ending.EVENT and before.outcome.events else None
        own = None if last is None else last - len(before.system.events) + int(old.system.guards.numel())
        return Change(TransitionKind.LEAVES, (), own, shift)
    if old.system is new.system and old.modes is not None and new.modes is not None:
        turned = tuple(k for k in range(len(new.modes)) if new.modes[k] != old.modes[k])
        if turned:
            held = _modes_in_equations(before, old.system)
            located = () if held is None else held.located_at(float(before.dense_spans[1][-1]))
            return Change(TransitionKind.SWITCH, turned, located=tuple(k for k in turned if k in located))
    return Change(TransitionKind.EQUATIONS, records=told)


def mirrored(base: System, nominal: System, system: System) -> System:
    """The system of a piece of a run with discrete variables as states: `base` as the run slides or rests in it.

    Beside discrete variables redundant constraints stay as they were chosen first.
    """
    sliding = system.part(Sliding)
    if sliding is None:
        same = system is nominal or bool(system.discrete_count)
        return base if same else without_instants(system, (), Reduction, FormOf, ClosedLoop)
    own = mirrored(base, nominal, sliding.outside)
    return staying(own, sliding.which, sliding.stay, sliding.off)


def depth_of(system: System) -> int:
    """How many shares of surfaces a system has behind its algebraic variables."""
    sliding = system.part(Sliding)
    return 0 if sliding is None or sliding.rests else sliding.depth


def refuse_early_stop(run: Trajectory, name: str, has_redundant_constraints: bool = False) -> None:
    """Raise where `dd.simulate` stops before the end: nothing behind it has a derivative."""
    if run.success:
        return
    if has_redundant_constraints and run.stop.obstacle is not None:
        raise SolverError(
            f"The derivatives of {name!r} cannot be continued from here.",
            run.stop.sentence,
            because="the motion is not smooth where constraints become dependent or independent.",
            remedy="a model without redundant constraints (dd.analyse(m).redundant names them), or a shorter span",
        )
    raise SolverError(
        f"The run of {name!r} with its derivatives stopped early.", run.stop_reason, remedy=run.status.remedy
    )
