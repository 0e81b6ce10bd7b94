"""Numbers that stay on the GPU: read by CuPy, JAX and PyTorch without a copy, taken by the next `dd.sweep`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from daedalus.ensembles.gpu.cuda_driver import DLPACK_CUDA, LEGACY_STREAM, Device, device
from daedalus.ensembles.gpu.dlpack import TensorView, capsule_of, row_major, view_of
from daedalus.errors import InputError


class DeviceArray:
    """An array of doubles on the GPU, by `__cuda_array_interface__` (version 3) and DLPack.

    `cupy.asarray(a)`, `torch.as_tensor(a, device="cuda")`, `torch.from_dlpack(a)` and
    `jax.dlpack.from_dlpack(a.compact())` read it where it lies; `np.asarray(a)` copies it here. Its memory is given
    back when the last of its readers is gone. All work on it is done when it is handed out: any stream may read it.
    """

    dtype = np.dtype(float)

    def __init__(self, gpu: Device, address: int, shape: tuple[int, ...], strides: tuple[int, ...], owner: Any) -> None:
        self._gpu, self._address, self._owner = gpu, address, owner
        self.shape, self.strides = shape, strides

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> DeviceArray:
        """A part by whole numbers and slices, where it lies: `a[:, -1]` is the end of every case."""
        given = index if isinstance(index, tuple) else (index,)
        plain = all(part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in given)
        if not plain or len(given) - given.count(Ellipsis) > self.ndim:
            raise IndexError("a DeviceArray takes whole numbers and slices; CuPy, JAX and PyTorch take the rest")
        # NumPy finds the part of an array that lies nowhere, and none of its numbers is read.
        whole = np.lib.stride_tricks.as_strided(np.empty(1), self.shape, self.strides)
        part = whole[given if Ellipsis in given else (*given, ...)]
        address = self._address + part.ctypes.data - whole.ctypes.data
        return DeviceArray(self._gpu, address, part.shape, part.strides, self._owner)

    def __repr__(self) -> str:
        return f"DeviceArray({' × '.join(map(str, self.shape)) or '1'} doubles on {self._gpu.name})"

    # -- for others ----------------------------------------------------------------------------------------------------

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self.strides == row_major(self.shape) else self.strides
        address = self._address if self.size else 0
        return {
            "shape": self.shape, "typestr": "<f8", "data": (address, False), "strides": strides, "version": 3,
            "stream": None,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._gpu.dlpack

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device not in (None, self._gpu.dlpack):
            raise BufferError("the numbers are on the GPU: np.asarray(a) copies them here")
        held = self.compact(always=True) if copy else self
        return capsule_of(
            TensorView(held._address, held.shape, held.strides, self._gpu.dlpack, True, (held, held._owner))
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.to_host()
        return found if dtype is None else found.astype(dtype, copy=False)

    # -- copies --------------------------------------------------------------------------------------------------------

    def to_host(self) -> np.ndarray:
        """The numbers in memory of this machine."""
        self._gpu.enter()
        whole = self.compact()
        order = _slowest_first(whole)
        found = np.empty([whole.shape[axis] for axis in order])
        self._gpu.fetch(whole._address, found)
        return found.transpose(np.argsort(order))

    @property
    def is_compact(self) -> bool:
        """Whether its numbers follow each other without gaps, in whatever order of its dimensions."""
        order = [axis for axis in _slowest_first(self) if self.shape[axis] != 1]
        return row_major(tuple(self.shape[axis] for axis in order)) == tuple(self.strides[axis] for axis in order)

    def compact(self, always: bool = False) -> DeviceArray:
        """The same numbers without gaps, as JAX asks for: itself where there are none, else a copy on the GPU."""
        if self.is_compact and not always:
            return self
        memory = self._gpu.allocate_for_others(8 * self.size)
        order = _slowest_first(self)
        strides = row_major(tuple(self.shape[axis] for axis in order))
        found = DeviceArray(
            self._gpu,
            memory.address,
            self.shape,
            tuple(strides[order.index(axis)] for axis in range(self.ndim)),
            memory,
        )
        self.copy_to(memory.address)
        self._gpu.wait_for_copies()
        return found

    def copy_to(self, address: int) -> None:
        """Copy the numbers to another place of the GPU, without gaps, the dimension with the longest stride slowest."""
        levels = [(self.shape[axis], self.strides[axis]) for axis in _slowest_first(self)] or [(1, 8)]
        if levels[-1][1] != 8:
            levels.append((1, 8))
        width = 8 * levels[-1][0]
        height, pitch = levels[-2] if len(levels) > 1 else (1, width)
        outer = levels[:-2]
        for position, place in enumerate(itertools.product(*(range(size) for size, _ in outer))):
            source = self._address + sum(k * stride for k, (_, stride) in zip(place, outer))
            target = address + position * height * width
            if pitch >= width:
                self._gpu.copy_rows(target, width, source, pitch, (width, height))
                continue
            for k in range(height):  # rows that overlap, as those of one number repeated do
                self._gpu.copy_rows(target + k * width, width, source + k * pitch, width, (width, 1))


def _slowest_first(array: DeviceArray) -> list[int]:
    """The dimensions from the longest stride to the shortest; those of one entry do not matter and come first."""
    return sorted(range(array.ndim), key=lambda axis: (array.shape[axis] != 1, -array.strides[axis]))


def uploaded(gpu: Device, values: np.ndarray) -> DeviceArray:
    """A copy of an array on the GPU."""
    values = np.ascontiguousarray(values, dtype=float)
    gpu.enter()
    memory = gpu.allocate_for_others(values.nbytes)
    gpu.send(values, memory.address)
    gpu.wait_for_copies()
    return DeviceArray(gpu, memory.address, values.shape, row_major(values.shape), memory)


def is_on_device(values: Any) -> bool:
    """Whether values lie on a GPU, by whichever interface they say so."""
    if isinstance(values, (DeviceArray, np.ndarray, list, tuple)):
        return isinstance(values, DeviceArray)
    if hasattr(values, "__cuda_array_interface__"):
        return True
    where = getattr(values, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == DLPACK_CUDA


def device_array(values: Any, name: str) -> DeviceArray:
    """Values of another library as they lie on the GPU; what was queued to write them is waited for."""
    if isinstance(values, DeviceArray):
        return values
    gpu = device()
    gpu.enter()
    if hasattr(values, "__cuda_array_interface__"):
        found = _by_interface(gpu, values)
    else:
        found = view_of(values.__dlpack__(stream=LEGACY_STREAM))
        gpu.wait_for_copies()
    if not found.is_double or found.device != gpu.dlpack:
        raise InputError(
            f"The values of {name} on the GPU have the wrong type or device.",
            "doubles of the first GPU are" if found.is_double else "they are not 64-bit floating-point numbers",
            remedy="astype(float64) on the first GPU, or values of this machine",
        )
    return DeviceArray(gpu, *found[:3], found.owner)


def _by_interface(gpu: Device, values: Any) -> TensorView:
    told = values.__cuda_array_interface__
    shape = tuple(int(size) for size in told["shape"])
    strides = told.get("strides")
    if "stream" not in told:
        gpu.wait_for_all()
    elif told["stream"] is not None:
        gpu.wait(int(told["stream"]))
    is_double = told["typestr"] in ("<f8", "=f8") and told.get("mask") is None
    steps = row_major(shape) if strides is None else tuple(int(stride) for stride in strides)
    return TensorView(int(told["data"][0]), shape, steps, gpu.dlpack, is_double, values)
