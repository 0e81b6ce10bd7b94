"""Laws that contain one unknown beside states and what is known are solved for it: v = V − R i where i is a state.

Only forward: an unknown is solved where all others in its law have been, so that rounding does not grow on the way.
Nothing is divided by a parameter, which might be zero.
"""

from __future__ import annotations

import casadi as ca

from daedalus.model.assembly.flattening import Flattening
from daedalus.model.assembly.put_in_laws import Law
from daedalus.model.assembly.unknowns import MOVING
from daedalus.model.expressions import concatenate, operation, symbol_key
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
    staying = [symbol for chain in book._derivatives.values() for symbol in chain]
    staying += [book._symbols[v.name] for v in book._variables.values() if v.kind == "algebraic" and _is_own(work, v)]
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
    node, target, key = residual, ca.SX(0), symbol_key(symbol)
    while not node.is_symbolic():
        kind = operation(node)
        if kind == ca.OP_NEG:
            node, target = node.dep(0), -target
            continue
        if kind not in (ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV):
            return None
        sides = node.dep(0), node.dep(1)
        stands = [_contains(side, key) for side in sides]
        if all(stands) or (stands[1] and kind == ca.OP_DIV):
            return None
        node, other = sides if stands[0] else sides[::-1]
        if kind == ca.OP_ADD:
            target = target - other
        elif kind == ca.OP_SUB:
            target = target + other if stands[0] else other - target
        elif kind == ca.OP_DIV:
            target = target * other
        elif _never_vanishes(other):
            target = target / other
        else:
            return None
    return target


def _contains(expression: ca.SX, key: int) -> bool:
    """Whether a symbol stands in an expression."""
    waiting, met = [expression], set()
    while waiting:
        node = waiting.pop()
        own = symbol_key(node)
        if own == key:
            return True
        if own not in met and not node.is_leaf():
            met.add(own)
            waiting += [node.dep(k) for k in range(node.n_dep())]
    return False


def _never_vanishes(expression: ca.SX) -> bool:
    """Whether an expression is a number other than zero, or such a number over something."""
    if expression.is_constant():
        return not expression.is_zero()
    kind = operation(expression)
    return kind == ca.OP_INV or (kind == ca.OP_DIV and _never_vanishes(expression.dep(0)))
