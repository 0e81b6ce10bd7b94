"""Equations of motion from energies, forces, bodies and constraints.

With positions q, velocities v and the kinematics q' = N(q) v,

    d/dt ∂T/∂v − Nᵀ ∂T/∂q + Nᵀ ∂V/∂q + ∂D/∂v = τ + (G N)ᵀ λ,        c(q, t) = 0,  G = ∂c/∂q,

where N = I and v = q' for coordinates. A body brings Newton–Euler's M v' + ω × M ω in place of its own share of T; an
angular velocity of a body in T adds ω × ∂T/∂ω (Boltzmann and Hamel, see Papastavridis, Analytical Mechanics, 2002). A
velocity constraint a(q, v, t) = 0 enters with (∂a/∂v)ᵀ λ. All of it is built by derivatives along directions, so that
the size of the result grows with the size of what was written, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca

from daedalus.errors import ModelError, SingularModelError
from daedalus.model.expressions import column, concatenate, symbol_key
from daedalus.model.mechanics.written_mechanics import Velocity, WrittenMechanics
from daedalus.model.notebook import Notebook
from daedalus.model.written import Equation


def equations_of_motion(book: Notebook, written: WrittenMechanics) -> list[Equation]:
    """The equations that the energies, bodies and constraints of a notebook stand for."""
    if not written.positions:
        return []
    solved = written.accelerations
    missing = any(name not in solved for name in written.positions)
    left, right = (inertia_sides(book, written), force_sides(book, written)) if missing else ({}, {})
    equations = []
    for name in written.positions:
        velocity = written.velocities.get(name)
        if velocity is not None:
            rate = velocity.rate
            if velocity.norm:
                rate = rate + book.written.symbols[name] * book.written.symbols[velocity.norm]
            equations.append(Equation(f"rate of {name}", column(book.written.derivative_symbol(name, 1) - rate)))
        if name in solved:
            rise = book.written.derivative_symbol(name, 2) if velocity is None else _rise(book, velocity)
            residual = column(rise) - solved[name]
        else:
            residual = left[name] if right[name].is_zero() else left[name] - right[name]
            _check_moved(book, name, residual)
        equations.append(Equation(f"motion of {name}", column(residual)))
    if missing:  # what is solved for has its inertia
        _check_inertia(book, written, equations)
    for velocity in written.velocities.values():
        if velocity.norm:
            equations.append(Equation(velocity.norm, 0.5 * (ca.sumsqr(book.written.symbols[velocity.position]) - 1)))
    equations += [Equation(c.name, column(c.expression)) for c in written.constraints.values()]
    return equations


def _rise(book: Notebook, velocity: Velocity) -> ca.SX:
    """The derivative of a body's velocity."""
    return book.written.derivative_symbol(velocity.velocity, 1)


def _check_moved(book: Notebook, name: str, residual: ca.SX) -> None:
    """Refuse a coordinate whose equation of motion is empty."""
    for k in range(residual.numel()):
        if residual[k].is_zero():
            label = book.written.variables[name].label(k)
            raise ModelError(
                f"Nothing moves {label}.",
                f"the equation of motion of {label} simplified to the constant 0",
                because="no kinetic or potential energy, dissipation or constraint contains it.",
                remedy=f"m.kinetic_energy(...) with the rate of {label}",
            )


def _check_inertia(book: Notebook, written: WrittenMechanics, motions: list[Equation]) -> None:
    """Refuse a coordinate whose acceleration enters no equation of motion, and which no constraint holds."""
    present = {symbol_key(s) for equation in motions for s in ca.symvar(equation.residual)}
    held = {
        book.written.known[symbol_key(s)][:2] for c in written.constraints.values() for s in ca.symvar(c.expression)
    }
    for name in written.coordinates:
        for k in range(book.written.variables[name].size):
            if symbol_key(book.written.derivative_scalar(name, k, 2)) in present or (name, k) in held:
                continue
            label = book.written.variables[name].label(k)
            raise SingularModelError(
                f"The mass matrix is singular: no kinetic energy belongs to {label}.",
                f"the rate of {label} enters no kinetic energy, and {label} no constraint",
                because="the acceleration of every coordinate follows from its inertia.",
                remedy=f'm.kinetic_energy(...) with the rate of {label}, or m.state("{name}", ...) and m.equation(...) '
                "for a part without mass",
            )


