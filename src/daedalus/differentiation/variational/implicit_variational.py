"""Variational equations by the implicit methods of `dd.simulate`, for stiff systems and those without formulas.

States and sensitivities are one system in one error test, as with explicit methods, and all sensitivities are solved
for with the factor of the states (column_equations.py). Where x' and z have no formulas a run ends at each event that
resets something, and goes on behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.variational.augmented import AnyAugmented
from daedalus.differentiation.variational.core_rows import CoreRows
from daedalus.differentiation.variational.error_controlled import (
    check_finished,
    event_call,
    moves_far,
    refuse_second_order_events,
)
from daedalus.differentiation.variational.recorded import PassedEvent, Recorded, joined
from daedalus.errors import SolverError
from daedalus.integrators.methods import choose_method
from daedalus.simulation.result.ending import ENDINGS, Ending
from daedalus.simulation.result.recorded_run import Dense, Work

# A run is given up where this many events fall into so small a part of the span.
IN_A_ROW, SHARE = 100, 1e-6


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
        return _through_events(case, augmented, y0, integrate)
    events = {} if rows.guards is None else {**event_call(augmented), "guards": rows.guards.core}
    if events:
        events["resets"] = None if rows.resets is None else rows.resets.core
    run = integrate(case.t0, y0, events)
    passed = tuple(
        PassedEvent(guard, t, rows.unpacked(before), rows.unpacked(after)) for guard, t, before, after in run.events
    )
    if augmented.variational.order == 2:
        refuse_second_order_events(case, [event.guard for event in passed])
    check_finished(case, run, rows.entry(run.culprit), augmented.layout.width)
    return Recorded(run.t, rows.unpacked(run.x), partial(_dense, rows, run), ENDINGS[run.status], _work([run]), passed)


def _work(runs: list[Any]) -> Work:
    counts = ("steps", "rejected", "rhs_calls", "jacobians", "factorisations", "newton", "seconds")
    return Work(*(sum(getattr(run, name) for run in runs) for name in counts))


def _dense(rows: CoreRows, run: Any) -> Dense:
    starts, ends, coefficients = run.dense()
    return Dense(starts, ends, np.ascontiguousarray(rows.unpacked(coefficients)))


def _through_events(
    case: Case, augmented: AnyAugmented, y0: np.ndarray, integrate: Callable[[float, np.ndarray, dict[str, Any]], Any]
) -> Recorded:
    """Runs from event to event, the jump of y between them."""
    rows, declared = augmented.core_rows, case.system.events
    assert rows.guards is not None
    call = {
        "guards": rows.guards.core,
        "directions": [e.direction for e in declared],
        "actions": [2 if e.terminal or e.resets else 1 for e in declared],
        "occurrences": [1] * len(declared),
    }
    t, y, runs, passed, status = case.t0, y0, [], [], Ending.FINISHED
    while True:
        run = integrate(t, y, call)
        check_finished(case, run, rows.entry(run.culprit), augmented.layout.width)
        runs.append(run)
        stopped = run.status == Ending.EVENT
        for guard, time, before, _ in run.events:
            own = rows.unpacked(before)
            passed.append(PassedEvent(guard, time, own, augmented.behind(case, guard, time, own)))
        t, y = float(run.t[-1]), passed[-1].after if stopped else rows.unpacked(run.x[-1])
        if not stopped or t == case.t1 or declared[passed[-1].guard].terminal:
            if not stopped or declared[passed[-1].guard].terminal:
                status = ENDINGS[run.status]
            break
        _check_progress(case, passed)
    times = np.concatenate([run.t for run in runs])
    found = np.concatenate([rows.unpacked(run.x) for run in runs])
    if passed and passed[-1].time == times[-1]:
        times, found = np.append(times, times[-1]), np.concatenate([found, passed[-1].after[None]])
    return Recorded(
        times, found, lambda: joined([_dense(rows, run) for run in runs]), status, _work(runs), tuple(passed)
    )


def _check_progress(case: Case, passed: list[PassedEvent]) -> None:
    """Raise where events follow each other without end."""
    if len(passed) < IN_A_ROW or abs(passed[-1].time - passed[-IN_A_ROW].time) > SHARE * abs(case.t1 - case.t0):
        return
    raise SolverError(
        f"The event {case.system.events[passed[-1].guard].name!r} happens again and again.",
        f"the last {IN_A_ROW} events are at t = {passed[-1].time:.6g}",
        because="behind its reset the guard is at zero again.",
        remedy="a direction= for the event, or a reset that leads away from it",
    )
