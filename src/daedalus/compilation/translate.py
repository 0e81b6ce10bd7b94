"""From a CasADi function to the best code this machine can give it: cached object, LLVM, C compiler, interpreter."""

from __future__ import annotations

import hashlib
import struct
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca

from daedalus.compilation import background, c_compiler, disk_cache, interpreter, machine_code
from daedalus.compilation.array_code import ArrayCode, array_code
from daedalus.compilation.counting import count
from daedalus.compilation.foreign_calls import calls_foreign_code, python_call
from daedalus.compilation.lanes.machine import lane_object, lane_width
from daedalus.compilation.llvm_code import Style, modules
from daedalus.compilation.part_code import part_code
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError

# Up to this many instructions a function is compiled at once, as one piece (about 45 µs an instruction).
AT_ONCE = 3000
# Without effort an instruction takes a third of that.
AT_ONCE_QUICK = 9000
# Longer ones are cut: up to here the time per instruction hardly grows with the length of a piece, and longer pieces
# pass fewer values through memory; a piece takes about 0.1 s, which is as long as the end of a process has to wait.
CHUNK = 2000
# Vector code takes LLVM 0.8 ms more for each operation written in a loop, and saves 0.3 ns each time that it is done.
# Where loops do it less often than this in a call, a thousand calls do not pay for it: the first ones do without.
VECTORS_PAY = 2500
# To be raised whenever the generated code changes, so that older entries of the disk cache are not used.
CODE_VERSION = 3
# How many numbers of working memory code needs, as the last object of its entry in the disk cache.
_WORK = struct.Struct("<Q")


class CodeWish(NamedTuple):
    """How a function is to be translated: with CasADi's bits or not, without effort or not, and by whom.

    quick: LLVM hardly looks for registers. A third of the time to compile, calls take up to half as long again: for
    functions that are called some thousand times, not millions. seldom: inputs that seldom change.
    """

    strict: bool
    quick: bool
    choice: str
    seldom: tuple[int, ...] = ()

    @property
    def at_once(self) -> int:
        """Up to how many instructions a function is compiled at once."""
        return AT_ONCE_QUICK if self.quick else AT_ONCE


class _NotStoredError(Exception):
    """The disk cache has no code of a function, and none is to be compiled or can be."""


class TranslationOutcome(NamedTuple):
    """What a translation came to; where there is no machine code, the interpreter stands in and `reason` says why.

    uncached: why the disk cache was left aside, empty where it was not. work: how many numbers of working memory the
        code needs. python: for functions that call foreign code, CasADi's evaluation as a Python function. parted:
        equal parts are computed side by side.
    """

    tier: str
    reason: str = ""
    seconds: float = 0.0
    code: machine_code.MachineCode | None = None
    interpreted: interpreter.Interpreted | None = None
    uncached: str = ""
    work: int = 0
    python: Callable[..., Any] | None = None
    parted: bool = False

    def install(self, core: Any, unfinished: object = None) -> None:
        """Point a _core.Function at this, which keeps alive what is still to bring its final code."""
        if self.code is not None:
            core.set_machine_code(self.code.address, (self.code.owner, unfinished))
        elif self.interpreted is not None:
            road, owner = interpreter.addresses(), (self.interpreted, unfinished)
            core.set_interpreter(road.evaluate, self.interpreted.id, owner, road.checkout, road.release)
        elif self.python is not None:
            core.set_python(self.python)


def interpreted(f: ca.Function, reason: str) -> TranslationOutcome:
    """The function on CasADi's interpreter; one that calls foreign code is called as Python."""
    started = time.perf_counter()
    if calls_foreign_code(f):
        return TranslationOutcome("interpreter", reason, python=python_call(f))
    loaded = interpreter.interpret(f)
    return TranslationOutcome("interpreter", reason, time.perf_counter() - started, interpreted=loaded)


def left_to_interpreter(f: ca.Function, reason: str) -> TranslationOutcome:
    """The function on CasADi's interpreter for good."""
    count("interpreted")
    return interpreted(f, reason)


def strict_within_reach() -> bool:
    """Whether code can call the very mathematical library that CasADi's interpreter calls."""
    return sys.platform in ("linux", "darwin")


