"""LLVM's text to machine code in this process: the processor's description, object code, and linking it in.

Every function becomes a library of its own, unloaded when nothing refers to it any more. A linker serves a few of them
(making one costs 1 ms, a library of one function 0.2 ms) and goes with the last: it keeps 11 kB of each library that
was unloaded, and only its own end frees them. No passes run but one that joins comparisons with the
choices they feed: CasADi has simplified the expressions, repeated ones are merged while the text is written, and LLVM's
own pipeline made code no faster (measured: 12.1 ns for a quadrotor with it and without) at twice the time. Code that is
made without effort goes without any pass.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from daedalus.compilation.llvm_code import ENTRY
from daedalus.compilation.mathematics_library import addresses
from daedalus.model.forking import fork_safe_lock, hold_across_forks
from daedalus.model.interrupts import shelter_finaliser

# Taken around every piece of work in LLVM, for at most one module at a time, so that no child is forked amid one.
LLVM_LOCK = fork_safe_lock()

_library_numbers = itertools.count()

# How hard LLVM's code generator tries at most, 0 to 2; values are the same at every level.
MOST_EFFORT = 2
# How many libraries share a linker: about as many as a model has functions.
_SERVED = 16


class MachineCode(NamedTuple):
    """The address of a function with CasADi's C signature; valid as long as `owner` lives.

    size: bytes of object code it was linked from.
    """

    address: int
    owner: object
    size: int = 0


class Host(NamedTuple):
    """This machine as LLVM sees it."""

    llvm_version: str
    triple: str
    processor: str
    features: str

    @property
    def has_fused_multiply_add(self) -> bool:
        """Whether a·b + c is one instruction here; where it is not, the library's fma is far too slow."""
        return "+fma," in self.features + "," or self.triple.startswith(("aarch64", "arm64"))


@functools.cache
def binding() -> Any:
    """llvmlite's binding, imported and initialised at the first need; ImportError or OSError where it is missing."""
    with LLVM_LOCK:
        import llvmlite.binding as llvm

        # Libraries that go, in whatever thread, hold this lock alone.
        own = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
        if own is not None:
            hold_across_forks(own)
        # What belongs to LLVM is dropped all the time, while runs are prepared.
        shelter_finaliser(llvm.ffi.ObjectRef)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm


@functools.cache
def host() -> Host:
    """The description of this machine that object code is made for."""
    llvm = binding()
    with LLVM_LOCK:
        try:
            features = llvm.get_host_cpu_features().flatten()
        except RuntimeError:
            # Some systems do not tell; LLVM then assumes what every processor of the family has.
            features = ""
        version = ".".join(map(str, llvm.llvm_version_info))
        return Host(version, llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


@functools.cache
def target_machine(level: int) -> Any:
    """What makes code for this processor; level 0 to 3 is how hard it tries."""
    machine = host()
    with LLVM_LOCK:
        target = binding().Target.from_triple(machine.triple)
        return target.create_target_machine(cpu=machine.processor, features=machine.features, opt=level, jit=True)


@functools.cache
def _passes(level: int) -> tuple[Any, Any]:
    """What runs on each function, and what builds it; made once, since LLVM's binding never frees them."""
    llvm = binding()
    with LLVM_LOCK:
        builder = llvm.create_pass_builder(target_machine(level), llvm.create_pipeline_tuning_options(speed_level=1))
        passes = llvm.create_new_function_pass_manager()
        passes.add_instruction_combine_pass()
        return passes, builder


class _Linker:
    """LLVM's linker with the mathematical functions in it, for a few libraries that keep it alive."""

    def __init__(self) -> None:
        self.jit = binding().create_lljit_compiler(target_machine(2), suppress_errors=True)
        self.served = 0
        self._mathematics: dict[bool, Any] = {}

    def mathematics(self, strict: bool) -> str:
        """The name of a library that holds nothing but the names and addresses of the mathematical functions."""
        if strict not in self._mathematics:
            library = binding().JITLibraryBuilder()
            for name, address in addresses(strict).items():
                library.import_symbol(name, address)
            self._mathematics[strict] = library.link(self.jit, "strict mathematics" if strict else "mathematics")
        return str(self._mathematics[strict].name)

    def __del__(self) -> None:
        # What lies in a linker must be gone before it; at the end of the process all of it goes.
        if sys.is_finalizing():
            return
        for library in self._mathematics.values():
            library.close()
        self.jit.close()


_present_linker: _Linker | None = None


def _linker() -> _Linker:
    """The linker that serves next; the lock is held."""
    global _present_linker
    if _present_linker is None or _present_linker.served >= _SERVED:
        _present_linker = _Linker()
    _present_linker.served += 1
    return _present_linker


@functools.cache
def _loop_builder(vectors: bool) -> Any:
    """What builds LLVM's own pipeline for modules with loops, which become vector code where that is asked for."""
    llvm = binding()
    with LLVM_LOCK:
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = vectors
        # Runs whose lengths are in a table would be written out one after the other.
        options.loop_unrolling = False
        return llvm.create_pass_builder(target_machine(2), options)


def object_code(text: str, level: int, loops: bool = False, vectors: bool = True) -> bytes:
    """Object code of one module of LLVM text; level 0 to 3 is how hard the code generator tries.

    `loops`: the text has loops that are worth LLVM's whole pipeline. `vectors`: they become vector code, which takes
    LLVM more than twice as long.
    """
    llvm = binding()
    with LLVM_LOCK:
        machine = target_machine(level)
        # In a context of its own: the one that all would share keeps every number that was ever written.
        module = llvm.parse_assembly(text, llvm.create_context())
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        if loops:
            builder = _loop_builder(vectors)
            # A pipeline of modules runs once.
            builder.getModulePassManager().run(module, builder)
        elif level:
            passes, builder = _passes(level)
            for function in module.functions:
                if not function.is_declaration:
                    passes.run(function, builder)
        return bytes(machine.emit_object(module))


def link(objects: Iterable[bytes], strict: bool) -> MachineCode:
    """Put object code into executable memory, tied to the mathematical library.

    Raises RuntimeError when the objects do not fit together or a name is missing.
    """
    llvm = binding()
    with LLVM_LOCK:
        library = llvm.JITLibraryBuilder().export_symbol(ENTRY)
        size = 0
        for code in objects:
            library.add_object_img(code)
            size += len(code)
        linker = _linker()
        library.add_jit_library(linker.mathematics(strict)).add_current_process()
        owner = library.link(linker.jit, f"daedalus {next(_library_numbers)}")
        owner.linker = linker
        return MachineCode(owner[ENTRY], owner, size)
