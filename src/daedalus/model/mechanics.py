"""Equations of motion from energies, forces, bodies and constraints.

With positions q, velocities v and the kinematics q' = N(q) v,

    d/dt ∂T/∂v − ∂T/∂q = τ − Nᵀ ∂V/∂q − ∂D/∂v + (G N)ᵀ λ,        c(q, t) = 0,  G = ∂c/∂q,

where the left side is Lagrange's for coordinates (N = I, v = q') and Newton–Euler's for bodies. A velocity constraint
a(q, v, t) = 0 enters with (∂a/∂v)ᵀ λ. All of it is built by derivatives along directions: the size of the result grows with the size of what was written, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca

from daedalus.model.expressions import column, concatenate
from daedalus.model.notebook import Equation, Notebook


@dataclass(frozen=True)
class Constraint:
    """A constraint with the multiplier of the same name; `kind` is "holonomic" or "velocity"."""

    name: str
    kind: str
    expression: ca.SX


@dataclass(frozen=True)
class Velocity:
    """A velocity-like unknown and how positions follow from it: position' = rate(velocity)."""

    position: str  # the variable that it moves
    velocity: str  # its own name; for a coordinate q this is the derivative q_dot
    rate: ca.SX  # position' in terms of the velocity, linear in it
    inertia_force: ca.SX | None  # M v' + h; None for a coordinate, where it follows from the kinetic energy


@dataclass
class WrittenMechanics:
    """What the doors for energies and bodies have collected."""

    coordinates: list[str] = field(default_factory=list)
    kinetic: ca.SX = field(default_factory=lambda: ca.SX(0))
    potential: ca.SX = field(default_factory=lambda: ca.SX(0))
    dissipation: ca.SX = field(default_factory=lambda: ca.SX(0))
    # Generalised forces by the name of the position (coordinate, body position or body attitude).
    applied: dict[str, ca.SX] = field(default_factory=dict)
    constraints: dict[str, Constraint] = field(default_factory=dict)
    velocities: dict[str, Velocity] = field(default_factory=dict)  # by the name of the position
    gravity: ca.SX = field(default_factory=lambda: ca.SX.zeros(3))

    def copy(self) -> WrittenMechanics:
        """A collection of its own with the same entries."""
        return replace(
            self,
            coordinates=list(self.coordinates),
            applied=dict(self.applied),
            constraints=dict(self.constraints),
            velocities=dict(self.velocities),
        )

    # -- travelling: names as plain data, expressions as a flat list --------------------------------------------

    def outline(self) -> dict[str, Any]:
        """Names and kinds, without expressions."""
        return {
            "coordinates": list(self.coordinates),
            "applied": list(self.applied),
            "constraints": [(c.name, c.kind) for c in self.constraints.values()],
            "velocities": [(v.position, v.velocity, v.inertia_force is not None) for v in self.velocities.values()],
        }

    def expressions(self) -> list[ca.SX]:
        """The expressions that belong to the outline, in its order."""
        return [
            self.kinetic,
            self.potential,
            self.dissipation,
            self.gravity,
            *self.applied.values(),
            *(c.expression for c in self.constraints.values()),
            *(e for v in self.velocities.values() for e in (v.rate, v.inertia_force) if e is not None),
        ]

    def add(self, outline: dict[str, Any], expressions: Iterator[ca.SX], prefix: str) -> None:
        """Take in what another collection wrote, under a prefix."""
        self.coordinates += [prefix + name for name in outline["coordinates"]]
        self.kinetic += next(expressions)
        self.potential += next(expressions)
        self.dissipation += next(expressions)
        gravity = next(expressions)
        self.gravity = self.gravity if prefix else gravity
        for name in outline["applied"]:
            self.applied[prefix + name] = next(expressions)
        for name, kind in outline["constraints"]:
            self.constraints[prefix + name] = Constraint(prefix + name, kind, next(expressions))
        for position, velocity, has_inertia in outline["velocities"]:
            rate = next(expressions)
            force = next(expressions) if has_inertia else None
            self.velocities[prefix + position] = Velocity(prefix + position, prefix + velocity, rate, force)

    @property
    def positions(self) -> list[str]:
        """Everything that moves: coordinates, then positions and attitudes of bodies."""
        return [*self.coordinates, *self.velocities]


