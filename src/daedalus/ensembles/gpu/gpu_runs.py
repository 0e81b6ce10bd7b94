"""Many cases of a sweep on a GPU: the kernel of lanes, one case a thread, in as many launches as memory asks for."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from daedalus.compilation.lanes.ptx import ptx_of
from daedalus.compilation.llvm_code import ENTRY
from daedalus.ensembles.gpu.cuda_driver import DeviceKernel, device
from daedalus.ensembles.lanes.kernel_frame import ENDS
from daedalus.ensembles.lanes.lane_runs import LaneBlock, LaneRuns

# Of the free memory of the GPU one launch takes at most this part, and at most so many cases.
SHARE, MOST = 0.4, 2**21


def gpu_text(lanes: LaneRuns) -> str:
    """The LLVM text of the kernel of a road for a GPU."""
    return lanes.text(1, gpu=True)


class GpuRuns:
    """A road on the first GPU of this machine."""

    def __init__(self, lanes: LaneRuns) -> None:
        self.lanes, self.device = replace(lanes, lanes=1), device()
        self.device.enter()
        each = 8 * (len(lanes.times) * lanes.model.saved + len(ENDS) + lanes.model.own)
        self.block = int(np.clip(SHARE * self.device.free_bytes() / each, 1, MOST))

    @functools.cached_property
    def kernel(self) -> DeviceKernel:
        """The kernel, compiled by the driver."""
        return self.device.load(ptx_of(gpu_text(self.lanes)), ENTRY)

    def run(self, block: range) -> LaneBlock:
        """The runs of some cases."""
        lanes, gpu, count = self.lanes, self.device, len(block)
        gpu.enter()
        own, nowhere = lanes.numbers_of(block)
        shapes = (len(lanes.times), lanes.model.saved, count + 1), (len(ENDS), count + 1)
        results = [gpu.allocate(8 * int(np.prod(shape, dtype=np.int64))) for shape in shapes]
        given = [gpu.upload(array) for array in (own.values, own.rows)]
        shared = [gpu.upload(array) for array in (lanes.times, lanes.stops, lanes.segments, lanes.settings)]
        numbers = [count + 1, 0, count, len(lanes.times), len(lanes.stops)]
        self.kernel.start(count, [*given, *results, *shared], numbers)
        x, ends = (gpu.pinned(shape) for shape in shapes)
        for memory, array in zip(results, (x, ends)):
            gpu.download(memory, array)
        return lanes.block_of(own, x, ends, nowhere)
