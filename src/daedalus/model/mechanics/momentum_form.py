"""Mechanics by momenta, as symplectic methods take it: d/dt π(t, q, v) = f(t, q, v) + Gᵀ λ with q' = v and c(t, q) = 0.

With the kinetic energy T of coordinates and the mass matrix M_b of planar bodies

    π = ∂T/∂v + M_b v,        f = ∂T/∂q − ∂V/∂q − ∂D/∂v + τ,        G = ∂c/∂q,

so π is the canonical momentum and f = ∂L/∂q where nothing is dissipated and no force is applied. Attitudes of bodies in
space have q' = N(q) v with N ≠ I and no such form in these variables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca

from daedalus.errors import InputError
from daedalus.model.expressions import concatenate
from daedalus.model.mechanics.equations_of_motion import (
    acceleration_symbols,
    applied_forces,
    gradient,
    inertia_sides,
    position_symbols,
    time_derivative,
    velocity_symbols,
)
from daedalus.model.mechanics.mechanics_part import Mechanics, motion_of
from daedalus.model.mechanics.motion_functions import MotionFunctions
from daedalus.model.system.closed_loop import ClosedLoop
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System

if TYPE_CHECKING:
    from daedalus.model.doors.energies import EnergyDoor

ARGUMENTS = ("t", "q", "v", "u", "p")
FUNCTIONS = ("momentum", "force", "applied", "constraint", "constraint_rate", "mass", "jacobian", "right")


@dataclass(frozen=True, eq=False)
class MomentumForm:
    """π, f and what belongs to them as functions of (t, q, v, u, p), each returning one value.

    positions, velocities: where the elements of q and of v stand in x. multipliers: where those of λ stand in z.
    """

    positions: tuple[int, ...]
    velocities: tuple[int, ...]
    multipliers: tuple[int, ...]
    momentum: ca.Function
    """π"""
    force: ca.Function
    """f"""
    applied: ca.Function
    """the part of f that no energy brings: τ − ∂D/∂v"""
    constraint: ca.Function
    """c"""
    constraint_rate: ca.Function
    """c'"""
    mass: ca.Function
    """∂π/∂v"""
    jacobian: ca.Function
    """G"""
    right: ca.Function
    """(τ − h, γ) of M v' − Gᵀ λ = τ − h, G v' = γ"""

    @property
    def symplectic(self) -> bool:
        """Whether the flow is: no force but those of energies depends on positions or velocities."""
        t, q, v, u, p = self.symbols()
        return not ca.depends_on(self.applied(t, q, v, u, p), ca.vertcat(q, v))

    def symbols(self) -> list[ca.SX]:
        """New symbols for (t, q, v, u, p)."""
        return [ca.SX.sym(name, self.force.size1_in(k)) for k, name in enumerate(ARGUMENTS)]

    def with_inputs(self, system: System, closed: System) -> MomentumForm:
        """The same with inputs that are expressions: `closed` is the `system` with those put in, now its outputs."""
        t, x, p = system.symbols(("t", "x", "p"))
        inputs = ca.SX(system.symbol("u"))
        for variable in system.of_kind("input"):
            place = closed.places.get(variable.name)
            if place is None or place.letter != "u":
                inputs[system.places[variable.name].positions.tolist()] = ca.vec(closed.outputs[variable.name])
        if ca.depends_on(inputs, ca.vertcat(system.symbol("xdot"), system.symbol("z"))):
            raise InputError(
                "A symplectic method takes no feedback of accelerations or constraint forces.",
                f"an input of {system.name!r} is an expression of them",
                because="its forces are functions of time, positions and velocities.",
                remedy='method="radau5"',
            )
        q, v = x[list(self.positions)], x[list(self.velocities)]
        changed: dict[str, Any] = {
            name: ca.Function(name, [t, q, v, closed.symbol("u"), p], [getattr(self, name)(t, q, v, inputs, p)])
            for name in FUNCTIONS
        }
        return replace(self, **changed)


@remembered
def momentum_form(system: System) -> MomentumForm:
    """The momentum form of a system, made once and kept with it; refuses what has none, with the reason.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> a = m.coordinate("a", start=0.1, rate=0.0)
    >>> m.kinetic_energy(0.5 * 2.0 * m.rate(a) ** 2); m.potential_energy(-9.81 * ca.cos(a))
    >>> form = momentum_form(m.freeze())
    >>> form.momentum(0, 0.1, 3.0, [], []), form.symplectic
    (DM(6), True)
    """
    loop, mechanics = system.part(ClosedLoop), system.part(Mechanics)
    if loop is not None:
        return momentum_form(loop.opened).with_inputs(loop.opened, system)
    if mechanics is None:
        raise InputError(
            "A symplectic method needs the Model.",
            f"the momenta of the System {system.name!r} are not known",
            because="a System that was loaded, reduced or otherwise rewritten holds equations, and no longer energies, "
            "forces and constraints apart.",
            remedy="dd.simulate(m, ...) with the model that was frozen",
        )
    if mechanics.book is None:
        raise InputError(
            f"The model {system.name!r} has no mechanics.",
            "no coordinate and no body is declared",
            because="a symplectic method needs the kinetic energy, the forces and the constraints apart.",
            remedy='m.coordinate(...) and m.kinetic_energy(...), or another method such as "radau5"',
        )
    return _made(mechanics.book, system)


