"""Many cases of a sweep on a GPU: the kernel of lanes, one case a thread, in as many blocks as memory asks for.

A block goes there in pieces, each a queue of its own: numbers go there, the kernel runs, results come back into pinned
memory. So the numbers of one piece travel while another is computed. While one block is read here, the next is under
way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedalus.compilation.lanes.ptx import ptx_of
from daedalus.compilation.llvm_code import ENTRY
from daedalus.ensembles.gpu.cuda_driver import Device, DeviceKernel, Stream, device
from daedalus.ensembles.gpu.device_array import DeviceArray
from daedalus.ensembles.gpu.device_memory import DeviceMemory
from daedalus.ensembles.lanes.case_numbers import CaseNumbers, LaterNumbers, mixed_parts, rows_of
from daedalus.ensembles.lanes.kernel_frame import ENDS, STIFF
from daedalus.ensembles.lanes.kernels import KeptKernels
from daedalus.ensembles.lanes.lane_runs import LaneBlock, LaneRuns

# Two blocks are under way at once, each within this part of the free memory, within what is pinned at once for its
# results, and within so many cases.
OF_FREE_MEMORY, PINNED, MOST = 0.4, 2**31, 2**21
# Cases of a piece: a few times as many as a large GPU computes at once, so that it is never without work.
PIECE = 2**17
_kernels = KeptKernels[DeviceKernel]()


def gpu_text(lanes: LaneRuns) -> str:
    """The LLVM text of the kernel of a road for a GPU."""
    return lanes.text(1, gpu=True)


class GpuRuns:
    """A road on the first GPU of this machine."""

    def __init__(self, lanes: LaneRuns) -> None:
        self.lanes, self.device = replace(lanes, lanes=1), device()
        self.device.enter()
        self.each = 8 * (len(lanes.times) * lanes.model.saved + len(ENDS) + lanes.model.own)
        room = min(OF_FREE_MEMORY * self.device.free_bytes(), PINNED)
        self.block = int(np.clip(room / self.each, 1, MOST))
        self.where = self.device.name

    @property
    def told_methods(self) -> str:
        """What ran the cases up to now, in words."""
        return self.lanes.told_methods

    def kernel(self) -> DeviceKernel:
        """The kernel, compiled by the driver."""
        key = (id(self.device), *self.lanes.key)
        return _kernels.of(key, lambda: self.device.load(ptx_of(gpu_text(self.lanes)), ENTRY))

    def run(self, block: range, cancel: Any = None) -> LaneBlock:
        """The runs of some cases."""
        return self.start(block).here()

    def start(self, block: range, stay: bool = False) -> Launched:
        """Some cases on their way; stay: their rows are not brought here until somebody asks."""
        lanes, gpu, count = self.lanes, self.device, len(block)
        gpu.enter()
        kernel = self.kernel()
        shape = (len(lanes.times), lanes.model.saved, count + 1)
        size = 8 * int(np.prod(shape, dtype=np.int64))
        out = gpu.allocate_for_others(size) if stay else gpu.allocate(size)
        ends = gpu.allocate(8 * len(ENDS) * (count + 1))
        ends_here, x_here = gpu.pinned((len(ENDS), count + 1)), None if stay else gpu.pinned(shape)
        sent = self._sent(block)
        at = sent.addresses
        addresses = [at[0], at[1], out.address, ends.address, *at[2:]]
        streams = []
        for first in range(0, count, PIECE):
            piece, stream = range(first, min(first + PIECE, count)), gpu.stream()
            sent.send(gpu, piece, stream)
            numbers = [count + 1, piece.start, piece.stop, len(lanes.times), len(lanes.stops)]
            kernel.start(len(piece), addresses, numbers, stream)
            gpu.fetch_columns(ends.address, ends_here, piece, stream)
            if x_here is not None:
                gpu.fetch_columns(out.address, x_here, piece, stream)
            streams.append(stream)
        return Launched(gpu, lanes, streams, sent, out, (ends, ends_here), shape, x_here)

    def _sent(self, block: range) -> _Sent:
        """All that a kernel reads: what is the same for all cases is there, what they bring along has its place there.

        What lies on the GPU already is copied to its place.
        """
        lanes, gpu, count = self.lanes, self.device, len(block)
        own: CaseNumbers | LaterNumbers
        nowhere, swept, there = None, list[np.ndarray](), list[DeviceArray]()
        if lanes.begins_apart:
            own, nowhere = lanes.numbers_of(block)
            common, rows = own.values, own.rows
        else:
            given = mixed_parts(lanes.cases, block, (lanes.model.states, lanes.model.inputs))
            swept = [part for _, part in given if isinstance(part, np.ndarray)]
            there = [column for _, column in given if isinstance(column, DeviceArray)]
            common, rows = lanes.shared, rows_of(lanes.shared, [slots for slots, _ in given], count)
            own = LaterNumbers(lambda: lanes.numbers_of(block)[0], count)
        rest = [rows.view(float).ravel(), lanes.times, lanes.stops, lanes.segments.ravel(), lanes.settings]
        here = len(common) + sum(part.size for part in swept)
        sizes = [here + count * len(there), *(len(part) for part in rest)]
        memory = gpu.allocate(8 * sum(sizes))
        starts = [memory.address + 8 * int(k) for k in np.cumsum([0, *sizes[:-1]])]
        gpu.send(common, starts[0])
        gpu.send(np.concatenate(rest), starts[1])
        for k, column in enumerate(there):
            column.copy_to(starts[0] + 8 * (here + k * count))
        gpu.wait_for_copies()
        staging = gpu.pinned((here - len(common),))
        return _Sent(memory, swept, starts[0] + 8 * len(common), staging, starts, own, nowhere)


@dataclass(frozen=True, eq=False)
class _Sent:
    """What a kernel reads: kept until it is done."""

    memory: DeviceMemory
    swept: list[np.ndarray]  # what the cases bring along, (cases, numbers) each
    place: int  # where that goes
    staging: np.ndarray
    addresses: list[int]  # of numbers, rows, times, stops, segments, settings
    own: CaseNumbers | LaterNumbers
    nowhere: np.ndarray | None

    def send(self, gpu: Device, piece: range, stream: Stream) -> None:
        """Put what some cases bring along on its way."""
        before = 0
        for part in self.swept:
            width = part.shape[1]
            first, last = before + width * piece.start, before + width * piece.stop
            self.staging[first:last].reshape(-1, width)[:] = part[piece.start : piece.stop]
            gpu.send(self.staging[first:last], self.place + 8 * first, stream)
            before += part.size


@dataclass(eq=False)
class Launched:
    """Cases on their way on a GPU."""

    gpu: Device
    lanes: LaneRuns
    streams: list[Stream]
    sent: _Sent
    out: DeviceMemory
    ends: tuple[DeviceMemory, np.ndarray]
    shape: tuple[int, int, int]  # times, states, cases + 1
    x: np.ndarray | None

    def wait(self) -> None:
        """Wait until all cases are done and their results are where they belong."""
        for stream in self.streams:
            stream.wait()

    def here(self) -> LaneBlock:
        """The runs, when they are done, with their rows in memory of this machine."""
        self.gpu.enter()
        self.wait()
        if self.x is None:
            self.x = self.there().to_host()
        return self.lanes.block_of(self.sent.own, self.x, self.ends[1], self.sent.nowhere)

    def ended(self) -> np.ndarray:
        """Which cases reached their end, when all are done; their rows stay where they are."""
        self.gpu.enter()
        self.wait()
        if self.lanes.stiff is not None and (self.ends[1][0, :-1] == STIFF).any():
            # Stiff ones are run on the processor, and put back into their place.
            held = self.here().x
            self.gpu.copy_rows(
                self.out.address, 8 * self.shape[2], held.ctypes.data, 8 * held.shape[2],
                (8 * held.shape[2], held.shape[0] * held.shape[1]), from_host=True,
            )  # fmt: skip
            self.gpu.wait_for_copies()
        nothing = np.empty((0, 0, self.shape[2]))
        return self.lanes.block_of(self.sent.own, nothing, self.ends[1], self.sent.nowhere).finished

    def there(self) -> DeviceArray:
        """The rows on the GPU, (times, states, cases)."""
        times, states, columns = self.shape
        strides = (8 * states * columns, 8 * columns, 8)
        return DeviceArray(self.gpu, self.out.address, (times, states, columns - 1), strides, self.out)
