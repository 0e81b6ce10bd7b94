"""Dry frictions in an FMU: what the runtime needs to decide which of them stick.

Each has a law by its mode, a discrete variable: f = -s kinetic while it slides in the direction s, v' = 0 while it
sticks. The runtime turns modes that contradict themselves, as `simulation/contacts/modes_by_complementarity.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from daedalus.errors import InputError
from daedalus.exchange.c_code.casadi_c import CFunction, c_function
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm, find_explicit_form
from daedalus.reduction.forms.no_form import NoForm


@dataclass(frozen=True, eq=False)
class Frictions:
    """The frictions of a system: names, rows of their laws, places of forces in z and of modes in p."""

    system: System
    names: tuple[str, ...]
    rows: tuple[int, ...]
    forces: tuple[int, ...]
    modes: tuple[int, ...]

    def functions(self, form: ExplicitForm, own: list[tuple[str, ca.SX]]) -> list[CFunction]:
        """Speeds, forces, changes of speeds and limits; and what unit impulses do to states and speeds."""
        if not self.names:
            return []
        system, p = self.system, self.system.symbol("p")
        stuck = ca.SX(p)
        for place in self.modes:
            stuck[place] = 0
        # The law of a friction that sticks is the change of its speed.
        changes = ca.substitute(system.residual[list(self.rows)], p, stuck)
        speeds, limits = (
            ca.vertcat(*(system.output(f"{name}.{word}") for name in self.names)) for word in ("velocity", "limit")
        )
        values = [speeds, system.symbol("z")[list(self.forces)], changes, limits]
        words = ("speed", "force", "change", "limit")
        named = [(word, form.applied(system, value)) for word, value in zip(words, values)]
        return [
            c_function("dd_frictions", own, named, "speeds, forces, changes of speeds and limits of dry frictions"),
            self._impulses(changes, own),
        ]

    def _impulses(self, changes: ca.SX, own: list[tuple[str, ca.SX]]) -> CFunction:
        """How unit impulses of the frictions change states, and their speeds: by columns."""
        system = self.system
        given, modes = ca.SX(system.residual), system.symbol("p")[list(self.modes)]
        for k, (row, force) in enumerate(zip(self.rows, self.forces)):
            # With the force in the place of the mode x' is a formula of it.
            given[row] = system.symbol("z")[force] - modes[k]
        driven = system.changed(residual=given, parts=system.parts())
        form = find_explicit_form(driven)
        if isinstance(form, NoForm):
            raise _refused(system, self.names)
        by_force = ca.jacobian(form.xdot, modes), ca.jacobian(form.applied(driven, changes), modes)
        return c_function("dd_impulses", own, list(zip(("states", "speeds"), by_force)), "what unit impulses do")


def frictions_of(system: System) -> Frictions:
    """The frictions of a system of index 1, in the order of its events."""
    contacts = [event.manner.contact for event in system.events if event.manner.contact is not None]
    names = tuple(contact.name for contact in contacts if contact.is_friction)
    labels = list(system.equation_labels)
    forces = [system.place(name) for name in names]
    if any(f"{name}.law" not in labels for name in names) or any(place.letter != "z" for place in forces):
        raise _refused(system, names)
    return Frictions(
        system,
        names,
        tuple(labels.index(f"{name}.law") for name in names),
        tuple(int(place.positions[0]) for place in forces),
        tuple(int(system.place(f"{name}.mode").positions[0]) for name in names),
    )


def _refused(system: System, names: tuple[str, ...]) -> InputError:
    return InputError(
        f"The model {system.name!r} cannot be an FMU yet.",
        f"dry friction: {', '.join(names[:6])}",
        because="its equations have no formula for the forces.",
        remedy="a smooth law, such as tanh(v / 1e-3)",
    )