def _made(model: EnergyDoor, system: System) -> MomentumForm:
    written = model.written.mechanics
    _check_kinds(model)
    motion = motion_of(system)
    _check_alone(motion, system)
    q, v, a = (symbols(model, written) for symbols in (position_symbols, velocity_symbols, acceleration_symbols))
    at_rest = ca.SX.zeros(a.numel())
    # What is left without T: bodies, potential, weights; and the forces, which may contain accelerations.
    rest = concatenate(inertia_sides(model, replace(written, kinetic=ca.SX(0), dissipation=ca.SX(0))).values())
    pushed = concatenate(applied_forces(model, written).values())
    other_mass = ca.jacobian(rest - pushed, a)
    loss = gradient(written.dissipation, v)
    rest, pushed = ca.substitute([rest, pushed - loss], [a], [at_rest])
    momentum = gradient(written.kinetic, v) + ca.mtimes(other_mass, v)
    drift = ca.substitute(time_derivative(model, written, ca.mtimes(other_mass, v)), a, at_rest)
    outputs = {
        "momentum": momentum,
        "force": gradient(written.kinetic, q) - rest + pushed + drift,
        "applied": pushed,
        "mass": ca.jacobian(momentum, v),
    }
    _check_quadratic(model, outputs["mass"], v)
    arguments = [system.symbol("t"), q, v, system.symbol("u"), system.symbol("p")]
    whole = [*arguments, ca.SX(0, 1)]
    outputs["constraint"], outputs["constraint_rate"] = motion.c(*whole), motion.c_dot(*whole)
    outputs["jacobian"] = motion.G(*whole)
    outputs["right"] = ca.vertcat(motion.tau(*whole) - motion.h(*whole), motion.gamma(*whole))
    place = {label: k for letter in "xz" for k, label in enumerate(system.labels[letter])}
    positions, velocities, multipliers = (
        tuple(place[label] for label in labels) for labels in (motion.positions, motion.velocities, motion.multipliers)
    )
    functions = {
        name: ca.Function(name, arguments, [value if name in ("mass", "jacobian") else ca.densify(value)])
        for name, value in outputs.items()
    }
    return MomentumForm(positions=positions, velocities=velocities, multipliers=multipliers, **functions)


def _check_kinds(model: EnergyDoor) -> None:
    """Refuse velocity constraints, and positions whose rate is not their velocity."""
    rolling = [c.name for c in model.written.mechanics.constraints.values() if c.kind == "velocity"]
    if rolling:
        raise InputError(
            "A symplectic method does not take velocity constraints.",
            f"{', '.join(rolling)} of {model.name!r} {'is one' if len(rolling) == 1 else 'are some'}",
            because="a nonholonomic system has no Hamiltonian flow to preserve.",
            remedy='method="radau5", or m.constraint(...) where the constraint follows from positions',
        )
    for velocity in model.written.mechanics.velocities.values():
        symbol = model.written.symbols[velocity.velocity]
        if velocity.rate.shape == symbol.shape and ca.is_equal(velocity.rate, symbol, 0):
            continue
        raise InputError(
            "A symplectic method needs positions whose rate is their velocity.",
            f"{velocity.position} of {model.name!r} turns with {velocity.velocity}, which is not its rate",
            because="the angular velocity is not a derivative of an attitude, so it has no canonical momentum.",
            remedy='coordinates such as angles with m.coordinate(...), a planar body, or method="radau5"',
        )


def _check_alone(motion: MotionFunctions, system: System) -> None:
    """Refuse states and algebraic variables beside positions, velocities and multipliers."""
    known = {*motion.positions, *motion.velocities, *motion.multipliers}
    others = [label for letter in "xz" for label in system.labels[letter] if label not in known]
    others += [label for label in motion.other_labels if label not in others]
    if others:
        raise InputError(
            "A symplectic method only solves mechanical models.",
            f"{system.name!r} has {', '.join(others[:6])} beside its positions, velocities and constraint forces",
            because="only those have momenta, forces and constraints.",
            remedy='method="radau5"',
        )


def _check_quadratic(model: EnergyDoor, mass: ca.SX, v: ca.SX) -> None:
    if ca.depends_on(mass, v):
        raise InputError(
            f"The kinetic energy of {model.name!r} is not quadratic in the velocities.",
            "the mass matrix contains velocities",
            because="a symplectic method solves π = M v for the velocities at the end of a step.",
            remedy='method="radau5"',
        )
