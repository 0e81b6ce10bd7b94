"""Transitions: the moments at which a run goes on by other equations or from another state, and what happened at each.

Between two transitions a run is smooth. Whatever integrates along a recorded run (derivatives, ledgers, plans) reads
from here what happened, and decides nothing again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.switching.schedule import SAME_INSTANT
from daedalus.model.variables import Event
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.event_records import TransitionKind, named_events
from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.switching.agenda import levels_of, order_of


@dataclass(frozen=True)
class Transition:
    """One moment at which a run goes on by other equations or from another state.

    kind: what happened, such as "switch", "slides", "event" or "closes". guard: the condition, event, clock or contact
    that did it; empty for a new choice of equations or method. before, after: all values by name on either side of it.
    reset: the names of what it assigned.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("relay")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), 0.5 - 2.0 * ca.sign(x))
    >>> [str(transition) for transition in dd.simulate(m, 3.0).transitions]
    ['slides along x > 0 from t = 0.666667']
    """

    kind: TransitionKind
    guard: str
    time: float
    before: Samples
    after: Samples
    reset: tuple[str, ...] = ()

    def __str__(self) -> str:
        return WORDS[self.kind].format(guard=self.guard, time=self.time)

    def __repr__(self) -> str:
        return f"Transition({self.kind.value!r}, {self.guard!r}, t = {self.time:.6g})"


WORDS = {
    TransitionKind.SWITCH: "{guard} changes at t = {time:.6g}",
    TransitionKind.SLIDES: "slides along {guard} from t = {time:.6g}",
    TransitionKind.RESTS: "rests where {guard} changes from t = {time:.6g}",
    TransitionKind.LEAVES: "leaves {guard} at t = {time:.6g}",
    TransitionKind.EVENT: "event {guard} at t = {time:.6g}",
    TransitionKind.CLOCK: "clock {guard} at t = {time:.6g}",
    TransitionKind.CLOSES: "{guard} closes at t = {time:.6g}",
    TransitionKind.OPENS: "{guard} opens at t = {time:.6g}",
    TransitionKind.STICKS: "{guard} sticks at t = {time:.6g}",
    TransitionKind.SLIPS: "{guard} slips at t = {time:.6g}",
    TransitionKind.EQUATIONS: "other equations from t = {time:.6g}",
    TransitionKind.METHOD: "another method from t = {time:.6g}",
}


def transitions_of(pieces: Sequence[RecordedRun]) -> list[Transition]:
    """All transitions of a run in pieces, in the order in which they happened."""
    found, before = list[Transition](), None
    for piece in pieces:
        goes_on = piece is not pieces[-1]
        if not len(piece.dense_spans[0]):  # it ended where it began
            found += [told for _, told in _events(piece, goes_on)]
            continue
        found += _of_joint(before, piece)
        found += _of_piece(piece, before is None, goes_on)
        before = piece
    return list(_told_once(found))


def _told_once(transitions: Sequence[Transition]) -> Iterator[Transition]:
    """Without rests and slides that are told again, by the end of a piece and by the next one, or by a rest on more."""
    on: dict[str, TransitionKind] = {}
    for transition in transitions:
        kind, guard = transition.kind, transition.guard
        if kind in (TransitionKind.RESTS, TransitionKind.SLIDES):
            if on.get(guard) is kind:
                continue
            on[guard] = kind
        elif kind in (TransitionKind.LEAVES, TransitionKind.SWITCH):
            on.pop(guard, None)
        yield transition


def joint_kinds(before: RecordedRun | None, piece: RecordedRun) -> list[tuple[TransitionKind, str]]:
    """What changed between the end of a piece and the beginning of the next one, and the conditions that did it.

    before: None where the run begins. Conditions that it has left come first.
    """
    held, holds = () if before is None else before.outcome.surfaces, piece.outcome.surfaces
    onto = TransitionKind.RESTS if piece.outcome.rests else TransitionKind.SLIDES
    found = [(TransitionKind.LEAVES, text) for text in held if text not in holds]
    found += [(onto, text) for text in holds if text not in held]
    if found or before is None:
        return found
    if before.system is not piece.system:
        return [(TransitionKind.EQUATIONS, "")]
    return [(TransitionKind.METHOD, "")] if before.method != piece.method else []


def _of_joint(before: RecordedRun | None, piece: RecordedRun) -> list[Transition]:
    kinds = joint_kinds(before, piece)
    if not kinds:
        return []
    t = float(piece.dense_spans[0][0])
    after = moment(piece, t, "right")
    one = after if before is None else moment(before, t, "left")
    return [Transition(kind, text, t, one, after) for kind, text in kinds]


def led_back_at(piece: RecordedRun, goes_on: bool) -> float | None:
    """When a run was led back from conditions at once: its turns there are those of the surface it goes on along."""
    return piece.outcome.stop.time if goes_on and piece.status is Ending.CHATTERING else None


def _of_piece(piece: RecordedRun, is_first: bool, goes_on: bool) -> list[Transition]:
    """What happened within a piece, its end included."""
    low, high = sorted((float(piece.dense_spans[0][0]), float(piece.dense_spans[1][-1])))
    forward = 1.0 if piece.dense_spans[1][-1] >= piece.dense_spans[0][0] else -1.0
    happened = [*_events(piece, goes_on), *_ticks(piece, is_first)]
    found = [one for _, one in sorted(happened, key=lambda own: (forward * own[1].time, own[0]))]
    for contact, kind, t, before, after in piece.outcome.contacts:
        found.append(Transition(kind, contact, t, _as_found(piece, t, before), _as_found(piece, t, after)))
    led_back = led_back_at(piece, goes_on)
    for turn in piece.outcome.turns:
        if low <= turn.time <= high and turn.time != led_back:
            sides = moment(piece, turn.time, "left"), moment(piece, turn.time, "right")
            found.append(Transition(turn.kind, turn.condition, turn.time, *sides))
    return sorted(found, key=lambda transition: forward * transition.time)


def _events(piece: RecordedRun, goes_on: bool) -> Iterator[tuple[int, Transition]]:
    """The events of a piece by rounds; goes_on: whether another piece follows, whose beginning ended this one."""
    known, told = piece.system.events, piece.outcome.events
    own = told[: len(told) - (goes_on and piece.status is Ending.EVENT)]
    for name, fired in named_events(piece.system, own):
        event = known[fired.event]
        if event.purpose is not EventPurpose.MODEL:
            continue
        sides = _as_found(piece, fired.time, fired.before), _as_found(piece, fired.time, fired.after)
        yield fired.round, Transition(*_kind(event, name), fired.time, *sides, tuple(event.resets))


def _as_found(piece: RecordedRun, t: float, row: np.ndarray) -> Samples:
    """A moment at an event, with the values that it was found by."""
    return piece._snapshot(t, row).renewing(lambda: False)


def _kind(event: Event, name: str) -> tuple[TransitionKind, str]:
    """What kind of transition an event is, and of what."""
    if event.manner.contact is None:
        return TransitionKind.EVENT, name
    contact, _, what = name.rpartition(".")
    return TransitionKind(what), contact


def _ticks(piece: RecordedRun, is_first: bool) -> Iterator[tuple[int, Transition]]:
    """The clocks of a piece by rounds; a tick where it begins belongs to the piece before it."""
    ends, system = (float(piece.dense_spans[0][0]), float(piece.dense_spans[1][-1])), piece.system
    due: list[tuple[float, int, Event]] = []
    for k, level in zip(order_of(system).clocks, levels_of(system)):
        event = system.events[k]
        assert event.manner.schedule is not None
        done = not is_first or event.name in piece.outcome.done_at_start
        due += [(tick, level, event) for tick in event.manner.schedule.due(*ends, done).tolist()]
    levels: dict[float, set[int]] = {}
    for tick, level, _ in due:
        levels.setdefault(tick, set()).add(level)
    for tick, level, event in due:
        sides = moment(piece, tick, "left"), moment(piece, tick, "right")
        transition = Transition(TransitionKind.CLOCK, event.name, tick, *sides, tuple(event.resets))
        yield sorted(levels[tick]).index(level), transition


def transition_times(piece: RecordedRun, low: float, high: float) -> np.ndarray:
    """When events, clocks and changes of discrete variables happen in a piece, between two times."""
    known = [np.array([t for _, t, *_ in piece.outcome.events], dtype=float)]
    if piece._held_values is not None:
        known.append(piece._held_values.times)
    schedules = (event.manner.schedule for event in piece.system.events)
    known += [schedule.ticks(low, high) for schedule in schedules if schedule is not None]
    return np.unique(np.concatenate(known))


def moment(piece: RecordedRun, t: float, side: Literal["left", "right"]) -> Samples:
    """All values just before a time of a piece ("left"), or just after it ("right")."""
    starts, ends = piece.dense_spans
    near = starts if side == "right" else ends
    place = int(np.argmin(np.abs(near - t)))
    if abs(near[place] - t) > SAME_INSTANT * max(abs(t), NOT_ZERO):  # no step begins or ends here
        return piece.at(t)
    return moments(piece, np.array([place]), side, scalar=True)


def moments(piece: RecordedRun, spans: np.ndarray, side: Literal["left", "right"], scalar: bool = False) -> Samples:
    """The moments that some steps of a piece begin with ("right" of a transition), or end with ("left")."""
    dense = piece.dense
    times = piece.dense_spans[0 if side == "right" else 1][spans]
    x = dense.coefficients[spans, 0] if side == "right" else dense.coefficients[spans].sum(axis=1)
    held = None if piece._held_values is None else piece._held_values.beside(times, side)
    row = np.ascontiguousarray(x)
    found = Samples(piece._plant, piece._drive, piece._parameters, times, row, scalar=scalar, held=held)
    return found.renewing(lambda: piece._renews)
