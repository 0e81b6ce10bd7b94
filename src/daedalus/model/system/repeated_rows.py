"""Rows of a system that say what other rows say: their slopes follow from those of the others wherever these hold."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, independent_rows
from daedalus.model.system.sampled_points import CANCELLED, PointsNearStart
from daedalus.model.system.system import System


def repeated_rows(system: System) -> list[int]:
    """Rows whose slopes in x', x and z follow from those of other rows wherever these hold, and that hold there too.

    Of rows that repeat each other those without derivatives go first, and of these what was written last.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("held twice"); x = m.state("x"); f = m.algebraic("f", 2)
    >>> m.equation(m.der(x), f[0] + f[1]); m.equation(x, m.time); m.equation(2 * x, 2 * m.time)
    >>> repeated_rows(m.freeze())
    [2]
    """
    unknowns = ca.vertcat(*system.symbols(("xdot", "x", "z")))
    arguments = system.symbols()
    slope = ca.jacobian(system.residual, unknowns)
    look = ca.Function("slope", arguments, [ca.densify(system.residual), ca.densify(slope)])
    moving = set(ca.jacobian_sparsity(system.residual, system.symbol("xdot")).row())
    order = sorted(range(len(system.rows)), key=lambda k: (k not in moving, k))
    repeated: set[int] | None = None
    for point in PointsNearStart(system).draw():
        matrix = look.call(point)[1].full()[order]
        chosen = independent_rows(matrix)
        own = set(order) - {order[k] for k in chosen}
        repeated = own if repeated is None else repeated & own
    if not repeated:
        return []
    kept = [k for k in range(len(system.rows)) if k not in repeated]
    for point in PointsNearStart(system, kept).draw(seed=1958):
        left, slopes = (part.full() for part in look.call(point))
        size = np.abs(slopes).max(axis=1) * max(1.0, *(np.abs(part).max(initial=0.0) for part in point))
        if np.any(np.abs(left[:, 0]) > CANCELLED * (size + NOT_ZERO)):
            return []
    return sorted(repeated)
