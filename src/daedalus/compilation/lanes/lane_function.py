"""A function over lanes behind CasADi's C signature: one call computes it for several cases.

Its arguments and results hold the numbers of all cases beside each other, x[k · lanes + case]; arguments that all cases
share, such as time, stand there once. Formulas that repeat become loops, as in `array_code.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import casadi as ca

from daedalus._core import Function as CoreFunction
from daedalus.compilation.array_code import IrregularError, LoopWriter, Trees
from daedalus.compilation.lanes.lane_formulas import OPERATIONS, check_known, written_formulas
from daedalus.compilation.lanes.machine import kernel_code
from daedalus.compilation.lanes.words import LaneModule, LaneText, Word
from daedalus.compilation.llvm_code import ENTRY, ENTRY_PARAMETERS, Style
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError, read_instructions

# Longer functions that do not repeat take seconds to compile.
MOST_STRAIGHT = 2000
# What tells LLVM that it may widen a loop, whose numbers are wide here already.
_MARKS = re.compile(r", !llvm\.\w+(\.\w+)? !\d+")


def lane_function(
    function: ca.Function, lanes: int, shared: Collection[int] = (), summed: Collection[int] = ()
) -> CoreFunction:
    """The function for so many cases at once.

    shared: the numbers of arguments that are the same for all cases. summed: those of results that are wanted as the
    sum over all cases.

    Raises UnknownOperationError for formulas that lanes do not have, RuntimeError, ImportError or OSError where LLVM
    gives up or is missing.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> t, x = ca.SX.sym("t"), ca.SX.sym("x", 2)
    >>> f = lane_function(ca.Function("f", [t, x], [t * x[0] + x[1]]), 4, shared=(0,))
    >>> [found] = f.evaluate_many(2.0, np.array([1.0, 2.0, 3.0, 4.0, 0.5, 0.5, 0.5, 0.5]))
    >>> found
    array([[2.5, 4.5, 6.5, 8.5]])
    """
    rows = read_instructions(function)
    check_known(rows)
    once = frozenset(shared), frozenset(summed)
    text, work = _loops(rows, lanes, *once) if len(rows) > MOST_STRAIGHT else (_straight(rows, lanes, *once), 0)
    code = kernel_code(text)
    size_in = [size if k in once[0] else size * lanes for k, size in enumerate(rows.size_in)]
    size_out = [size if k in once[1] else size * lanes for k, size in enumerate(rows.size_out)]
    core = CoreFunction(function.name(), size_in, size_out, function.sz_arg(), function.sz_res(), 0, work * lanes)
    core.set_machine_code(code.address, code.owner)
    return core


def _base(w: LaneText, of: str, number: int) -> Word:
    at = w.line(f"getelementptr ptr, ptr {of}, i64 {number}")
    return w.line(f"load ptr, ptr {at}, align 8")


def _loaded(w: LaneText, base: Word, place: Word, shared: bool) -> Word:
    if not shared:
        at = w.line(f"getelementptr {w.real}, ptr {base}, i64 {place}")
        return w.line(f"load {w.real}, ptr {at}, align 8")
    at = w.line(f"getelementptr double, ptr {base}, i64 {place}")
    return w.spread(w.line(f"load double, ptr {at}, align 8"))


def _stored(w: LaneText, base: Word, place: Word, word: Word, summed: bool) -> None:
    kind = "double" if summed else w.real
    if summed:
        # In halves, so that the order of the sum does not depend on the processor.
        name = f"llvm.vector.reduce.fadd.{w.module.suffix}"
        w.module.declared.add(f"declare double @{name}(double, {w.real})")
        word = w.line(f"call reassoc double @{name}(double -0.0, {w.real} {word})")
    at = w.line(f"getelementptr {kind}, ptr {base}, i64 {place}")
    w.raw(f"store {kind} {word}, ptr {at}, align 8")


def _whole(w: LaneText) -> str:
    head = f"define i32 @{ENTRY}({ENTRY_PARAMETERS}) nounwind {{"
    return w.module.text([head, *w.whole_text(), "ret i32 0", "}"])


# -- one formula after the other -------------------------------------------------------------------------------------


class _Argument(Sequence[Word]):
    """The words of one argument, loaded where they are read."""

    def __init__(self, w: LaneText, number: int, size: int, shared: bool) -> None:
        self._w, self._size, self._shared = w, size, shared
        self._base = _base(w, "%arg", number)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, k):  # type: ignore[no-untyped-def]
        return _loaded(self._w, self._base, str(k), self._shared)


def _straight(rows: Instructions, lanes: int, shared: frozenset[int], summed: frozenset[int]) -> str:
    w = LaneText(LaneModule(lanes))
    given = [_Argument(w, k, size, k in shared) for k, size in enumerate(rows.size_in)]
    bases = [_base(w, "%res", k) for k in range(len(rows.size_out))]
    for k, words in enumerate(written_formulas(w, rows, given)):
        for place, word in enumerate(words):
            _stored(w, bases[k], str(place), word, k in summed)
    return _whole(w)


# -- loops -----------------------------------------------------------------------------------------------------------


def _loops(rows: Instructions, lanes: int, shared: frozenset[int], summed: frozenset[int]) -> tuple[str, int]:
    try:
        writer = _LaneLoops(Trees(rows), lanes, shared, summed)
        return writer.text(), writer.trees.work
    except IrregularError as error:
        raise UnknownOperationError("the formulas are too long for lanes, and do not repeat") from error


class _LaneLoops(LoopWriter):
    """Loops whose numbers are those of all lanes."""

    else_straight = False

    def __init__(self, trees: Trees, lanes: int, shared: frozenset[int], summed: frozenset[int]) -> None:
        super().__init__(trees, Style(strict=False, fuse=True, chunk=0))
        self.w = LaneText(LaneModule(lanes))
        self.once = {"@constants", *(f"%in{k}" for k in shared), *(f"%out{k}" for k in summed)}

    def text(self) -> str:
        w, rows = self.w, self.trees.rows
        self.bases = {f"%in{k}": _base(w, "%arg", k) for k in range(len(rows.size_in))}
        self.bases |= {f"%out{k}": _base(w, "%res", k) for k in range(len(rows.size_out))}
        self.bases |= {"%w": "%w", "@constants": "@constants"}
        self.write_all()
        return "\n".join([*self.table_lines(), _whole(w)])

    def emit(self, lines: str) -> None:
        for line in lines.split("\n"):
            if line.endswith(":"):
                self.w.label(line[:-1])
            else:
                self.w.raw(_MARKS.sub("", line))

    def word(self, kind: str) -> Word:
        self.words += 1
        return f"%{kind}.{self.words}"

    def load(self, base: str, place: str, parallel: bool = False) -> Word:
        return _loaded(self.w, self.bases[base], place, base in self.once)

    def store(self, base: str, place: str, value: Word, parallel: bool = False) -> None:
        _stored(self.w, self.bases[base], place, value, base in self.once)

    def value(self, tree: object, words: list[Word]) -> Word:
        w = self.w
        if isinstance(tree, int):
            return words[tree]
        if isinstance(tree, str):
            return tree if w.module.lanes == 1 else f"splat (double {tree})"
        assert isinstance(tree, tuple)
        operation, left, right = tree
        self.written += 1
        if operation in (ca.OP_ADD, ca.OP_SUB):
            for product, other in ((right, left), (left, right)):
                if isinstance(product, tuple) and product[0] == ca.OP_MUL:
                    return self._fused(operation, product, other, product is right, words)
        a = self.value(left, words)
        return OPERATIONS[operation](w, a) if right is None else OPERATIONS[operation](w, a, self.value(right, words))

    def _fused(self, operation: int, product: tuple[Any, ...], other: object, behind: bool, words: list[Word]) -> Word:
        """A sum with a product in it, in one rounding."""
        w, minus = self.w, operation == ca.OP_SUB
        c = self.value(other, words)
        a, b = self.value(product[1], words), self.value(product[2], words)
        if minus and behind:
            a = w.neg(a)
        return w.fma(a, b, w.neg(c) if minus and not behind else c)
