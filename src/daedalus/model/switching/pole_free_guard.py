"""Guards of conditions without poles: a / b > c changes where b passes zero too, through infinity.

A step is cut where a guard passes zero. A guard n / d with a divisor d that moves has the sign of n d, which passes
zero at the pole as well and is smooth there; tan(a) is sin(a) / cos(a).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from daedalus.model.expressions import folded, symbol_key

# Operations that may change their sign through infinity, with the operand that this depends on.
POLES = {ca.OP_DIV: 1, ca.OP_INV: 0, ca.OP_TAN: 0}


class Fraction(NamedTuple):
    """An expression as over / under; no divisor that moves where under is None."""

    over: ca.SX
    under: ca.SX | None
    moves: bool


def pole_free(guard: ca.SX, moves: Callable[[int], bool]) -> ca.SX:
    """An expression with the sign of a guard and without its poles; the guard itself where it has none.

    moves: whether the symbol with a key (`symbol_key`) changes between instants.

    Example
    -------
    >>> import casadi as ca
    >>> x, L = ca.SX.sym("x"), ca.SX.sym("L")
    >>> def moves(key): return key == symbol_key(x)
    >>> pole_free(L / x - 2, moves), pole_free(x / L - 2, moves), pole_free(ca.tan(x), moves)
    (SX(((L-(2.*x))*x)), SX(((x/L)-2)), SX((sin(x)*cos(x))))
    """
    fraction = as_fraction(guard, moves)
    return guard if fraction.under is None else ca.SX(fraction.over * fraction.under)


def as_fraction(expression: ca.SX, moves: Callable[[int], bool]) -> Fraction:
    """An expression with one divisor, if it has some that move."""
    known: dict[int, Fraction] = {}

    def make(node: ca.SX, operands: list[ca.SX]) -> Fraction:
        if not operands:
            return Fraction(node, None, bool(node.is_symbolic()) and moves(symbol_key(node)))
        return _combined(node, operands, [known[symbol_key(operand)] for operand in operands])

    return folded(expression, known, make)


def _combined(node: ca.SX, operands: list[ca.SX], parts: list[Fraction]) -> Fraction:
    """An operation on fractions; what is no rational operation is a number of its own."""
    operation, moving = int(node.op()), any(part.moves for part in parts)
    has_divisor = any(part.under is not None for part in parts)
    begins = operation in POLES and parts[POLES[operation]].moves
    if not begins and not has_divisor:
        return Fraction(node, None, moving)
    (one, below), (two, beneath) = ((part.over, part.under) for part in (parts[0], parts[-1]))
    if operation == ca.OP_TAN:
        return Fraction(ca.sin(operands[0]), ca.cos(operands[0]), moving)
    if operation == ca.OP_INV:
        return Fraction(_times(ca.SX(1), below), one, moving)
    if operation == ca.OP_DIV:
        under = _times(two, below) if begins else below
        return Fraction(_times(one, beneath) if begins else one / operands[1], under, moving)
    if operation == ca.OP_MUL:
        return Fraction(one * two, beneath if below is None else _times(below, beneath), moving)
    if operation in (ca.OP_ADD, ca.OP_SUB):
        left, right = _times(one, beneath), _times(two, below)
        under = beneath if below is None else _times(below, beneath)
        return Fraction(left + right if operation == ca.OP_ADD else left - right, under, moving)
    if operation in (ca.OP_NEG, ca.OP_TWICE):
        return Fraction(ca.SX.unary(operation, one), below, moving)
    return Fraction(node, None, moving)


def _times(value: ca.SX, factor: ca.SX | None) -> ca.SX:
    return value if factor is None else ca.SX(value * factor)
