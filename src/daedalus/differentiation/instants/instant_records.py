"""What is told of instants that a derivative goes through, and what it does not go through."""

from __future__ import annotations

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.grazing import grazing_records
from daedalus.differentiation.events.smoothness import NoSecondDerivativesError
from daedalus.differentiation.instants.foreseen import Instant
from daedalus.differentiation.instants.instant_maps import instant_maps_of
from daedalus.differentiation.variational.recorded import RunPart
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import EventsTogether

# Rows at which the rate of a guard is looked at.
MOST_ROWS = 50


def refuse_second_order_instants(case: Case) -> None:
    """Raise where something is assigned in a run of second order."""
    if case.foreseen is None:
        return
    maps, instants = instant_maps_of(case), case.foreseen.instants
    acting = [(i, k) for i in instants for k in (*(k for level in i.clocks for k in level), *(k for k, _ in i.events))]
    acting = [(i, k) for i, k in acting if maps.own.events[k].resets]
    if not acting:
        return
    if not maps.own.discrete_count and not any(i.clocks for i, _ in acting):
        raise NoSecondDerivativesError(
            "Second derivatives through an event are not supported.",
            f"{', '.join(sorted({maps.own.events[k].name for _, k in acting}))} resets the state within the span",
            because="the second derivative of the time of the event enters, with derivatives of f on both sides.",
            remedy="order=1, or a span that ends before the event",
        )
    first, who = acting[0][0], [acting[0][1]]
    raise NoSecondDerivativesError(
        "Second derivatives through an instant are not supported.",
        f"{instant_maps_of(case).own.events[who[0]].name} acts at t = {first.time:.6g}",
        because="the second derivative of what is assigned, and of its time, enters.",
        remedy="order=1, or a span that ends before it",
    )


def instant_records(part: RunPart, instant: Instant) -> list[Record]:
    """Records of an instant at the end of a part; a SolverError for an event that grazes."""
    case = part.case
    if instant.clocks or not instant.events or instant.time == case.first_time:
        return []
    before = instant.events[0][1]
    together = [event for event, seen in instant.events if np.array_equal(seen, before)]
    t, rows = part.recorded.t, part.augmented.layout.rows(part.recorded.y)
    if len(t) < 2:
        return []
    share = instant_maps_of(case).rate_share(case, together[0], t, rows, MOST_ROWS)
    name = instant_maps_of(case).own.events[together[0]].name
    found = grazing_records(name, instant.time, share, case.settings.rtol)
    return [*found, EventsTogether()] if len(together) > 1 else found
