"""How a core run ended, as a record: what happened, when, in which variable or equation, and what to try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus._core import shared_numbers
from daedalus.initialisation.reset_refusals import RefusedReset
from daedalus.model.names import listed, times_text
from daedalus.model.system.system import System
from daedalus.model.variables import Event
from daedalus.simulation.contacts.refused_contacts import RefusedContacts
from daedalus.simulation.result.ending import ENDINGS, Ending, Obstacle, Stop, time_text

NOT_SOLVABLE = "the matrix that gives the derivatives and algebraic variables is singular at {t}"
NOBODY = "a variable"
# Of contacts that end a run as many events are looked at as name those that take part.
MOST_CONTACTS = 20
NOT_BOUNCING = "a restitution of zero, another method, or a smaller step where it is fixed"


def stop_of(
    run: Any,
    system: System,
    max_steps: int | None,
    time_limit: float | None,
    step: float | None = None,
    culprit: int | None = None,
    events: Sequence[Event] | None = None,
) -> Stop:
    """The record of how a core run ended.

    `max_steps`, `time_limit` and `step` are the settings of the run; `step` is None where it was adaptive. `culprit`
    takes the place of the entry that the core points at; `events` are those of the guards, where they are others than
    the system's own.
    """
    ending, smallest = ENDINGS[run.status], _smallest(run.stop_time)
    variable, equation = _culprit(run, system, run.culprit if culprit is None else culprit)
    event = _last_event(run, system.events if events is None else events, ending)
    places = {
        "t": time_text(run.stop_time), "culprit": variable or equation or NOBODY, "event": event, "steps": run.steps,
        "max_steps": max_steps, "time_limit": time_limit, "smallest": smallest,
        "step": f"with the step {step:.3g}" if step else f"with steps down to {smallest:.2g}",
    }  # fmt: skip
    unsolvable = ending is Ending.SINGULAR and run.jacobians == 0
    what, *facts = (text.format(**places) for text in ((NOT_SOLVABLE,) if unsolvable else ending.sentence))
    if run.rested:
        what = (
            f"steps of about {abs(run.last_step):.2g} lead nowhere at {places['t']}: nothing moves in thousands of them"
        )
        facts = ["the rest of the way would take more than a billion"]
    contacts = _last_contacts(run, system.events if events is None else events) if ending is Ending.CHATTERING else []
    if contacts:
        what = f"contacts open and close without progress at {places['t']}: {listed(contacts)}"
    elif ending is Ending.CHATTERING and event:
        what += f", the last one {event!r}"
    if run.newton_failures and ending.is_fault:
        facts.append(f"Newton failed {times_text(run.newton_failures)}")
    return Stop(
        ending, float(run.stop_time), what, tuple(facts),
        NOT_BOUNCING if contacts else _remedy(run, ending, places["culprit"]),
        (variable,) if variable else (), (equation,) if equation else (), event,
    )  # fmt: skip


def ended_from_outside(ending: Ending, t: float, time_limit: float | None, max_steps: int | None = None) -> Stop:
    """The end of a run by one of its limits, or by whoever cancelled it, between two of its pieces."""
    places = {"t": time_text(t), "time_limit": time_limit, "max_steps": max_steps}
    what, *facts = (text.format(**places) for text in ending.sentence)
    return Stop(ending, t, what, tuple(facts), ending.remedy if ending.tells_remedy else "")


def refused_reset(t: float, event: str, error: RefusedReset) -> Stop:
    """The end of a run at an event whose reset contradicts the equations or leaves a choice."""
    what = f"{error.what[:1].lower()}{error.what[1:].rstrip('.')} at {time_text(t)}"
    return Stop(
        Ending.INCONSISTENT, t, what, tuple(error.facts), error.remedy, error.candidates, event=event,
        obstacle=Obstacle.REFUSED_RESET,
    )  # fmt: skip


def refused_contacts(t: float, error: RefusedContacts) -> Stop:
    """The end of a run at contacts whose modes or impulses the equations do not determine."""
    what = f"{error.what[:1].lower()}{error.what[1:].rstrip('.')} at {time_text(t)}"
    return Stop(Ending.INCONSISTENT, t, what, tuple(error.facts), error.remedy, error.names, obstacle=Obstacle.CONTACTS)


def sliding(t: float, condition: str) -> Stop:
    """The end of a run that cannot go on where both branches of a condition lead back to it."""
    return Stop(
        Ending.CHATTERING,
        t,
        f"the condition {condition} switches to and fro at {time_text(t)}: both branches lead back to it",
        ("it depends on more than states and time, and no motion along it is known",),
        "m.friction for what sticks, or a smooth law such as tanh(v/0.001) for sign(v)",
        condition=condition,
        obstacle=Obstacle.SLIDING,
    )


def _last_event(run: Any, known: Sequence[Event], ending: Ending) -> str:
    """The event that ended a run, or the last of those that follow each other without end."""
    if ending not in (Ending.EVENT, Ending.CHATTERING) or not run.events:
        return ""
    events = [known[k] for k, *_ in run.events]
    # Others may have happened at the same time as the one that ends the run.
    terminal: list[str] = [event.name for event in events if event.terminal] if ending is Ending.EVENT else []
    return (terminal or [events[-1].name])[-1]


def _last_contacts(run: Any, known: Sequence[Event]) -> list[str]:
    """The contacts among the last events, where the very last one is that of a contact."""
    last = [known[k].manner.contact for k, *_ in run.events[-MOST_CONTACTS:]]
    if not last or last[-1] is None:
        return []
    return list(dict.fromkeys(contact.name for contact in last if contact is not None))


def _remedy(run: Any, ending: Ending, name: str) -> str:
    if run.rested:
        return 'method="auto", a looser rtol, or a shorter span'
    if ending is Ending.STEP_TOO_SMALL and run.steps == 0 and run.stop_time != 0:
        # Far from zero numbers are too far apart for the first steps of something fast.
        return f"a larger atol for {name}, or a time that begins at 0, where shorter steps can be told apart"
    return ending.remedy if ending.tells_remedy else ""


def _smallest(t: float) -> float:
    """The shortest step at a time: fewer spacings between numbers do not count as one."""
    numbers = np.finfo(float)
    return float(shared_numbers["fewest_spacings"] * max(numbers.eps * abs(t), numbers.tiny))


def _culprit(run: Any, system: System, entry: int) -> tuple[str, str]:
    """The variable (or derivative) that the core points at, or the equation; empty where there is none."""
    if entry < 0:
        return "", ""
    states = system.labels["x"]
    if run.culprit_stage == "derivative" and entry < len(states) and run.jacobians == 0:
        return system.labels["xdot"][entry], ""
    # An implicit method has no derivatives of its own: an equation could not be evaluated.
    if run.culprit_stage == "derivative" and entry < len(system.equation_labels):
        return "", system.equation_labels[entry]
    # Rows of implicit methods are (x, z, x').
    for part in (states, system.labels["z"], system.labels["xdot"]):
        if entry < len(part):
            return part[entry], ""
        entry -= len(part)
    return "", ""
