"""Starts of cases whose model constrains them: those that fit stay as they are, others are solved for one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.ensembles.case_runs import CaseRuns
from daedalus.errors import DaedalusError
from daedalus.simulation.run.begin import begin
from daedalus.simulation.start.allowed_share import allowed_share


@dataclass(frozen=True, eq=False)
class ConsistentStarts:
    """What the starts of all cases have to fit."""

    runs: CaseRuns

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
        road = self.runs.road
        plant, drive, sizes = road.settings.plant, road.drive, road.system.sizes
        x, u, p = (np.ascontiguousarray(part.T) for part in np.split(own, np.cumsum([sizes["x"], sizes["u"]])))
        for table, slots in drive.tables:
            u[:, slots] = table.flat(np.array([road.request.t0]))
        times = np.full((len(x), 1), road.request.t0)
        kept: list[Any] = [plant.invariants] if plant.system.has_invariants else []
        kept += [plant.watched] if plant.system.watched else []
        values = [part.core.evaluate_many(times, x, u, p)[0] for part in kept]
        largest = np.abs(np.concatenate(values, axis=1)).max(axis=1, initial=0.0) if values else np.zeros(len(x))
        small = allowed_share(road.request.rtol)
        return ~((largest <= small) | (largest <= small * np.abs(x).max(axis=1, initial=0.0)))
