"""compile_function: the one door from symbolic functions to code that the core can call."""

from __future__ import annotations

import copyreg
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import casadi as ca

from daedalus.compilation import background
from daedalus.compilation.choice import COMPILER_VARIABLE, chosen_compiler
from daedalus.compilation.compiled import Compiled, NamedRows, Translation
from daedalus.compilation.counting import count
from daedalus.compilation.equal_parts import FEWEST, SHORTEST_LAW
from daedalus.compilation.instructions import refuse_free_symbols
from daedalus.compilation.prologue import NO_PROLOGUE, Prologue, prologue, work_for
from daedalus.compilation.translate import (
    CodeWish,
    TranslationOutcome,
    as_loops,
    as_parts,
    interpreted,
    left_to_interpreter,
    stored_translation,
    strict_within_reach,
    translate,
)
from daedalus.model.forking import fork_safe_lock
from daedalus.model.interrupts import weak_values
from daedalus.model.system.function_record import function_of, function_record
from daedalus.model.system.instruction_list import (
    Instructions,
    UnknownOperationError,
    read_instructions,
    was_told,
)

# Code of this many functions, and of this many bytes, is kept even when nobody refers to it, for callers that build the
# same function again: those of some models. Older ones are in the disk cache, a millisecond away.
_KEPT, _KEPT_BYTES = 48, 3_000_000

# Longer functions are searched for equal parts in more than a second.
_MOST_PARTED = 150_000

_lock = fork_safe_lock()
_by_object: weakref.WeakValueDictionary[tuple[int, CodeWish], Compiled] = weak_values()
_by_content: weakref.WeakValueDictionary[tuple[str, CodeWish], Translation] = weak_values()
# What was searched for equal parts in vain.
_without_parts: OrderedDict[tuple[str, CodeWish], None] = OrderedDict()


class _RecentCode:
    """The translations asked for last, with the sum of their bytes: adding up hundreds at every call would cost."""

    def __init__(self) -> None:
        self._translations: OrderedDict[tuple[str, CodeWish], Translation] = OrderedDict()
        self._unfinished: dict[tuple[str, CodeWish], Translation] = {}
        self._bytes: dict[tuple[str, CodeWish], int] = {}
        self._total = 0

    def add(self, key: tuple[str, CodeWish], translation: Translation) -> None:
        """Make a translation the most recent one."""
        self._translations[key] = translation
        self._translations.move_to_end(key)
        if key not in self._bytes:
            self._unfinished[key] = translation

    def drop_oldest(self) -> None:
        """Keep no more translations than `_KEPT` and, but for the most recent one, no more bytes than `_KEPT_BYTES`."""
        for key in [key for key, translation in self._unfinished.items() if translation.finished]:
            self._bytes[key] = self._unfinished.pop(key).room
            self._total += self._bytes[key]
        while len(self._translations) > _KEPT or (self._total > _KEPT_BYTES and len(self._translations) > 1):
            key, _ = self._translations.popitem(last=False)
            self._unfinished.pop(key, None)
            self._total -= self._bytes.pop(key, 0)

    def clear(self) -> None:
        """Keep nothing."""
        for kept in (self._translations, self._unfinished, self._bytes):
            kept.clear()
        self._total = 0


_recent = _RecentCode()


def compile_function(
    f: ca.Function, *, strict: bool = False, wait: bool = False, quick: bool = False, seldom: Iterable[int] = ()
) -> Compiled:
    """Machine code for an SX function, behind CasADi's C signature.

    Up to 3000 instructions are compiled at once, and longer functions too where they repeat a few formulas, as fields
    on grids do: these become loops. Any other function whose code is not in the disk cache starts on CasADi's
    interpreter, is compiled in a background thread, and changes over when that is done; its code is strict, so that the
    values do not tell when that was. Where strict code is out of reach it is waited for instead. Code is shared within
    the process by functions that compute the same, whatever their names, and between processes through the disk cache
    (its folder is in DAEDALUS_CACHE, "off" for none). DAEDALUS_COMPILER chooses the way: auto (LLVM, else a C compiler,
    else the interpreter), llvm, c, interpreter.

    Parameters
    ----------
    f: the function, made of SX. Others, and operations without a translation, are left to the interpreter.
    strict: give the same bits as CasADi's interpreter (a NaN's own bits aside): the same mathematical library, every
        operation rounded on its own; always so for what starts on the interpreter, at about a fifth more time a call.
        The default fuses a·b + c into one rounding and takes half-integer powers by square roots; it changes neither
        the order of operations nor what happens to infinities and NaN.
    wait: return only when the final code is in place.
    quick: compile in a third of the time, up to 9000 instructions at once; calls then take up to half as long again.
    seldom: numbers of inputs that stay the same over many calls, as parameters do over a run. What follows from them
        alone is computed when they have changed, where that saves much; results are the same to the bit. Unless the
        code is to be strict, equal parts of such functions, as the devices of a circuit, are computed side by side in
        vector registers, with exponentials and logarithms within 1 ulp of the library's.

    Raises InputError for a function with symbols that are not among its inputs.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 3)
    >>> norm = compile_function(ca.Function("norm", [x], [ca.norm_2(x)]))
    >>> norm([2.0, 3.0, 6.0])
    (array([7.]),)
    """
    wish = CodeWish(bool(strict), bool(quick), chosen_compiler(), tuple(sorted(seldom)))
    with _lock:
        compiled = _by_object.get((f.__hash__(), wish))
    if compiled is not None:
        count("found_in_memory")
        return compiled.wait() if wait else compiled
    with background.asking():
        return _compiled(f, wish, wait)