def inertia_sides(book: Notebook, written: WrittenMechanics) -> dict[str, ca.SX]:
    """M v' + h by the name of the position: inertia, potential, dissipation and weights."""
    sides = _terms_of_kinetic_energy(book, written)
    slope = _split(book, written.positions, gradient(written.potential, position_symbols(book, written)))
    loss = split_velocities(book, written, gradient(written.dissipation, velocity_symbols(book, written)))
    for name in written.positions:
        velocity = written.velocities.get(name)
        if name in written.inertia_forces:
            sides[name] = _plus(column(written.inertia_forces[name]), sides[name])
        elif velocity is not None:
            sides[name] = _plus(column(velocity.inertia_force), sides[name])
        sides[name] = _plus(_plus(sides[name], pulled_back(book, written, name, slope[name])), loss[name])
    for body in written.bodies.values():
        gravity = written.gravity if body.gravity is None else body.gravity
        if gravity is not None:
            place = f"{body.name}.position"
            sides[place] = _plus(sides[place], body.mass * -column(gravity)[: body.size])
    return sides


def _terms_of_kinetic_energy(book: Notebook, written: WrittenMechanics) -> dict[str, ca.SX]:
    """d/dt ∂T/∂v − Nᵀ ∂T/∂q, and ω × ∂T/∂ω where an angular velocity enters."""
    momentum = gradient(written.kinetic, velocity_symbols(book, written))
    along = split_velocities(book, written, time_derivative(book, written, momentum))
    pull = _split(book, written.positions, gradient(written.kinetic, position_symbols(book, written)))
    own = split_velocities(book, written, momentum)
    terms = {}
    for name in written.positions:
        backward = pulled_back(book, written, name, pull[name])
        terms[name] = along[name] if backward.is_zero() else along[name] - backward
        velocity = written.velocities.get(name)
        if velocity is not None and velocity.spins:
            terms[name] = _plus(terms[name], ca.cross(book.written.symbols[velocity.velocity], own[name]))
    return terms


def force_sides(book: Notebook, written: WrittenMechanics) -> dict[str, ca.SX]:
    """All forces by the name of the position they move: applied ones, and those of constraints."""
    total = applied_forces(book, written)
    push = _split(book, written.positions, _constraint_gradient(book, written, "holonomic"))
    drag = split_velocities(book, written, _constraint_gradient(book, written, "velocity"))
    for name in written.positions:
        total[name] = _plus(_plus(total[name], pulled_back(book, written, name, push[name])), drag[name])
    return total


def applied_forces(book: Notebook, written: WrittenMechanics) -> dict[str, ca.SX]:
    """Written forces by the name of the position."""
    return {
        name: column(written.applied.get(name, ca.SX.zeros(_velocity_symbol(book, written, name).numel())))
        for name in written.positions
    }


def _constraint_gradient(book: Notebook, written: WrittenMechanics, kind: str) -> ca.SX:
    """(∂c/∂q)ᵀ λ of all holonomic constraints, or (∂a/∂v)ᵀ λ of all velocity constraints, in one sweep."""
    symbols = position_symbols(book, written) if kind == "holonomic" else velocity_symbols(book, written)
    chosen = [c for c in written.constraints.values() if c.kind == kind]
    if not chosen:
        return ca.SX.zeros(symbols.numel())
    stacked = concatenate(c.expression for c in chosen)
    multipliers = concatenate(book.written.symbols[c.name] for c in chosen)
    return column(ca.jtimes(stacked, symbols, multipliers, True))


