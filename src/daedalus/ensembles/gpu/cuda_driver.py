"""The CUDA driver by ctypes: no toolkit and no package beside what every machine with an NVIDIA GPU has."""

from __future__ import annotations

import ctypes as c
import functools
import sys
from typing import Any

import numpy as np

from daedalus.errors import SolverError

# What the driver calls these attributes of a device and of a function.
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76
_JIT_ERROR_LOG, _JIT_ERROR_LOG_SIZE = 5, 6
_OUT_OF_MEMORY = 2


class OutOfDeviceMemoryError(SolverError):
    """The GPU has no room for so many cases at once."""


@functools.cache
def why_no_gpu() -> str:
    """Why there is no GPU to use, in a sentence; empty where there is one."""
    try:
        device()
    except (OSError, SolverError) as error:
        return str(error).splitlines()[0]
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


class Device:
    """A GPU with its context: memory, copies, kernels."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._do("cuInit", 0)
        handle = c.c_int()
        self._do("cuDeviceGet", c.byref(handle), 0)
        context = c.c_void_p()
        self._do("cuDevicePrimaryCtxRetain", c.byref(context), handle)
        self._context = context
        self.enter()
        text = c.create_string_buffer(128)
        self._do("cuDeviceGetName", text, 128, handle)
        self.name = text.value.decode()
        self.multiprocessors = self._attribute(_MULTIPROCESSORS, handle)
        self.capability = (self._attribute(_MAJOR, handle), self._attribute(_MINOR, handle))

    def _do(self, name: str, *arguments: Any) -> None:
        """One call of the driver; its errors become a SolverError."""
        code = getattr(self._library, name)(*arguments)
        if code == 0:
            return
        text = c.c_char_p()
        self._library.cuGetErrorString(code, c.byref(text))
        told = (text.value or b"no text").decode()
        if code == _OUT_OF_MEMORY:
            raise OutOfDeviceMemoryError("The GPU is out of memory.", f"{name}: {told}")
        raise SolverError("The CUDA driver refused a call.", f"{name}: {told} ({code})")

    def _attribute(self, which: int, handle: c.c_int) -> int:
        value = c.c_int()
        self._do("cuDeviceGetAttribute", c.byref(value), which, handle)
        return value.value

    def enter(self) -> None:
        """Make the context that of this thread."""
        self._do("cuCtxSetCurrent", self._context)

    def free_bytes(self) -> int:
        """The memory that is free."""
        free, total = c.c_size_t(), c.c_size_t()
        self._do("cuMemGetInfo_v2", c.byref(free), c.byref(total))
        return free.value

    def allocate(self, size: int) -> DeviceMemory:
        """Memory of so many bytes, given back when nothing refers to it any more."""
        address = c.c_uint64()
        self._do("cuMemAlloc_v2", c.byref(address), c.c_size_t(max(size, 8)))
        return DeviceMemory(self, address.value, size)

    def release(self, address: int) -> None:
        """Give memory back."""
        self.enter()
        self._do("cuMemFree_v2", c.c_uint64(address))

    def upload(self, values: np.ndarray) -> DeviceMemory:
        """An array copied to the GPU."""
        values = np.ascontiguousarray(values)
        memory = self.allocate(values.nbytes)
        if values.nbytes:
            source = c.c_void_p(values.ctypes.data)
            self._do("cuMemcpyHtoD_v2", c.c_uint64(memory.address), source, c.c_size_t(values.nbytes))
        return memory

    def download(self, memory: DeviceMemory, into: np.ndarray) -> None:
        """Memory of the GPU copied into an array; waits for what was launched before."""
        target = c.c_void_p(into.ctypes.data)
        self._do("cuMemcpyDtoH_v2", target, c.c_uint64(memory.address), c.c_size_t(into.nbytes))

    def pinned(self, shape: tuple[int, ...]) -> np.ndarray:
        """An array of doubles that the GPU copies to at full speed."""
        count = max(1, int(np.prod(shape, dtype=np.int64)))
        address = c.c_void_p()
        self._do("cuMemAllocHost_v2", c.byref(address), c.c_size_t(8 * count))
        assert address.value is not None
        buffer = (c.c_double * count).from_address(address.value)
        buffer._owner = _PinnedMemory(self, address.value)  # type: ignore[attr-defined]
        return np.ctypeslib.as_array(buffer)[: int(np.prod(shape, dtype=np.int64))].reshape(shape)

    def release_pinned(self, address: int) -> None:
        """Give a pinned array back."""
        self.enter()
        self._do("cuMemFreeHost", c.c_void_p(address))

    def load(self, text: bytes, name: str) -> DeviceKernel:
        """A kernel of PTX, compiled by the driver, which keeps what it compiled on disk."""
        log = c.create_string_buffer(8192)
        options = (c.c_int * 2)(_JIT_ERROR_LOG, _JIT_ERROR_LOG_SIZE)
        values = (c.c_void_p * 2)(c.cast(log, c.c_void_p), c.c_void_p(len(log)))
        module, function = c.c_void_p(), c.c_void_p()
        code = self._library.cuModuleLoadDataEx(c.byref(module), text + b"\0", 2, options, values)
        if code:
            told = log.value.decode().splitlines()[:3] or [str(code)]
            raise SolverError("The CUDA driver did not take a kernel.", told)
        self._do("cuModuleGetFunction", c.byref(function), module, name.encode())
        return DeviceKernel(self, function, module)

    def active_blocks(self, function: c.c_void_p, threads: int) -> int:
        """How many blocks of so many threads a multiprocessor runs at once."""
        found = c.c_int()
        self._do("cuOccupancyMaxActiveBlocksPerMultiprocessor", c.byref(found), function, threads, c.c_size_t(0))
        return max(found.value, 1)

    def launch(self, function: c.c_void_p, blocks: int, threads: int, arguments: list[Any]) -> None:
        """Start a kernel."""
        table = (c.c_void_p * len(arguments))(*(c.cast(c.pointer(a), c.c_void_p) for a in arguments))
        self._do("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, table, None)

    def wait(self) -> None:
        """Wait until all that was launched is done."""
        self._do("cuCtxSynchronize")


class DeviceMemory:
    """Memory on the GPU."""

    def __init__(self, owner: Device, address: int, size: int) -> None:
        self._owner, self.address, self.size = owner, address, size

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._owner.release(self.address)


class _PinnedMemory:
    def __init__(self, owner: Device, address: int) -> None:
        self._owner, self._address = owner, address

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._owner.release_pinned(self._address)


class DeviceKernel:
    """A kernel on the GPU."""

    def __init__(self, owner: Device, function: c.c_void_p, module: c.c_void_p) -> None:
        self._owner, self._function, self._module = owner, function, module

    def start(self, count: int, memory: list[DeviceMemory], numbers: list[int], threads: int = 256) -> None:
        """Run so many cases: as many blocks as the GPU holds at once; each thread goes on with the next free case."""
        at_once = self._owner.active_blocks(self._function, threads) * self._owner.multiprocessors
        blocks = min(-(-count // threads), at_once)
        arguments: list[Any] = [c.c_uint64(m.address) for m in memory]
        arguments += [c.c_int64(number) for number in numbers]
        self._owner.launch(self._function, blocks, threads, arguments)