def _compiled(f: ca.Function, wish: CodeWish, wait: bool) -> Compiled:
    """Code for a function object that may have none yet."""
    compiled, function_rows = None, _FunctionRows(f)
    parted = _as_parts(function_rows, wish)
    if parted is None and _is_long(f, wish):
        wish, wait = (wish._replace(strict=True), wait) if strict_within_reach() else (wish, True)
        with _lock:
            compiled = _by_object.get((f.__hash__(), wish))
    if compiled is None:
        refuse_free_symbols(f)
        translation = _translation(function_rows, wish, wait) if parted is None else parted
        compiled = Compiled(f, wish.strict, translation, wish.quick, wish.seldom)
        if wait:
            # Only then may others find it: until its code is there it has not even the interpreter.
            compiled.wait()
        with _lock:
            return _by_object.setdefault((f.__hash__(), wish), compiled)
    count("found_in_memory")
    return compiled.wait() if wait else compiled


def compile_loops(name: str, rows: Instructions, described: Callable[[], ca.Function]) -> Compiled | None:
    """Machine code for instructions whose formulas repeat, as loops with CasADi's bits; None for others.

    described: the CasADi function that computes the same, written only when somebody asks for it.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 4000)
    >>> f = ca.Function("f", [x], [ca.sin(x)])
    >>> compile_loops("f", read_instructions(f), lambda: f).core.kind
    'machine code'
    """
    if not strict_within_reach():
        return None
    wish = CodeWish(True, False, chosen_compiler())
    with background.asking():
        looping = _loops_of(rows, wish)
    return None if looping is None else Compiled(NamedRows(name, rows, described), True, looping)


class _FunctionRows:
    """The instructions of a function, read when they are first needed: a long one is not read twice."""

    def __init__(self, f: ca.Function) -> None:
        self.function = f
        self._rows: Instructions | None = None
        self._placed = False

    def rows(self, *, placed: bool = True) -> Instructions:
        """The instructions; placed: whether their slots have to be CasADi's."""
        if self._rows is None or (placed and not self._placed):
            self._rows = read_instructions(self.function, placed=placed)
            self._placed = placed or not was_told(self.function)
        return self._rows


def _is_long(f: ca.Function, wish: CodeWish) -> bool:
    """Whether a function starts on the interpreter."""
    return bool(f.is_a("SXFunction") and f.n_instructions() > wish.at_once)


def _translation(function_rows: _FunctionRows, wish: CodeWish, wait: bool) -> Translation:
    """A finished translation of a short function, or one of a long function that goes on in the background."""
    f = function_rows.function
    if wish.choice == "interpreter":
        return _finished(left_to_interpreter(f, f"{COMPILER_VARIABLE} asks for the interpreter"))
    if _is_long(f, wish):
        stored = _stored(function_rows, wish)
        if stored is not None:
            return stored
        looping = _as_loops(function_rows, wish._replace(seldom=()), wait)
        if looping is not None:
            return looping
        early = _prologue_of(function_rows, wish)
        chosen = wish if early.rows else wish._replace(seldom=())
        meanwhile = None if wait else interpreted(f, "its machine code is being compiled in the background")
        translation = Translation(
            lambda own: _long_outcome(own, function_rows, chosen),
            meanwhile,
            work_for(early, f.sz_w()) if early.rows else 0,
        )
        if not wait:
            background.submit(_finish_if_wanted(weakref.ref(translation)))
        return translation
    try:
        rows = function_rows.rows()
    except UnknownOperationError as unknown:
        return _finished(left_to_interpreter(f, str(unknown)))
    early = prologue(rows, wish.seldom) if wish.seldom else NO_PROLOGUE
    chosen = wish if early.rows else wish._replace(seldom=())
    work = work_for(early, f.sz_w()) if early.rows else 0
    translation = _shared((rows.digest(), chosen), Translation(lambda own: translate(f, rows, chosen), None, work))
    translation.finish()
    with _lock:
        _recent.drop_oldest()
    return translation


