"""Mechanics in joint coordinates with the energies of its bodies, as Lagrange takes them."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from daedalus.derivations.formula.agreement import SAME, largest_difference
from daedalus.model.expressions import concatenate
from daedalus.model.mechanics.equations_of_motion import inertia_sides
from daedalus.model.mechanics.written_mechanics import WrittenMechanics
from daedalus.model.model import Model


def is_by_lagrange(book: Model) -> bool:
    """Whether coordinates and their rates describe all that moves: no body or joint has velocities of its own."""
    written = book.written.mechanics
    return bool(written.coordinates) and not set(written.inertia_forces).difference(written.coordinates)


def with_tree_energies(book: Model) -> WrittenMechanics:
    """Energies in which bodies on joints have their part, and no inertia beside them; the written ones without such.

    Bodies with a gravity of their own have their weight among the forces.
    """
    written = book.written.mechanics
    if not written.inertia_forces or not is_by_lagrange(book):
        return written
    rates = concatenate(book.written.derivative_symbol(name, 1) for name in written.coordinates)
    at_rest = ca.substitute(written.tree_energy, rates, ca.SX.zeros(rates.shape))
    moving = written.tree_energy - at_rest
    known = replace(written, kinetic=ca.SX(0), potential=ca.SX(0), dissipation=ca.SX(0), accelerations={})
    forces = _sides(book, known)
    light = replace(known, inertia_forces={}, kinetic=moving, tree_energy=ca.SX(0))
    heavy = replace(light, potential=at_rest)
    potential = at_rest if largest_difference(_sides(book, heavy), forces) < SAME else ca.SX(0)
    return replace(
        written,
        kinetic=written.kinetic + moving,
        potential=written.potential + potential,
        inertia_forces={},
        accelerations={},
        tree_energy=ca.SX(0),
    )


def _sides(book: Model, written: WrittenMechanics) -> ca.SX:
    sides = inertia_sides(book, written)
    return concatenate(sides[name] for name in written.coordinates)
