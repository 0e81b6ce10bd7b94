"""The contacts at rest at one place: what contradicts their modes, and all combinations of modes that do not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from daedalus.deadline import poll
from daedalus.model.names import listed
from daedalus.simulation.contacts.contact_laws import ContactLaws, ContactMotion, ContactPlace
from daedalus.simulation.contacts.refused_contacts import RefusedContacts
from daedalus.simulation.sliding.solved_slopes import Undetermined

# Shares of the forces and accelerations of the problem that are not told from zero.
FORCE, ACCELERATION = 1e-9, 1e-7
# More combinations than these are not looked at.
MOST_COMBINATIONS = 2000


class FoundModes(NamedTuple):
    """Modes of all contacts, and what follows from them."""

    modes: np.ndarray
    motion: ContactMotion


@dataclass(frozen=True, eq=False)
class ContactsAtRest:
    """The contacts whose modes are to be found.

    free: which they are. response: the accelerations that a unit of each force gives the contacts, by columns. span:
    how long the run is. leaving: closed ones that let go within the moment.
    """

    laws: ContactLaws
    place: ContactPlace
    free: list[int]
    response: np.ndarray
    span: float
    leaving: frozenset[int] = frozenset()

    @property
    def stiffness(self) -> np.ndarray:
        """The acceleration that a unit of its own force gives each contact."""
        return np.diag(self.response)

    @property
    def frictions(self) -> list[int]:
        """Those of the contacts at rest that are frictions."""
        return [k for k in self.free if self.laws.is_friction[k]]

    @property
    def combinations(self) -> int:
        """How many combinations of modes there are."""
        return int(np.prod([3.0 if self.laws.is_friction[k] else 2.0 for k in self.free]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the contacts at rest."""
        return tuple(self.laws.names[k] for k in self.free)

    def way(self, modes: np.ndarray) -> FoundModes:
        """What follows from modes; Undetermined where that is nothing."""
        return FoundModes(modes, self.laws.motion(self.place, modes))

    def fits(self, way: FoundModes) -> bool:
        """Whether no mode contradicts itself."""
        return all(self.turned(way, k) is None for k in self.free)

    def turned(self, way: FoundModes, k: int) -> float | None:
        """The mode that a contact turns to where its present one contradicts itself; None where it does not."""
        mode, motion = way.modes[k], way.motion
        force, change = motion.force[k], motion.change[k]
        largest, slack = float(np.max(np.abs(motion.force), initial=0.0)), self.slack(motion, k)
        if self.laws.is_friction[k] and self.stiffness[k] == 0:
            away = change if abs(change) > self.rounding(motion) else motion.rate[k]
            return None if mode * away >= 0 else float(np.sign(away))
        if self.laws.is_friction[k]:
            if mode == 0:
                return None if abs(force) <= motion.level[k] + FORCE * largest else float(-np.sign(force))
            return None if mode * change >= -slack else 0.0
        if mode:
            return None if force >= -FORCE * largest else 0.0
        return None if change >= -slack or k in self.leaving else 1.0

    def rounding(self, motion: ContactMotion) -> float:
        """A change of the rate that is not told from zero beside the rates of all states."""
        return ACCELERATION * float(np.max(np.abs(motion.y[: self.laws.system.sizes["x"]]), initial=0.0))

    def slack(self, motion: ContactMotion, k: int) -> float:
        """A change of the rate that is not told from zero beside the forces of the problem."""
        largest = float(np.max(np.abs(motion.force), initial=0.0))
        level = abs(motion.level[k]) if self.laws.is_friction[k] else 0.0
        return ACCELERATION * abs(float(self.stiffness[k])) * max(largest, level)

    def every_way(self, guess: np.ndarray) -> list[FoundModes]:
        """All combinations of modes that fit; guess: the modes of all other contacts."""
        if self.combinations > MOST_COMBINATIONS:
            raise self.none_fits()
        sticks = [(0.0,) if self.stiffness[k] else () for k in self.free]
        choices = [(*sticks[n], 1.0, -1.0) if self.laws.is_friction[k] else (1.0, 0.0) for n, k in enumerate(self.free)]
        found = []
        for chosen in product(*choices):
            poll("modes of conditions and contacts")
            modes = guess.copy()
            modes[self.free] = chosen
            try:
                way = self.way(modes)
            except Undetermined:
                continue
            if self.fits(way):
                found.append(way)
        return found

    # -- what cannot be decided ----------------------------------------------------------------------------------

    def check_same_motion(self, found: list[FoundModes]) -> None:
        """Refuse answers that differ in their accelerations."""
        changes = [way.motion.change for way in found]
        size = max((float(np.max(np.abs(c), initial=0.0)) for c in changes), default=0.0)
        same = max((self.slack(way.motion, k) for way in found for k in self.free), default=0.0)
        if any(np.max(np.abs(c - changes[0])) > 1e-6 * size + 2 * same for c in changes):
            raise RefusedContacts(
                f"The contacts {listed(self.names)} may go on in more than one way.",
                [f"{len(found)} combinations of modes fit the equations"],
                because="where a normal force depends on the friction, forces and motion need not determine each "
                "other.",
                remedy="a smaller coefficient of friction, or compliance in the contact",
                names=self.names,
            )

    def none_fits(self) -> RefusedContacts:
        """No combination of modes fits."""
        return RefusedContacts(
            f"No modes of the contacts {listed(self.names)} fit together.",
            ["whether they stick or slide, push or open, a force or an acceleration has the wrong sign"],
            because="where a normal force depends on the friction, there may be no motion that obeys both.",
            remedy="a smaller coefficient of friction, or compliance in the contact",
            names=self.names,
        )

    def not_shared(self, modes: np.ndarray) -> RefusedContacts:
        """Those that hold in some modes hold one motion."""
        laws = self.laws
        holding = [name for name, m, friction in zip(laws.names, modes, laws.is_friction) if (m == 0) == friction]
        return RefusedContacts(
            f"The forces of {listed(holding)} are not determined.",
            ["they hold the same motion, and how they share its load is not said"],
            because="a rigid contact has any force that the motion asks for.",
            remedy="one contact in the place of those that hold the same thing, or compliance between them",
            names=tuple(holding),
        )