def _stored(function_rows: _FunctionRows, wish: CodeWish) -> Translation | None:
    """The finished translation of a long function out of memory or the disk cache; None where there is none."""
    f = function_rows.function
    if was_told(f):
        return None  # rows for loops alone
    try:
        rows = function_rows.rows()
    except UnknownOperationError:
        return None
    for chosen in dict.fromkeys((wish, wish._replace(seldom=()))):
        with _lock:
            known = _by_content.get((rows.digest(), chosen))
        if known is not None and known.finished:
            count("found_in_memory")
            return known
        outcome = stored_translation(rows, chosen, f.sz_w())
        if outcome is not None:
            work = work_for(prologue(rows, chosen.seldom), f.sz_w()) if chosen.seldom else 0
            return _shared((rows.digest(), chosen), _finished(outcome, work))
    return None


def _prologue_of(function_rows: _FunctionRows, wish: CodeWish) -> Prologue:
    """What of a long function is computed early."""
    if not wish.seldom:
        return NO_PROLOGUE
    try:
        return prologue(function_rows.rows(), wish.seldom)
    except UnknownOperationError:
        return NO_PROLOGUE


def _as_parts(function_rows: _FunctionRows, wish: CodeWish) -> Translation | None:
    """The finished translation of a run's function with equal parts, as devices of a circuit; None for others."""
    if wish.strict or wish.quick or not wish.seldom or wish.choice not in ("auto", "llvm"):
        return None
    f = function_rows.function
    if not f.is_a("SXFunction") or not SHORTEST_LAW * FEWEST <= f.n_instructions() <= _MOST_PARTED:
        return None
    try:
        rows = function_rows.rows(placed=False)
    except UnknownOperationError:
        return None
    key = (rows.digest(), wish)
    with _lock:
        if key in _without_parts:
            return None
        known = _by_content.get(key)
    if known is not None and known.finished and known.outcome is not None and known.outcome.parted:
        count("found_in_memory")
        return known
    outcome = as_parts(rows, wish, f.sz_w())
    if outcome is not None:
        return _shared(key, _finished(outcome))
    with _lock:
        _without_parts[key] = None
        while len(_without_parts) > _KEPT:
            _without_parts.popitem(last=False)
    return None


def _as_loops(function_rows: _FunctionRows, wish: CodeWish, wait: bool) -> Translation | None:
    """The translation of a long function whose formulas repeat, as those of a field do; None for others."""
    try:
        return _loops_of(function_rows.rows(placed=False), wish, wait)
    except UnknownOperationError:
        return None


def _loops_of(rows: Instructions, wish: CodeWish, wait: bool = False) -> Translation | None:
    if wish.choice not in ("auto", "llvm"):
        return None
    key = (rows.digest(), wish)
    with _lock:
        known = _by_content.get(key)
    if known is not None and (known.finished or known.coded):
        count("found_in_memory")
        return known
    found = as_loops(rows, wish, wait)
    if found is None:
        return None
    if found.better is None:
        return _shared(key, _finished(found.now))
    better = found.better
    translation = _shared(key, Translation(lambda own: better(), found.now, found.now.work))
    background.submit(_finish_if_wanted(weakref.ref(translation)), improves=True)
    return translation


def _long_outcome(own: Translation, function_rows: _FunctionRows, wish: CodeWish) -> TranslationOutcome:
    """The code of a long function."""
    f = function_rows.function
    try:
        rows = function_rows.rows()
    except UnknownOperationError as unknown:
        return left_to_interpreter(f, str(unknown))
    shared = _shared((rows.digest(), wish), own)
    return translate(f, rows, wish) if shared is own else shared.finish()


def _finished(outcome: TranslationOutcome, memory: int = 0) -> Translation:
    translation = Translation(lambda own: outcome, None, memory)
    translation.finish()
    return translation


def _shared(key: tuple[str, CodeWish], own: Translation) -> Translation:
    """The translation that is known under a key already, or one's own, known from now on."""
    with _lock:
        translation = _by_content.setdefault(key, own)
        _recent.add(key, translation)
        _recent.drop_oldest()
    if translation is not own:
        count("found_in_memory")
    return translation


def _finish_if_wanted(wanted: weakref.ref[Translation]) -> Callable[[], None]:
    """A job for the background that keeps no function alive: what was dropped meanwhile is not compiled any more."""

    def job() -> None:
        if (translation := wanted()) is not None:
            translation.finish()

    return job


def _compiled_again(record: Mapping[str, Any], strict: bool, quick: bool = False, seldom: Any = ()) -> Compiled:
    return compile_function(function_of(record), strict=strict, quick=quick, seldom=seldom)


def _reduced(compiled: Compiled) -> tuple[Callable[..., Compiled], tuple[dict[str, Any], bool, bool, tuple[int, ...]]]:
    return _compiled_again, (function_record(compiled.function), compiled.strict, compiled.quick, compiled.seldom)


# A compiled function travels as its formula, and comes back through this door.
copyreg.pickle(Compiled, _reduced)