def translate(f: ca.Function, rows: Instructions, wish: CodeWish) -> TranslationOutcome:
    """Go down the chain until something works; the interpreter always does.

    Between the pieces of a long function the background thread gives up where the process is about to end.
    """
    started = time.perf_counter()
    reasons: list[str] = []
    outcome, strict, choice = None, wish.strict, wish.choice
    try:
        if strict and not strict_within_reach():
            raise UnknownOperationError("CasADi's mathematical library is out of reach on this system")
        if choice in ("auto", "llvm"):
            outcome = _with_llvm(rows, wish, reasons, f.sz_w())
        if outcome is None and choice in ("auto", "c"):
            outcome = _with_c_compiler(f, rows, strict, reasons)
    except UnknownOperationError as unknown:
        reasons.append(str(unknown))
    reason = "; ".join(reasons)
    if outcome is None:
        outcome = left_to_interpreter(f, reason)
    uncached = disk_cache.why_not_used()
    return outcome._replace(reason=reason, seconds=time.perf_counter() - started, uncached=uncached)


def stored_translation(rows: Instructions, wish: CodeWish, base: int) -> TranslationOutcome | None:
    """Machine code by llvmlite out of the disk cache, None where it is not there; `base` as for `as_parts`."""
    started = time.perf_counter()
    if wish.choice not in ("auto", "llvm") or (wish.strict and not strict_within_reach()):
        return None
    found = _with_llvm(rows, wish, [], base, only_stored=True)
    return None if found is None else found._replace(seconds=time.perf_counter() - started)


def _with_llvm(
    rows: Instructions, wish: CodeWish, reasons: list[str], base: int, only_stored: bool = False
) -> TranslationOutcome | None:
    """Machine code by llvmlite, from the disk cache if it is there; None, with a reason, where that fails.

    base: how many numbers of working memory CasADi uses. only_stored: whether nothing is to be compiled.
    """
    strict, whole = wish.strict, len(rows) <= wish.at_once
    level = min(machine_code.MOST_EFFORT, 0 if wish.quick else 2 if whole else 1)
    try:
        host = machine_code.host()
    except (ImportError, OSError) as error:
        reasons.append(f"llvmlite cannot be imported ({error})")
        return None
    try:
        hoisted = (wish.seldom, base) if wish.seldom else ()
        key = _key("llvm", rows, strict, level, host, ca.CasadiMeta.version(), *hoisted)
        chunk = wish.at_once if whole else CHUNK
        style = Style(strict, host.has_fused_multiply_add, chunk, wish.seldom, base)

        def compiled() -> list[bytes]:
            if only_stored:
                raise _NotStoredError
            objects = []
            for text in modules(rows, style):
                background.check()
                objects.append(machine_code.object_code(text, level))
            return objects

        code, stored = disk_cache.code_of(key, lambda objects: machine_code.link(objects, strict), compiled)
    except _NotStoredError:
        return None
    except RuntimeError as error:
        reasons.append(f"LLVM gave up ({(str(error) or 'no reason given').splitlines()[0]})")
        return None
    return TranslationOutcome("disk cache" if stored else f"llvm O{level}", code=code)


class LoopsOutcome(NamedTuple):
    """Code of a function as loops: what there is now, and what gives better code where that takes its time."""

    now: TranslationOutcome
    better: Callable[[], TranslationOutcome] | None = None


def as_loops(rows: Instructions, wish: CodeWish, wait: bool = False) -> LoopsOutcome | None:
    """Machine code of a long function whose formulas repeat, as loops; None where they do not, or LLVM is missing.

    wait: vector code at once, however long it takes.
    """
    started = time.perf_counter()
    try:
        host = machine_code.host()
        style = Style(wish.strict, host.has_fused_multiply_add, CHUNK)
        vector, scalar = (
            _key(way, rows, wish.strict, host, ca.CasadiMeta.version()) for way in ("llvm loops", "llvm scalar loops")
        )
        known = _stored_loops(vector, wish.strict, started)
        if known is not None:
            return LoopsOutcome(known)
        known = None if wait else _stored_loops(scalar, wish.strict, started)
        if known is not None:
            return LoopsOutcome(known, lambda: _written_loops(vector, _repeated(rows, style), True, started))
        written = array_code(rows, style)
        if written is None:
            return None
        if not wait and wish.strict and written.written * VECTORS_PAY > len(rows):
            now = _written_loops(scalar, written, True, started, vectors=False)
            return LoopsOutcome(now, lambda: _written_loops(vector, written, True, time.perf_counter()))
        return LoopsOutcome(_written_loops(vector, written, wish.strict, started))
    except (ImportError, OSError, RuntimeError):
        return None


