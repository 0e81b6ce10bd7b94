"""Events whose derivative does not exist, or hardly: a guard that only touches zero, or that an input pushes across.

At an event dτ/dθ = -(g_x S + g_θ)/(g_t + g_x f): where the rate below the line vanishes, a small change decides whether
the event happens at all. The rate is judged against the largest that the same guard had since the event before: near a
touch g ≈ a (t - τ)², so that states known to rtol leave a rate of about √rtol of it undecided.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.part_guards import is_corner
from daedalus.differentiation.parts import goes_on
from daedalus.differentiation.variational.augmented import AnyAugmented
from daedalus.differentiation.variational.recorded import Recorded
from daedalus.errors import InputError, SolverError
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import EventsTogether, NearlyGrazes, NearlyHappens

# An event grazes below √rtol of the guard's largest rate, and below the first; it nearly grazes below a multiple of it.
GRAZES, NEARLY = 1e-6, 30.0
# A guard that turns back this close to zero, in tolerances of its largest value, may as well have passed it.
TOUCHES = 100.0


def event_records(case: Case, augmented: AnyAugmented, recorded: Recorded) -> tuple[Record, ...]:
    """Records of guards that nearly graze or happen together; a SolverError for an event that grazes."""
    found: list[Record] = []
    since = float(recorded.t[0])
    rtol = case.settings.call.get("rtol", 0.0)
    for event in recorded.events:
        name = case.system.events[event.guard].name
        # Other constraints for the same motion, and corners, are no matter of the derivative.
        if case.system.events[event.guard].purpose.watches_constraints or is_corner(case, event.guard):
            continue
        if goes_on(case, event.guard) and not case.system.events[event.guard].terminal:
            continue  # a condition that the run did not switch at
        share = _share_of_rate(case, augmented, recorded, event.guard, since, event.time, event.before)
        found += grazing_records(name, event.time, share, rtol)
        since = event.time
    times = [event.time for event in recorded.events if not goes_on(case, event.guard)]
    if len(set(times)) < len(times):
        found.append(EventsTogether())
    return (*found, *_touches(case, augmented, recorded))


def grazing_records(name: str, time: float, share: float, rtol: float) -> list[Record]:
    """A record of an event that nearly grazes, by the share of its largest rate; a SolverError for one that does."""
    grazes = max(GRAZES, float(np.sqrt(rtol)))
    if share < grazes:
        raise SolverError(
            f"The event {name!r} grazes.",
            f"at t = {time:.6g} its guard passes zero with {share:.1g} of its largest rate",
            because="a tiny change decides whether it happens, so there is no derivative.",
            remedy="a span that ends before it, or other start values",
        )
    return [NearlyGrazes(name, time)] if share < NEARLY * grazes else []


def _share_of_rate(
    case: Case, augmented: AnyAugmented, recorded: Recorded, guard: int, since: float, time: float, y: np.ndarray
) -> float:
    """The rate of a guard at its event over the largest since the event before."""
    low, high = min(since, time), max(since, time)
    rows = np.flatnonzero((recorded.t >= low) & (recorded.t <= high))
    x = augmented.layout.rows(recorded.y[rows])
    largest = np.abs(augmented.guard_values(case, recorded.t[rows], x)[1][:, guard]).max(initial=0.0)
    rate = abs(augmented.guard_values(case, np.array([time]), augmented.layout.rows(y[None]))[1][0, guard])
    return float(rate / largest) if largest > 0 else 0.0


def _touches(case: Case, augmented: AnyAugmented, recorded: Recorded) -> list[Record]:
    """Records of guards that turn back at zero without an event."""
    values, rates = augmented.guard_values(case, recorded.t, augmented.layout.rows(recorded.y))
    met: list[Record] = []
    fired = {event.time for event in recorded.events}
    for k, event in enumerate(case.system.events):
        if event.purpose.watches_constraints or is_corner(case, k):
            continue
        allowed = TOUCHES * case.settings.call.get("rtol", 0.0) * np.abs(values[:, k]).max(initial=0.0)
        turns = np.flatnonzero((rates[:-1, k] * rates[1:, k] < 0) & (values[:-1, k] * values[1:, k] > 0))
        for row in [row for row in turns if not fired.intersection(recorded.t[row : row + 2].tolist())][:50]:
            begin, end = recorded.t[row], recorded.t[row + 1]
            for _ in range(3):
                times = np.linspace(begin, end, 33)
                found = np.abs(augmented.guard_values(case, times, augmented.layout.rows(recorded.at(times)))[0][:, k])
                best = int(np.argmin(found))
                begin, end = times[max(best - 1, 0)], times[min(best + 1, 32)]
            if found[best] <= allowed:
                met.append(NearlyHappens(event.name, float(times[best]), float(found[best]), goes_on(case, k)))
    return met


def check_event_inputs(case: Case) -> None:
    """Refuse guards and resets that depend on an input driven by a table: its jumps are not differentiated."""
    system = case.system
    driven = sorted({k for _, slots in case.drive.tables for k in slots})
    if not driven:
        return
    form = case.form
    symbols = system.symbol("u")[driven]
    for k, event in enumerate(system.events):
        if is_corner(case, k):
            continue
        parts = [form.applied(system, system.guards[k])]
        parts += [form.applied(system, system.resets[k, :])] if event.resets else []
        if any(ca.depends_on(part, symbols) for part in parts):
            raise InputError(
                f"The event {event.name!r} depends on an input that a table drives.",
                f"tables drive {', '.join(system.labels['u'][j] for j in driven[:6])}",
                because="the table changes the time of the event, which is not differentiated here.",
                remedy="a constant input, or an expression in m.time",
            )
