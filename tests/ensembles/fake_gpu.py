"""A CUDA driver without a GPU: its memory is that of this machine, and its kernels are compiled for the processor.

It answers the calls of `Device` at the level of ctypes: addresses, structures, error codes. Memory that was freed is
known, so that a use after it, or a leak, is seen.
"""

import ctypes as c

from daedalus.compilation.lanes.machine import kernel_code
from daedalus.ensembles.gpu import cuda_driver, device_array, gpu_runs
from daedalus.ensembles.gpu.cuda_driver import _DEVICE, _HOST, Device, _Rows
from daedalus.ensembles.lanes.kernel_frame import ARGUMENTS

OUT_OF_MEMORY = 2
_KINDS = [c.c_void_p if argument.startswith("ptr") else c.c_int64 for argument in ARGUMENTS]


class FakeDriver:
    """What `ctypes.CDLL("libcuda.so.1")` is elsewhere; `room` bytes can be had at once."""

    def __init__(self, room=2**30, capability=(9, 0)):
        self.room, self.capability = room, capability
        self.held, self.pinned, self.calls = {}, {}, []
        self._code = {}

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        return lambda *arguments: self._noted(name, arguments)

    def _noted(self, name, arguments):
        self.calls.append(name)
        return getattr(self, f"_{name}", lambda *_: 0)(*arguments) or 0

    @property
    def used(self):
        return sum(len(buffer) for buffer in self.held.values())

    def _cuGetErrorString(self, code, text):
        text._obj.value = b"out of memory" if code == OUT_OF_MEMORY else b"some error"

    def _cuDeviceGetName(self, text, size, handle):
        text.value = b"Fake GPU"

    def _cuDeviceGetAttribute(self, value, which, handle):
        value._obj.value = {16: 2, 75: self.capability[0], 76: self.capability[1]}[which]

    def _cuMemGetInfo_v2(self, free, total):
        free._obj.value, total._obj.value = self.room - self.used, self.room

    def _cuMemAlloc_v2(self, address, size):
        if self.used + size.value > self.room:
            return OUT_OF_MEMORY
        buffer = c.create_string_buffer(b"\xff" * size.value, size.value)
        address._obj.value = c.addressof(buffer)
        self.held[c.addressof(buffer)] = buffer
        return 0

    def _cuMemFree_v2(self, address):
        del self.held[address.value]

    def _cuMemAllocHost_v2(self, address, size):
        buffer = c.create_string_buffer(size.value)
        address._obj.value = c.addressof(buffer)
        self.pinned[c.addressof(buffer)] = buffer

    def _cuMemFreeHost(self, address):
        del self.pinned[address.value]

    def _owned(self, address, size):
        """That some bytes lie in memory that is held."""
        assert any(first <= address and address + size <= first + len(b) for first, b in self.held.items())

    def _cuMemcpyHtoD_v2(self, target, source, size):
        self._owned(target.value, size.value)
        c.memmove(target.value, source.value, size.value)

    def _cuMemcpyDtoH_v2(self, target, source, size):
        self._owned(source.value, size.value)
        c.memmove(target.value, source.value, size.value)

    def _cuMemcpyHtoDAsync_v2(self, target, source, size, stream):
        assert any(first <= source.value < first + len(b) for first, b in self.pinned.items())
        self._cuMemcpyHtoD_v2(target, source, size)

    def _cuMemcpy2DAsync_v2(self, rows, stream):
        rows = rows._obj
        assert (rows.from_kind, rows.to_kind) == (_DEVICE, _HOST)
        for k in range(rows.height):
            source, target = rows.from_device + k * rows.from_pitch, rows.to_host + k * rows.to_pitch
            self._owned(source, rows.width)
            assert any(f <= target and target + rows.width <= f + len(b) for f, b in self.pinned.items())
            c.memmove(target, source, rows.width)

    def _cuMemcpy2DUnaligned_v2(self, rows):
        rows = rows._obj
        assert isinstance(rows, _Rows)
        assert rows.to_kind == _DEVICE
        source = rows.from_host if rows.from_kind == _HOST else rows.from_device
        for k in range(rows.height):
            self._owned(rows.to_device + k * rows.to_pitch, rows.width)
            c.memmove(rows.to_device + k * rows.to_pitch, source + k * rows.from_pitch, rows.width)

    def _cuStreamCreate(self, handle, flags):
        handle._obj.value = 0x100

    def _cuModuleLoadDataEx(self, module, text, count, options, values):
        code = kernel_code(text.rstrip(b"\0").decode())
        module._obj.value = len(self._code) + 1
        self._code[module._obj.value] = code

    def _cuModuleGetFunction(self, function, module, name):
        function._obj.value = module.value

    def _cuOccupancyMaxActiveBlocksPerMultiprocessor(self, found, function, threads, shared):
        found._obj.value = 2

    def _cuLaunchKernel(self, function, *rest):
        table = rest[8]
        code = self._code[function.value]
        arguments = [c.cast(table[k], c.POINTER(c.c_uint64))[0] for k in range(len(ARGUMENTS))]
        c.CFUNCTYPE(None, *_KINDS)(code.address)(*arguments)


class FakeDevice(Device):
    """A device whose memory others may read as that of a processor, so that NumPy takes its DLPack capsules."""

    dlpack = (1, 0)


def install(monkeypatch, **options):
    """A machine with a fake GPU, for one test; its driver is returned."""
    driver = FakeDriver(**options)
    gpu = FakeDevice(driver)
    for file in (cuda_driver, device_array, gpu_runs):
        monkeypatch.setattr(file, "device", lambda: gpu)
    monkeypatch.setattr(gpu_runs, "ptx_of", str.encode)
    monkeypatch.setattr(gpu_runs, "gpu_text", lambda lanes: lanes.text(1))
    monkeypatch.setattr(gpu_runs, "_kernels", type(gpu_runs._kernels)())
    for file in ("daedalus.ensembles.sweep", "daedalus.ensembles.ways"):
        monkeypatch.setattr(f"{file}.why_no_gpu", lambda: "")
    return driver
