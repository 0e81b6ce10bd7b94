"""Offsets of a structure in which some equations have no unknown of their own.

Three equations for two unknowns leave no full assignment, though one of them may follow from the others. As many
equations as possible are assigned, with the largest sum of orders; their offsets are those of the signature method,
and each equation left over is differentiated as often as the derivatives d_j of the others allow, min (d_j - σ_ij).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daedalus.analysis.structure.signature import Signature, raised


def completed(s: Signature) -> Signature | None:
    """A square structure with offsets for all its equations and unknowns; None where they are not finite.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.analysis.structure.signature import signature
    >>> y, ydot = ca.SX.sym("y", 3), ca.SX.sym("ydot", 3)
    >>> s = signature(ca.vertcat(ydot[0] - y[1] - y[2], y[0] - 1, 2 * y[0] - 2), [y, ydot])
    >>> s.regular, completed(s).c.tolist(), completed(s).d.tolist()
    (False, [0, 1, 1], [1, 0, 0])
    """
    if s.count != s.size or not len(s.rows):
        return None
    try:
        return with_rest(raised(s, most=s.size))
    except ArithmeticError:
        return None


def with_rest(s: Signature) -> Signature:
    """The equations that are assigned to no unknown differentiated as often as the others' derivatives allow."""
    left_over = s.partner < 0
    if not left_over.any():
        return s
    taken = np.zeros(s.size, dtype=bool)
    taken[s.partner[~left_over]] = True
    most = np.full(s.count, np.iinfo(int).max)
    bound = taken[s.columns]
    np.minimum.at(most, s.rows[bound], s.d[s.columns[bound]] - s.orders[bound])
    c = np.where(left_over & (most < np.iinfo(int).max), most, s.c)
    d = s.d.copy()
    np.maximum.at(d, s.columns, s.orders + c[s.rows])
    return replace(s, c=c, d=d)
