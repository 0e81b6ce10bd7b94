"""The CUDA driver by ctypes: no toolkit and no package beside what every machine with an NVIDIA GPU has."""

from __future__ import annotations

import ctypes as c
import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from daedalus.compilation.lanes.ptx import LEAST_CAPABILITY
from daedalus.ensembles.gpu.device_memory import DeviceMemory, MemoryPool
from daedalus.errors import SolverError
from daedalus.model.lazy_values import cached_property

# What the driver calls these attributes of a device and of a function.
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76
_JIT_ERROR_LOG, _JIT_ERROR_LOG_SIZE = 5, 6
_OUT_OF_MEMORY = 2
# The stream of all that names none. Streams that do not wait for it; where memory lies, in copies of rows.
LEGACY_STREAM = 1
_NON_BLOCKING, _HOST, _DEVICE = 1, 1, 2
# Bytes that wait for the next call: one large result.
KEPT_ON_DEVICE, KEPT_PINNED = 2**31, 2**31
# Threads that go together, and the blocks of threads that are thought of.
_WARP = 32
_BLOCKS = (512, 384, 320, 256, 192, 160, 128, 96, 64, _WARP)
# The kind and number of the device as DLPack writes it.
DLPACK_CUDA = 2

Got = TypeVar("Got")
_OUT_OF_MEMORY_REMEDY = 'summary=, save_at="end", fewer cases at once, or free what other programs hold there'


class OutOfDeviceMemoryError(SolverError):
    """The GPU has no room for so many cases at once."""


@functools.cache
def why_no_gpu() -> str:
    """Why there is no GPU to use, in a sentence; empty where there is one."""
    try:
        device()
    except (OSError, SolverError) as error:
        return str(error).splitlines()[0].rstrip(".")
    return ""


