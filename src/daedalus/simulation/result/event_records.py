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


class FiredEvent(NamedTuple):
    """An event as a run recorded it, with discrete variables behind the rows.

    event: its place in the system. round: of its instant. All that happens in one round reads the values before it:
    clocks behind others come in later rounds, and so do events that earlier rounds bring about. led: whether the motion
    led its guard to zero; else the guard jumped, or its time was known beforehand.
    """

    event: int
    time: float
    before: np.ndarray
    after: np.ndarray
    round: int = 0
    led: bool = False


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


class SettledMoment(NamedTuple):
    """What a run found at its contacts at a moment: the modes behind it, and the impacts that led there.

    fired: the guards of events that had just fired. impacts: each of which contact and with which restitution.
    """

    time: float
    fired: tuple[int, ...]
    modes: np.ndarray
    impacts: tuple[tuple[int, float], ...]


def named_events(system: System, events: Iterable[FiredEvent]) -> Iterator[tuple[str, FiredEvent]]:
    """The events with their names, and with every contact that changed its mode at the same moment.

    A contact may hold or let go at what another event does: that moment has an event for it too.
    """
    contacts = _modes(system)
    for _, moment in groupby(events, key=lambda e: (e.time, e.before.tobytes(), e.after.tobytes())):
        together = list(moment)
        if contacts:
            yield from _with_contacts(system, contacts, together)
        else:
            yield from ((system.events[fired.event].name, fired) for fired in together)


def _modes(system: System) -> dict[int, tuple[Contact, int]]:
    """The contacts by the places of their events, with the place of each mode from the end of a row."""
    contacts = {}
    for k, event in enumerate(system.events):
        if event.manner.contact is not None:
            position = int(system.place(f"{event.manner.contact.name}.mode").positions[0])
            contacts[k] = (event.manner.contact, position - system.sizes["p"])
    return contacts


def _with_contacts(
    system: System, contacts: dict[int, tuple[Contact, int]], together: list[FiredEvent]
) -> list[tuple[str, FiredEvent]]:
    """The events of one moment by name, those of contacts that changed with them before the last one."""
    last = together[-1]
    acted = {fired.event for fired in together}
    changed = [
        (contact.happening(last.before[mode], last.after[mode]), last._replace(event=k))
        for k, (contact, mode) in contacts.items()
        if k not in acted and last.before[mode] != last.after[mode]
    ]
    named = []
    for fired in together:
        name = system.events[fired.event].name
        if fired.event in contacts:
            contact, mode = contacts[fired.event]
            name = contact.happening(fired.before[mode], fired.after[mode])
        named.append((name, fired))
    return [*named[:-1], *changed, named[-1]]
