"""Whether constraints close loops. Those of a tree are independent; those of a loop may follow from each other."""

from __future__ import annotations

import casadi as ca

from daedalus.model.expressions import symbol_key
from daedalus.model.model import Model

GROUND = ""


def closes_loops(model: Model) -> bool:
    """Whether a constraint joins bodies that others have joined already, or holds one twice.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("four-bar")
    >>> crank, rod, rocker = (m.body(name, mass=1.0, inertia=[1.0, 1.0, 1.0]) for name in ("crank", "rod", "rocker"))
    >>> for name, a, b in (("one", dd.ground, crank), ("two", crank, rod), ("three", rod, rocker)):
    ...     _ = m.joint(name, "spherical", a, b)
    >>> closes_loops(m)
    False
    >>> _ = m.joint("four", "spherical", rocker, dd.ground)
    >>> closes_loops(m)
    True
    """
    bodies = _bodies(model)
    towards: dict[str, str] = {}

    def stands_for(body: str) -> str:
        while towards.get(body, body) != body:
            towards[body] = body = towards.get(towards[body], towards[body])
        return body

    for constraint in model.written.mechanics.constraints.values():
        names = (model.written.known[symbol_key(s)][0] for s in ca.symvar(constraint.expression))
        own = {bodies[name] for name in names if name in bodies}
        ends = [stands_for(body) for body in (own if len(own) > 1 else {*own, GROUND})]
        if len(set(ends)) < len(ends):
            return True
        towards.update(dict.fromkeys(ends[1:], ends[0]))
    return False


def _bodies(model: Model) -> dict[str, str]:
    """Which body moves by each variable; a coordinate stands for itself."""
    mechanics = model.written.mechanics
    found = {name: name for name in mechanics.coordinates}
    for position, velocity in mechanics.velocities.items():
        found[position] = found[velocity.velocity] = position.rpartition(".")[0] or position
    return found
