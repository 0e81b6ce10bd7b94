"""Events whose derivative does not exist, or hardly: a guard that only touches zero, or that an input pushes across.

At an event dτ/dθ = -(g_x S + g_θ)/(g_t + g_x f): where the rate below the line vanishes, a small change decides whether
the event happens at all. The rate is judged against the largest that the same guard had since the event before: near a
touch g ≈ a (t - τ)², so that states known to rtol leave a rate of about √rtol of it undecided.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.differentiable_system import assigns
from daedalus.differentiation.events.part_guards import guards_along, instants_of, is_corner, watched_guards
from daedalus.differentiation.variational.recorded import RunPart
from daedalus.errors import InputError, SolverError
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import NearlyGrazes, NearlyHappens

# An event grazes below √rtol of the guard's largest rate, and below the first; it nearly grazes below a multiple of it.
GRAZES, NEARLY = 1e-6, 30.0
# A guard that turns back this close to zero, in tolerances of its largest value, may as well have passed it.
TOUCHES = 100.0


def event_records(part: RunPart) -> list[Record]:
    """Records of guards that nearly happen in a part, or nearly graze where it ends; a SolverError for those that do.

    Corners are no matter of the derivative.
    """
    case, t, rows = part.case, part.recorded.t, part.augmented.layout.rows(part.recorded.y)
    if not watched_guards(case) or len(t) < 2:
        return []
    values, rates = guards_along(case, t, rows)
    first, found, rtol = values.shape[1] - len(case.system.events), list[Record](), case.settings.call.get("rtol", 0.0)
    for guard in part.recorded.ended_by:
        if not is_corner(case, guard):
            own = np.abs(rates[:, first + guard])
            share = float(own[-1] / own.max()) if own.any() else 0.0
            found += grazing_records(case.system.events[guard].name, float(t[-1]), share, rtol)
    return [*found, *_touches(part, values, rates)]


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


def _touches(part: RunPart, values: np.ndarray, rates: np.ndarray) -> list[Record]:
    """Records of guards that turn back at zero without an event."""
    case, recorded = part.case, part.recorded
    events, met = watched_guards(case), list[Record]()
    first = len(events) - len(case.system.events)
    for k, event in enumerate(events):
        # What a contact does next it decides by itself, and a clock by time.
        if event.purpose.watches_constraints or event.is_clock or event.manner.contact is not None:
            continue
        if k >= first and is_corner(case, k - first):
            continue
        allowed = TOUCHES * case.settings.call.get("rtol", 0.0) * np.abs(values[:, k]).max(initial=0.0)
        turns = np.flatnonzero((rates[:-1, k] * rates[1:, k] < 0) & (values[:-1, k] * values[1:, k] > 0))
        for row in turns[:50]:
            begin, end = recorded.t[row], recorded.t[row + 1]
            for _ in range(3):
                times = np.linspace(begin, end, 33)
                found = np.abs(guards_along(case, times, part.augmented.layout.rows(recorded.at(times)))[0][:, k])
                best = int(np.argmin(found))
                begin, end = times[max(best - 1, 0)], times[min(best + 1, 32)]
            if found[best] <= allowed:
                met.append(NearlyHappens(event.name, float(times[best]), float(found[best]), k >= first))
    return met


def check_event_inputs(case: Case) -> None:
    """Refuse events of a smooth model that depend on an input driven by a table: its jumps are not differentiated."""
    own, driven = instants_of(case), sorted({k for _, slots in case.drive.tables for k in slots})
    if own is None or not driven or assigns(own):
        return
    symbols = own.symbol("u")[driven]
    for k, event in enumerate(own.events):
        parts = [case.form.applied(case.system, own.guards[k])]
        parts += [case.form.applied(case.system, own.resets[k, :])] if event.resets else []
        if any(ca.depends_on(part, symbols) for part in parts):
            raise InputError(
                f"The event {event.name!r} depends on an input that a table drives.",
                f"tables drive {', '.join(own.labels['u'][j] for j in driven[:6])}",
                because="the table changes the time of the event, which is not differentiated here.",
                remedy="a constant input, or an expression in m.time",
            )
