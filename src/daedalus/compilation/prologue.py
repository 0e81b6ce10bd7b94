"""What of a function follows from inputs that seldom change, such as parameters: computed when these have changed.

A transistor's card is some forty numbers, from which temperatures, saturation currents and depletion layers follow by
logarithms and powers, the same at each of the hundred thousand evaluations of a run. Code that is told which inputs
seldom change keeps their last values behind the working memory, compares them at every call (eight numbers at a time),
and computes what follows from them alone where one differs. Every operation is done as it would have been, so that no
bit of a result depends on it.

Working memory of such code: that of CasADi, a mark that is zero until the first call, the kept inputs, kept values. It
belongs to one caller, who hands it over filled with zeros and leaves it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import casadi as ca

from daedalus.model.system.instruction_list import Instructions

# What operations cost, in additions, as measured on an x86-64 processor: library functions take 10 to 30 ns.
_CHEAP, _DIVISION, _LIBRARY = 1, 4, 20
_FREE = frozenset({ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT, ca.OP_ASSIGN, ca.OP_LIFT})
_DIVIDES = frozenset({ca.OP_DIV, ca.OP_INV, ca.OP_SQRT})
_PLAIN = frozenset(
    {ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_FABS, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_SIGN,
     ca.OP_COPYSIGN, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_IF_ELSE_ZERO,
     ca.OP_FMIN, ca.OP_FMAX}
)  # fmt: skip
# Comparing costs a tenth of this at most, so that nobody notices where inputs do change from call to call.
_WORTH = 10
_COMPARED_AT_ONCE = 8


class Prologue(NamedTuple):
    """The rows that are computed early, and the inputs that they follow from.

    inputs: numbers of inputs with the places of the first and behind the last entry that early rows read.
    """

    rows: frozenset[int]
    inputs: tuple[tuple[int, int, int], ...]

    @property
    def kept_inputs(self) -> int:
        """How many numbers are compared."""
        return sum(end - begin for _, begin, end in self.inputs)

    def without(self, rows: Iterable[int]) -> Prologue:
        """The same but for some rows that nothing early reads."""
        return self._replace(rows=self.rows.difference(rows))


NO_PROLOGUE = Prologue(frozenset(), ())


def prologue(rows: Instructions, seldom: tuple[int, ...]) -> Prologue:
    """What follows from inputs that seldom change; nothing where it costs little.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.model.system.instruction_list import read_instructions
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p")
    >>> rows = read_instructions(ca.Function("f", [x, p], [x * ca.exp(p) + ca.sin(ca.log(p))]))
    >>> len(prologue(rows, (1,)).rows), prologue(rows, (0,)).rows
    (3, frozenset())
    """
    operation, first, second = rows.operation, rows.first, rows.second
    fixed, early, saved = bytearray(len(rows)), list[int](), 0
    for row, op in enumerate(operation):
        if op == ca.OP_INPUT:
            fixed[row] = first[row] in seldom
        elif op == ca.OP_CONST:
            fixed[row] = 1
        elif op != ca.OP_OUTPUT and fixed[first[row]] and (second[row] < 0 or fixed[second[row]]):
            fixed[row] = 1
            early.append(row)
            saved += operation_cost(op)
    read: dict[int, list[int]] = {}
    for row in early:
        for source in (first[row], second[row]):
            if source >= 0 and operation[source] == ca.OP_INPUT:
                read.setdefault(first[source], []).append(second[source])
    found = Prologue(
        frozenset(early), tuple((number, min(places), max(places) + 1) for number, places in sorted(read.items()))
    )
    compared = len(found.inputs) + found.kept_inputs // _COMPARED_AT_ONCE
    return found if found.inputs and saved >= _WORTH * compared else NO_PROLOGUE


def operation_cost(op: int) -> int:
    """What an operation costs, in additions."""
    if op in _FREE:
        return 0
    return _DIVISION if op in _DIVIDES else _CHEAP if op in _PLAIN else _LIBRARY


class EarlyPlaces(NamedTuple):
    """Where a prologue keeps what in the working memory."""

    mark: int
    inputs: tuple[tuple[int, int, int, int], ...]  # number, first entry, how many, place
    values: Mapping[int, int]  # row: place


def early_places(rows: Instructions, early: Prologue, chunk: int, base: int) -> EarlyPlaces:
    """Places from `base` on for the inputs, and for early values that others read: later rows, or other chunks."""
    place, inputs = base + 1, []
    for number, begin, end in early.inputs:
        inputs.append((number, begin, end - begin, place))
        place += end - begin
    values: dict[int, int] = {}
    for row, op in enumerate(rows.operation):
        if op in (ca.OP_INPUT, ca.OP_CONST):
            continue
        for source in (rows.first[row],) if op == ca.OP_OUTPUT else (rows.first[row], rows.second[row]):
            apart = row not in early.rows or source // chunk != row // chunk
            if source in early.rows and apart and source not in values:
                values[source] = place
                place += 1
    return EarlyPlaces(base, tuple(inputs), values)


def work_for(early: Prologue, base: int) -> int:
    """How many numbers of working memory there have to be at most."""
    return base + 1 + early.kept_inputs + len(early.rows)


COMPARISON = """
define internal i1 @same(ptr %a, ptr %b, i64 %count) nounwind {
begin:
br label %eight
eight:
%i = phi i64 [ 0, %begin ], [ %next, %compared ]
%next = add i64 %i, 8
%enough = icmp sle i64 %next, %count
br i1 %enough, label %compared, label %single
compared:
%pa = getelementptr inbounds double, ptr %a, i64 %i
%pb = getelementptr inbounds double, ptr %b, i64 %i
%va = load <8 x i64>, ptr %pa, align 8
%vb = load <8 x i64>, ptr %pb, align 8
%differ = icmp ne <8 x i64> %va, %vb
%bits = bitcast <8 x i1> %differ to i8
%any = icmp ne i8 %bits, 0
br i1 %any, label %no, label %eight
single:
%k = phi i64 [ %i, %eight ], [ %then, %one ]
%left = icmp slt i64 %k, %count
br i1 %left, label %one, label %yes
one:
%qa = getelementptr inbounds double, ptr %a, i64 %k
%qb = getelementptr inbounds double, ptr %b, i64 %k
%wa = load i64, ptr %qa, align 8
%wb = load i64, ptr %qb, align 8
%then = add i64 %k, 1
%equal = icmp eq i64 %wa, %wb
br i1 %equal, label %single, label %no
yes:
ret i1 true
no:
ret i1 false
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"""


def early_call(places: EarlyPlaces, calls: Iterable[str]) -> list[str]:
    """Lines that make the calls of early code where an input differs from what is kept; they go on at %present."""
    lines = [
        f"%mark = getelementptr inbounds double, ptr %w, i64 {places.mark}",
        "%marked = load i64, ptr %mark, align 8\n%begun = icmp eq i64 %marked, 1",
        "br i1 %begun, label %kept0, label %fresh",
    ]
    copies = []
    for k, (number, begin, count, place) in enumerate(places.inputs):
        onward = f"%kept{k + 1}" if k + 1 < len(places.inputs) else "%present"
        lines += [
            f"kept{k}:\n%from{k} = getelementptr inbounds double, ptr %in{number}, i64 {begin}",
            f"%own{k} = getelementptr inbounds double, ptr %w, i64 {place}",
            f"%same{k} = call i1 @same(ptr %from{k}, ptr %own{k}, i64 {count})",
            f"br i1 %same{k}, label {onward}, label %fresh",
        ]
        copies += [
            f"%read{k} = getelementptr inbounds double, ptr %in{number}, i64 {begin}",
            f"%keep{k} = getelementptr inbounds double, ptr %w, i64 {place}",
            f"call void @llvm.memcpy.p0.p0.i64(ptr align 8 %keep{k}, ptr align 8 %read{k}, i64 {8 * count}, i1 false)",
        ]
    lines += ["fresh:", *copies, *calls, "store i64 1, ptr %mark, align 8", "br label %present", "present:"]
    return lines
