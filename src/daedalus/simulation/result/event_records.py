"""What may happen to a run at a moment, in a word; and events by name.

Those of contacts are called by what happens, `floor.closes`, `floor.opens`, `brake.sticks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

import numpy as np

from daedalus.model.system.system import System
from daedalus.model.variables import Contact

# (index of the event, time, row before, row after), the discrete variables behind each row
Told = tuple[int, float, np.ndarray, np.ndarray]


class TransitionKind(StrEnum):
    """What happened: a word of its own for each kind."""

    SWITCH = "switch"  # a condition in the equations changed, and the run crossed it
    SLIDES = "slides"  # from here on the run slides along a condition that both branches lead back to
    RESTS = "rests"  # from here on it rests on a condition at which slopes are infinite
    LEAVES = "leaves"  # it has left the condition that it slid along or rested on
    EVENT = "event"
    CLOCK = "clock"  # a clock ticked, or a time of a schedule came
    CLOSES = "closes"  # a gap
    OPENS = "opens"
    STICKS = "sticks"  # a friction
    SLIPS = "slips"
    EQUATIONS = "equations"  # other states or constraints were chosen, or algebraic unknowns solved anew
    METHOD = "method"  # the same equations by another method


class TurnedCondition(NamedTuple):
    """A condition in the equations that changed: when, what it is from then on (1 where it holds), and what that means.

    kind: SWITCH where the run crossed it; RESTS where it has rested there since, and LEAVES where it no longer does.
    """

    time: float
    condition: str
    value: float
    kind: TransitionKind = TransitionKind.SWITCH


class ContactChange(NamedTuple):
    """What a contact between bodies did: closes, opens, sticks or slips. Discrete variables stand behind the rows."""

    contact: str
    kind: TransitionKind
    time: float
    before: np.ndarray
    after: np.ndarray


def named_events(system: System, events: Iterable[Told]) -> Iterator[tuple[str, Told]]:
    """The events with their names, and with every contact that changed its mode at the same moment.

    A contact may hold or let go at what another event does: that moment has an event for it too.
    """
    contacts = _modes(system)
    for _, moment in groupby(events, key=lambda e: (e[1], e[2].tobytes(), e[3].tobytes())):
        together = list(moment)
        if contacts:
            yield from _with_contacts(system, contacts, together)
        else:
            yield from ((system.events[told[0]].name, told) for told in together)


def _modes(system: System) -> dict[int, tuple[Contact, int]]:
    """The contacts by the places of their events, with the place of each mode from the end of a row."""
    found = {}
    for k, event in enumerate(system.events):
        if event.manner.contact is not None:
            place = int(system.place(f"{event.manner.contact.name}.mode").positions[0])
            found[k] = (event.manner.contact, place - system.sizes["p"])
    return found


def _with_contacts(
    system: System, contacts: dict[int, tuple[Contact, int]], together: list[Told]
) -> list[tuple[str, Told]]:
    """The events of one moment by name, those of contacts that changed with them before the last one."""
    _, t, before, after = together[0]
    fired = {k for k, *_ in together}
    changed: list[tuple[str, Told]] = [
        (contact.happening(before[place], after[place]), (k, t, before, after))
        for k, (contact, place) in contacts.items()
        if k not in fired and before[place] != after[place]
    ]
    own = []
    for told in together:
        name = system.events[told[0]].name
        if told[0] in contacts:
            contact, place = contacts[told[0]]
            name = contact.happening(before[place], after[place])
        own.append((name, told))
    return [*own[:-1], *changed, own[-1]]
