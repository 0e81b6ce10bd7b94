"""Names for parts that a long formula repeats: "where s_1 = ..."."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import casadi as ca

from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Side
from daedalus.model.expressions import symbol_key

# Formulas with fewer operations are read as they are.
LONG = 120
# A part is named where that many operations are saved by it.
WORTH = 8
# How many sums get a name in a long formula; where it would fill a page, everything that is repeated gets one, so that
# files have all of it.
MOST_NAMES, PAGES = 12, 1500


class Scribe(Protocol):
    """Who writes lines and gives names."""

    labels: dict[int, str]

    def name(self, symbol: ca.SX, label: str) -> None:
        """Give a symbol a name."""

    def line(self, left: Side, right: Side, sign: str = "=") -> FormulaLine:
        """left = right."""


def with_named_parts(scribe: Scribe, lines: list[FormulaLine]) -> tuple[list[FormulaLine], list[FormulaLine]]:
    """Lines with names in the place of repeated parts, and the lines that say what these are."""
    sides = [side for line in lines for side in (line.left, line.right) if isinstance(side, ca.SX) and side.is_scalar()]
    length = sum(operations(side) for side in sides)
    if length < LONG:
        return lines, []
    parts = _repeated(sides, everything=length > PAGES)
    if not parts:
        return lines, []
    symbols = []
    for k in range(len(parts)):
        symbols.append(ca.SX.sym(f"s_{k + 1}"))
        scribe.name(symbols[-1], f"s_{k + 1}")
    replace = _replacement(parts, symbols)

    def named(side: Side) -> Side:
        return replace(side) if isinstance(side, ca.SX) and side.is_scalar() else side

    shown = [scribe.line(named(line.left), named(line.right), line.sign) for line in lines]
    where = [scribe.line(symbols[k], _inside(part, replace, symbols[k])) for k, part in enumerate(parts)]
    used = {symbol_key(s) for line in (*shown, *where) for side in (line.left, line.right)
            if isinstance(side, ca.SX) for s in ca.symvar(side)}  # fmt: skip
    return shown, [line for line in where if isinstance(line.left, ca.SX) and symbol_key(line.left) in used]


def _signature(node: ca.SX, known: dict[int, int], table: dict[tuple[Any, ...], int], nodes: list[ca.SX]) -> int:
    """The same number for equal parts, however often they were built."""
    waiting = [node]
    while waiting:
        current = waiting[-1]
        key = symbol_key(current)
        if key in known:
            waiting.pop()
            continue
        operands = [current.dep(k) for k in range(current.n_dep())]
        missing = [o for o in operands if symbol_key(o) not in known]
        if missing:
            waiting += missing
            continue
        nodes.append(current)
        own: tuple[Any, ...] = (current.op(), *(known[symbol_key(o)] for o in operands)) if operands else ("leaf", key)
        if current.is_constant():
            own = ("number", float(current))
        known[key] = table.setdefault(own, len(table))
    return known[symbol_key(node)]


def _repeated(sides: list[ca.SX], everything: bool) -> list[ca.SX]:
    """The parts that are worth a name, the shortest first: some sums, or everything that is repeated."""
    known: dict[int, int] = {}
    table: dict[tuple[Any, ...], int] = {}
    nodes: list[ca.SX] = []
    for side in sides:
        _signature(side, known, table, nodes)
    uses: dict[int, int] = {}
    lengths: dict[int, int] = {}
    for node in nodes:  # operands before what is made of them
        inside = [known[symbol_key(node.dep(k))] for k in range(node.n_dep())]
        for number in inside:
            uses[number] = uses.get(number, 0) + 1
        own = 1 if inside and node.op() != ca.OP_NEG else 0
        lengths[known[symbol_key(node)]] = own + sum(lengths[number] for number in inside)
    best: dict[int, ca.SX] = {}
    for node in nodes:
        number = known[symbol_key(node)]
        if node.is_symbolic() or node.is_constant() or not (everything or node.op() in (ca.OP_ADD, ca.OP_SUB)):
            continue
        if uses.get(number, 0) > 1 and lengths[number] * (uses[number] - 1) >= WORTH:
            best.setdefault(number, node)
    ordered = sorted(best, key=lambda number: lengths[number])
    return [best[number] for number in (ordered if everything else ordered[:MOST_NAMES])]


def _replacement(parts: list[ca.SX], symbols: list[ca.SX]) -> Callable[[ca.SX], ca.SX]:
    known: dict[int, int] = {}
    table: dict[tuple[Any, ...], int] = {}
    nodes: list[ca.SX] = []
    wanted = {_signature(part, known, table, nodes): symbol for part, symbol in zip(parts, symbols)}
    made: dict[int, ca.SX] = {}

    def replaced(expression: ca.SX) -> ca.SX:
        _signature(expression, known, table, nodes)
        return _built(expression)

    def _built(node: ca.SX) -> ca.SX:
        number = known[symbol_key(node)]
        if number in wanted:
            return wanted[number]
        if node.n_dep() == 0:
            return node
        if number not in made:
            operands = [_built(node.dep(k)) for k in range(node.n_dep())]
            made[number] = (
                ca.SX.unary(node.op(), operands[0]) if len(operands) == 1 else ca.SX.binary(node.op(), *operands)
            )
        return made[number]

    return replaced


def _inside(part: ca.SX, replace: Callable[[ca.SX], ca.SX], own: ca.SX) -> ca.SX:
    """The formula behind a name, with its smaller repeated parts replaced by their names."""
    operands = [replace(part.dep(k)) for k in range(part.n_dep())]
    return ca.SX.binary(part.op(), *operands) if len(operands) == 2 else ca.SX.unary(part.op(), operands[0])
