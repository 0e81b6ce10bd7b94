"""Exact derivatives of the discrete map: the steps of the nominal run, differentiated with their sizes held fixed.

The nominal run is that of `dd.simulate`. Its accepted steps are taken again by the variational equations, projection
onto the invariants included, so that the result is the derivative of the numbers that were computed, to rounding. At an
event the jump is that of the flow (saltation): the step that ends there is cut by the guard.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.augmented import Augmented
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.error_controlled import check_finished, refuse_second_order_events
from daedalus.differentiation.frozen_steps import breakpoints, pieces, run_on_steps
from daedalus.differentiation.recorded import PassedEvent, Recorded, joined
from daedalus.simulation.trajectory import Dense, Work


def run_discrete(case: Case, augmented: Augmented, y0: np.ndarray) -> Recorded:
    """y on the steps of the nominal run."""
    nominal = nominal_run(case)
    if augmented.variational.order == 2:
        refuse_second_order_events(case, [guard for guard, *_ in nominal.events])
    times = np.array(nominal.t)
    fired = nominal.events
    runs, events, y = [], [], y0
    for first, last in pieces(times):
        if first < last:
            run = _piece(case, augmented, times[first : last + 1], y)
            runs.append(run)
            y = np.array(run.x[-1])
        for guard, t, *_ in [e for e in fired if e[1] == times[last]]:
            after = _behind(case, augmented, guard, t, y)
            events.append(PassedEvent(guard, t, y, after))
            y = after
        fired = [e for e in fired if e[1] != times[last]]
    rows_t = np.concatenate([[case.t0], *(run.t[1:] if k == 0 else run.t for k, run in enumerate(runs))])
    rows_y = np.concatenate([y0[None], *(run.x[1:] if k == 0 else run.x for k, run in enumerate(runs))])
    if events and events[-1].time == rows_t[-1]:
        rows_t, rows_y = np.append(rows_t, rows_t[-1]), np.concatenate([rows_y, y[None]])
    work = Work(nominal.steps, nominal.rejected, nominal.rhs_calls, seconds=nominal.seconds)
    return Recorded(
        rows_t, rows_y, lambda: joined([Dense(*run.dense()) for run in runs]), nominal.status, work, tuple(events)
    )


def nominal_run(case: Case) -> Any:
    """The run of `dd.simulate`, with every step kept; a grid cuts its steps."""
    # These derivatives follow explicit steps to the end, stiff or not.
    call = {**case.settings.call, "watch_stiffness": False}
    tables = case.drive.core_tables()
    if case.grid is not None:
        tables.append(breakpoints(case.grid))
    if tables:
        call["tables"] = tables
    settings = case.settings
    start = (case.t0, case.t1, case.x0, case.drive.constants, case.p)
    run = _core.integrate(settings.rhs, settings.core_method, *start, **call)
    check_finished(case, run)
    return run


def _piece(case: Case, augmented: Augmented, times: np.ndarray, y: np.ndarray) -> Any:
    u, tables = core_inputs(case)
    moved = augmented.exact.core if "projection" in case.settings.call else None
    return run_on_steps(augmented.rhs.core, case.settings.core_method, times, y, u, case.p, tables, moved)


def _behind(case: Case, augmented: Augmented, guard: int, t: float, y: np.ndarray) -> np.ndarray:
    """y behind an event."""
    if augmented.variational.order == 2:
        return y
    u = case.drive.at(np.array([t]))[0]
    weights = np.zeros(case.intervals)
    if case.grid is not None:
        weights[interval_of(case.grid, t)] = 1.0
    rows = augmented.resets.core(np.array([t]), y, np.concatenate([u, weights]), case.p)[0]
    return rows.reshape(-1, len(y))[guard]


def interval_of(grid: np.ndarray, t: float) -> int:
    """The interval of the grid that holds t; the later one at a common end."""
    passed = np.count_nonzero((t - grid) * np.sign(grid[-1] - grid[0]) >= 0) - 1
    return int(np.clip(passed, 0, len(grid) - 2))