def pulled_back(book: Notebook, written: WrittenMechanics, name: str, gradient: ca.SX) -> ca.SX:
    """Nᵀ g: a force on a position as a force on its velocity."""
    velocity = written.velocities.get(name)
    if velocity is None:
        return gradient
    symbol = book.written.symbols[velocity.velocity]
    if gradient.is_zero():
        return ca.SX.zeros(symbol.numel())
    if velocity.rate.shape == symbol.shape and ca.is_equal(velocity.rate, symbol, 0):
        return gradient
    return column(ca.jtimes(column(velocity.rate), symbol, gradient, True))


def time_derivative(book: Notebook, written: WrittenMechanics, expression: ca.SX) -> ca.SX:
    """The rate of an expression along the motion; positions of bodies move with their velocities."""
    rates = {}
    for name, velocity in written.velocities.items():
        rates[name] = column(velocity.rate)
    symbols, along = [book.written.time], [ca.SX(1)]
    for symbol in ca.symvar(expression):
        name, k, order = book.written.known[symbol_key(symbol)]
        if name in rates and order == 0:
            symbols.append(symbol)
            along.append(rates[name][k])
        elif name != "t" and book.written.variables[name].kind == "state":
            symbols.append(symbol)
            along.append(book.written.derivative_scalar(name, k, order + 1))
    return column(ca.jtimes(column(expression), concatenate(symbols), concatenate(along)))


def position_symbols(book: Notebook, written: WrittenMechanics) -> ca.SX:
    """q: coordinates, then positions and attitudes of bodies."""
    return concatenate(book.written.symbols[name] for name in written.positions)


def velocity_symbols(book: Notebook, written: WrittenMechanics) -> ca.SX:
    """v: the rates of coordinates, then the velocities and angular velocities of bodies."""
    return concatenate(_velocity_symbol(book, written, name) for name in written.positions)


def acceleration_symbols(book: Notebook, written: WrittenMechanics) -> ca.SX:
    """v': the second derivatives of coordinates, then the derivatives of the velocities of bodies."""
    parts = []
    for name in written.positions:
        velocity = written.velocities.get(name)
        parts.append(
            book.written.derivative_symbol(name, 2)
            if velocity is None
            else book.written.derivative_symbol(velocity.velocity, 1)
        )
    return concatenate(parts)


def _velocity_symbol(book: Notebook, written: WrittenMechanics, name: str) -> ca.SX:
    velocity = written.velocities.get(name)
    return book.written.derivative_symbol(name, 1) if velocity is None else book.written.symbols[velocity.velocity]


def split_velocities(book: Notebook, written: WrittenMechanics, stacked: ca.SX) -> dict[str, ca.SX]:
    """A column as long as v cut into the parts of each position."""
    sizes = [_velocity_symbol(book, written, name).numel() for name in written.positions]
    return _cut(written.positions, sizes, stacked)


def _split(book: Notebook, names: list[str], stacked: ca.SX) -> dict[str, ca.SX]:
    """A column as long as q cut into the parts of each position."""
    return _cut(names, (book.written.variables[name].size for name in names), stacked)


def _cut(names: list[str], sizes: Iterable[int], stacked: ca.SX) -> dict[str, ca.SX]:
    parts, offset = {}, 0
    for name, size in zip(names, sizes):
        parts[name] = stacked[offset : offset + size]
        offset += size
    return parts


def gradient(energy: ca.SX, symbols: ca.SX) -> ca.SX:
    """The slopes of an energy, a column."""
    return ca.SX.zeros(symbols.numel()) if energy.is_constant() else column(ca.gradient(energy, symbols))


def _plus(one: ca.SX, two: ca.SX) -> ca.SX:
    """The sum; a side of nothing but zeros leaves no trace in the text of the other."""
    if two.is_zero():
        return one
    return two if one.is_zero() else one + two
