"""What is kept of runs, read from them: of those that reached their end many at once, of the others one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.ensembles.case_runs import PlainRun
from daedalus.ensembles.collected import CaseResult
from daedalus.ensembles.columns import Column
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.road import Road
from daedalus.simulation.switching.agenda import has_agenda


class Reader:
    """How the values of runs are read: those that reached their end many at once, the others one by one."""

    def __init__(self, road: Road, columns: Sequence[Column], end_only: bool, keep_stopped: bool) -> None:
        self.columns, self._end_only, self._keep_stopped = columns, end_only, keep_stopped
        self._plant, self._drive = road.settings.plant, road.drive
        self._times, self._t1 = np.asarray(road.request.save_at), road.request.t1

    def results(self, runs: Sequence[PlainRun | Trajectory | str]) -> list[CaseResult]:
        """What is kept of some runs, in their order."""
        plain = [run for run in runs if isinstance(run, PlainRun)]
        blocks = self._of_plain_runs(plain) if plain else []
        rows_of_plain = zip(*blocks) if blocks else iter([()] * len(plain))
        return [
            CaseResult(list(next(rows_of_plain)), True, None, self._t1)
            if isinstance(run, PlainRun)
            else self._result(run)
            for run in runs
        ]

    def _result(self, run: Trajectory | str) -> CaseResult:
        if isinstance(run, str) or not (run.success or self._keep_stopped):
            return CaseResult([], False, run if isinstance(run, str) else run.stop_reason, np.nan)
        finished = run.status is Ending.FINISHED
        end = self._t1 if finished else float(run.end.time)
        return CaseResult(self._of_run(run), run.success, None if finished else run.stop_reason, end)

    def _of_run(self, run: Trajectory) -> list[np.ndarray]:
        """The values of a run at the times that it reached, one array a column; of its end where that alone is kept."""
        if self._end_only and run.success and len(run._times) == 0:
            end = run.end
            return [np.asarray(end[column.name])[None] for column in self.columns]
        return [run[column.name][: len(self._times)] for column in self.columns]

    def _of_plain_runs(self, runs: Sequence[PlainRun]) -> list[np.ndarray]:
        """The values of many runs, one array (runs, times, ...) a column."""
        count, times = len(runs), self._times
        x = np.concatenate([run.x for run in runs])
        p = np.repeat(np.array([run.p for run in runs]), len(times), axis=0)
        u = self._drive.at(np.tile(times, count))
        held = [k for k in range(u.shape[1]) if all(k not in slots for _, slots in self._drive.tables)]
        u[:, held] = np.repeat(np.array([run.u for run in runs]), len(times), axis=0)[:, held]
        rows = _SideBySide(self._plant, self._drive, p, np.tile(times, count), x, u)
        return [rows[c.name].reshape(count, len(times), *c.shape) for c in self.columns]

    @property
    def reads_plain_runs(self) -> bool:
        """Whether all columns are states, or follow from them by plain formulas, and nothing happens at known times."""
        system = self._plant.system
        if has_agenda(system):
            return False
        if all(column.name in self._plant.columns for column in self.columns):
            return True
        formulas = (self._plant.readout, self._plant.rhs)
        return all(isinstance(getattr(formula, "core", None), _core.Function) for formula in formulas)


class _SideBySide(Samples):
    """The rows of many runs below each other, each with its own inputs and parameters."""

    def __init__(self, plant: Any, drive: Any, p: np.ndarray, times: np.ndarray, x: np.ndarray, u: np.ndarray) -> None:
        super().__init__(plant, drive, p, times, x)
        self._given = u

    @cached_property
    def _inputs(self) -> np.ndarray:
        return self._given
