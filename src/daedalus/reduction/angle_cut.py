"""atan2 across its cut: the angle of a point jumps from π to -π where the point crosses the negative x axis.

The plane has two sectors: one of the angle `SECTOR` right below the cut, and the rest. In each the angle is measured
from a middle m, as m plus the angle of the point turned back by m: m is SECTOR / 2 - π inside the sector and SECTOR / 2
outside of it. That is smooth for SECTOR / 2 beyond both ends, so that a step may pass them and be cut there. At the
other end of the sector the mode turns as well, and nothing jumps: no drawing has an axis there at which things rest.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.system.instruction_list import Instructions

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


def may_jump(rows: Instructions, row: int) -> bool:
    """Whether the point of an atan2 may cross the negative x axis, as far as its operations tell.

    It does not where y never changes, where y is never negative, or where x is not.
    """
    y, x = rows.first[row], rows.second[row]
    return rows.operation[y] != ca.OP_CONST and not _is_never_negative(rows, y) and not _is_never_negative(rows, x)


def _is_never_negative(rows: Instructions, row: int) -> bool:
    """Whether a row is not negative by the kind of its operations."""
    waiting = [row]
    while waiting:
        row = waiting.pop()
        operation, first, second = rows.operation[row], rows.first[row], rows.second[row]
        if operation == ca.OP_CONST:
            if rows.constants[first] < 0:
                return False
        elif operation in KEEPING:
            waiting += [k for k in (first, second) if k >= 0]
        elif operation == ca.OP_FMAX:
            if not any(
                rows.operation[k] == ca.OP_CONST and rows.constants[rows.first[k]] >= 0 for k in (first, second)
            ):
                waiting += [first, second]
        elif operation not in NEVER_NEGATIVE:
            return False
    return True