def _repeated(rows: Instructions, style: Style) -> ArrayCode:
    """The loops of a function that is known to have them."""
    written = array_code(rows, style)
    if written is None:
        raise RuntimeError("a function whose code was stored as loops has none")
    return written


def _stored_loops(key: str, strict: bool, started: float) -> TranslationOutcome | None:
    """Loops out of the disk cache, without a search for equal formulas; None where they are not there."""

    def missing() -> list[bytes]:
        raise _NotStoredError

    try:
        (code, work), _ = disk_cache.code_of(key, lambda objects: _linked_with_work(objects, strict), missing)
    except _NotStoredError:
        return None
    return TranslationOutcome("disk cache", "", time.perf_counter() - started, code, work=work)


def _written_loops(
    key: str, written: ArrayCode, strict: bool, started: float, vectors: bool = True
) -> TranslationOutcome:
    def compiled() -> list[bytes]:
        code = machine_code.object_code(written.text, 2 if vectors else 1, loops=True, vectors=vectors)
        return [code, _WORK.pack(written.work)]

    (code, work), stored = disk_cache.code_of(key, lambda objects: _linked_with_work(objects, strict), compiled)
    tier = "disk cache" if stored else "llvm loops" if vectors else "llvm scalar loops"
    seconds = time.perf_counter() - started
    return TranslationOutcome(tier, "", seconds, code, uncached=disk_cache.why_not_used(), work=work)


def _linked_with_work(objects: Sequence[bytes], strict: bool) -> tuple[machine_code.MachineCode, int]:
    """Code, and how many numbers of working memory it needs: the last object of its entry."""
    *code, work = objects
    if len(work) != _WORK.size:
        raise RuntimeError("an entry of the code cache has no size of its working memory")
    return machine_code.link(code, strict), _WORK.unpack(work)[0]


def as_parts(rows: Instructions, wish: CodeWish, base: int) -> TranslationOutcome | None:
    """Machine code of a function with equal parts, which vector registers hold side by side; None for others.

    base: how many numbers of working memory CasADi uses.
    """
    started = time.perf_counter()
    try:
        host, width = machine_code.host(), lane_width()
        style = Style(False, host.has_fused_multiply_add, AT_ONCE, wish.seldom, base)
        if not width:
            return None
        level = min(machine_code.MOST_EFFORT, 2)

        def compiled() -> list[bytes]:
            written = part_code(rows, style, width)
            if written is None:
                raise _NotStoredError
            objects = [machine_code.object_code(text, level) for text in written.straight]
            objects += [machine_code.object_code(text, 0) for text in written.early]
            return [*objects, lane_object(written.lanes), _WORK.pack(written.work)]

        key = _key("parts side by side", rows, host, width, level, ca.CasadiMeta.version(), wish.seldom, base)
        (code, work), stored = disk_cache.code_of(key, lambda objects: _linked_with_work(objects, False), compiled)
    except _NotStoredError:
        return None
    except (ImportError, OSError, RuntimeError):
        return None
    tier, seconds = "disk cache" if stored else "llvm parts", time.perf_counter() - started
    return TranslationOutcome(tier, "", seconds, code, uncached=disk_cache.why_not_used(), work=work, parted=True)


def _with_c_compiler(f: ca.Function, rows: Instructions, strict: bool, reasons: list[str]) -> TranslationOutcome | None:
    """Machine code by the C compiler; None, with a reason, where there is none or it fails."""
    compiler = c_compiler.find_compiler()
    if compiler is None:
        reasons.append("no C compiler was found")
        return None
    if len(rows) > c_compiler.LARGEST:
        reasons.append(f"{len(rows)} instructions are too many for a C compiler")
        return None
    try:
        key = _key("c", rows, strict, c_compiler.identity(compiler), ca.CasadiMeta.version())
        code, stored = disk_cache.code_of(
            key,
            lambda objects: c_compiler.load_library(objects[0]),
            lambda: [c_compiler.shared_library(f, compiler, strict)],
        )
    except (OSError, AttributeError, c_compiler.CompilerFailedError) as error:
        reasons.append(f"the C compiler failed ({error})")
        return None
    return TranslationOutcome("disk cache" if stored else "C compiler", code=code)


def _key(way: str, rows: Instructions, *details: object) -> str:
    """The name of an entry in the disk cache: what is computed, and everything that shapes the code for it."""
    return hashlib.sha256(repr((CODE_VERSION, way, rows.digest(), details)).encode()).hexdigest()
