"""The contacts of a system as functions: their forces, rates and accelerations in given modes, and what a force moves.

F(t, x', x, z, u, p) = 0 is solved for y = (x', z) at a state, with the modes that are asked for. A unit of a contact's
force changes y by the column J̃⁻¹ e, where J̃ is ∂F/∂y with all contact forces given; its part in x' is the change of the
state by a unit impulse. In mechanics that is M⁻¹Gᵀ along the constraints: the metric of the masses.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import KNOWN
from daedalus.compilation import compile_function
from daedalus.errors import SolverError
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Contact
from daedalus.simulation.sliding.solved_slopes import slopes_of, solved


class ContactPlace(NamedTuple):
    """A state of a run at one moment, with all that the contacts need to know of it."""

    t: float
    x: np.ndarray
    u: np.ndarray
    p: np.ndarray


class ContactMotion(NamedTuple):
    """What follows from a place in given modes, one entry a contact."""

    y: np.ndarray  # (x', z)
    force: np.ndarray
    rate: np.ndarray  # speed of a friction, rate of a gap
    change: np.ndarray  # of the rate
    gap: np.ndarray  # zero for frictions
    level: np.ndarray  # limit of a friction, restitution of a unilateral constraint


class UnitImpulses(NamedTuple):
    """What unit forces do: to the state by an impulse, (states, contacts), and to the rates, (contacts, contacts)."""

    states: np.ndarray
    rates: np.ndarray


class ContactLaws:
    """The contacts of a system of index 1, in the order of its events."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.contacts = contacts_of(system)
        self.usual = min(1.0, float(np.nanmax(system.nominal["x"], initial=0.0)) or 1.0)  # the largest state, at most 1
        self.is_friction = np.array([contact.is_friction for contact in self.contacts])
        self.names = [contact.name for contact in self.contacts]
        self.modes = np.array([int(system.place(f"{name}.mode").positions[0]) for name in self.names])
        self.forces = np.array([self._force(name) for name in self.names])
        self.rows = np.array([self._row(f"{name}.law") for name in self.names])
        self._functions()

    def _force(self, name: str) -> int:
        place = system_place(self.system, name)
        return self.system.sizes["x"] + place

    def _row(self, label: str) -> int:
        labels = list(self.system.equation_labels)
        if label not in labels:
            raise SolverError(
                f"The contact law {label!r} is no longer in the equations.",
                because="a change of mode replaces this law.",
                remedy="dd.simulate of the model as it was written",
            )
        return labels.index(label)

    def _functions(self) -> None:
        system = self.system
        arguments = system.symbols()
        _, xdot, _, z, _, p = arguments
        residual = system.residual
        unknowns = ca.vertcat(xdot, z)
        # The law that holds the rate is its derivative: v' of a friction in mode 0, c'' of a constraint in mode 1.
        held = ca.SX(p)
        for place, friction in zip(self.modes, self.is_friction):
            held[int(place)] = 0 if friction else 1
        change = ca.substitute(residual[self.rows.tolist()], p, held)
        outputs = system.outputs
        rates, gaps, levels = [], [], []
        for contact in self.contacts:
            if contact.is_friction:
                rates.append(outputs[f"{contact.name}.velocity"])
                gaps.append(ca.SX(0))
                levels.append(outputs[f"{contact.name}.limit"])
            else:
                rates.append(outputs[f"{contact.name}.rate"])
                gaps.append(outputs[f"{contact.name}.gap"])
                levels.append(outputs[f"{contact.name}.restitution"])
        values = [ca.densify(ca.vertcat(*column)) for column in (rates, gaps, levels)]
        self.limits_depend_on_forces = bool(ca.jacobian_sparsity(values[2], unknowns).nnz())
        matrix, slope = (ca.densify(ca.jacobian(part, unknowns)) for part in (residual, change))
        self._values = compile_function(ca.Function("contacts", arguments, [*values, ca.densify(change)])).core
        self._slope = compile_function(ca.Function("slope", arguments, [matrix, slope])).core

    # -- at a place --------------------------------------------------------------------------------------------

    def modes_of(self, place: ContactPlace) -> np.ndarray:
        """The modes at a place."""
        modes: np.ndarray = place.p[self.modes].copy()
        return modes

    def in_modes(self, place: ContactPlace, modes: np.ndarray) -> ContactPlace:
        """The same place in other modes."""
        p = place.p.copy()
        p[self.modes] = modes
        return place._replace(p=p)

    def motion(self, place: ContactPlace, modes: np.ndarray) -> ContactMotion:
        """What follows from a place in given modes; Undetermined where that is nothing."""
        place = self.in_modes(place, modes)
        y = slopes_of(self.system).at(place.t, place.x, place.u, place.p)
        rate, gap, level, change = self._values(*self._arguments(place, y))
        return ContactMotion(y, y[self.forces], rate, change, gap, level)

    def response(self, place: ContactPlace, y: np.ndarray) -> UnitImpulses:
        """What unit forces of the contacts do at a place."""
        n = self.system.sizes["x"]
        matrix, slope = (part.reshape(len(y), -1).T.copy() for part in self._slope(*self._arguments(place, y)))
        matrix[self.rows] = 0.0
        matrix[self.rows, self.forces] = 1.0
        unit = np.zeros((len(matrix), len(self.rows)))
        unit[self.rows, np.arange(len(self.rows))] = 1.0
        moved = solved(matrix, unit)
        rates = slope @ moved
        # At a dead centre a force moves what it acts on by rounding alone.
        nothing = np.abs(rates) <= KNOWN * (np.abs(slope) @ np.abs(moved))
        return UnitImpulses(moved[:n], np.where(nothing, 0.0, rates))

    def many_levels(self, t: np.ndarray, *arguments: np.ndarray) -> np.ndarray:
        """The limits of frictions, or restitutions, at many times: one row each, from x', x, z, u and p."""
        return np.asarray(self._values.evaluate_many(t[:, None], *arguments)[2])

    def many_rates(self, t: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The speeds of frictions, or rates of gaps, which follow from states alone, at many times: one row each."""
        sizes = self.system.sizes
        rest = np.zeros((len(t), sizes["x"])), x, np.zeros((len(t), sizes["z"]))
        return np.asarray(self._values.evaluate_many(t[:, None], *rest, u, p)[0])

    def _arguments(self, place: ContactPlace, y: np.ndarray) -> list[np.ndarray]:
        n = self.system.sizes["x"]
        return [np.array([place.t]), y[:n], place.x, y[n:], place.u, place.p]


def contacts_of(system: System) -> tuple[Contact, ...]:
    """The contacts of a system."""
    return tuple(event.manner.contact for event in system.events if event.manner.contact is not None)


def laws_of(system: System) -> ContactLaws:
    """The laws of the contacts of a system of index 1, made once."""
    return once(system, ContactLaws)


def system_place(system: System, name: str) -> int:
    """The place of a contact's force among the algebraic variables."""
    place = system.place(name)
    if place.letter != "z":
        raise SolverError(
            f"The force {name} of a contact is no longer an unknown.",
            because="its law has two branches, and the run decides which one holds.",
            remedy="dd.simulate of the model as it was written",
        )
    return int(place.positions[0])
