"""Starts of cases whose model constrains them: those that fit stay as they are, others are solved for one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.ensembles.case_runs import CaseRuns
from daedalus.ensembles.lanes.case_numbers import slots_of
from daedalus.errors import DaedalusError
from daedalus.simulation.run.begin import begin
from daedalus.simulation.start.start_tolerance import start_tolerance


@dataclass(frozen=True, eq=False)
class ConsistentStarts:
    """What the starts of all cases have to fit."""

    runs: CaseRuns

    def fit_alike(self, shared: np.ndarray) -> bool:
        """Whether all starts fit because the shared one does: nothing that is swept enters what they have to fit."""
        sizes, cases = self.runs.road.system.sizes, self.runs.cases
        swept = {slot for k in range(len(cases.axes)) for slot in slots_of(cases, k, (sizes["x"], sizes["u"]))}
        entering = [_entering(part) for part in self._kept]
        if any(slots is None or swept & slots for slots in entering):
            return False
        largest = self._violation(*self._split(shared[:, None]))[0]
        return bool(largest <= start_tolerance(self.runs.road.request.rtol))

    def settle(self, block: range, own: np.ndarray) -> np.ndarray:
        """Write consistent states over those that do not fit; which cases have no start at all.

        own: start, inputs and parameters of the cases of a block, one column each.
        """
        nowhere = np.zeros(len(block), dtype=bool)
        for k in np.flatnonzero(self._off(own)).tolist():
            road = self.runs.road_of(block.start + k)
            try:
                first = begin(road, road.request.t0, road.request.start)
            except DaedalusError:
                nowhere[k] = True
                continue
            nowhere[k] = first.settings is not self.runs.road.settings
            if not nowhere[k]:
                own[: len(first.row), k] = first.row
        return nowhere

    def _off(self, own: np.ndarray) -> np.ndarray:
        """The cases whose states violate what the model keeps."""
        x, u, p = self._split(own)
        largest, small = self._violation(x, u, p), start_tolerance(self.runs.road.request.rtol)
        misses: np.ndarray = ~((largest <= small) | (largest <= small * np.abs(x).max(axis=1, initial=0.0)))
        return misses

    def _split(self, own: np.ndarray) -> list[np.ndarray]:
        """States, inputs at the start and parameters, a row a case."""
        sizes = self.runs.road.system.sizes
        return [np.ascontiguousarray(part.T) for part in np.split(own, np.cumsum([sizes["x"], sizes["u"]]))]

    def _violation(self, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """How far the model is from what it keeps, a number a case."""
        t0 = self.runs.road.request.t0
        for table, slots in self.runs.road.drive.tables:
            u[:, slots] = table.flat(np.array([t0]))
        times = np.full((len(x), 1), t0)
        values = [part.core.evaluate_many(times, x, u, p)[0] for part in self._kept]
        return np.abs(np.concatenate(values, axis=1)).max(axis=1, initial=0.0) if values else np.zeros(len(x))

    @property
    def _kept(self) -> list[Any]:
        """The functions that are zero at a start."""
        plant = self.runs.road.settings.plant
        found: list[Any] = [plant.invariants] if plant.system.has_invariants else []
        return found + ([plant.watched] if plant.system.watched else [])


def _entering(part: Any) -> set[int] | None:
    """The numbers of a case that enter a function of (t, x, u, p); None where it has no formulas."""
    function = getattr(part, "function", None)
    if function is None:
        return None
    found, first = set[int](), 0
    for place in (1, 2, 3):
        begins = np.asarray(function.jac_sparsity(0, place).colind())
        found |= {first + int(k) for k in np.flatnonzero(np.diff(begins))}
        first += len(begins) - 1
    return found
