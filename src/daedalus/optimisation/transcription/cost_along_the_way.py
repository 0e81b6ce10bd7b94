"""Integrals that the final cost holds in proportion, such as final=3 * ocp.integral(u**2), are running costs.

A running cost is a sum over all points in the objective. As a final cost the integral would be a state, and the cost
the value of one variable at the end, which a search may lower while the motion does not fit together.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from daedalus.model.expressions import concatenate
from daedalus.optimisation.description.description import Description, StandIn


def cost_along_the_way(description: Description) -> Description:
    """The same problem with all that it can of its cost as running cost, and without integrals that nothing else needs.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart"); v, u = m.state("v", start=0.0), m.input("u"); m.equation(m.der(v), u)
    >>> ocp = dd.OptimalControl(m, duration=1.0)
    >>> ocp.minimise(final=3 * ocp.integral(u**2) + v)
    >>> found = cost_along_the_way(ocp._description)
    >>> found.running, found.final, len(found.stand_ins)
    (SX((3*sq(u))), SX(v), 0)
    """
    found = description
    for stand_in in description.stand_ins:
        if stand_in.where != "integral" or not ca.depends_on(found.final, stand_in.symbol):
            continue
        slope = ca.jacobian(found.final, stand_in.symbol)
        if not slope.is_constant():
            continue
        final = ca.simplify(ca.substitute([found.final], [stand_in.symbol], [ca.SX.zeros(stand_in.symbol.shape)])[0])
        running = found.running + ca.mtimes(slope, stand_in.expression)
        found = replace(found, final=final, running=running)
        if not _is_read(found, stand_in):
            found = replace(found, stand_ins=[other for other in found.stand_ins if other is not stand_in])
    return found


def _is_read(description: Description, stand_in: StandIn) -> bool:
    """Whether anything of a problem holds the symbol of a stand-in."""
    others = (s.expression for s in description.stand_ins if s is not stand_in)
    conditions = (condition.expression for condition in description.conditions)
    texts = concatenate([description.final, description.running, *(ca.vec(e) for e in (*others, *conditions))])
    return bool(ca.depends_on(texts, stand_in.symbol))
