"""Equations a v^n + b = 0 with an odd n, solved for v: one real root, v = -sign(b/a) |b/a|^(1/n)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import SAME_FORMULA

POWERS = (3, 5, 7)
SAMPLES = 5


def odd_root(residual: ca.SX, unknown: ca.SX) -> ca.SX | None:
    """The real root of a scalar equation that is an odd power of its unknown but for a factor and a summand, or None.

    Example
    -------
    >>> v, x = ca.SX.sym("v"), ca.SX.sym("x")
    >>> root = ca.Function("root", [x], [odd_root(v**3 + x, v)])
    >>> float(root(8.0)), odd_root(v**3 + v + x, v) is None
    (-2.0, True)
    """
    summand = ca.substitute(residual, unknown, 0)
    factor = ca.substitute(residual, unknown, 1) - summand
    symbols = ca.symvar(residual)
    draw = np.random.default_rng(4)
    for power in POWERS:
        left = residual - (factor * unknown**power + summand)
        look = ca.Function("left", symbols, [left, ca.fabs(residual) + ca.fabs(summand) + 1])
        values = [look.call([ca.DM(v) for v in draw.uniform(0.2, 1.8, len(symbols))]) for _ in range(SAMPLES)]
        if all(abs(float(gap)) <= SAME_FORMULA * float(size) for gap, size in values):
            share = summand / factor
            return -ca.sign(share) * ca.fabs(share) ** (1.0 / power)
    return None
