"""Dry friction and stops (`m.friction`, `m.unilateral`) beside hard contacts: rows of the same problem.

A law has a rate w = R T + c that is linear in the twists T of all bodies, and its unit impulse changes these by W. In a
step of length h its impulse P obeys

    |P| <= h f,  w = 0 or P = -h f sign(w)      for a friction of level f,
    0 <= P  ⟂  w >= b                            for a stop,

where b lets an open stop close within the step and no further, or is -e times the rate before an impact.

A gap may be an angle, or in any unit. Rates, gaps and impulses are in metres here, so that they compare with those of
contacts: a unit of the law counts as far as its own impulse moves the bodies' surfaces with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.errors import InputError
from daedalus.model.names import listed
from daedalus.simulation.contacts.contact_laws import ContactPlace
from daedalus.simulation.contacts.contact_run import Contacts, has_contacts
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.touching.body_rows import BodyRows
from daedalus.simulation.touching.touching_bodies import TouchingBodies
from daedalus.simulation.touching.tree_rows import SeenTree

# A friction or stop among pairs of bodies or shapes: none of these has this index.
STOP = -2


def is_law(pair: tuple[int, int, int]) -> bool:
    """Whether what stands for a pair of shapes is a friction or a stop, the second number telling which.

    >>> is_law((STOP, 1, 1)), is_law((0, 1, 1))
    (True, False)
    """
    return pair[0] == STOP


class LawsAtPlace(NamedTuple):
    """The laws at a row, in metres: entries for each law."""

    rows: np.ndarray  # over twists, (laws, bodies, 6)
    moves: np.ndarray  # of twists, by a unit impulse, (laws, bodies, 6)
    states: np.ndarray  # of the whole row, by a unit impulse, (row, laws)
    gap: np.ndarray
    rate: np.ndarray
    offset: np.ndarray  # of the rate, where no body moves
    static: np.ndarray  # levels of frictions
    kinetic: np.ndarray
    restitution: np.ndarray

    def rates(self, twists: np.ndarray) -> np.ndarray:
        """The rates at twists of the bodies there."""
        found: np.ndarray = np.einsum("kbi,bi->k", self.rows, twists) + self.offset
        return found


class SingleLaws:
    """The laws of a plant beside the contacts of its bodies."""

    def __init__(self, plant: Plant, bodies: TouchingBodies) -> None:
        contacts = Contacts(plant)
        self.bodies, self.laws, self.places = bodies, contacts.laws, contacts.states
        system = self.laws.system
        names = {c.name: "velocity" if c.is_friction else "rate" for c in self.laws.contacts}
        rates = ca.vertcat(*[system.output(f"{name}.{word}") for name, word in names.items()])
        x, xdot = system.symbol("x"), system.symbol("xdot")
        slope = ca.densify(ca.jacobian(rates, x))
        self._slope = compile_function(ca.Function("rates", system.symbols(), [slope])).core
        # A free motion has frictions that slide forwards, so that their forces are their levels, and open stops.
        self.is_friction = self.laws.is_friction
        self._free = np.where(self.is_friction, 1.0, 0.0)
        inside = set(bodies.rows.own)
        others = [k for k, place in enumerate(self.places.tolist()) if place not in inside]
        seen = ca.jacobian(rates, x)[:, others].nnz() + ca.jacobian(rates, xdot).nnz()
        if seen or self.laws.limits_depend_on_forces or self._limits_depend_on_contacts():
            raise InputError(
                "Hard contacts between bodies cannot be combined with every m.friction and m.unilateral.",
                f"the model has {listed(list(names), 6)}",
                because="beside hard contacts, their rates depend on velocities of bodies and joints alone, and their "
                "limits on no force.",
                remedy="a body for what moves, and shapes with m.contact in place of a limit by a normal force; or "
                "compliant contacts (stiffness=)",
            )

    def _limits_depend_on_contacts(self) -> bool:
        """Whether a level of friction or a restitution contains the force of a contact, which steps find."""
        system, p = self.laws.system, self.laws.system.symbol("p")
        free = ca.SX(p)
        for mode, value in zip(self.laws.modes.tolist(), self._free):
            free[mode] = value
        sliding = ca.substitute(system.residual[self.laws.rows.tolist()], p, free)
        words = ["limit" if friction else "restitution" for friction in self.is_friction]
        levels = [system.output(f"{name}.{word}") for name, word in zip(self.laws.names, words)]
        places = np.unique(np.concatenate([k.ravel() for k in self.bodies.force_slots().places.values()]))
        return bool(ca.jacobian(ca.vertcat(sliding, *levels), p)[:, places.tolist()].nnz())

    # -- a place -----------------------------------------------------------------------------------------------

    def slope(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The slope of a row without the forces of the laws."""
        place = ContactPlace(t, x[self.places], u, p)
        motion = self.laws.motion(place, self._free)
        found = self.laws.response(self.laws.in_modes(place, self._free), motion.y)
        out = np.zeros(len(x))
        out[self.places] = motion.y[: len(self.places)] - found.states @ motion.force
        return out

    def at(
        self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, seen: BodyRows | SeenTree
    ) -> LawsAtPlace:  # fmt: skip
        """The laws at a row; seen: where the bodies are whose twists are read."""
        place = self.laws.in_modes(ContactPlace(t, x[self.places], u, p), self._free)
        motion = self.laws.motion(place, self._free)
        states = np.zeros((len(x), len(self.laws.names)))
        states[self.places] = self.laws.response(place, motion.y).states
        slope = np.zeros((len(self.laws.names), len(x)))
        slope[:, self.places] = self._slope(*self.laws._arguments(place, motion.y))[0].reshape(len(self.places), -1).T
        count = len(self.bodies.names)
        rows = seen.rows_over_twists(slope).reshape(-1, count, 6)
        twists = seen.twists(x)
        moves = np.array([seen.twists(column) for column in states.T]).reshape(-1, count, 6)
        offset = motion.rate - np.einsum("kbi,bi->k", rows, twists)
        level = motion.level
        metres = self._metres(rows, moves)
        one = metres[:, None, None]
        return LawsAtPlace(
            one * rows, moves / one, states / metres, metres * motion.gap, metres * motion.rate, metres * offset,
            np.where(self.is_friction, level / metres, 0.0), np.abs(motion.force) * self.is_friction / metres,
            np.where(self.is_friction, 0.0, level),
        )  # fmt: skip

    def _metres(self, rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """How far surfaces of bodies move by a unit of each law, where its impulse moves them; the same all through."""
        if self._lengths is None:
            size = self.bodies.lengths[1]
            speeds = np.linalg.norm(moves[..., :3], axis=-1) + size * np.linalg.norm(moves[..., 3:], axis=-1)
            rate, speed = np.einsum("kbi,kbi->k", rows, moves), speeds.max(axis=-1, initial=0.0)
            seen = (rate > 0) & (speed > 0)
            self._lengths = np.where(seen, speed / np.where(seen, rate, 1.0), 1.0)
        return self._lengths

    _lengths: np.ndarray | None = None

    # -- a run -------------------------------------------------------------------------------------------------

    def modes(self, impulse: np.ndarray, rate: np.ndarray, slow: float) -> np.ndarray:
        """The modes that explain the impulses of a step and the rates behind it."""
        slides = np.where(np.abs(rate) > slow, np.sign(rate), 0.0)
        return np.where(self.is_friction, slides, impulse > 0)


def single_laws(plant: Plant, bodies: TouchingBodies) -> SingleLaws | None:
    """The laws of a plant; None where it has none."""
    return SingleLaws(plant, bodies) if has_contacts(plant.system) else None


def without_laws(laws: SingleLaws, inputs: Callable[[float], np.ndarray], p: np.ndarray) -> Callable[..., np.ndarray]:
    """The slopes of rows without the forces of laws, as steps ask for them."""
    return lambda t, x: laws.slope(t, x, inputs(t), p)
