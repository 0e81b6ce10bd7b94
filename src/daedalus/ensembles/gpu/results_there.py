"""The results of a sweep that stay on the GPU: each state as an array there, with the dimensions that it has here."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from daedalus.ensembles.case_runs import PlainRun
from daedalus.ensembles.cases import Cases
from daedalus.ensembles.derivatives.case_derivatives import CaseDerivatives, DerivedRun
from daedalus.ensembles.gpu.cuda_driver import OutOfDeviceMemoryError
from daedalus.ensembles.gpu.device_array import DeviceArray
from daedalus.ensembles.gpu.dlpack import row_major
from daedalus.ensembles.gpu.gpu_runs import GpuRuns, Launched
from daedalus.errors import InputError
from daedalus.model.names import did_you_mean
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.trajectory import Trajectory


class ResultsThere:
    """Rows of all cases on the GPU; `others` are the runs of those that were left to the scalar core."""

    def __init__(
        self, launched: Launched, cases: Cases, plant: Plant, derivatives: CaseDerivatives | None,
        others: Mapping[int, PlainRun | Trajectory | str], derived: Mapping[int, DerivedRun | str],
    ) -> None:  # fmt: skip
        self.launched, self._cases, self._plant = launched, cases, plant
        self._by = () if derivatives is None else derivatives.by
        for case, run in others.items():
            self._write(case, run, derived.get(case))

    @property
    def count(self) -> int:
        """How many cases there are."""
        return self._cases.count

    @property
    def where(self) -> str:
        """The name of the GPU."""
        return self.launched.gpu.name

    def _write(self, case: int, run: PlainRun | Trajectory | str, derived: DerivedRun | str | None) -> None:
        """Put the rows of a run of the scalar core into their place; NaN where there are none."""
        times, states, columns = self.launched.shape
        rows = np.full((times, states), np.nan)
        x = np.empty((0, 0))
        if not isinstance(run, str):
            x = run.x if isinstance(run, PlainRun) else run.run_data.rows[:times]
        rows[: len(x), : x.shape[1]] = x[:, :states]
        if isinstance(derived, DerivedRun):
            of_states = derived.of_states(self._plant)
            rows[: len(of_states), self._plant.row_width :] = of_states
        address = self.launched.out.address + 8 * case
        gpu = self.launched.gpu
        gpu.copy_rows(address, 8 * columns, rows.ctypes.data, 8, (8, rows.size), from_host=True)
        gpu.wait_for_copies()

    def array(self, name: str) -> DeviceArray:
        """A state, or its derivative `"x by k"`, over cases, time and its own dimensions."""
        own, (state, _, by) = self._plant.row_width, name.partition(" by ")
        known, derivatives = self._plant.columns, self._by
        if state not in known or (by and by not in derivatives):
            names = [*known, *(f"{x} by {value}" for x in known for value in derivatives)]
            raise InputError(
                f"No {name!r} is on the GPU.",
                because="only states and their derivatives stay on the GPU; everything else is computed on the host.",
                remedy=did_you_mean(name, names, listed=False) or f'en.device("{names[0]}"), or en["{name}"]',
            )
        place, shape = known[state]
        rows = self.launched.there()
        first = place.start + (own * (1 + list(derivatives).index(by)) if by else 0)
        time, element, case = rows.strides
        inner = tuple(element * math.prod(shape[:k]) for k in range(len(shape)))
        strides = (*row_major(self._cases.shape, case), time, *inner)
        address = self.launched.out.address + first * element
        whole = (*self._cases.shape, rows.shape[0], *shape)
        return DeviceArray(self.launched.gpu, address, whole, strides, self.launched.out)


def launched_whole(gpu: GpuRuns, count: int) -> Launched:
    """All cases at once, whose rows stay on the GPU; refused where they have no room there."""
    needed, free = count * gpu.each, gpu.device.free_bytes()
    if needed > free:
        raise OutOfDeviceMemoryError(
            "The results do not fit into the memory of the GPU.",
            f"{count} cases need {needed / 2**30:.3g} GiB, {free / 2**30:.3g} GiB are free",
            because='keep="there" leaves all of them on it at once.',
            remedy='keep="here", which brings them here in parts, save_at="end", or fewer cases',
        )
    return gpu.start(range(count), stay=True)
