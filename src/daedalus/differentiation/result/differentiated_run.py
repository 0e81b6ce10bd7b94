"""A run with its derivatives: what was varied, the states, the events, and the derivatives at any time of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.differentiation.instants.instant_maps import instant_maps_of
from daedalus.differentiation.result.sensitivity_samples import SensitivitySamples
from daedalus.differentiation.variational.recorded import Recorded, RunPart, joined_record
from daedalus.differentiation.variational.residual_augmented import varied_at
from daedalus.differentiation.variational.tangent_start import TangentStart
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.plain_numbers import plain_times
from daedalus.model.system.system import System
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.result.ending import reached
from daedalus.simulation.result.event_records import named_events
from daedalus.simulation.result.outcome import Outcome
from daedalus.simulation.result.records import Record, sentences
from daedalus.simulation.result.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class EventSensitivity:
    """An event on the way: its name and time, and how the time moves, by name of what is varied."""

    name: str
    time: float
    time_derivative: dict[str, float]


class DifferentiatedRun(SensitivitySamples):
    """The derivatives at the end of a run, and the way there."""

    def __init__(
        self,
        parts: Sequence[RunPart],
        start: TangentStart,
        how: str,
        records: Sequence[Record] = (),
    ) -> None:
        recorded, last = joined_record(parts), parts[-1]
        end, case = np.array([recorded.t[-1]]), last.case
        super().__init__(case, last.augmented, end, recorded.y[-1:], True, parts)
        self._recorded, self._start = recorded, start
        self.how = how
        self.records = (case.settings.reason, *case.drive.notes, *parts[0].case.plant.notes, *records)

    def __getstate__(self) -> dict[str, Any]:
        # Which guards end a part of a run is known here.
        own = {"_start": self._start, "how": self.how, "records": self.records, "events": self.events}
        return {**super().__getstate__(), **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._recorded = joined_record(self._parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided and found during the run, as sentences; `records` has them as data."""
        return sentences(self.records)

    @property
    def system(self) -> System:
        """The system that was run."""
        return self._case.system

    @property
    def labels(self) -> list[str]:
        """The names of the columns: start values, inputs, parameters."""
        return self._directions.labels(self.system)

    @property
    def projector(self) -> np.ndarray:
        """P, (n, n): it projects a change of the start onto the constraints; without constraints it is the identity."""
        return self._start.projector

    @property
    def metric(self) -> str:
        """The norm in which P is the smallest change: "mass matrix", "nominal values", or "no constraints"."""
        return self._start.metric

    @property
    def steps(self) -> np.ndarray:
        """The times of the steps."""
        return self._recorded.t.copy()

    @cached_property
    def states(self) -> Trajectory:
        """The solution itself, as `dd.simulate` would return it."""
        known = self._case.foreseen
        if known is not None:
            return known.nominal
        case, recorded, width = self._case, self._recorded, self._parts[0].augmented.layout.width
        stop = reached(float(recorded.t[-1]))
        outcome = Outcome(stop, case.settings.method, recorded.work, self.records)
        rows, source = np.ascontiguousarray(recorded.y[:, :width]), _Lazy(recorded, width)
        return Trajectory(case.plant, case.drive, case.p, recorded.t, rows, recorded.status, outcome, source)

    @cached_property
    def events(self) -> list[EventSensitivity]:
        """The events in order of time, with the derivative of each time."""
        return [event for part in self._parts for event in self._at_instant(part)]

    def _at_instant(self, part: RunPart) -> list[EventSensitivity]:
        """The events of the instant at the end of a part, which move together."""
        instant, t = part.case.next_instant, float(part.recorded.t[-1])
        if instant is None or not instant.events or t != part.case.t1:
            return []
        case, maps, layout = part.case, instant_maps_of(part.case), part.augmented.layout
        row = layout.rows(part.recorded.y[-1:])[0]
        whole = case.row_at(t, row[: layout.n]) if case.has_formulas else row
        varied = varied_at(case, part.augmented.variational, t, part.recorded.y[-1])
        moves = maps.time_slopes(case, instant, t, whole) @ varied
        named = dict(zip(self.labels, moves.tolist()))
        return [EventSensitivity(self._named(maps.own, k, instant.time), t, named) for k in instant.events]

    def _named(self, system: System, event: int, t: float) -> str:
        """The name of an event, that of a contact by what happens to it in the run."""
        known = self._case.foreseen
        if known is None or system.events[event].manner.contact is None:
            return system.events[event].name
        told = (e for piece in known.nominal.pieces for e in named_events(piece.system, piece.outcome.events))
        return min((abs(e[1] - t), name) for name, e in told if e[0] == event)[1]

    def at(self, t: object) -> SensitivitySamples:
        """Sensitivities at any time of the run, from the dense output: one time, or an array of times.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> dd.sensitivities(m, 1.0, rtol=1e-9).at([0.0, 0.5]).M.round(6).ravel().tolist()
        [1.0, 0.606531]
        """
        times = plain_times(t, "The times of at()")
        flat = np.ascontiguousarray(times.reshape(-1))
        ends = sorted((float(self._recorded.t[0]), float(self._recorded.t[-1])))
        slack = 1e-12 * max(abs(ends[0]), abs(ends[1]), NOT_ZERO)
        if (
            flat.size == 0
            or not np.all(np.isfinite(flat))
            or flat.min() < ends[0] - slack
            or flat.max() > ends[1] + slack
        ):
            raise InputError(
                "at() takes finite times within the run.", f"it covers t = {ends[0]:g} to {ends[1]:g}; got {t!r}"[:160]
            )
        y = self._recorded.at(np.clip(flat, ends[0], ends[1]))
        # Behind what happens at the end itself there is no stretch.
        y[flat == self._recorded.t[-1]] = self._recorded.y[-1]
        return SensitivitySamples(self._case, self._augmented, flat, y, times.ndim == 0, self._parts)


class _Lazy:
    """The dense output of the rows within that of y, made when a trajectory asks for it."""

    def __init__(self, recorded: Recorded, width: int) -> None:
        self._recorded, self._width = recorded, width

    def dense(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, ends and coefficients."""
        whole: Dense = self._recorded.dense
        return whole.starts, whole.ends, np.ascontiguousarray(whole.coefficients[:, :, : self._width])
