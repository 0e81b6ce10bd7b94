"""Kernels on lanes of one case each to PTX, the text that NVIDIA's driver compiles for any of its GPUs."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from daedalus.compilation import disk_cache, machine_code
from daedalus.compilation.lanes.machine import CODE_VERSION, optimised

# The lowest that has all that kernels use: drivers from 2018 on take it, and compile it for every later GPU.
CHIP, VERSION, LEAST_CAPABILITY = "sm_70", "+ptx60", (7, 0)
TRIPLE = "nvptx64-nvidia-cuda"


@functools.cache
def _machine() -> Any:
    llvm = machine_code.binding()
    with machine_code.LLVM_LOCK:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=CHIP, features=VERSION, opt=3)


def ptx_of(text: str) -> bytes:
    """The PTX of a module of LLVM text, from the disk cache where it is there."""
    details = (CODE_VERSION, "ptx", machine_code.host().llvm_version, CHIP, VERSION, text)
    key = hashlib.sha256(repr(details).encode()).hexdigest()

    def compiled() -> list[bytes]:
        machine = _machine()
        return [optimised(text, machine, lambda module: str(machine.emit_assembly(module)).encode())]

    return disk_cache.code_of(key, lambda stored: stored[0], compiled)[0]
