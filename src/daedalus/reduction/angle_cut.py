"""atan2 across its cut: the angle of a point jumps from π to -π where the point crosses the negative x axis.

The plane has two sectors: one of the angle `SECTOR` right below the cut, and the rest. In each the angle is measured
from a middle m, as m plus the angle of the point turned back by m: m is SECTOR / 2 - π inside the sector and SECTOR / 2
outside of it. That is smooth for SECTOR / 2 beyond both ends, so that a step may pass them and be cut there. At the
other end of the sector the mode turns as well, and nothing jumps: no drawing has an axis there at which things rest.

atan(y / x) jumps from π/2 to -π/2 where x passes zero, and atan(tan(a)) where cos(a) does. With s the sign of x it is
atan2(s y, s x), smooth for a quarter of a turn beyond both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from daedalus.model.switching.pole_free_guard import as_fraction

# rad: wide enough that no step leaps over it.
SECTOR = 1.0
# Operations without negative values, and those that have none where their operands have none.
NEVER_NEGATIVE = frozenset((ca.OP_SQRT, ca.OP_FABS, ca.OP_SQ, ca.OP_EXP, ca.OP_HYPOT, ca.OP_COSH))
KEEPING = frozenset((ca.OP_ADD, ca.OP_MUL, ca.OP_DIV, ca.OP_TWICE, ca.OP_FMIN, ca.OP_INV))


def sector_guard(y: ca.SX, x: ca.SX) -> ca.SX:
    """Positive inside the sector below the cut, where y < 0 and the line at its other end is not yet passed.

    Example
    -------
    >>> import casadi as ca
    >>> [bool(sector_guard(ca.SX(y), ca.SX(x)) > 0) for y, x in ((-0.1, -1), (0, -1), (0.1, -1), (-1, 0), (-0.1, 1))]
    [True, False, False, False, False]
    """
    below, before = -y, np.cos(SECTOR) * y - np.sin(SECTOR) * x
    # Positive where both are, and as smooth as they are but at the origin.
    return ca.SX(below + before - ca.hypot(below, before))


def continued_angle(y: ca.SX, x: ca.SX, inside: ca.SX) -> ca.SX:
    """The angle of a point that counts as inside the sector, or as outside of it, also a little beyond its ends.

    Example
    -------
    >>> import casadi as ca
    >>> y, x = ca.SX(-0.1), ca.SX(-1)
    >>> round(float(continued_angle(y, x, ca.SX(1))), 4), round(float(continued_angle(y, x, ca.SX(0))), 4)
    (-3.0419, 3.2413)
    """
    cosine, sine = np.cos(0.5 * SECTOR), np.sin(0.5 * SECTOR)
    side = 1 - 2 * inside
    turned = ca.atan2(side * (cosine * y - sine * x), side * (cosine * x + sine * y))
    return ca.SX(0.5 * SECTOR - np.pi * inside + turned)


def slope_angle(y: ca.SX, x: ca.SX, right: ca.SX) -> ca.SX:
    """atan(y / x) where x counts as positive (right: 1), or as negative, also beyond that.

    Example
    -------
    >>> import casadi as ca
    >>> y, x = ca.SX(1), ca.SX(-0.1)
    >>> round(float(slope_angle(y, x, ca.SX(1))), 4), round(float(slope_angle(y, x, ca.SX(0))), 4)
    (1.6705, -1.4711)
    """
    side = 2 * right - 1
    return ca.SX(ca.atan2(side * y, side * x))


def point_of(operation: int, operands: Sequence[ca.SX], moves: Callable[[int], bool]) -> tuple[ca.SX, ca.SX] | None:
    """The point (y, x), without poles, that an atan2 or atan belongs to; None for an atan without a moving divisor.

    Example
    -------
    >>> import casadi as ca
    >>> a, b = ca.SX.sym("a"), ca.SX.sym("b")
    >>> point_of(ca.OP_ATAN, [1 / (a / b)], lambda key: True)
    (SX(b), SX(a))
    >>> point_of(ca.OP_ATAN, [a], lambda key: True) is None
    True
    """
    parts = [as_fraction(operand, moves) for operand in operands]
    if operation == ca.OP_ATAN:
        return None if parts[0].under is None else (parts[0].over, parts[0].under)
    if all(part.under is None for part in parts):
        return operands[0], operands[1]
    # Both times the squares of both divisors.
    below, beneath = (ca.SX(1) if part.under is None else part.under for part in parts)
    return parts[0].over * below * beneath**2, parts[1].over * beneath * below**2


def may_jump(operation: int, point: tuple[ca.SX, ca.SX]) -> bool:
    """Whether a point may come to where its angle jumps, as far as its operations tell.

    x of an atan does not where it is never negative. The point of an atan2 does not cross the negative x axis where y
    never changes, where y is never negative, or where x is not.
    """
    y, x = point
    if operation == ca.OP_ATAN:
        return not _is_never_negative(x)
    return not y.is_constant() and not _is_never_negative(y) and not _is_never_negative(x)


def _is_never_negative(expression: ca.SX) -> bool:
    """Whether an expression is not negative by the kind of its operations."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        operands = [node.dep(k) for k in range(node.n_dep())]
        if node.is_constant():
            if float(node) < 0:
                return False
        elif not operands:
            return False
        elif node.op() in KEEPING:
            waiting += operands
        elif node.op() == ca.OP_FMAX:
            if not any(operand.is_constant() and float(operand) >= 0 for operand in operands):
                waiting += operands
        elif node.op() not in NEVER_NEGATIVE:
            return False
    return True
