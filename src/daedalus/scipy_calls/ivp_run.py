"""One run in the core with what SciPy's users expect around it: events, samples, dense output, status and message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.scipy_calls.ivp_ending import FAILED, code_of, message_of
from daedalus.scipy_calls.ivp_events import Guards
from daedalus.scipy_calls.ivp_result import DenseSolution, IvpResult
from daedalus.scipy_calls.ivp_settings import IvpSettings, Problem
from daedalus.scipy_calls.ivp_task import Ask, Ended, Task
from daedalus.simulation.result.ending import Ending, Stop
from daedalus.simulation.result.records import sentences

# In place of an infinite end: a time whose square root and products are still numbers.
_LATEST = 1e300


def run_in_core(
    task: Task,
    problem: Problem,
    settings: IvpSettings,
    guards: Guards | None,
    dense_output: bool,
    about: dict[str, Any],
    missed: Callable[[Ended], str] | None = None,
) -> IvpResult:
    """The run and its result; `guards` is None where no events were asked for, and `about` goes into the result.

    What `missed` says of a run, if anything, is why its result is no success.
    """
    # A run without end (until an event) goes to the largest time there is room for, and its first step is found here.
    t0, t1 = problem.span
    first = settings.first_step
    if not np.isfinite(t1):
        t1 = float(np.copysign(_LATEST, t1))
        first = first or _small_step(task, t0, settings)
    start = (t0, task.row)
    ask = Ask(t0, t1, replace(settings, first_step=first), problem.t_eval)
    fired = guards.fired_at_start(lambda: start if t0 == t1 else task.first_step(ask)) if guards else []
    if guards and guards.reason:
        about = {**about, "reason": f"{about['reason']}; {guards.reason}"}
    ended = guards is not None and any(guards.events[i].ends_after == 1 for i in fired)
    if ended or t0 == t1:
        stop = Stop(Ending.EVENT if ended else Ending.FINISHED, t0, "no step was taken")
        return _standing(task, problem, dense_output, _found(task, guards, [], start, fired), stop, about)
    left = task.run(ask, guards if guards and guards.events else None, fired)
    if left.stop.ending is Ending.INTERRUPTED:
        raise KeyboardInterrupt
    about = {**about, "reason": "; ".join([about["reason"], *sentences(left.records)])}
    solution = None
    if dense_output:
        solution = _constant(task, t0)
        if left.steps:
            starts, ends, coefficients = left.dense()
            solution = DenseSolution(starts, ends, coefficients[:, :, : task.size])
    found = _found(task, guards, left.events, start, fired)
    result = _result(task, *_samples(left), solution, found, left.counts, left.stop, about)
    if wrong := missed(left) if missed else "":
        result.update(status=FAILED, success=False, message=f"The run is less accurate than asked for: {wrong}.")
    return result


def _found(
    task: Task, guards: Guards | None, events: list[Any], start: tuple[float, np.ndarray], fired: list[int]
) -> dict[str, Any]:
    """SciPy's t_events and y_events, and those of y' where the result has it; None where no events were asked for."""
    n, names = task.size, ("t_events", "y_events", *(("yp_events",) if task.rates else ()))
    if guards is None:
        return dict.fromkeys(names)
    times, rows = guards.found(events, start, fired)
    return dict(zip(names, (times, [_part(v, slice(n)) for v in rows], [_part(v, slice(n, None)) for v in rows])))


def _part(rows: np.ndarray, columns: slice) -> np.ndarray:
    """Columns of the rows at events; SciPy's result is flat where there are none."""
    return rows[:, columns] if rows.ndim == 2 else rows


def _small_step(task: Task, t0: float, settings: IvpSettings) -> float:
    """A first step that moves y by a hundredth of its size (Hairer, Nørsett, Wanner I, II.4)."""
    y = task.row[: task.size]
    scale = settings.atol + settings.rtol * np.abs(y) + NOT_ZERO
    size, speed = np.linalg.norm(y / scale), np.linalg.norm(task.slope(t0) / scale)
    return float(0.01 * size / speed) if min(size, speed) > 1e-5 and np.isfinite(speed) else 1e-6


def _samples(left: Ended) -> tuple[np.ndarray, np.ndarray]:
    """Times and rows; the second sample at a terminal event's time, which repeats the first, is left out."""
    repeated = left.stop.ending is Ending.EVENT and len(left.t) > 1 and left.t[-1] == left.t[-2]
    count = len(left.t) - 1 if repeated else len(left.t)
    return left.t[:count], left.rows[:count].T


def _standing(
    task: Task, problem: Problem, dense_output: bool, found: dict[str, Any], stop: Stop, about: dict[str, Any]
) -> IvpResult:
    """The result of a run that takes no step: the start, twice, as SciPy returns it."""
    t0 = problem.span[0]
    times = np.array([t0, t0]) if problem.t_eval is None else problem.t_eval[problem.t_eval == t0]
    solution = _constant(task, t0) if dense_output else None
    rows = np.repeat(task.row[:, None], len(times), axis=1)
    return _result(task, times, rows, solution, found, (1, 0, 0), stop, about)


def _constant(task: Task, t0: float) -> DenseSolution:
    return DenseSolution(np.array([t0]), np.array([t0]), task.row[None, None, : task.size])


def _result(
    task: Task, t: np.ndarray, rows: np.ndarray, sol: Any, found: dict[str, Any], counts: tuple[int, int, int],
    stop: Stop, about: dict[str, Any],
) -> IvpResult:  # fmt: skip
    status = code_of(stop)
    calls, jacobians, factorisations = counts
    return IvpResult(
        t=t, y=rows[: task.size], **({"yp": rows[task.size :]} if task.rates else {}), sol=sol,
        **found, nfev=calls, njev=jacobians, nlu=factorisations, status=status,
        message=message_of(stop), success=status >= 0, **about, stop=stop,
    )  # fmt: skip
