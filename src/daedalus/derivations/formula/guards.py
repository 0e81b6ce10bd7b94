"""Conditions that keep a division or a root off one point, such as cos²θ < 1e-20: a person leaves them out."""

from __future__ import annotations

import casadi as ca

# Limits of guards: a square below them is zero for the reader.
TINY = 1e-12


def guard(condition: ca.SX) -> bool | None:
    """What a condition is everywhere but at single points; None where it is no guard.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> guard(ca.cos(x) ** 2 < 1e-20), guard(x**2 > 1e-20), guard(x < 1e-20), guard(x**2 < 1)
    (False, True, None, None)
    """
    if condition.is_constant() or condition.is_symbolic():
        return None
    if condition.op() == ca.OP_NOT:
        inside = guard(condition.dep(0))
        return None if inside is None else not inside
    if condition.op() not in (ca.OP_LT, ca.OP_LE):
        return None
    below, above = condition.dep(0), condition.dep(1)
    if _is_tiny(above) and _is_square(below):
        return False
    return True if _is_tiny(below) and _is_square(above) else None


def _is_tiny(side: ca.SX) -> bool:
    return bool(side.is_constant()) and 0 <= float(side) <= TINY


def _is_square(side: ca.SX) -> bool:
    """Whether an expression is a square or a sum of squares."""
    if side.is_constant() or side.is_symbolic():
        return False
    if side.op() == ca.OP_ADD:
        return _is_square(side.dep(0)) and _is_square(side.dep(1))
    return side.op() == ca.OP_SQ
