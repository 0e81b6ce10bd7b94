"""The formulas of a CasADi function on lanes: its instruction list, each row as words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import casadi as ca

from daedalus.compilation.instructions import needed_rows, use_counts
from daedalus.compilation.lanes import elementary, more_functions, trigonometric
from daedalus.compilation.lanes.words import LaneText, Word
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError, read_instructions

Written = Callable[..., Word]
# Formulas longer than this would take long to compile for a kernel.
MOST_INSTRUCTIONS = 20_000


def _truth(how: str) -> Written:
    return lambda w, a, b: w.choose(w.compare(how, a, b), w.num(1.0), w.num(0.0))


def _holds(w: LaneText, a: Word) -> Word:
    """Where a number counts as true; NaN does, as in C."""
    return w.put(f"fcmp une {w.real} {a}, {w.num(0.0)}")


def _sign(w: LaneText, a: Word) -> Word:
    up = w.choose(w.compare("ogt", a, w.num(0.0)), w.num(1.0), a)
    return w.choose(w.compare("olt", a, w.num(0.0)), w.num(-1.0), up)


OPERATIONS: dict[int, Written] = {
    ca.OP_ADD: LaneText.add,
    ca.OP_SUB: LaneText.sub,
    ca.OP_MUL: LaneText.mul,
    ca.OP_DIV: LaneText.div,
    ca.OP_NEG: LaneText.neg,
    ca.OP_SQ: lambda w, a: w.mul(a, a),
    ca.OP_TWICE: lambda w, a: w.add(a, a),
    ca.OP_INV: lambda w, a: w.div(w.num(1.0), a),
    ca.OP_SQRT: LaneText.sqrt,
    ca.OP_FABS: LaneText.abs,
    ca.OP_FLOOR: LaneText.floor,
    ca.OP_CEIL: lambda w, a: w.own("ceil", a),
    ca.OP_COPYSIGN: LaneText.copysign,
    ca.OP_LT: _truth("olt"),
    ca.OP_LE: _truth("ole"),
    ca.OP_EQ: _truth("oeq"),
    ca.OP_NE: _truth("une"),
    ca.OP_NOT: lambda w, a: w.choose(w.compare("oeq", a, w.num(0.0)), w.num(1.0), w.num(0.0)),
    ca.OP_AND: lambda w, a, b: w.choose(w.both(_holds(w, a), _holds(w, b)), w.num(1.0), w.num(0.0)),
    ca.OP_OR: lambda w, a, b: w.choose(w.either(_holds(w, a), _holds(w, b)), w.num(1.0), w.num(0.0)),
    ca.OP_SIGN: _sign,
    ca.OP_IF_ELSE_ZERO: lambda w, a, b: w.choose(_holds(w, a), b, w.num(0.0)),
    ca.OP_ASSIGN: lambda w, a: a,
    ca.OP_LIFT: lambda w, a, b: a,
    **{
        getattr(ca, f"OP_{name.upper()}"): getattr(module, name)
        for module, names in (
            (elementary, ("exp", "log")),
            (trigonometric, ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")),
            (more_functions, ("fmin", "fmax", "fmod", "remainder", "hypot", "erf", "log1p", "expm1")),
            (more_functions, ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")),
        )
        for name in names
    },
    ca.OP_POW: elementary.power,
    ca.OP_CONSTPOW: elementary.power,
}

# Constant exponents that a few products and a root give.
_SHORT_POWERS: dict[float, Written] = {
    0.5: lambda w, a: w.sqrt(w.add(a, w.num(0.0))),
    -0.5: lambda w, a: w.div(w.num(1.0), w.sqrt(w.add(a, w.num(0.0)))),
    1.5: lambda w, a: w.mul(a, w.sqrt(w.add(a, w.num(0.0)))),
    -1.0: lambda w, a: w.div(w.num(1.0), a),
    2.0: lambda w, a: w.mul(a, a),
    3.0: lambda w, a: w.mul(w.mul(a, a), a),
    4.0: lambda w, a: w.mul(w.mul(a, a), w.mul(a, a)),
}


def kernel_formulas(function: ca.Function, what: str = "its formulas", shared: bool = False) -> Instructions:
    """The formulas of a function as a kernel takes them; UnknownOperationError tells why it does not.

    shared: what occurs several times is written once.
    """
    if function.n_instructions() > MOST_INSTRUCTIONS:
        raise UnknownOperationError(f"{what} are too long for a kernel")
    if shared:
        own = [ca.SX.sym(function.name_in(k), function.size1_in(k)) for k in range(function.n_in())]
        function = ca.Function(function.name(), own, function.call(own), {"cse": True})
    rows = read_instructions(function)
    check_known(rows)
    return rows


def check_known(rows: Instructions) -> None:
    """Refuse a list with operations that lanes do not have, by an UnknownOperationError that names them."""
    known = {*OPERATIONS, ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT}
    unknown = {op for op in rows.operation if op not in known}
    if unknown:
        raise UnknownOperationError.named(unknown)


class FixedPart(NamedTuple):
    """What of some formulas follows from numbers that stay: it is computed where these change, not at each call."""

    rows: frozenset[int]  # but for constants and the numbers themselves
    values: tuple[int, ...]  # those of them that others read
    inverses: tuple[int, ...]  # rows that others divide by, the numbers themselves included


NOTHING_FIXED = FixedPart(frozenset(), (), ())


def fixed_part(rows: Instructions, stays: Callable[[int, int], bool], strict: bool = False) -> FixedPart:
    """What of formulas follows from what stays of the arguments, by number and place; strict: divisions stay."""
    needed, fixed = needed_rows(rows), bytearray(len(rows))
    values, inverses = dict[int, None](), dict[int, None]()
    for row, op in enumerate(rows.operation):
        first, second = rows.first[row], rows.second[row]
        if not needed[row]:
            continue
        if op in (ca.OP_INPUT, ca.OP_CONST):
            fixed[row] = op == ca.OP_CONST or stays(first, second)
            continue
        operands = [first] if op == ca.OP_OUTPUT or second < 0 else [first, second]
        fixed[row] = op != ca.OP_OUTPUT and all(fixed[k] for k in operands)
        if fixed[row]:
            continue
        if op == ca.OP_DIV and fixed[second] and not strict and rows.operation[second] != ca.OP_CONST:
            inverses[operands.pop()] = None
        values.update((k, None) for k in operands if fixed[k])
    trivial = (ca.OP_INPUT, ca.OP_CONST)
    inside = frozenset(row for row, op in enumerate(rows.operation) if fixed[row] and op not in trivial)
    return FixedPart(inside, tuple(k for k in values if k in inside), tuple(inverses))


def written_fixed(
    w: LaneText, rows: Instructions, arguments: Mapping[int, Sequence[Word]], part: FixedPart
) -> list[Word]:
    """The words of a fixed part for words of the arguments it reads, by their numbers: values, then inverses."""
    values: dict[int, Word] = {}
    for row, op in enumerate(rows.operation):
        if op == ca.OP_CONST:
            values[row] = w.num(rows.constants[rows.first[row]])
        elif row in part.rows:
            values[row] = _plain(w, rows, row, values, {})
        elif op == ca.OP_INPUT and rows.first[row] in arguments:
            values[row] = arguments[rows.first[row]][rows.second[row]]
    return [*(values[row] for row in part.values), *(w.div(w.num(1.0), values[row]) for row in part.inverses)]


def written_formulas(
    w: LaneText,
    rows: Instructions,
    arguments: Sequence[Sequence[Word]],
    part: FixedPart = NOTHING_FIXED,
    fixed: Sequence[Word] = (),
) -> list[list[Word]]:
    """The words of all outputs for words of the arguments; products that feed one sum are fused with it.

    Divisors are inverted, each once: a GPU divides at twice the cost of an inverse. In a module that is strict every
    operation is done as it is written, and rounded on its own. `fixed` are the words of `part`.
    """
    needed = needed_rows(rows)
    fused, chained = ({}, {}) if w.module.strict else _fused_products(rows, needed, part.rows)
    swallowed = {*fused.values(), *chained, *(_other(rows, row, fused[row]) for row in chained)}
    inner = {outer: row for row, outer in chained.items()}
    values: dict[int, Word] = dict(zip(part.values, fixed))
    inverses: dict[int, Word] = dict(zip(part.inverses, fixed[len(part.values) :]))
    outputs = [[w.num(0.0)] * size for size in rows.size_out]
    for row, op in enumerate(rows.operation):
        first, second = rows.first[row], rows.second[row]
        if not needed[row] or row in swallowed or row in part.rows:
            continue
        if op == ca.OP_OUTPUT:
            outputs[second][rows.slot[row]] = values[first]
        elif op == ca.OP_INPUT:
            values[row] = arguments[first][second]
        elif op == ca.OP_CONST:
            values[row] = w.num(rows.constants[first])
        elif row in inner:
            values[row] = _chain(w, rows, row, inner[row], fused[inner[row]], values)
        elif row in fused:
            values[row] = _fused(w, rows, row, fused[row], values)
        else:
            values[row] = _plain(w, rows, row, values, inverses)
    return outputs


def _plain(w: LaneText, rows: Instructions, row: int, values: dict[int, Word], inverses: dict[int, Word]) -> Word:
    """One operation; what a constant or an inverse makes cheaper is written so."""
    op, first, second = rows.operation[row], rows.first[row], rows.second[row]
    a = values[first]
    if second < 0:
        return OPERATIONS[op](w, a)
    if op == ca.OP_DIV and second in inverses:
        return w.mul(a, inverses[second])
    if rows.operation[second] == ca.OP_CONST and not w.module.strict:
        constant = rows.constants[rows.first[second]]
        if op == ca.OP_DIV and constant != 0 and math.isfinite(constant) and math.isfinite(1 / constant):
            return w.mul(a, w.num(1 / constant))
        if op in (ca.OP_POW, ca.OP_CONSTPOW) and constant in _SHORT_POWERS:
            return _SHORT_POWERS[constant](w, a)
    if op == ca.OP_DIV and not w.module.strict:
        return w.mul(a, w.div(w.num(1.0), values[second]))
    return OPERATIONS[op](w, a, values[second])


def _fused_products(
    rows: Instructions, needed: bytearray, left_out: frozenset[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """For each sum that takes in a product, the row of that product: one that nothing else reads.

    Then, for each sum of two such products that only another sum reads, that sum: c − (a b − d e) is two operations.
    """
    uses = use_counts(rows, needed)
    found, chained = dict[int, int](), dict[int, int]()
    taken = set(left_out)

    def is_product(row: int) -> bool:
        return rows.operation[row] in (ca.OP_MUL, ca.OP_SQ, ca.OP_TWICE) and uses[row] == 1 and row not in taken

    for row, op in enumerate(rows.operation):
        if not needed[row] or op not in (ca.OP_ADD, ca.OP_SUB) or row in left_out:
            continue
        sources = rows.first[row], rows.second[row]
        product = next((source for source in sources if is_product(source)), None)
        if product is not None:
            found[row] = product
            taken.add(product)
            continue
        for source in sources:
            if source in found and source not in chained and uses[source] == 1:
                other = _other(rows, source, found[source])
                if is_product(other):
                    chained[source] = row
                    taken.add(other)
                    break
    return found, chained


def _other(rows: Instructions, row: int, source: int) -> int:
    """What a sum takes in beside one of its operands."""
    return rows.second[row] if rows.first[row] == source else rows.first[row]


def _factors(
    w: LaneText, rows: Instructions, product: int, values: dict[int, Word], negated: bool
) -> tuple[Word, Word]:
    """The two factors of a product, or of its negative."""
    op, a = rows.operation[product], values[rows.first[product]]
    b = a if op == ca.OP_SQ else w.num(2.0) if op == ca.OP_TWICE else values[rows.second[product]]
    return w.neg(a) if negated else a, b


def _fused(w: LaneText, rows: Instructions, row: int, product: int, values: dict[int, Word]) -> Word:
    """A sum with a product in it, in one rounding."""
    leads, minus = rows.first[row] == product, rows.operation[row] == ca.OP_SUB
    other = values[_other(rows, row, product)]
    return w.fma(*_factors(w, rows, product, values, minus and not leads), w.neg(other) if minus and leads else other)


def _chain(w: LaneText, rows: Instructions, row: int, inner: int, product: int, values: dict[int, Word]) -> Word:
    """A sum with a sum of two products in it."""
    minus, leads = rows.operation[row] == ca.OP_SUB, rows.first[row] == inner
    total = values[_other(rows, row, inner)]
    total = w.neg(total) if minus and leads else total
    turned = minus and not leads
    for source in (_other(rows, inner, product), product):
        second = rows.operation[inner] == ca.OP_SUB and rows.second[inner] == source
        total = w.fma(*_factors(w, rows, source, values, second != turned), total)
    return total
