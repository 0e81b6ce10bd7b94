"""Variational equations by the implicit methods of `dd.simulate`, for stiff systems and those without formulas.

States and sensitivities are one system in one error test, as with explicit methods, and all sensitivities are solved
for with the factor of the states (column_equations.py). Where x' and z have no formulas a run ends at each event that
resets something, and goes on behind it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.variational.augmented import AnyAugmented
from daedalus.differentiation.variational.error_controlled import event_call, moves_far, refuse_second_order_events
from daedalus.differentiation.variational.finished import check_finished
from daedalus.differentiation.variational.recorded import PassedEvent, Recorded
from daedalus.differentiation.variational.restart_function import restart_function
from daedalus.differentiation.variational.through_events import dense_of, run_through_events, work_of
from daedalus.integrators.methods import choose_method
from daedalus.simulation.result.ending import ENDINGS
from daedalus.simulation.start.restart import restarts


def run_implicit(case: Case, augmented: AnyAugmented, y0: np.ndarray) -> Recorded:
    """Integrate y with the implicit method of the case."""
    rows, (u, tables) = augmented.core_rows, core_inputs(case)
    call = {name: value for name, value in case.settings.call.items() if name in ("rtol", "max_step", "max_steps")}
    call |= {name: value for name, value in case.limits.items() if value is not None}
    call["atol"] = rows.tolerances(case)
    moved = rows.projection(moves_far(case)) if "projection" in case.settings.call else None
    if moved is not None:
        call["projection"] = moved.core
    if tables:
        call["tables"] = tables
    chosen = choose_method(case.method, call["rtol"], call.get("step")).core

    def integrate(t: float, y: np.ndarray, more: dict[str, Any]) -> Any:
        row = rows.row(case, t, y)
        return _core.integrate(rows.model, chosen, t, case.t1, row, u, case.p, **call, **more)

    if rows.guards is not None and rows.resets is None and augmented.variational.order == 1:
        found = run_through_events(case, augmented, y0, rows.guards.core, integrate, rows.unpacked, rows.entry)
        assert found is not None  # implicit methods take no notice of stiffness
        return found
    events = {} if rows.guards is None else {**event_call(augmented), "guards": rows.guards.core}
    if events:
        events["resets"] = None if rows.resets is None else rows.resets.core
        if rows.resets is not None and restarts(case.system):
            events["restart"] = _restart(case, augmented, len(u))
    run = integrate(case.t0, y0, events)
    passed = tuple(
        PassedEvent(guard, t, rows.unpacked(before), rows.unpacked(after)) for guard, t, before, after in run.events
    )
    if augmented.variational.order == 2:
        refuse_second_order_events(case, [event.guard for event in passed])
    check_finished(case, run, rows.entry(run.culprit), augmented.layout.width)
    dense = partial(dense_of, run, rows.unpacked)
    return Recorded(run.t, rows.unpacked(run.x), dense, ENDINGS[run.status], work_of([run]), passed)


def _restart(case: Case, augmented: AnyAugmented, inputs: int) -> Any:
    """What lies behind an event where a search follows, for rows of the core."""
    rows, width = augmented.core_rows, len(augmented.core_rows.tolerances(case))

    def behind(own: Case, event: int, t: float, row: np.ndarray) -> np.ndarray:
        return rows.row(own, t, augmented.behind(own, event, t, rows.unpacked(row)))

    return restart_function(case, inputs, width, behind)
