"""Kernels on lanes to machine code of this processor, and the width that suits its instruction set."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from daedalus.compilation import disk_cache, machine_code

# To be raised whenever the generated code changes, so that older entries of the disk cache are not used.
CODE_VERSION = 1
# What runs on a kernel: functions are put in, cells become registers, and what is left over goes.
PASSES = ("always_inliner", "sroa", "instruction_combine", "new_gvn", "aggressive_dce", "simplify_cfg")


def lane_width() -> int:
    """How many doubles this processor computes with at once: 8 with AVX-512, 4 with AVX2, 2 with NEON; else 0."""
    host = machine_code.host()
    if not host.has_fused_multiply_add:
        return 0
    features = host.features.split(",")
    if "+avx512f" in features:
        return 8
    return 4 if "+avx2" in features else 2


@functools.cache
def _passes(machine: Any) -> tuple[Any, Any]:
    """The passes for a processor, and what builds them; made once, since LLVM's binding never frees them."""
    llvm = machine_code.binding()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    return passes, builder


def kernel_code(text: str) -> machine_code.MachineCode:
    """The code of a kernel called ENTRY, from the disk cache where it is there.

    Raises RuntimeError where LLVM gives up, ImportError or OSError where it is missing.
    """
    host, level = machine_code.host(), machine_code.MOST_EFFORT
    key = hashlib.sha256(repr((CODE_VERSION, "lanes", host, level, text)).encode()).hexdigest()
    return disk_cache.code_of(
        key, lambda objects: machine_code.link(objects, strict=False), lambda: [lane_object(text)]
    )[0]


def lane_object(text: str) -> bytes:
    """Object code of a module on lanes for this processor; raises as `kernel_code` does."""
    machine = machine_code.target_machine(machine_code.MOST_EFFORT)
    return optimised(text, machine, lambda module: bytes(machine.emit_object(module)))


def optimised(text: str, machine: Any, emit: Callable[[Any], bytes]) -> bytes:
    """What is emitted for a processor of a module of LLVM text, once the passes ran on it."""
    with machine_code.LLVM_LOCK:
        module = machine_code.binding().parse_assembly(text, machine_code.binding().create_context())
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
        passes, builder = _passes(machine)
        passes.run(module, builder)
        return emit(module)
