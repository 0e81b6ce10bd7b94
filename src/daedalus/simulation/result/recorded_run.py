"""What a run left behind: values by name at its times and between them, what happened on the way, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self, overload

import numpy as np

from daedalus import _core
from daedalus.algebra.agreement import SAME, agree
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.plain_numbers import plain_times
from daedalus.model.switching.schedule import same_instant
from daedalus.simulation.between.consistent_rows import at_fixed_steps, consistent_rows, moved_by
from daedalus.simulation.between.deep_values import DeepValues, deep_values
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.between.mended_states import Mending
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.beside_jumps import NEXT_TO, BesideJumps, neighbours_of_jumps, points_beside_steps
from daedalus.simulation.result.ending import ENDINGS, Ending, Stop
from daedalus.simulation.result.event_records import named_events
from daedalus.simulation.result.held_values import ConditionModes, HeldModes, HeldValues, held_parameters
from daedalus.simulation.result.outcome import Outcome, Work
from daedalus.simulation.result.records import Record, sentences
from daedalus.simulation.result.run_data import RunData
from daedalus.simulation.result.samples import Samples


@dataclass(frozen=True)
class EventRecord:
    """One event that happened: its name and time, and the values before and after it, by name."""

    name: str
    time: float
    before: Samples
    after: Samples


class RecordedRun(Samples):
    """A run that was recorded; `dd.simulate` hands it out as a `Trajectory`."""

    _scalar = False  # it is of many moments
    _fired: frozenset[str] = frozenset()

    def __init__(
        self,
        plant: Plant,
        drive: Drive,
        parameters: np.ndarray,
        times: np.ndarray | None,
        x: np.ndarray | None,
        status: Ending,
        outcome: Outcome | Callable[[], Outcome],
        source: Any,
        held: HeldValues | None = None,
        modes: HeldModes | Callable[[], HeldModes | None] | None = None,
    ) -> None:
        self._held_values = held  # discrete variables along the run
        self._kept_modes = modes  # modes of conditions along it, made on first use, too
        self._plant, self._drive, self._parameters = plant, drive, parameters
        if times is not None and x is not None:
            self._times, self._x = times, x
        self.status = status  # finished, event, interrupted, step_limit, time_limit, ...
        self._outcome = outcome  # made on first use: a run in a loop may never need it
        self._source = source  # a core run, whose samples are made on first use, or its dense output

    @cached_property
    def _times(self) -> np.ndarray:  # type: ignore[override]
        return np.asarray(self._source.t)

    @cached_property
    def _x(self) -> np.ndarray:  # type: ignore[override]
        return np.asarray(self._source.x)

    @cached_property
    def has_given_times(self) -> bool:
        """Whether the rows may be those of save_at, and not the steps with two rows at each jump."""
        return len(np.unique(self._times)) == len(self._times)

    @classmethod
    def of_run(
        cls, plant: Plant, drive: Drive, parameters: np.ndarray, run: Any, outcome: Outcome | Callable[[], Outcome]
    ) -> Self:
        """The trajectory of a run of the core."""
        return cls(plant, drive, parameters, run.t, run.x, ENDINGS[run.status], outcome, run)

    def remade(
        self,
        status: Ending,
        outcome: Outcome | Callable[[], Outcome],
        samples: tuple[np.ndarray, np.ndarray] | None = None,
        held: HeldValues | None = None,
        source: Any = None,
    ) -> Self:
        """This run with another outcome; with other samples (times, x), held values and source where they are given."""
        held = self._held_values if held is None else held
        parameters = self._parameters
        if held is not None:
            last = held.values[-1]
            parameters = np.concatenate([parameters[: len(parameters) - len(last)], last])
        times, x = (self._times, self._x) if samples is None else samples
        source = self._source if source is None else source
        base = (self._plant, self._drive, parameters, times, x, status, outcome, source, held)
        made = type(self)(*base, self._kept_modes)
        made.has_given_times, made.keeps_steps = self.has_given_times, self.keeps_steps
        if source is self._source:
            made._mending, made._stopped = self._mending, self._stopped
        return made

    @cached_property
    def _renews(self) -> bool:
        """Whether forces of constraints are those that the states give: at fixed step not, those are the method's."""
        return not any(getattr(record, "has_step", False) for record in self.outcome.records)

    @property
    def run_data(self) -> RunData:
        """The numbers behind the values: those of moments, held values and modes along the run, its source."""
        return RunData(self)

    # -- how it went -------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> Outcome:
        """How the run ended and which events happened, as plain data."""
        if not isinstance(self._outcome, Outcome):
            self._outcome = self._outcome()
        return self._outcome

    @property
    def success(self) -> bool:
        """Whether the run reached its end or a terminal event."""
        return self.status.success

    @property
    def stop_reason(self) -> str:
        """Why the run ended, in a sentence."""
        return str(self.stop)

    @property
    def stop(self) -> Stop:
        """How, when and why the run ended, the variables or equations involved and what to try, as fields.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("explosion")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), x**2)
        >>> stop = dd.simulate(m, 2.0).stop
        >>> stop.ending, round(stop.time, 6), stop.variables
        ('step_too_small', 1.0, ('x',))
        """
        return self.outcome.stop

    @property
    def method(self) -> str:
        """The method that was used."""
        return self.outcome.method

    @property
    def work(self) -> Work:
        """The work of the run: steps, evaluations, factorisations and so on."""
        return self.outcome.work

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided and found during the run, such as why a method was chosen, as sentences."""
        return sentences(self.records)

    @property
    def records(self) -> tuple[Record, ...]:
        """What was decided and found during the run, as data; `notes` has it as sentences.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> dd.simulate(m, 1.0).records
        (ExplicitChosen(method='dop853', rtol=1e-06),)
        """
        return self.outcome.records

    @cached_property
    def events(self) -> list[EventRecord]:
        """The events in order of time; `.before["x"]` and `.after["x"]` give values by name."""
        found = self.first_events(len(self.outcome.events))
        found += [self._event(f"{c.contact}.{c.kind.value}", c.time, c.before, c.after) for c in self.outcome.contacts]
        return sorted(found, key=lambda event: event.time) if self.outcome.contacts else found

    def first_events(self, count: int) -> list[EventRecord]:
        """The first events of the run, as many as the core reported."""
        return [
            self._event(name, *event[1:4]) for name, event in named_events(self.system, self.outcome.events[:count])
        ]

    def _event(self, name: str, t: float, before: np.ndarray, after: np.ndarray) -> EventRecord:
        return EventRecord(name, t, self._at_event(t, before, True), self._at_event(t, after, False))

    def _snapshot(self, t: float, row: np.ndarray, fired: frozenset[str] = frozenset()) -> Samples:
        """One moment: a row of the run, with the discrete variables behind it where there are any."""
        width, one = self._plant.row_width, np.atleast_2d(row)
        held = one[:, width:] if one.shape[1] > width else None
        base = (self._plant, self._drive, self._parameters, np.array([t]), one[:, :width])
        return Samples(*base, scalar=True, held=held, fired=fired).renewing(lambda: self._renews)

    def _at_event(self, t: float, row: np.ndarray, before: bool) -> Samples:
        """The moment before or after an event, with the values that it was found by."""
        found = self._snapshot(t, row)
        found._look_beside = lambda: self._beside_event(t, found._x, found._held, before)
        return found

    def _beside_event(self, t: float, row: np.ndarray, held: np.ndarray | None, before: bool) -> BesideJumps | None:
        """How a moment at an event is read; None where it lies between two events of one instant."""
        side = np.array([np.nextafter(t, -self._direction * np.inf) if before else t])
        if not len(self.dense_spans[0]):
            return None
        own = self._plant.row_parts["x"]
        same = agree(self._dense_at(side)[:, own], row[:, own], SAME, self._plant.system.nominal["x"])
        if held is not None and self._held_values is not None:
            same &= np.array_equal(self._held_values.beside(np.array([t]), "left" if before else "right"), held)
        return self._beside_steps(side, held) if same else None

    @property
    def _held_modes(self) -> HeldModes | None:
        if callable(self._kept_modes):
            self._kept_modes = self._kept_modes()
        return self._kept_modes

    def _modes_at(self, t: float) -> ConditionModes | None:
        return None if self._held_modes is None else self._held_modes.at(t)

    @cached_property
    def _beside_jumps(self) -> BesideJumps | None:
        times, x = self._times, self._x
        if self.has_given_times:
            return self._beside_steps(times, self._discrete_rows()) if self.keeps_steps else None
        rows, beside = neighbours_of_jumps(times, self.status in (Ending.CHATTERING, Ending.EVENT))
        if not len(rows):
            return None
        part = np.array(NEXT_TO)
        near = times[rows, None] + part * (times[beside] - times[rows])[:, None]
        states = x[rows, None, :] + part[None, :, None] * (x[beside] - x[rows])[:, None, :]
        return self._read_beside(rows, near, states.reshape(near.size, x.shape[1]), self._discrete_rows())

    def _beside_steps(self, times: np.ndarray, held: np.ndarray | None) -> BesideJumps | None:
        """How those of some times are read at which a step begins or ends."""
        rows, near = points_beside_steps(times, *self.dense_spans)
        return self._read_beside(rows, near, self._dense_at(near.ravel()), held) if len(rows) else None

    def _read_beside(
        self, rows: np.ndarray, near: np.ndarray, states: np.ndarray, held: np.ndarray | None
    ) -> BesideJumps:
        base = (self._plant, self._drive, self._parameters, near.ravel(), states)
        beside = Samples(*base, held=None if held is None else np.repeat(held[rows], 3, axis=0))
        return BesideJumps(rows, beside.renewing(lambda: self._renews))

    def _discrete_rows(self) -> np.ndarray | None:
        return None if self._held_values is None else self._held_values.at_rows(len(self._times))

    def happened(self, t: float) -> tuple[frozenset[str], float | None]:
        """What happened at a time of the run, which a run that begins there does not repeat; and the time of the rest.

        Of what happens at this instant, to rounding, that before t or at it has happened in the values at t; the time
        of the last of what comes after t, None where there is none.
        """
        low, high = self._reach()
        forward = self._direction
        told = self._told_near(t, low, high)
        ahead = [time for _, time in told if forward * (time - t) > 0]
        done = frozenset(name for name, time in told if forward * (time - t) <= 0)
        return done, (max(ahead, key=lambda time: forward * time) if ahead else None)

    def _told_near(self, t: float, low: float, high: float) -> list[tuple[str, float]]:
        """Events and clocks of a run from low to high that happen at a time, to rounding, each with its own time."""
        closest = same_instant(t, low, high)
        told = [(self.system.events[k].name, time) for k, time, *_ in self.outcome.events if abs(time - t) <= closest]
        for event in self.system.events:
            if event.manner.schedule is not None:
                ticks = np.clip(event.manner.schedule.ticks(t - closest, t + closest), low, high)
                told += [(event.name, float(tick)) for tick in ticks]
        return told

    def fired_at_end(self, t: float) -> frozenset[str]:
        """The events and clocks at the end of the run; a run that starts there does not repeat them."""
        return frozenset(name for name, _ in self._told_near(t, t, t))

    @property
    def _direction(self) -> float:
        starts, ends = self.dense_spans
        return -1.0 if len(starts) and ends[-1] < starts[0] else 1.0

    def __repr__(self) -> str:
        begin, end = (self.time[0], self.time[-1]) if len(self.time) else (np.nan, np.nan)
        head = f"Trajectory({self.system.name!r}: t = {begin:g} to {end:g}, {len(self.time)} samples, {self.method})"
        return head if self.success else f"{head[:-1]}; stopped: {self.stop_reason})"

    # -- between the samples -----------------------------------------------------------------------------------

    @property
    def dense(self) -> Dense:
        """The dense output as arrays, computed from the recorded steps on first use."""
        if self._of_steps and self._mending is not None:
            self._mending.everywhere()
        return self._of_steps

    @property
    def _of_steps(self) -> Dense:
        """The dense output, of which some steps may not be mended yet."""
        if not isinstance(self._source, Dense):
            # The core run goes; its samples stay.
            self._times, self._x, self._kept_modes = self._times, self._x, self._held_modes
            self._stopped = self._stopped_at()
            self._source = Dense(*self._source.dense())
            if (deep := self._deep_values) is not None:
                self._mending = Mending(self._plant, deep, self._source)
                self._source = self._mending.dense
        return self._source

    @cached_property
    def _deep_values(self) -> DeepValues | None:
        """What gives z and x' of a higher index from the states; None where they are those of the steps."""
        plant = self._plant
        if not (isinstance(plant, ImplicitPlant) and plant.deep_by_index.any() and self._renews):
            return None
        p = partial(held_parameters, self._parameters, self._held_values)
        ends = (float(self._times[0]), float(self._times[-1])) if len(self._times) else (0.0, 0.0)
        return deep_values(plant, self._drive, p, self._held_modes, ends)

    @property
    def _needs_modes(self) -> bool:
        """Whether z and x' of a higher index follow from the states in a mode that the run alone knows."""
        return not self._plant.deep_columns.any() and self._deep_values is not None

    @cached_property
    def _renewed(self) -> np.ndarray:
        return self._x if self._deep_values is None else self._deep_values.renewed(self._times, self._x)

    @property
    def _own_rows(self) -> np.ndarray:
        return self._renewed if self._needs_modes else self._x

    keeps_steps = True  # and values between them; a run of chosen rows, in which nothing jumps, may do without
    _mending: Mending | None = None  # of steps at a higher index
    _stopped: tuple[float, np.ndarray] | None = None  # where the core run stopped, once its dense output is made

    def _dense_at(self, times: np.ndarray) -> np.ndarray:
        """The rows of the dense output at times within."""
        dense = self._of_steps
        if self._mending is not None:
            self._mending.around(times)
        found = dense.at(times)
        return self._deep_values.renewed(times, found) if self._needs_modes and self._deep_values else found

    @property
    def dense_spans(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each polynomial of the dense output begins and ends."""
        return self._of_steps.starts, self._of_steps.ends

    @property
    def end(self) -> Samples:
        """All values at the end of the run, by name; you can pass it as the start of another run.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> tr = dd.simulate(m, 1.0)
        >>> bool(dd.simulate(m, (1.0, 2.0), start=tr.end).time[0] == tr.end.time)
        True
        """
        stopped = self._stopped_at()
        if stopped is not None:
            t, row = stopped
            if self._held_values is not None:
                row = np.concatenate([row, self._held_values.values[-1]])
            found = self._snapshot(t, row, self.fired_at_end(t) if self.system.events else frozenset())
            found._modes = self._modes_at(t)
            return found
        return self.at(self.dense_spans[1][-1] if len(self.dense_spans[1]) else self._times[-1])

    def _stopped_at(self) -> tuple[float, np.ndarray] | None:
        """Where the core run stopped, and its last row, whose rates are those of its last step; None without one."""
        return (self._source.stop_time, self._source.end) if isinstance(self._source, _core.Run) else self._stopped

    def at(self, t: object, project: bool = False) -> Samples:
        """Values by name at any time of the run, from the dense output of the method.

        Parameters
        ----------
        t: a number (values without a time axis) or an array of times. At the time of an event, you get the values after
            it.
        project: also project the values onto the constraints and invariants, including hidden ones. Between steps,
            these only hold within the tolerance.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("fall")
        >>> h = m.state("h", start=0.0)
        >>> m.equation(m.der(h), 2.0 * m.time)
        >>> dd.simulate(m, 1.0).at([0.5, 1.0])["h"].round(6).tolist()
        [0.25, 1.0]
        """
        times = plain_times(t, "The times of at()")
        flat = np.ascontiguousarray(times.reshape(-1))
        low, high = self._reach()
        if np.isnan(low) or flat.size == 0 or not np.all(np.isfinite(flat)):
            raise InputError("at() takes finite times within the run.", f"got {t!r}"[:120])
        slack = 1e-12 * max(abs(low), abs(high), 1e-300)
        if flat.min() < low - slack or flat.max() > high + slack:
            raise InputError(
                "The trajectory does not reach that time.",
                f"it covers t = {low:g} to {high:g}; asked for {flat.min():g} to {flat.max():g}",
                because=f"the run {self.stop_reason}." if not self.success else "",
                remedy="a longer span, or times within it",
            )
        return self._between(flat, np.clip(flat, low, high), times.ndim == 0, project)

    def _reach(self) -> tuple[float, float]:
        """The earliest and the latest time of the dense output."""
        starts, ends = self.dense_spans
        if len(starts) == 0:
            return (self._times[0], self._times[0]) if len(self._times) else (np.nan, np.nan)
        return min(starts.min(), ends.min()), max(starts.max(), ends.max())

    def _between(self, times: np.ndarray, inside: np.ndarray, scalar: bool, project: bool) -> Samples:
        """Values at `times`, read from the dense output at times `inside` the run."""
        x = self._dense_at(inside) if len(self.dense_spans[0]) else np.repeat(self._x[-1:], len(times), axis=0)
        held = None if self._held_values is None else self._held_values.at(times)
        fired, ahead = self.happened(float(times[0])) if scalar and self.system.events else (frozenset(), None)
        later = None if ahead is None else lambda: self.at(ahead)
        base = (self._plant, self._drive, self._parameters, times, x)
        found = Samples(*base, scalar=scalar, held=held, fired=fired, later=later).renewing(lambda: self._renews)
        found._modes = self._modes_at(float(times[0])) if scalar else None
        found._look_beside = lambda: self._beside_steps(inside, held)
        p = np.broadcast_to(found._held_parameters, (len(times), len(self._parameters)))
        if project and self._plant.projection is not None:
            found._x = moved_by(self._plant.projection.core, times, found._x, found._inputs, p)
        if isinstance(self._plant, ImplicitPlant) and (project or at_fixed_steps(self._plant, self.outcome.records)):
            found._x = consistent_rows(self._plant, self._drive, p, times, found._x)
        return found

    @overload
    def drift(self, between: bool = False, *, series: Literal[False] = False) -> dict[str, float]: ...
    @overload
    def drift(self, between: bool = False, *, series: Literal[True]) -> dict[str, np.ndarray]: ...
    def drift(self, between: bool = False, *, series: bool = False) -> dict[str, float] | dict[str, np.ndarray]:
        """The largest violation of each equation without derivatives and each invariant in the rows of the result.

        between: check the dense output instead, eight times in each step. It satisfies them within the tolerance only;
            `at(t, project=True)` projects its values.
        series: return the violations in every row, over `tr.time`, instead of the largest ones.

        Constraints that a reduction differentiated but does not enforce are listed, too: with stabilise="baumgarte" and
        None this is the drift.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("resistor")
        >>> q = m.state("q", start=1.0); i = m.algebraic("i")
        >>> m.equation(m.der(q), -i); m.equation(2.0 * i, q, name="Ohm")
        >>> dd.simulate(m, 1.0).drift()["Ohm"] < 1e-15
        True
        """
        if series and between:
            raise InputError(
                "The series of a drift belongs to the rows of the result.",
                because="between the steps there is no row of `tr.time`.",
                remedy="tr.drift(series=True), or tr.at(times).violation_series()",
            )
        if series:
            return self.violation_series()
        spans = self.dense_spans if between else ((), ())
        if not len(spans[0]):
            return self.violations()
        times = np.unique(np.concatenate([np.linspace(a, b, 9) for a, b in zip(*spans)]))
        return self.at(times).violations()
