"""What a run asks at its contacts: the row and the discrete variables behind a moment.

The answer is computed on a system of index 1 with the same states: the system that is run, or its reduction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.errors import DaedalusError
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.reduction.forms.no_form import NoForm
from daedalus.simulation.contacts.contact_laws import ContactLaws, ContactPlace, contacts_of, laws_of
from daedalus.simulation.contacts.refused_contacts import RefusedContacts
from daedalus.simulation.contacts.settling import Settled, settled
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.solvable import of_index_1, solvable
from daedalus.simulation.result.event_records import SettledMoment
from daedalus.simulation.sliding.solved_slopes import Undetermined
from daedalus.simulation.switching.agenda import order_of


def has_contacts(system: System) -> bool:
    """Whether a system has dry friction or unilateral constraints."""
    return bool(contacts_of(system))


class _MomentsOfThread(threading.local):
    """What the run of a thread has found so far; None where nobody keeps it."""

    moments: list[SettledMoment] | None = None


_of_run = _MomentsOfThread()


@contextmanager
def settled_moments() -> Iterator[list[SettledMoment]]:
    """What contacts settle in a run of the core, as it goes on."""
    outer, _of_run.moments = _of_run.moments, []
    try:
        yield _of_run.moments
    finally:
        _of_run.moments = outer


@dataclass(frozen=True, eq=False)
class Contacts:
    """The contacts of a plant, as its runs ask for them."""

    plant: Plant

    @cached_property
    def laws(self) -> ContactLaws:
        """The laws, of a system of index 1."""
        return laws_of(_of_index_1(self.plant))

    @cached_property
    def events(self) -> np.ndarray:
        """The place of each contact among the guards of the core."""
        system = self.plant.system
        own = [k for k, event in enumerate(system.events) if event.manner.contact is not None]
        return np.array([order_of(system).events.index(k) for k in own], dtype=int)

    @property
    def flags(self) -> list[int]:
        """Of each guard of an event whether it is that of a contact."""
        count = len(order_of(self.plant.system).events)
        return [int(k in set(self.events.tolist())) for k in range(count)]

    def behind(
        self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, fired: np.ndarray, span: float
    ) -> np.ndarray:
        """The row and then the discrete variables behind a moment; RefusedContacts where there are none."""
        laws, plant = self.laws, self.plant
        place = ContactPlace(t, row[self.states], u, p)
        found = self.settled(place, fired, span)
        if _of_run.moments is not None:
            own = tuple(np.flatnonzero(fired).tolist())
            _of_run.moments.append(SettledMoment(t, own, found.modes, found.impacts))
        new = row.copy()
        new[self.states] = found.x
        values = p.copy()
        values[laws.modes] = found.modes
        if plant.is_implicit and (not np.array_equal(new, row) or not np.array_equal(values, p)):
            new = self._whole_row(new, laws.motion(place._replace(x=found.x), found.modes).y)
        return np.concatenate([new, values[len(values) - plant.system.discrete_count :]])

    def settled(
        self, place: ContactPlace, fired: np.ndarray, span: float, waiting: np.ndarray | None = None
    ) -> Settled:
        """The moment at a place; fired: 1 for each guard of an event that brought it about."""
        try:
            return settled(self.laws, place, fired[self.events], span, waiting)
        except Undetermined:
            raise RefusedContacts(
                "The motion is not determined at the contacts.",
                ["the matrix that gives derivatives and algebraic variables is singular"],
                because="a contact takes the motion as it follows from the equations.",
                remedy="dd.analyse(m) there",
            ) from None

    @cached_property
    def states(self) -> np.ndarray:
        """Where the states of the laws' system stand in a row of the run."""
        labels = list(self.plant.system.labels["x"])
        return np.array([labels.index(name) for name in self.laws.system.labels["x"]], dtype=int)

    def _whole_row(self, row: np.ndarray, y: np.ndarray) -> np.ndarray:
        """A row (x, z, x') of an implicit run with all that the laws' system knows."""
        own, known = self.plant.system.labels, self.laws.system.labels
        values = dict(zip([*known["xdot"], *known["z"]], y))
        for k, name in enumerate([*own["z"], *own["xdot"]], len(own["x"])):
            row[k] = values.get(name, row[k])
        return row

    def function(self, twin: System) -> Any:
        """The same for the core, whose system may have modes of switches behind its inputs and parameters."""
        sizes, width = self.plant.system.sizes, self.plant.row_width
        sizes_in = [1, width, twin.sizes["u"], twin.sizes["p"], 1 + len(self.flags)]
        count = width + self.plant.system.discrete_count
        function = _core.Function("contacts", sizes_in, [count])

        def contacts(t: np.ndarray, row: np.ndarray, u: np.ndarray, p: np.ndarray, given: np.ndarray) -> np.ndarray:
            held = u[: sizes["u"]].copy(), p[: sizes["p"]].copy()
            try:
                return self.behind(float(t[0]), row.copy(), *held, given[1:].copy(), float(given[0]))
            except RefusedContacts:
                return np.full(count, np.nan)

        function.set_python(contacts)
        return function

    def refusal(self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, event: int) -> RefusedContacts | None:
        """Why nothing lies behind a moment at which the guard of an event fired."""
        fired = np.zeros(len(self.flags))
        if event >= 0:
            fired[event] = 1.0
        try:
            self.behind(t, row, u, p, fired, 1.0)
        except RefusedContacts as error:
            return error
        return None


def _of_index_1(plant: Plant) -> System:
    """The system that the laws are taken from."""
    if not plant.is_implicit:
        return plant.system
    # Where some states are chosen the others have no rates of their own.
    if variable_index(plant.system).largest <= 1 and not plant.system.choices:
        return plant.system
    found = solvable(plant.system)
    if isinstance(found, NoForm):
        # Levels such as |force of a constraint| leave no formulas; the laws are solved by Newton's method.
        refused, found = found.error, of_index_1(plant.system)
        if variable_index(found).largest > 1:
            raise refused
    if not set(found.labels["x"]) <= set(plant.system.labels["x"]):
        raise DaedalusError("The reduction has other states.", ["contacts need those of the run"])
    return found
