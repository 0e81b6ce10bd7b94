"""Events, clocks and schedules of a model whose bodies touch: what is due at a moment, and what it assigns.

Guards are watched from step to step. A moment has the rounds that the core gives it (core/events/instants.hpp): clocks
that are due and events whose guards have passed zero form the first one and read the values before it. Clocks behind
others, and events that a round brings about, come in later rounds, until there is none.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from daedalus._core import shared_numbers
from daedalus.algebra.rank_decision import EPSILON
from daedalus.model.switching.schedule import same_instant
from daedalus.model.variables import Code, Event
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.ending import Ending, Stop, time_text
from daedalus.simulation.result.event_records import FiredEvent
from daedalus.simulation.result.records import Record
from daedalus.simulation.switching.agenda import assigned_places, code_reads, levels_of, order_of, size_of, ticks_of
from daedalus.simulation.switching.instant_end import past_at_start

# Rounds of events that trigger each other at one moment, at most.
MOST_ROUNDS = int(shared_numbers["most_rounds"])
# Attempts to end a step where a guard passes zero; bisection alone needs 52.
ATTEMPTS = 60


class Present(NamedTuple):
    """A row and the parameters, whose last entries are the discrete variables."""

    x: np.ndarray
    p: np.ndarray


class _SampledCall:
    """Python code of a clock with its memory of one run."""

    def __init__(self, plant: Plant, code: Code) -> None:
        system = plant.system
        self.call, self.memory = code.call, code.memory
        self.read = code_reads(system, plant, system, code.reads)
        self.reads, self.writes = ([size_of(system, name) for name in names] for names in (code.reads, code.writes))

    def answers(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """What it writes, below each other."""
        flat = np.ravel(self.read.core(np.array([t]), x, u, p)[0])
        ends = np.cumsum([size or 1 for size in self.reads])
        parts = [part if size else float(part[0]) for size, part in zip(self.reads, np.split(flat, ends[:-1]))]
        assert self.call is not None
        given, self.memory = self.call(t, tuple(parts), self.memory)
        values = [np.ravel(np.asarray(value, dtype=float)) for value in given]
        sizes = [size or 1 for size in self.writes]
        if [len(value) for value in values] != sizes:
            raise ValueError(
                f"the code of a clock returned {[len(value) for value in values]} values, expected {sizes}"
            )
        return np.concatenate(values) if values else np.zeros(0)


class ModelEvents:
    """What a model wants to do on the way of a run, beside its contacts."""

    def __init__(
        self, plant: Plant, drive: Drive, p: np.ndarray, span: tuple[float, float], fired: frozenset[str]
    ) -> None:
        system = plant.system
        self.plant, self.drive, self.system = plant, drive, system
        order = order_of(system)
        self.guarded = [system.events[k] for k in order.events]
        self.clocks = [system.events[k] for k in order.clocks]
        # Frictions and stops: their places among the guards, and what they are told by.
        self.of_laws = [k for k, event in enumerate(self.guarded) if event.manner.contact is not None]
        laws = [self.guarded[k].manner.contact for k in self.of_laws]
        self._law_places = [order.events[k] for k in self.of_laws]
        self._law_modes = np.array([system.place(f"{c.name}.mode").positions[0] for c in laws if c], dtype=int)
        self._stops = np.array([c is not None and not c.is_friction for c in laws])
        self.modes: np.ndarray | None = None  # of these laws, once a step has found them
        self.places = dict(zip([e.name for e in (*self.guarded, *self.clocks)], order.all))
        self.rows = {event.name: k for k, event in enumerate((*self.guarded, *self.clocks))}
        self.levels = dict(zip([event.name for event in self.clocks], levels_of(system)))
        self.width = plant.row_width
        self.targets = {event.name: self._targets(event) for event in (*self.guarded, *self.clocks)}
        self.codes = {e.name: _SampledCall(plant, e.manner.code) for e in self.clocks if e.manner.code is not None}
        due = [(float(t), event) for event in self.clocks for t in ticks_of(event, span, event.name in fired)]
        self.due = sorted(due, key=lambda tick: tick[0])
        self.close = same_instant(*span)
        self.fired, self.told = fired, list[FiredEvent]()
        self.sides = np.zeros(0)
        self.past: tuple[Record, ...] = ()  # what is told of the start

    @property
    def next_tick(self) -> float:
        """When the next clock is due."""
        return self.due[0][0] if self.due else np.inf

    def _targets(self, event: Event) -> np.ndarray:
        """Where what an event assigns stands in a row and the discrete variables behind it."""
        names = event.resets if event.manner.code is None else event.manner.code.writes
        return np.array(assigned_places(self.plant, names), dtype=int)

    # -- guards ------------------------------------------------------------------------------------------------

    def values(self, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The guards; empty where there are none."""
        if not self.guarded:
            return np.zeros(0)
        found: np.ndarray = self.plant.guards.core(np.array([t]), x, self.drive.at_time(t), p)[0]
        values = found.ravel()[: len(self.guarded)].copy()
        values[self.of_laws] = 1.0  # steps decide about these
        return values

    def begin(self, t: float, now: Present) -> None:
        """Read the sides of all guards where the run begins."""
        values = self.values(t, *now)
        self.sides = self._sides(values, np.zeros(len(self.guarded)))
        self.past = past_at_start(self.guarded, values, self.fired)
        for k, event in enumerate(self.guarded):
            if event.manner.at_start and event.name not in self.fired and self.sides[k] * event.direction > 0:
                self.sides[k] = -event.direction  # it counts as becoming true

    def _sides(self, values: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The side of zero that each guard is on: of a condition by its law at zero, of others that before."""
        sides: np.ndarray = np.sign(values)
        for k, event in enumerate(self.guarded):
            if sides[k] == 0:
                sides[k] = event.direction * (1 if event.manner.side == 1 else -1) if event.manner.side else before[k]
        return sides

    def passed(self, values: np.ndarray) -> list[int]:
        """The guards that have passed zero since the sides were read, in their direction."""
        sides = self._sides(values, self.sides)
        ways = np.array([event.direction for event in self.guarded])
        return np.flatnonzero((sides != self.sides) & (self.sides != 0) & ((ways == 0) | (ways == sides))).tolist()

    def cut(self, values_behind: Callable[[float], np.ndarray], h: float) -> float:
        """The length of a step that ends just behind the first zero of a guard in it; h where none passes zero.

        Each value is a step of contacts, without a slope, and may jump: a bracket is kept, and no Newton's method fits.
        """
        end = values_behind(h)
        for k in self.passed(end):
            low, high, at_low, at_high, last = 0.0, h, self.sides[k], float(end[k]), 0
            for _ in range(ATTEMPTS):
                if high - low <= 4 * EPSILON * h:
                    break
                share = at_low / (at_low - at_high) if at_high != at_low else 0.5
                middle = low + (high - low) * (share if 0.001 < share < 0.999 else 0.5)
                values = values_behind(middle)
                # False position with halved weights (M. Dowell, P. Jarratt, BIT 11, 1971).
                if k in self.passed(values):
                    high, at_high = middle, float(values[k]) or self.sides[k] * -1e-300
                    at_low *= 0.5 if last == 1 else 1.0
                    last = 1
                else:
                    low, at_low = middle, float(values[k]) or at_low
                    at_high *= 0.5 if last == -1 else 1.0
                    last = -1
            h = min(h, high)
        return h

    # -- laws beside contacts ----------------------------------------------------------------------------------

    def turn_laws(self, t: float, now: Present, modes: np.ndarray) -> None:
        """Frictions that stick or slip and stops that close or open from a moment on, where modes have changed."""
        old, self.modes = self.modes, modes
        if old is None:
            return
        ends = []
        for values in (old, modes):
            p = now.p.copy()
            p[self._law_modes] = values
            ends.append(np.concatenate([now.x, p[len(p) - self.system.discrete_count :]]))
        self.told += [FiredEvent(self._law_places[k], t, ends[0], ends[1]) for k in np.flatnonzero(modes != old)]

    def strike_stops(self, t: float, now: Present, struck: list[int]) -> None:
        """Stops that close by an impact, and others that let go."""
        old = np.where(self._stops, 0.0, 1.0) if self.modes is None else self.modes
        self.modes = old
        self.turn_laws(t, now, np.where(self._stops, np.isin(np.arange(len(old)), struck), old))

    # -- a moment ----------------------------------------------------------------------------------------------

    def act(self, t: float, now: Present) -> tuple[Present, bool, Stop | None]:
        """Everything that happens at a time: the values behind it, whether anything did, and a stop where it ends."""
        due = list[Event]()
        while self.due and self.due[0][0] <= t + self.close:
            due.append(self.due.pop(0)[1])
        levels = sorted({self.levels[event.name] for event in due})
        for number in range(MOST_ROUNDS):
            events = self._fired(t, now)
            clocks = [event for event in due if levels[number:] and self.levels[event.name] == levels[number]]
            if not events and not clocks:
                return now, number > 0, None
            before = now
            try:
                now, stop = self._assign(t, now, [*events, *clocks])
            except Exception as error:  # of the user's code, told as it is
                return now, True, self._failed_call(t, clocks, error)
            one, two = (np.concatenate([m.x, m.p[len(m.p) - self.system.discrete_count :]]) for m in (before, now))
            self.told += [FiredEvent(self.places[event.name], t, one, two, number, not number) for event in events]
            if stop is not None:
                return now, True, stop
            ended = next((event.name for event in events if event.terminal), None)
            if ended is not None:
                what = f"event {ended!r} ended the run at {time_text(t)}"
                return now, True, Stop(Ending.EVENT, t, what, event=ended)
        last = [*events, *clocks][-1].name
        what = f"events at {time_text(t)} trigger each other endlessly, the last one {last!r}"
        return now, True, Stop(Ending.ENDLESS, t, what, (), Ending.ENDLESS.remedy, event=last)

    def _fired(self, t: float, now: Present) -> list[Event]:
        """The events whose guards have passed zero; what they see is their side from here on."""
        values = self.values(t, *now)
        passed = self.passed(values)
        self.sides = self._sides(values, self.sides)
        return [self.guarded[k] for k in passed]

    def _failed_call(self, t: float, clocks: Sequence[Event], error: Exception) -> Stop:
        name = next((event.name for event in clocks if event.name in self.codes), "")
        trace = "".join(traceback.format_exception(error)).rstrip()
        what = f"the code of {name!r} raised {type(error).__name__}: {error} at {time_text(t)}"
        return Stop(Ending.CALL_FAILED, t, what, (trace,), event=name)

    def _assign(self, t: float, now: Present, together: Iterable[Event]) -> tuple[Present, Stop | None]:
        """What events and clocks of one moment assign, all from the values before."""
        u, count = self.drive.at_time(t), self.system.discrete_count
        whole = np.concatenate([now.x, now.p[len(now.p) - count :]])
        resets = self.plant.resets.core(np.array([t]), now.x, u, now.p)[0].reshape(-1, len(whole))
        writer: dict[int, str] = {}
        for event in together:
            own = self.targets[event.name]
            taken = next((k for k in own.tolist() if k in writer), None)
            if taken is not None:
                labels = [*self.system.labels["x"], *self.system.labels["p"][self.system.sizes["p"] - count :]]
                what = f"{writer[taken]!r} and {event.name!r} both assign {labels[taken]} at {time_text(t)}"
                stop = Stop(Ending.CONFLICT, t, what, (), Ending.CONFLICT.remedy, (labels[taken],), event=event.name)
                return now, stop
            writer |= dict.fromkeys(own.tolist(), event.name)
            code = self.codes.get(event.name)
            whole[own] = resets[self.rows[event.name], own] if code is None else code.answers(t, now.x, u, now.p)
        p = now.p.copy()
        p[len(p) - count :] = whole[self.width :]
        return Present(whole[: self.width], p), None