def equations_of_motion(book: Notebook, written: WrittenMechanics) -> list[Equation]:
    """The equations that the energies, bodies and constraints of a notebook stand for."""
    if not written.positions:
        return []
    forces = generalised_forces(book, written)
    equations = [
        Equation(f"motion of {name}", column(left - forces[name]))
        for name, left in lagrange_terms(book, written).items()
    ]
    for velocity in written.velocities.values():
        if velocity.inertia_force is not None:
            left = velocity.inertia_force
            equations.append(Equation(f"motion of {velocity.position}", column(left - forces[velocity.position])))
    equations += [Equation(c.name, column(c.expression)) for c in written.constraints.values()]
    return equations


def lagrange_terms(book: Notebook, written: WrittenMechanics) -> dict[str, ca.SX]:
    """d/dt ∂T/∂q' − ∂T/∂q for every coordinate."""
    names = written.coordinates
    if not names:
        return {}
    q, rates, accelerations = (concatenate(book._derivative_symbol(n, k) for n in names) for k in range(3))
    momentum = column(ca.gradient(written.kinetic, rates))
    # The derivative along the motion: q moves with q', q' with q'', t with 1.
    along = ca.jtimes(momentum, concatenate([q, rates, book._time]), concatenate([rates, accelerations, ca.SX(1)]))
    return _split(book, names, column(along) - column(ca.gradient(written.kinetic, q)))


def generalised_forces(book: Notebook, written: WrittenMechanics) -> dict[str, ca.SX]:
    """All forces by the name of the position they move: applied, from potential, dissipation and constraints."""
    names = written.positions
    sizes = {n: _velocity_symbol(book, written, n).numel() for n in names}
    total = {n: column(written.applied.get(n, ca.SX.zeros(sizes[n]))) for n in names}
    q = concatenate(book._symbols[n] for n in names)
    gradient = -column(ca.gradient(written.potential, q))
    for constraint in written.constraints.values():
        multiplier = column(book._symbols[constraint.name])
        if constraint.kind == "holonomic":
            gradient += column(ca.jtimes(column(constraint.expression), q, multiplier, True))
    for name, part in _split(book, names, gradient).items():
        total[name] += pulled_back(book, written, name, part)
    v = concatenate(_velocity_symbol(book, written, n) for n in names)
    loss = -column(ca.gradient(written.dissipation, v))
    for constraint in written.constraints.values():
        if constraint.kind == "velocity":
            loss += column(ca.jtimes(column(constraint.expression), v, column(book._symbols[constraint.name]), True))
    offset = 0
    for name in names:
        total[name] += loss[offset : offset + sizes[name]]
        offset += sizes[name]
    return total


def pulled_back(book: Notebook, written: WrittenMechanics, name: str, gradient: ca.SX) -> ca.SX:
    """Nᵀ g: a force on a position as a force on its velocity."""
    velocity = written.velocities.get(name)
    if velocity is None:
        return gradient
    return column(ca.jtimes(column(velocity.rate), book._symbols[velocity.velocity], gradient, True))


def _velocity_symbol(book: Notebook, written: WrittenMechanics, name: str) -> ca.SX:
    velocity = written.velocities.get(name)
    return book._derivative_symbol(name, 1) if velocity is None else book._symbols[velocity.velocity]


def _split(book: Notebook, names: Iterable[str], stacked: ca.SX) -> dict[str, ca.SX]:
    """A stacked column cut into the parts of each position."""
    parts, offset = {}, 0
    for name in names:
        size = book._variables[name].size
        parts[name] = stacked[offset : offset + size]
        offset += size
    return parts
