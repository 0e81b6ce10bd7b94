"""The symbols of a robot: its tree of links with parameters at their values, and q, v, a and τ."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.expressions import column, concatenate, symbol_key
from daedalus.model.mechanics.trees import Tree, armature_of, nothing_moves, tree_of
from daedalus.model.model import Model
from daedalus.model.names import listed


class RobotSymbols(NamedTuple):
    """A tree with its symbols: positions, velocities, accelerations and joint forces, and q' = rate."""

    tree: Tree
    q: ca.SX
    v: ca.SX
    a: ca.SX
    tau: ca.SX
    rate: ca.SX
    armature: ca.SX
    model: Model

    def numbered(self, expressions: list[ca.SX]) -> list[ca.SX]:
        """Expressions with the values of parameters put in."""
        return numbered(self.model, expressions)


def robot_symbols(model: Model) -> RobotSymbols:
    """The tree of a model with parameters at their values; refuses a model without bodies."""
    written = model.written.mechanics
    if not written.bodies and written.frames:
        raise nothing_moves(model.name, written)
    if not written.bodies:
        raise ModelError(
            f"The model {model.name!r} has no bodies.",
            because="the functions of a robot take the coordinates of its joints and free bodies.",
            remedy='m.body(...) and m.joint(..., coordinates="joint"), dd.read_urdf(...) or dd.read_mjcf(...)',
        )
    tree = tree_of(model, every=True)
    if tree.weights:
        raise ModelError(
            f"Bodies of {model.name!r} have their own gravity.",
            f"bodies: {listed(list(tree.weights), 6)}",
            because="the functions of a robot take one gravity for all.",
            remedy="m.gravity(...) once, in the model that includes the parts",
        )
    armature = armature_of(model, tree)
    if armature is None:
        raise ModelError(
            f"The kinetic energy added to {model.name!r} is more than rotor inertias of single joints.",
            because="the functions of a robot take M(q) of the bodies and constant inertias on its diagonal.",
            remedy="m.mechanics(), whose functions take any energy",
        )
    q = concatenate(column(model.written.symbols[name]) for name in tree.positions)
    rates = []
    for name in tree.positions:
        velocity = written.velocities.get(name)
        rates.append(model.written.derivative_symbol(name, 1) if velocity is None else column(velocity.rate))
    expressions = [concatenate(rates), armature, tree.gravity]
    for link in tree.links:
        expressions += [link.turn, link.shift, link.angular, link.linear, link.drift]
        expressions += [link.mass, link.centre, link.inertia]
    numbers = iter(numbered(model, expressions))
    rate, armature, gravity = next(numbers), next(numbers), next(numbers)
    links = []
    for link in tree.links:
        turn, shift, angular, linear, drift, mass, centre, inertia = (next(numbers) for _ in range(8))
        links.append(
            link.__class__(link.parent, turn, shift, angular, linear, drift, link.columns, mass, centre, inertia)
        )
    tau = ca.SX.sym("tau", tree.v.numel())
    return RobotSymbols(
        tree._replace(links=links, gravity=gravity),
        q,
        tree.v,
        tree.a,
        tau,
        ca.densify(rate),
        ca.densify(armature),
        model,
    )


def numbered(model: Model, expressions: list[ca.SX]) -> list[ca.SX]:
    """Expressions with the values of parameters put in."""
    known = [v for v in model.written.variables.values() if v.kind == "parameter"]
    used = {symbol_key(s) for e in expressions for s in ca.symvar(e)}
    symbols, values = [], []
    for variable in known:
        for k, scalar in enumerate(model.written.scalars[variable.name, 0]):
            if symbol_key(scalar) in used:
                symbols.append(scalar)
                values.append(_parameter_value(variable.name, variable.start[k]))
    if not symbols:
        return expressions
    return ca.substitute(expressions, [concatenate(symbols)], [ca.SX(ca.DM(values))])


def _parameter_value(name: str, value: float | None) -> float:
    if value is None:
        raise ModelError(
            f"The parameter {name!r} has no value.",
            because="the functions of a robot are made for numbers.",
            remedy=f'm.parameter("{name}", 1.0)',
        )
    return float(value)
