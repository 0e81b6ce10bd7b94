"""The ledger of a model that is written by energies and bodies: what is stored, what forces feed in, what is lost.

With T(q, v, t), V(q, t), the dissipation D, applied forces τ and constraints c(q, t) = 0 the equations of motion give

    d/dt (T + V) = τᵀ v − vᵀ ∂D/∂v − λᵀ ∂c/∂t − ∂(T − V)/∂t + d/dt (2 T − vᵀ ∂T/∂v),

where the last two terms are the power of what moves the coordinates themselves, such as a motor that turns a wire.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import TWELVE_DIGITS
from daedalus.model.assembly.ledger import Account, Entry, Ledger
from daedalus.model.expressions import concatenate, symbol_key
from daedalus.model.mechanics.equations_of_motion import (
    applied_forces,
    force_sides,
    gradient,
    split_velocities,
    time_derivative,
    velocity_symbols,
)
from daedalus.model.notebook import Notebook

# Random places at which a formula is compared.
POINTS = 6
# What moves coordinates from outside, by their dependence on time.
DRIVE = "moving frame"


def mechanical_ledger(book: Notebook) -> Ledger:
    """The entries of a model without ports; the model stores the energy, every force is a part of its own."""
    energy, lost = mechanical_energy(book)
    held = _by_signals(book, energy)
    stored = energy if not held.numel() else ca.substitute(energy, held, ca.SX.zeros(held.shape))
    powers = _force_powers(book)
    friction = {name: _through(book, powers, name) for name in (*_frictions(book), *_touching(book))}
    for name, own in friction.items():
        lost = lost - own
        symbol = book.written.symbols[name]
        powers = {at: ca.substitute(power, symbol, ca.SX.zeros(symbol.shape)) for at, power in powers.items()}
    powers |= _constraint_powers(book)
    powers["potential energy by signals"] = -_along_positions(book, energy - stored) if held.numel() else ca.SX(0)
    powers[DRIVE] = _drive_power(book, held)
    powers = {name: power for name, power in powers.items() if not power.is_zero()}
    entries: list[Entry] = [(name, Account.RECEIVED, (-power,)) for name, power in powers.items()]
    total = sum(powers.values(), ca.SX(0))
    entries += [("", Account.RECEIVED, (total,)), ("", Account.STORED, (stored,)), ("", Account.LOST, (lost,))]
    empty = ca.SX(0, 1)
    return Ledger(("", *powers), tuple(entries), empty, empty)


def mechanical_energy(book: Notebook) -> tuple[ca.SX, ca.SX]:
    """The energy of coordinates and bodies, and the power that their dissipation takes."""
    written = book.written.mechanics
    energy = written.kinetic + written.potential + written.tree_energy
    for body in book.bodies.values():  # type: ignore[attr-defined]
        energy += body.kinetic_energy
        own = written.bodies[body.name].gravity
        gravity = written.gravity if own is None else own
        if gravity is not None:
            energy -= body.mass * ca.dot(gravity[: body.size], body.position)
    rates = velocity_symbols(book, written)
    lost = ca.jtimes(written.dissipation, rates, rates) if rates.numel() else ca.SX(0)
    return energy, lost


def _by_signals(book: Notebook, energy: ca.SX) -> ca.SX:
    """The inputs, algebraic and discrete variables in an energy: their rates are not known."""
    found = [s for s in ca.symvar(energy) if _kind(book, s) in ("input", "algebraic", "discrete")]
    return concatenate(found)


def _kind(book: Notebook, symbol: ca.SX) -> str:
    name, _, _ = book.written.known[symbol_key(symbol)]
    return "time" if name == "t" else book.written.variables[name].kind


def _frictions(book: Notebook) -> list[str]:
    contacts = [event.manner.contact for event in book.written.events.values()]
    return [contact.name for contact in contacts if contact is not None and contact.kind == "friction"]


def _touching(book: Notebook) -> list[str]:
    """The forces and torques of hard contacts between bodies."""
    contacts = [c for c in book.written.mechanics.touching.values() if not c.compliant]
    names = [c.force_name(body) for c in contacts for body in (c.bodies if c.of_all else c.bodies[:1])]
    return [f"{name}.{word}" for name in names for word in ("force", "torque")]


def _force_powers(book: Notebook) -> dict[str, ca.SX]:
    """The power of the applied forces by what they act on."""
    written = book.written.mechanics
    speeds = split_velocities(book, written, velocity_symbols(book, written))
    forces = applied_forces(book, written)
    return {f"force on {name}": ca.dot(forces[name], speeds[name]) for name in written.positions}


def _through(book: Notebook, powers: dict[str, ca.SX], name: str) -> ca.SX:
    """The power that goes through a force that all of them are linear in."""
    symbol = book.written.symbols[name]
    return sum((ca.jacobian(power, symbol) @ symbol for power in powers.values()), ca.SX(0))


def _constraint_powers(book: Notebook) -> dict[str, ca.SX]:
    """The power of constraints that move by themselves; others do no work."""
    written = book.written.mechanics
    rates, found = velocity_symbols(book, written), {}
    for c in written.constraints.values():
        multiplier = ca.vec(book.written.symbols[c.name])
        if c.kind == "velocity":
            found[c.name] = -ca.dot(multiplier, ca.substitute(c.expression, rates, ca.SX.zeros(rates.shape)))
        elif any(_kind(book, s) == "input" for s in ca.symvar(c.expression)):
            alone = {other: (1.0 if other == c.name else 0.0) for other in written.constraints}
            found[c.name] = _work_of(book, alone)
        else:
            found[c.name] = -ca.dot(multiplier, _explicit_rate(book, c.expression))
    return found


def _work_of(book: Notebook, shares: dict[str, float]) -> ca.SX:
    """(G v)ᵀ λ of chosen constraints."""
    written = book.written.mechanics
    sides, applied = force_sides(book, written), applied_forces(book, written)
    speeds = split_velocities(book, written, velocity_symbols(book, written))
    power = sum((ca.dot(sides[n] - applied[n], speeds[n]) for n in written.positions), ca.SX(0))
    for name, share in shares.items():
        if not share:
            power = ca.substitute(
                power, ca.vec(book.written.symbols[name]), ca.SX.zeros(book.written.symbols[name].numel())
            )
    return power


def _moved(book: Notebook) -> set[str]:
    written = book.written.mechanics
    return {*written.positions, *written.velocity_names}


def _explicit_rate(book: Notebook, expression: ca.SX) -> ca.SX:
    """The rate of an expression while all that is mechanical stands still: by time and by other states."""
    along, rates = [book.written.time], [ca.SX(1)]
    moved = _moved(book)
    for symbol in ca.symvar(expression):
        name, k, order = book.written.known[symbol_key(symbol)]
        if name != "t" and name not in moved and book.written.variables[name].kind == "state":
            along.append(symbol)
            rates.append(book.written.derivative_scalar(name, k, order + 1))
    return ca.densify(ca.jtimes(ca.vec(expression), concatenate(along), concatenate(rates)))


def _along_positions(book: Notebook, energy: ca.SX) -> ca.SX:
    """The rate of an energy by the motion of the positions alone."""
    written = book.written.mechanics
    along, rates = [], []
    for symbol in ca.symvar(energy):
        name, k, order = book.written.known[symbol_key(symbol)]
        if name in written.positions and order == 0:
            velocity = written.velocities.get(name)
            along.append(symbol)
            rates.append(book.written.derivative_scalar(name, k, 1) if velocity is None else ca.vec(velocity.rate)[k])
    return ca.jtimes(energy, concatenate(along), concatenate(rates)) if along else ca.SX(0)


def _drive_power(book: Notebook, held: ca.SX) -> ca.SX:
    """−∂L/∂t + d/dt (2 T − vᵀ ∂T/∂v): the power of what moves coordinates and masses from outside."""
    written = book.written.mechanics
    rates = velocity_symbols(book, written)
    potential = written.potential
    if held.numel():
        potential = ca.substitute(potential, held, ca.SX.zeros(held.shape))
    power = -_explicit_rate(book, written.kinetic - potential)
    if rates.numel():
        surplus = 2 * written.kinetic - ca.dot(gradient(written.kinetic, rates), rates)
        if _is_share(surplus, written.kinetic):
            power = power + time_derivative(book, written, surplus)
    return power


def _is_share(expression: ca.SX, whole: ca.SX) -> bool:
    """Whether an expression is more than a rounding error of another one, at random points."""
    symbols = concatenate(ca.symvar(ca.vertcat(expression, whole)))
    if expression.is_zero() or not symbols.numel():
        return not expression.is_zero()
    function = ca.Function("share", [symbols], [expression, whole])
    draw = np.random.default_rng(38)
    for _ in range(POINTS):
        value, size = (abs(float(part)) for part in function(draw.uniform(0.3, 1.7, symbols.numel())))
        if value > TWELVE_DIGITS * size:
            return True
    return False
