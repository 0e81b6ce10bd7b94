"""What is kept of runs, read from them: of those that reached their end many at once, of the others one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.ensembles.case_runs import PlainRun
from daedalus.ensembles.collected import CaseResults
from daedalus.ensembles.columns import Column
from daedalus.ensembles.derivatives.case_derivatives import CaseDerivatives, DerivedRun, read_names
from daedalus.ensembles.lanes.lane_runs import LaneBlock, StoppedCases
from daedalus.model.lazy_values import cached_property
from daedalus.simulation.plant.plant import by_shape
from daedalus.simulation.result.ending import Ending, time_text
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.road import Road
from daedalus.simulation.switching.agenda import has_agenda

Derived = Mapping[int, DerivedRun | str]
NONE_DERIVED: Derived = {}


class Reader:
    """How the values of runs are read: those that reached their end many at once, the others one by one."""

    def __init__(
        self, road: Road, columns: Sequence[Column], wrt: Sequence[str], end_only: bool, keep_stopped: bool
    ) -> None:
        self._own, self._end_only, self._keep_stopped = columns, end_only, keep_stopped
        by = read_names(road.request.system, wrt)
        self.derivatives = CaseDerivatives(road, columns, by, end_only) if by else None
        self._plant, self._drive, self._fixed_step = road.settings.plant, road.drive, road.request.step is not None
        self._times, self._t1 = np.asarray(road.request.save_at), road.request.t1
        self._finished = f"reached {time_text(self._t1)}"

    def results(self, runs: Sequence[PlainRun | Trajectory | str], derived: Derived = NONE_DERIVED) -> CaseResults:
        """What is kept of some runs, in their order, with derivatives by their place."""
        plain = [k for k, run in enumerate(runs) if isinstance(run, PlainRun)]
        found = self._nothing(len(runs))
        if plain:
            of_plain = [run for run in runs if isinstance(run, PlainRun)]
            x = np.array([run.x for run in of_plain])
            u, p = (None, None) if self._keeps_states else map(np.array, zip(*((run.u, run.p) for run in of_plain)))
            for rows, values in zip(found.rows, self._of_plain_runs(x, u, p)):
                rows[plain if len(plain) < len(runs) else slice(None)] = values
            self._reached_end(found, plain)
        self._write(found, {k: run for k, run in enumerate(runs) if not isinstance(run, PlainRun)})
        self._write_derivatives(found, derived)
        return found

    def of_lanes(
        self, block: LaneBlock, others: Mapping[int, PlainRun | Trajectory | str], derived: Derived = NONE_DERIVED
    ) -> CaseResults:
        """What is kept of a block of lanes; `others` are the runs of cases that were left to the scalar core."""
        discretes, inputs, own = self._plant.system.discrete_count, self._plant.system.sizes["u"], self._plant.row_width
        states = block.x.shape[1] - discretes
        # What a kernel wrote is read, and handed on, where it lies.
        x = block.x[:, :own].transpose(2, 0, 1)
        given = None if self._keeps_states else block.own.all(states)
        # Hidden modes of switches lie behind the parameters.
        end = inputs + self._plant.system.sizes["p"]
        u, p = (None, None) if given is None else (given[:inputs].T, given[inputs:end].T)
        plain = {k: run for k, run in others.items() if isinstance(run, PlainRun)}
        for k, run in plain.items():
            x[k] = run.x
        held = block.x[:, states:].transpose(2, 0, 1) if discretes else None
        rows = [self._own_copy(row, own) for row in self._of_plain_runs(x, u, p, held)]
        rows += self._derived_rows(block, u, p)
        ended = block.finished
        found = CaseResults(rows, ended.copy(), ended.copy(), {}, np.where(ended, self._t1, np.nan), len(others))
        self._reached_end(found, list(plain))
        if block.stopped is not None:
            self._write_stopped(found, block.stopped)
        self._write(found, {k: run for k, run in others.items() if k not in plain})
        self._write_derivatives(found, derived)
        return found

    def _write_stopped(self, found: CaseResults, stopped: StoppedCases) -> None:
        """Cases that an event ended: they have no values behind it, but that of their end where it alone is kept."""
        times, (sentence, *_) = self._times, Ending.EVENT.sentence
        backwards = len(times) > 1 and times[-1] < times[0]
        for k, time, event in zip(stopped.cases.tolist(), stopped.times.tolist(), stopped.events):
            reached = int(np.count_nonzero(times >= time if backwards else times <= time))
            reached = max(reached, 1) if self._end_only else reached
            for rows in found.rows:
                rows[k, reached:] = np.nan
            found.complete[k], found.ends[k] = reached == len(times), time
            found.reasons[k] = sentence.format(event=event, t=time_text(time))

    def _derived_rows(self, block: LaneBlock, u: np.ndarray | None, p: np.ndarray | None) -> list[np.ndarray]:
        """The derivatives of a block of lanes; NaN of cases that were left to the scalar core."""
        if self.derivatives is None:
            return []
        y = block.x.transpose(2, 0, 1)
        inputs = None if u is None else self._inputs_of(u).reshape(len(y), len(self._times), -1)
        found = self.derivatives.of_lanes(y, inputs, p)
        for rows in found:
            rows[~block.finished] = np.nan
        return found

    @cached_property
    def columns(self) -> list[Column]:
        """All that is kept of a run."""
        return [*self._own, *(self.derivatives.columns if self.derivatives else ())]

    def _nothing(self, count: int) -> CaseResults:
        """Results without any data."""
        rows = [np.full((count, len(self._times), *column.shape), np.nan) for column in self.columns]
        no = np.zeros(count, dtype=bool)
        return CaseResults(rows, no, no.copy(), {}, np.full(count, np.nan))

    def _own_copy(self, rows: np.ndarray, states: int) -> np.ndarray:
        """Rows as they are, or a copy where little of a large array would keep all of it."""
        few = 2 * sum(column.width for column in self._own) < states
        return rows.copy() if few else rows

    def _reached_end(self, found: CaseResults, cases: Any) -> None:
        found.success[cases], found.complete[cases], found.ends[cases] = True, True, self._t1

    def _write(self, found: CaseResults, runs: Mapping[int, PlainRun | Trajectory | str]) -> None:
        """Runs that are no plain ones, one by one."""
        for k, run in runs.items():
            assert not isinstance(run, PlainRun)
            for rows in found.rows:
                rows[k] = np.nan
            if isinstance(run, str) or not (run.success or self._keep_stopped):
                found.reasons[k] = run if isinstance(run, str) else run.stop_reason
                continue
            finished = run.status is Ending.FINISHED
            found.success[k], found.ends[k] = run.success, self._t1 if finished else float(run.end.time)
            values = self._of_run(run)
            for rows, of_run in zip(found.rows, values):
                rows[k, : len(of_run)] = of_run
            found.complete[k] = all(len(of_run) == len(self._times) for of_run in values)
            if not finished:
                found.reasons[k] = run.stop_reason

    def _write_derivatives(self, found: CaseResults, derived: Derived) -> None:
        """Derivatives by the scalar core, one by one; a case whose run has none says why."""
        for k, run in derived.items():
            if isinstance(run, str):
                found.complete[k] = False
                found.reasons[k] = f"{found.reasons.get(k, self._finished)}; without derivatives: {run}"
                continue
            for rows, values in zip(found.rows[len(self._own) :], run.rows()):
                rows[k, : len(values)] = values

    def _of_run(self, run: Trajectory) -> list[np.ndarray]:
        """The values of a run at the times that it reached, one array a column; of its end where that alone is kept."""
        if self._end_only and run.success and len(run.run_data.times) == 0:
            end = run.end
            return [np.asarray(end[column.name])[None] for column in self._own]
        return [run[column.name][: len(self._times)] for column in self._own]

    @cached_property
    def _keeps_states(self) -> bool:
        """Whether nothing but states is kept."""
        return all(column.name in self._plant.columns for column in self._own)

    def _of_plain_runs(
        self, x: np.ndarray, u: np.ndarray | None, p: np.ndarray | None, held: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """The values of many runs, one array (runs, times, ...) a column; x (runs, times, n), u and p (runs, ...).

        held: discrete variables, (runs, times, ...).
        """
        states = self._plant.columns
        rows = None
        found = []
        for column in self._own:
            if column.name in states:
                place, shape = states[column.name]
                found.append(by_shape(x[:, :, place], shape))
                continue
            if rows is None:
                assert u is not None
                assert p is not None
                rows = self._side_by_side(x, u, p, held)
            found.append(rows[column.name].reshape(len(x), len(self._times), *column.shape))
        return found

    def _side_by_side(self, x: np.ndarray, u: np.ndarray, p: np.ndarray, held: np.ndarray | None) -> _SideBySide:
        """The rows of many runs below each other."""
        count, times, inputs = len(x), self._times, self._inputs_of(u)
        given = np.repeat(p, len(times), axis=0)
        if held is not None:
            given[:, given.shape[1] - held.shape[2] :] = held.reshape(len(given), -1)
        flat = np.ascontiguousarray(x).reshape(count * len(times), -1)
        found = _SideBySide(self._plant, self._drive, given, np.tile(times, count), flat, inputs)
        found.renewing(lambda: not self._fixed_step)
        return found

    def _inputs_of(self, u: np.ndarray) -> np.ndarray:
        """The inputs of many runs at all times, below each other; u (runs, inputs) has those that are held."""
        times = self._times
        inputs = self._drive.at(np.tile(times, len(u)))
        held = [k for k in range(inputs.shape[1]) if all(k not in slots for _, slots in self._drive.tables)]
        inputs[:, held] = np.repeat(u, len(times), axis=0)[:, held]
        return inputs

    @property
    def reads_plain_runs(self) -> bool:
        """Whether all columns are states, or follow from them by plain formulas, and nothing happens at known times."""
        return self.reads_rows and not has_agenda(self._plant.system)

    @cached_property
    def reads_rows(self) -> bool:
        """Whether all columns are states, or follow from them by plain formulas."""
        if self._keeps_states:
            return True
        # Rows of implicit methods have all derivatives.
        formulas = (self._plant.readout,) if self._plant.is_implicit else (self._plant.readout, self._plant.rhs)
        return all(isinstance(getattr(formula, "core", None), _core.Function) for formula in formulas)


class _SideBySide(Samples):
    """The rows of many runs below each other, each with its own inputs and parameters."""

    def __init__(self, plant: Any, drive: Any, p: np.ndarray, times: np.ndarray, x: np.ndarray, u: np.ndarray) -> None:
        super().__init__(plant, drive, p, times, x)
        self._given = u

    @cached_property
    def _inputs(self) -> np.ndarray:
        return self._given

    def _vector(self, letter: str) -> np.ndarray:
        return self._parameters if letter == "p" else super()._vector(letter)
