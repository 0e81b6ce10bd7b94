"""Laws that contain one unknown beside states and what is known are solved for it: v = V − R i where i is a state.

Only forward: an unknown is solved where all others in its law have been, so that rounding does not grow on the way.
Nothing is divided by a parameter, which might be zero.
"""

from __future__ import annotations

import casadi as ca

from daedalus.model.assembly.flattening import Flattening
from daedalus.model.assembly.put_in_laws import Law
from daedalus.model.assembly.unknowns import MOVING
from daedalus.model.expressions import combined, concatenate, folded, operation, symbol_key
from daedalus.model.variables import Variable


def solved_laws(work: Flattening, residuals: list[ca.SX]) -> list[Law]:
    """The residuals that are solved, each with its unknown, the expression for it and the solved unknowns in that."""
    inside = _free_unknowns(work, residuals)
    waiting = list(range(len(residuals)))
    at: dict[int, list[int]] = {}
    for place, own in enumerate(inside):
        for x in own or ():
            at.setdefault(x, []).append(place)
    found: list[Law] = []
    solved: set[int] = set()
    while waiting:
        place = waiting.pop()
        own = inside[place]
        left = [] if own is None else [x for x in own if x not in solved]
        if own is None or len(left) != 1:
            continue
        x, inside[place] = left[0], None
        expression = _solved_for(residuals[place], work.unknowns.symbols[x])
        if expression is not None:
            found.append((place, x, expression, own - {x}))
            solved.add(x)
            waiting += at[x]
    return found


def _free_unknowns(work: Flattening, residuals: list[ca.SX]) -> list[set[int] | None]:
    """The unknowns of each residual that no state gives; None for those that stay: differential equations, and those
    with algebraic unknowns that the model itself declares.
    """
    unknowns, book = work.unknowns, work.book
    free = [x for x in range(1, len(unknowns.symbols)) if unknowns.rank[x] < MOVING]
    staying = [symbol for chain in book.written.derivatives.values() for symbol in chain]
    staying += [
        book.written.symbols[v.name]
        for v in book.written.variables.values()
        if v.kind == "algebraic" and _is_own(work, v)
    ]
    symbols = concatenate([*(unknowns.symbols[x] for x in free), *staying])
    inside: list[set[int] | None] = [set() for _ in residuals]
    rows, columns = ca.jacobian_sparsity(concatenate(residuals), symbols).get_triplet()
    for row, column in zip(rows, columns):
        own = inside[row]
        if column >= len(free):
            inside[row] = None
        elif own is not None:
            own.add(free[column])
    return inside


def _is_own(work: Flattening, variable: Variable) -> bool:
    """Whether an unknown is a vector, or one that the model itself declares."""
    x = work.unknowns.by_name.get(variable.name)
    return x is None or work.unknowns.rank[x] >= MOVING


def _solved_for(residual: ca.SX, symbol: ca.SX) -> ca.SX | None:
    """x from residual = 0, where it stands in one place under sums, products and quotients; else None."""
    way, target = _way_to(residual, symbol_key(symbol)), ca.SX(0)
    if way is None:
        return None
    for kind, place, other in way:
        if kind == ca.OP_NEG:
            target = -target
        elif kind == ca.OP_ADD:
            target = combined(ca.OP_SUB, target, other)
        elif kind == ca.OP_SUB:
            target = combined(ca.OP_ADD, target, other) if place == 0 else combined(ca.OP_SUB, other, target)
        elif kind == ca.OP_DIV and place == 0:
            target = combined(ca.OP_MUL, target, other)
        elif kind == ca.OP_MUL and _never_vanishes(other):
            target = combined(ca.OP_DIV, target, other)
        else:
            return None
    return target


def _way_to(expression: ca.SX, key: int) -> list[tuple[int, int, ca.SX]] | None:
    """Down to the one place of a symbol: operation, which operand, the other one; None where there is no one place."""
    below, holds = _graph(expression, key)
    own, node, way = symbol_key(expression), expression, []
    while own != key:
        places = [k for k, (entry, _) in enumerate(below[own]) if holds[entry]]
        if len(places) != 1:
            return None
        place, operands = places[0], below[own]
        way.append((int(node.op()), place, operands[1 - place][1] if len(operands) == 2 else node))
        own, node = operands[place]
    return way


def _graph(expression: ca.SX, key: int) -> tuple[dict[int, list[tuple[int, ca.SX]]], dict[int, bool]]:
    """The operands of every node under an expression, and whether a symbol stands in it, each looked at once."""
    below: dict[int, list[tuple[int, ca.SX]]] = {}
    holds = {key: True}

    def look(node: ca.SX, operands: list[ca.SX]) -> bool:
        below[symbol_key(node)] = list(zip(map(symbol_key, operands), operands))
        return any(holds[symbol_key(operand)] for operand in operands)

    folded(expression, holds, look)
    return below, holds


def _never_vanishes(expression: ca.SX) -> bool:
    """Whether an expression is a number other than zero, or such a number over something."""
    if expression.is_constant():
        return not expression.is_zero()
    kind = operation(expression)
    return kind == ca.OP_INV or (kind == ca.OP_DIV and _never_vanishes(expression.dep(0)))