@functools.cache
def device() -> Device:
    """The first GPU of this machine; raises OSError or SolverError where there is none."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = c.CDLL(name)
    except OSError as error:
        raise OSError(f"no NVIDIA driver was found ({error})") from None
    return Device(library)


class _Rows(c.Structure):
    """CUDA_MEMCPY2D: rows of equal width from one place to another."""

    _fields_ = [
        ("from_x", c.c_size_t), ("from_y", c.c_size_t), ("from_kind", c.c_int), ("from_host", c.c_void_p),
        ("from_device", c.c_uint64), ("from_array", c.c_void_p), ("from_pitch", c.c_size_t),
        ("to_x", c.c_size_t), ("to_y", c.c_size_t), ("to_kind", c.c_int), ("to_host", c.c_void_p),
        ("to_device", c.c_uint64), ("to_array", c.c_void_p), ("to_pitch", c.c_size_t),
        ("width", c.c_size_t), ("height", c.c_size_t),
    ]  # fmt: skip


class Device:
    """A GPU with its context: memory, copies, streams, kernels."""

    dlpack = (DLPACK_CUDA, 0)

    def __init__(self, library: Any) -> None:
        self._library = library
        self._do("cuInit", 0)
        handle = c.c_int()
        self._do("cuDeviceGet", c.byref(handle), 0)
        text = c.create_string_buffer(128)
        self._do("cuDeviceGetName", text, 128, handle)
        self.name = text.value.decode()
        self.multiprocessors = self._attribute(_MULTIPROCESSORS, handle)
        self.capability = (self._attribute(_MAJOR, handle), self._attribute(_MINOR, handle))
        if self.capability < LEAST_CAPABILITY:
            raise SolverError(f"{self.name} is older than the kernels.", f"its capability is {self.capability}")
        context = c.c_void_p()
        self._do("cuDevicePrimaryCtxRetain", c.byref(context), handle)
        self._context = context
        self.enter()
        self._pool = MemoryPool(self._get, self._free, KEPT_ON_DEVICE)
        self._pinned = MemoryPool(self._get_pinned, self._free_pinned, KEPT_PINNED)

    def _do(self, name: str, *arguments: Any) -> None:
        """One call of the driver; its errors become a SolverError."""
        code = getattr(self._library, name)(*arguments)
        if code == 0:
            return
        text = c.c_char_p()
        self._library.cuGetErrorString(code, c.byref(text))
        told = (text.value or b"no text").decode()
        if code == _OUT_OF_MEMORY:
            raise OutOfDeviceMemoryError(
                "The GPU is out of memory.",
                f"{name}: {told}",
                because="another program holds it, or one case alone needs more.",
                remedy=_OUT_OF_MEMORY_REMEDY,
            )
        raise SolverError("The CUDA driver refused a call.", f"{name}: {told} ({code})")

    def _attribute(self, which: int, handle: c.c_int) -> int:
        value = c.c_int()
        self._do("cuDeviceGetAttribute", c.byref(value), which, handle)
        return value.value

    def enter(self) -> None:
        """Make the context that of this thread."""
        self._do("cuCtxSetCurrent", self._context)

    # -- memory --------------------------------------------------------------------------------------------------------

    def free_bytes(self) -> int:
        """The memory that can be had: what is free, and what waits here."""
        free, total = c.c_size_t(), c.c_size_t()
        self._do("cuMemGetInfo_v2", c.byref(free), c.byref(total))
        return free.value + self._pool.waiting_bytes

    def allocate(self, size: int) -> DeviceMemory:
        """Memory of so many bytes; used again by later calls when nothing refers to it any more."""
        return self._in_room(self._pool.take, size)

    def allocate_for_others(self, size: int) -> DeviceMemory:
        """Memory that others may read at any time: the driver takes it back, when all that was launched is done."""
        return DeviceMemory(lambda address, _: self._free(address), self._in_room(self._get, size), size)

    def _in_room(self, get: Callable[[int], Got], size: int) -> Got:
        """What is got of so many bytes, once more without what waits here where there was no room."""
        try:
            return get(size)
        except OutOfDeviceMemoryError:
            self._pool.clear()
            return get(size)

    def _get(self, size: int) -> int:
        address = c.c_uint64()
        self._do("cuMemAlloc_v2", c.byref(address), c.c_size_t(max(size, 8)))
        return address.value

    def _free(self, address: int) -> None:
        self.enter()
        self._do("cuMemFree_v2", c.c_uint64(address))

    def _get_pinned(self, size: int) -> int:
        address = c.c_void_p()
        self._do("cuMemAllocHost_v2", c.byref(address), c.c_size_t(size))
        assert address.value is not None
        return address.value

    def _free_pinned(self, address: int) -> None:
        self.enter()
        self._do("cuMemFreeHost", c.c_void_p(address))

    def pinned(self, shape: tuple[int, ...]) -> np.ndarray:
        """An array of doubles of this machine, which the GPU copies to and from at full speed and by itself."""
        count = int(np.prod(shape, dtype=np.int64))
        memory = self._pinned.take(8 * count)
        buffer = (c.c_double * max(count, 1)).from_address(memory.address)
        buffer.held = memory  # type: ignore[attr-defined]
        return np.ctypeslib.as_array(buffer)[:count].reshape(shape)

    # -- copies --------------------------------------------------------------------------------------------------------

    def send(self, values: np.ndarray, to: int, stream: Stream | None = None) -> None:
        """Copy an array to an address of the GPU; on a stream it stays as it is until that was waited for."""
        if values.nbytes:
            source, size = c.c_void_p(values.ctypes.data), c.c_size_t(values.nbytes)
            if stream is None:
                self._do("cuMemcpyHtoD_v2", c.c_uint64(to), source, size)
            else:
                self._do("cuMemcpyHtoDAsync_v2", c.c_uint64(to), source, size, stream.handle)

    def fetch(self, address: int, into: np.ndarray) -> None:
        """Copy memory of the GPU into an array."""
        if into.nbytes:
            self._do("cuMemcpyDtoH_v2", c.c_void_p(into.ctypes.data), c.c_uint64(address), c.c_size_t(into.nbytes))

    def fetch_columns(self, address: int, into: np.ndarray, columns: range, stream: Stream) -> None:
        """Copy some columns of every row of an array that lies on the GPU as `into` does here."""
        pitch, first = 8 * into.shape[-1], 8 * columns.start
        rows = _Rows(
            from_kind=_DEVICE, from_device=address + first, from_pitch=pitch, to_kind=_HOST,
            to_host=into.ctypes.data + first, to_pitch=pitch, width=8 * len(columns), height=8 * into.size // pitch,
        )  # fmt: skip
        if into.size:
            self._do("cuMemcpy2DAsync_v2", c.byref(rows), stream.handle)

    def copy_rows(
        self, to: int, to_pitch: int, source: int, pitch: int, shape: tuple[int, int], from_host: bool = False
    ) -> None:
        """Copy rows of (bytes, rows), a pitch apart, to an address of the GPU."""
        where = {"from_host": source} if from_host else {"from_device": source}
        rows = _Rows(
            from_kind=_HOST if from_host else _DEVICE, from_pitch=pitch, to_kind=_DEVICE, to_device=to,
            to_pitch=to_pitch, width=shape[0], height=shape[1], **where,
        )  # fmt: skip
        self._do("cuMemcpy2DUnaligned_v2", c.byref(rows))

    # -- streams and kernels -------------------------------------------------------------------------------------------

    def stream(self) -> Stream:
        """A new queue of work, which does not wait for others."""
        handle = c.c_void_p()
        self._do("cuStreamCreate", c.byref(handle), _NON_BLOCKING)
        return Stream(self, handle)

    def wait(self, stream: int | c.c_void_p) -> None:
        """Wait until all on a stream is done."""
        self._do("cuStreamSynchronize", c.c_void_p(stream) if isinstance(stream, int) else stream)

    def wait_for_copies(self) -> None:
        """Wait for copies that are on no stream of their own."""
        self.wait(LEGACY_STREAM)

    def wait_for_all(self) -> None:
        """Wait until all that was launched is done."""
        self._do("cuCtxSynchronize")

    def close(self, stream: c.c_void_p) -> None:
        """Give a stream back."""
        self.enter()
        self._do("cuStreamDestroy_v2", stream)

    def load(self, text: bytes, name: str) -> DeviceKernel:
        """A kernel of PTX, compiled by the driver, which keeps what it compiled on disk."""
        log = c.create_string_buffer(8192)
        options = (c.c_int * 2)(_JIT_ERROR_LOG, _JIT_ERROR_LOG_SIZE)
        values = (c.c_void_p * 2)(c.cast(log, c.c_void_p), c.c_void_p(len(log)))
        module, function = c.c_void_p(), c.c_void_p()
        code = self._library.cuModuleLoadDataEx(c.byref(module), text + b"\0", 2, options, values)
        if code:
            told = log.value.decode().splitlines()[:3] or [str(code)]
            raise SolverError("The CUDA driver rejected a kernel.", told)
        self._do("cuModuleGetFunction", c.byref(function), module, name.encode())
        return DeviceKernel(self, function, module)

    def active_blocks(self, function: c.c_void_p, threads: int) -> int:
        """How many blocks of so many threads a multiprocessor runs at once."""
        found = c.c_int()
        self._do("cuOccupancyMaxActiveBlocksPerMultiprocessor", c.byref(found), function, threads, c.c_size_t(0))
        return found.value

    def launch(
        self, function: c.c_void_p, blocks: int, threads: int, arguments: list[Any], stream: Stream | None = None
    ) -> None:
        """Start a kernel."""
        table = (c.c_void_p * len(arguments))(*(c.cast(c.pointer(a), c.c_void_p) for a in arguments))
        queue = None if stream is None else stream.handle
        self._do("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, queue, table, None)


class Stream:
    """A queue of work on the GPU."""

    def __init__(self, owner: Device, handle: c.c_void_p) -> None:
        self._owner, self.handle = owner, handle

    def wait(self) -> None:
        """Wait until all on it is done."""
        self._owner.wait(self.handle)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._owner.close(self.handle)


class DeviceKernel:
    """A kernel on the GPU."""

    def __init__(self, owner: Device, function: c.c_void_p, module: c.c_void_p) -> None:
        self._owner, self._function, self._module = owner, function, module

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Threads of a block and blocks of a multiprocessor: as many threads as it holds, in the fewest blocks."""
        found = [(threads, self._owner.active_blocks(self._function, threads)) for threads in _BLOCKS]
        return max(found, key=lambda pair: (pair[0] * pair[1], pair[0]))

    def start(self, count: int, addresses: list[int], numbers: list[int], stream: Stream | None = None) -> None:
        """Run so many cases: as many blocks as the GPU holds at once; each thread goes on with the next free case."""
        threads, held = self.shape
        # Few cases are spread over all multiprocessors.
        threads = min(threads, max(_WARP, _WARP * -(-count // (_WARP * self._owner.multiprocessors))))
        blocks = min(-(-count // threads), held * self._owner.multiprocessors)
        arguments: list[Any] = [c.c_uint64(address) for address in addresses]
        arguments += [c.c_int64(number) for number in numbers]
        self._owner.launch(self._function, blocks, threads, arguments, stream)
