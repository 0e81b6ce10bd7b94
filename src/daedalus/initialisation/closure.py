"""How far joints and constraints are from holding at the guess, before anything is moved."""

from __future__ import annotations

import numpy as np

from daedalus.initialisation.search import Search
from daedalus.model.system.equation_row import level_name


def closure_at_guess(search: Search) -> dict[str, float]:
    """The length of what the guess leaves of every written row between states alone, by the name of its constraint.

    These are joints, holonomic and velocity constraints, and invariants such as the unit length of a quaternion. A
    joint counts as one: the distance of a hinge is that of its two points.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pendulum")
    >>> bob = m.body("bob", 2.0, 0.1, "planar", position=[0.3, -0.4], rotation=0.0)
    >>> hinge = m.joint("hinge", "revolute", dd.ground, bob, at_b=[0.0, 1.0])
    >>> s = dd.initialise(m, free=["bob.position", "bob.angle"])
    >>> {name: round(gap, 6) for name, gap in s.closure.items()}, s.largest_residual < 1e-9
    ({'hinge': 0.67082}, True)
    """
    eq, n = search.equations, search.equations.system.sizes["x"]
    residual, _ = search.residual(search.guess)
    gaps: dict[str, float] = {}
    for row, value in enumerate(residual):
        own = [eq.unknowns[k] for k in eq.unknowns_in(row)]
        if eq.rows[row].times or not own or any(order or j >= n for j, order in own):
            continue
        origin = eq.rows[row].origin
        name = level_name(origin.source.equation, origin.times)
        gaps[name] = float(np.hypot(gaps.get(name, 0.0), value))
    return gaps
