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
from daedalus.differentiation.events.part_guards import guards_along, instants_of, is_corner
from daedalus.differentiation.variational.recorded import RunPart
from daedalus.errors import InputError, SolverError
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import NearlyGrazes, NearlyHappens
from daedalus.simulation.result.records_on_the_way import Touched
from daedalus.simulation.switching.touches import near_zero_between

# An event grazes below √rtol of the guard's largest rate, and below the first; it nearly grazes below a multiple of it.
GRAZES, NEARLY = 1e-6, 30.0


def event_records(part: RunPart) -> list[Record]:
    """Records of conditions that nearly change in a part or nearly graze at its end; a SolverError for those that do.

    Corners are no matter of the derivative.
    """
    case, t, rows = part.case, part.recorded.t, part.augmented.layout.rows(part.recorded.y)
    jumping = [k for k in range(len(case.system.events)) if not is_corner(case, k)]
    if not jumping or len(t) < 2:
        return []
    records, rtol = list[Record](), case.settings.call.get("rtol", 0.0)
    for guard in part.recorded.ended_by:
        if guard in jumping:
            rates = np.abs(guards_along(case, t, rows)[1][:, guard])
            share = float(rates[-1] / rates.max()) if rates.any() else 0.0
            records += grazing_records(case.system.events[guard].name, float(t[-1]), share, rtol)

    def guards(times: np.ndarray) -> np.ndarray:
        return guards_along(case, times, part.augmented.layout.rows(part.recorded.at(times)))[0]

    dips = near_zero_between(t, guards, jumping, rtol)
    names = [case.system.events[k].name for k in jumping]
    return records + [
        NearlyHappens(name, dip.time, dip.closest, True) for name, lows in zip(names, dips) for dip in lows
    ]


def touched_records(case: Case) -> list[Record]:
    """Records of the events of the model that nearly happen, as the run tells of them."""
    told = () if case.foreseen is None else case.foreseen.nominal.outcome.records
    return [NearlyHappens(each.event, each.time, each.closest) for each in told if isinstance(each, Touched)]


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
