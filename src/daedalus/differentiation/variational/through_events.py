"""Variational equations run from event to event, the jump of y between two runs computed outside the core.

So it goes where what lies behind an event follows from a search: x' and z without formulas, or states that depend on
each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.variational.augmented import AnyAugmented
from daedalus.differentiation.variational.finished import check_finished
from daedalus.differentiation.variational.recorded import PassedEvent, Recorded
from daedalus.errors import SolverError
from daedalus.simulation.result.ending import ENDINGS, Ending
from daedalus.simulation.result.recorded_run import Dense, Work

# A run is given up where this many events fall into so small a part of the span.
IN_A_ROW, SHARE = 100, 1e-6

Integrate = Callable[[float, np.ndarray, dict[str, Any]], Any]  # from a time and y on, with what is done at events


def run_through_events(
    case: Case,
    augmented: AnyAugmented,
    y0: np.ndarray,
    guards: Any,
    integrate: Integrate,
    unpacked: Callable[[np.ndarray], np.ndarray],
    entry: Callable[[int], int],
) -> Recorded | None:
    """Runs from event to event, the jump of y between them; None where one of them turns out to be stiff.

    guards: those of rows of the core. unpacked: y of rows. entry: where an unknown of the core stands in y.
    """
    declared = case.system.events
    call = {
        "guards": guards,
        "directions": [e.direction for e in declared],
        "actions": [2 if e.terminal or e.resets else 1 for e in declared],
        "occurrences": [1] * len(declared),
    }
    t, y, runs, passed, status = case.t0, y0, [], [], Ending.FINISHED
    while True:
        run = integrate(t, y, call)
        if run.status == Ending.STIFF:
            return None
        check_finished(case, run, entry(run.culprit), augmented.layout.width)
        runs.append(run)
        stopped = run.status == Ending.EVENT
        for guard, time, before, _ in run.events:
            own = unpacked(before)
            passed.append(PassedEvent(guard, time, own, augmented.behind(case, guard, time, own)))
        t, y = float(run.t[-1]), passed[-1].after if stopped else unpacked(run.x[-1])
        # Others may happen at the time of a terminal one.
        ends = stopped and any(declared[event.guard].terminal for event in passed if event.time == t)
        if not stopped or t == case.t1 or ends:
            if not stopped or ends:
                status = ENDINGS[run.status]
            break
        _check_progress(case, passed)
    times = np.concatenate([run.t for run in runs])
    found = np.concatenate([unpacked(run.x) for run in runs])
    if passed and passed[-1].time == times[-1]:
        times, found = np.append(times, times[-1]), np.concatenate([found, passed[-1].after[None]])
    return Recorded(
        times, found, lambda: Dense.joined([dense_of(run, unpacked) for run in runs]), status, work_of(runs),
        tuple(passed),
    )  # fmt: skip


def work_of(runs: list[Any]) -> Work:
    """What core runs cost together."""
    counts = ("steps", "rejected", "rhs_calls", "jacobians", "factorisations", "newton", "seconds")
    return Work(*(sum(getattr(run, name) for run in runs) for name in counts))


def dense_of(run: Any, unpacked: Callable[[np.ndarray], np.ndarray]) -> Dense:
    """The dense output of y."""
    starts, ends, coefficients = run.dense()
    return Dense(starts, ends, np.ascontiguousarray(unpacked(coefficients)))


def _check_progress(case: Case, passed: list[PassedEvent]) -> None:
    """Raise where events follow each other without end."""
    if len(passed) < IN_A_ROW or abs(passed[-1].time - passed[-IN_A_ROW].time) > SHARE * abs(case.t1 - case.t0):
        return
    raise SolverError(
        f"The event {case.system.events[passed[-1].guard].name!r} happens again and again.",
        f"the last {IN_A_ROW} events are at t = {passed[-1].time:.6g}",
        because="after its reset the guard is at zero again.",
        remedy="a direction= for the event, or a reset that moves away from it",
    )
