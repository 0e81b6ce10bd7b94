"""Events whose derivative does not exist, or hardly: a guard that only touches zero, or that an input pushes across.

At an event dτ/dθ = -(g_x S + g_θ)/(g_t + g_x f): where the rate below the line vanishes, a small change decides whether
the event happens at all. The rate is judged against the largest that the same guard had along the run.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.differentiation.augmented import Augmented
from daedalus.differentiation.case import Case
from daedalus.differentiation.recorded import Recorded
from daedalus.errors import InputError, SolverError

# Below this share of the guard's largest rate nothing of the derivative can be trusted; below the second, few digits.
GRAZES, NEARLY = 1e-6, 1e-3


def grazing_notes(case: Case, augmented: Augmented, recorded: Recorded) -> tuple[str, ...]:
    """Notes on events that nearly graze or happen together; a SolverError for one that grazes."""
    rates = _rates(case, augmented, recorded.t, augmented.layout.states(recorded.y))
    largest = np.abs(rates).max(axis=0)
    notes = []
    for event in recorded.events:
        name = case.system.events[event.guard].name
        rate = abs(
            _rates(case, augmented, np.array([event.time]), event.before[None, : augmented.layout.n])[0, event.guard]
        )
        share = rate / largest[event.guard] if largest[event.guard] > 0 else 0.0
        if share < GRAZES:
            raise SolverError(
                f"The event {name!r} grazes.",
                f"at t = {event.time:.6g} its guard passes zero with {share:.1g} of its largest rate",
                because="the smallest change decides whether it happens, so that no derivative exists.",
                remedy="a span that ends before it, or other start values",
            )
        if share < NEARLY:
            notes.append(f"event {name} at t = {event.time:.6g} nearly grazes: derivatives behind it are uncertain")
    times = [event.time for event in recorded.events]
    if len(set(times)) < len(times):
        notes.append("events at one and the same time: the derivative is that of this order of events")
    return tuple(notes)


def _rates(case: Case, augmented: Augmented, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The rates of all guards at many points, (times, events)."""
    u = case.drive.at(t)
    many = augmented.guard_rates(ca.DM(t).T, ca.DM(x).T, ca.DM(u).T, ca.repmat(ca.DM(case.p), 1, len(t)))
    return many.full().T


def check_event_inputs(case: Case) -> None:
    """Refuse guards and resets that depend on an input driven by a table: its jumps are not differentiated."""
    system = case.system
    driven = sorted({k for _, slots in case.drive.tables for k in slots})
    if not driven:
        return
    form = case.plant.form
    symbols = system.symbol("u")[driven]
    for k, event in enumerate(system.events):
        parts = [form.applied(system, system.guards[k])]
        parts += [form.applied(system, system.resets[k, :])] if event.resets else []
        if any(ca.depends_on(part, symbols) for part in parts):
            raise InputError(
                f"The event {event.name!r} depends on an input that a table drives.",
                f"tables drive {', '.join(system.labels['u'][j] for j in driven[:6])}",
                because="the jump or the slope of the table moves the event, and has no derivative here.",
                remedy="a constant input, or an expression in m.time",
            )
