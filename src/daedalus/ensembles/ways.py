"""Where the cases of a sweep are run: one by one in the scalar core, or many at once on lanes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.ensembles.blocks import in_blocks
from daedalus.ensembles.case_runs import CaseRuns, PlainRun
from daedalus.ensembles.collected import CaseResults
from daedalus.ensembles.derivatives.case_derivatives import DerivedRun
from daedalus.ensembles.derivatives.derived_model import derived_model
from daedalus.ensembles.derivatives.tangent_starts import TangentStarts
from daedalus.ensembles.gpu.cuda_driver import OutOfDeviceMemoryError, why_no_gpu
from daedalus.ensembles.gpu.gpu_runs import GpuRuns, Launched
from daedalus.ensembles.gpu.results_there import ResultsThere, launched_whole
from daedalus.ensembles.lanes.lane_runs import FEWEST, LaneBlock, LaneRuns, NoLanes, lane_runs
from daedalus.ensembles.reader import Reader
from daedalus.model.system.instruction_list import UnknownOperationError
from daedalus.simulation.result.trajectory import Trajectory

# From so many cases on a kernel is compiled for them (0.2 to 1 s, once a machine); for long runs from fewer: where all
# evaluations of all instructions together are more than this, which takes the scalar core about as long.
MANY, MUCH = 1000, 1e9
# So few are run one by one without a look at what a kernel could do.
FEW, TOO_FEW = 16, "fewer than a kernel for many is worth"
# From so many cases on a GPU is taken where there is one: its start and the compilation for it take about a second.
VERY_MANY = 100_000
EVENTS_HERE = "events are located on the processor"
CONTACTS_APART = "contact forces of each follow from problems of its own"
# Launches on a GPU that are under way at once: one is read while the other runs.
UNDER_WAY = 2


# Asked of workers, who do not know how many cases there are in all.
ONE_BY_ONE = "one by one"


class WayOfCases(ABC):
    """How blocks of cases are run; `first` is the size of the first block, `most` the largest."""

    first, most = 1, 64

    @abstractmethod
    def run(self, block: range) -> CaseResults:
        """The results of a block of cases."""

    def in_order(self, count: int, workers: int, cancel: Any) -> Iterator[tuple[range, CaseResults]]:
        """(cases, results) of one block after the other, in the order of the cases; in threads of this process."""
        return in_blocks(self.run, count, workers, cancel, self.first, self.most)

    @abstractmethod
    def note(self, count: int, left: int) -> str:
        """What was done with so many cases, of which some were left to the scalar core."""


class OneByOne(WayOfCases):
    """Case after case in the scalar core."""

    def __init__(self, runs: CaseRuns, reader: Reader, reason: str) -> None:
        self._runs, self._reader, self._reason = runs, reader, reason

    def run(self, block: range) -> CaseResults:
        """The results of a block of cases."""
        runs = self._runs.many(block)
        return self._reader.results(runs, derived_by_core(self._runs, self._reader, block, dict(enumerate(runs))))

    def note(self, count: int, left: int) -> str:
        """What was done."""
        return f"{cases_text(count)} one by one: {self._reason}"


class InKernels(WayOfCases):
    """Many cases at once; what a kernel cannot finish goes to the scalar core."""

    def __init__(self, kernels: LaneRuns | GpuRuns, runs: CaseRuns, reader: Reader, reason: str = "") -> None:
        self._kernels, self._runs, self._reader, self._reason = kernels, runs, reader, reason
        self.most = kernels.block

    def run(self, block: range) -> CaseResults:
        """The results of a block of cases."""
        return read_lanes(self._runs, self._reader, block, self._kernels.run(block, self._runs.cancel))

    def note(self, count: int, left: int) -> str:
        """What was done, how many cases were left to the scalar core, and why this way was chosen."""
        told = f"{cases_text(count)} on {self._kernels.where}, by {self._kernels.told_methods}"
        told += f"; {left} of them left to the scalar core" if left else ""
        return f"{told} ({self._reason})" if self._reason else told


class OnLanes(InKernels):
    """Many cases at once on lanes of this processor."""

    first = FEWEST


class OnGpu(InKernels):
    """Many cases at once on a GPU."""

    def __init__(self, gpu: GpuRuns, runs: CaseRuns, reader: Reader, reason: str = "") -> None:
        super().__init__(gpu, runs, reader, reason)
        self._gpu, self.first = gpu, gpu.block

    def in_order(self, count: int, workers: int, cancel: Any) -> Iterator[tuple[range, CaseResults]]:
        """(cases, results) of one launch after the other: the next is under way while one is read.

        Others use the GPU too: where its memory does not suffice, what is under way is waited for, then fewer cases are
        launched at once.
        """
        under_way: deque[tuple[range, Launched]] = deque()
        begin, size = 0, self.most
        while begin < count or under_way:
            if begin < count and len(under_way) < UNDER_WAY:
                block = range(begin, min(begin + size, count))
                try:
                    under_way.append((block, self._gpu.start(block)))
                    begin = block.stop
                    continue
                except OutOfDeviceMemoryError:
                    if not under_way and len(block) == 1:
                        raise
                    size = size if under_way else (len(block) + 1) // 2
            if under_way:
                block, launched = under_way.popleft()
                yield block, read_lanes(self._runs, self._reader, block, launched.here())

    def stay(self, count: int) -> tuple[ResultsThere, Callable[[], CaseResults]]:
        """The results of all cases on the GPU, and what brings them here."""
        launched = launched_whole(self._gpu, count)
        left = np.flatnonzero(~launched.ended()).tolist()
        runs, reader = self._runs, self._reader
        others = {k: runs(k) for k in left}
        derived = derived_by_core(runs, reader, range(count), others)
        there = ResultsThere(launched, runs.cases, runs.road.settings.plant, reader.derivatives, others, derived)
        return there, lambda: reader.of_lanes(launched.here(), others, derived)


def read_lanes(runs: CaseRuns, reader: Reader, block: range, done: LaneBlock) -> CaseResults:
    """What a kernel left behind of a block of cases; those that it did not finish are run by the scalar core."""
    done.finished[~runs.cases.finite_in(block)] = False
    others = {k: runs(block.start + k) for k in np.flatnonzero(~done.finished).tolist()}
    return reader.of_lanes(done, others, derived_by_core(runs, reader, block, others))


def derived_by_core(
    runs: CaseRuns, reader: Reader, block: range, found: Mapping[int, PlainRun | Trajectory | str]
) -> dict[int, DerivedRun | str]:
    """The derivatives of runs of the scalar core, by their place in a block, where they are asked for."""
    wanted = reader.derivatives
    if wanted is None:
        return {}
    return {k: wanted.of_case(runs, block.start + k) for k, run in found.items() if _has_derivatives(run)}


def _has_derivatives(run: PlainRun | Trajectory | str) -> bool:
    """Whether there is a way to be differentiated: what ended on its way has the derivatives of another end."""
    return isinstance(run, PlainRun) or (not isinstance(run, str) and run.success)


def find_way(runs: CaseRuns, reader: Reader, on: object) -> WayOfCases:
    """The way of a sweep: on lanes where they can be taken, and where that pays or was asked for."""
    if runs.touches:
        return OneByOne(runs, reader, CONTACTS_APART)
    if on == "auto" and runs.strict and runs.cases.count < VERY_MANY:
        on = "cpu"
    if on == "auto" and runs.cases.count < FEW:
        return OneByOne(runs, reader, TOO_FEW)
    lanes = lane_runs(runs)
    if reader.derivatives is not None and not isinstance(lanes, NoLanes):
        lanes = with_derivatives(lanes, runs, reader.derivatives.by)
        on = "cpu" if on == "auto" else on
    if isinstance(lanes, NoLanes):
        return OneByOne(runs, reader, lanes.reason)
    if not reader.reads_rows:
        return OneByOne(runs, reader, "what is kept of them follows from more than formulas")
    if on == ONE_BY_ONE:
        return OneByOne(runs, reader, TOO_FEW)
    if lanes.model.events is not None and (on == "gpu" or runs.cases.count >= VERY_MANY):
        return OnLanes(lanes, runs, reader, EVENTS_HERE)
    very_many = on == "auto" and runs.cases.count >= VERY_MANY
    if on == "gpu" or (very_many and not why_no_gpu()):
        return OnGpu(GpuRuns(lanes), runs, reader, f"from {VERY_MANY} cases on" if very_many else "")
    if on == "auto" and not _is_much(lanes, runs):
        return OneByOne(runs, reader, TOO_FEW)
    return OnLanes(lanes, runs, reader, f"no GPU: {why_no_gpu()}" if very_many else "")


def _is_much(lanes: LaneRuns, runs: CaseRuns) -> bool:
    """Whether a kernel is worth its compilation; by counts of work, so that the answer is always the same."""
    count = runs.cases.count
    if count >= MANY:
        return True
    first = runs(0)
    if isinstance(first, str):
        return False
    evaluations = first.evaluations if isinstance(first, PlainRun) else first.work.rhs
    return count * evaluations * len(lanes.model.slopes) >= MUCH


def cases_text(count: int) -> str:
    """So many cases."""
    return f"{count} case{'' if count == 1 else 's'}"


# Derivatives of cases in the same kernels: states, then selected columns of the sensitivities, as one larger model.
#
# Steps follow the errors of the states alone.


def with_derivatives(lanes: LaneRuns, runs: CaseRuns, names: tuple[str, ...]) -> LaneRuns | NoLanes:
    """The same cases with derivatives by elements of some names, or why there are none."""
    if lanes.numbers is None:
        return NoLanes("derivatives on lanes are those of explicit methods")
    if lanes.model.events is not None:
        return NoLanes("derivatives through events are taken by the scalar core")
    found = derived_model(runs.road.system, names)
    if found is None:
        return NoLanes("derivatives are taken by what the equations on lanes do not have")
    careful = lanes.model.careful
    try:
        shorter = None if careful is None else found.shorter_slopes
        slopes = found.slopes if shorter is None else shorter
        careful = None if shorter is None or careful is None else careful._replace(rows=found.careful)
        kept, independence = found.kept, found.independence
    except UnknownOperationError as unknown:
        return NoLanes(str(unknown))
    tangents, n = TangentStarts(runs.road, found), lanes.model.states
    model = replace(
        lanes.model, states=n * (1 + len(found.columns)), slopes=slopes, kept=kept, independence=independence, judged=n,
        careful=careful,
    )  # fmt: skip
    return replace(lanes, model=model, shared=tangents.joined(lanes.shared), stiff=None, tangents=tangents)
