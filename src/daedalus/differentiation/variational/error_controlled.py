"""Variational equations with error control: state and sensitivities are one system in one error test.

The absolute tolerance of ∂x_i/∂θ_j is that of x_i divided by the size of θ_j. Events carry the sensitivities across by
saltation, inside the core where resets are formulas; at second order an event that resets anything is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.events.smoothness import NoSecondDerivativesError
from daedalus.differentiation.variational.augmented import AnyAugmented, Augmented
from daedalus.differentiation.variational.finished import check_finished
from daedalus.differentiation.variational.recorded import PassedEvent, Recorded
from daedalus.differentiation.variational.through_events import work_of
from daedalus.simulation.result.ending import ENDINGS, Ending
from daedalus.simulation.result.recorded_run import Dense


def run_error_controlled(case: Case, augmented: AnyAugmented, y0: np.ndarray) -> Recorded | None:
    """Integrate y from the start of the case to its end, or to a terminal event; None where the system is stiff."""
    assert isinstance(augmented, Augmented)  # explicit methods run formulas
    settings, system = case.settings, case.system
    sizes = augmented.variational.directions.sizes(system, case.p)
    call = {**settings.call, "atol": augmented.variational.tolerances(settings.call["atol"], sizes)}
    if "projection" in call:
        call["projection"] = (augmented.exact if moves_far(case) else augmented.tangential).core
    u, tables = core_inputs(case)
    if tables:
        call["tables"] = tables
    if case.save_at is not None and not system.events:
        call["save_at"] = case.save_at
    # Sensitivities jump with the states: what an event writes is not listed.
    for name in ("guards", "directions", "actions", "occurrences", "resets", "restart", "writes"):
        call.pop(name, None)
    if system.events:
        call.update(event_call(augmented), guards=augmented.guards.core)
        if augmented.variational.order == 1:
            call["resets"] = augmented.resets.core
            call["restart"] = augmented.restart(case) if augmented.restarts else None
    run = _core.integrate(augmented.rhs.core, settings.core_method, case.t0, case.t1, y0, u, case.p, **call)
    if run.status == Ending.STIFF:
        return None
    passed = tuple(PassedEvent(guard, t, before, after) for guard, t, before, after in run.events)
    if augmented.variational.order == 2:
        refuse_second_order_events(case, [event.guard for event in passed])
    check_finished(case, run, run.culprit, augmented.layout.width)
    return Recorded(run.t, run.x, lambda: Dense(*run.dense()), ENDINGS[run.status], work_of([run]), passed)


def moves_far(case: Case) -> bool:
    """Whether a step may be moved onto the invariants by more than a tolerance; then the move is differentiated itself.

    So it is at fixed step, where the variational equations become the derivative of the steps.
    """
    return case.limits.get("step") is not None


def event_call(augmented: AnyAugmented) -> dict[str, Any]:
    """What the core does at events; at second order one that resets something ends the run."""
    events, first = augmented.variational.system.events, augmented.variational.order == 1
    ends = [e.terminal or (not first and bool(e.resets)) for e in events]
    return {
        "directions": [e.direction for e in events],
        "actions": [2 if end else 1 if first else 0 for end in ends],
        "occurrences": [1] * len(events),
    }


def refuse_second_order_events(case: Case, guards: list[int]) -> None:
    """Raise where an event that resets something happened in a run of second order."""
    acting = sorted({case.system.events[k].name for k in guards if case.system.events[k].resets})
    if not acting:
        return
    raise NoSecondDerivativesError(
        "Second derivatives through an event are not supported.",
        f"{', '.join(acting)} resets the state within the span",
        because="the second derivative of the time of the event enters, with derivatives of f on both sides.",
        remedy="order=1, or a span that ends before the event",
    )
