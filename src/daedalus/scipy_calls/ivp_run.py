"""One run in the core with what SciPy's users expect around it: events, samples, dense output, status and message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.scipy_calls.dae_branches import on_its_branch
from daedalus.scipy_calls.ivp_events import Guards
from daedalus.scipy_calls.ivp_result import DenseSolution, IvpResult
from daedalus.scipy_calls.ivp_settings import IvpSettings, Problem
from daedalus.simulation.plant.implicit_plant import ImplicitPlant

_LATEST = 1e300
MESSAGES = {
    "finished": "The solver successfully reached the end of the integration interval.",
    "event": "A termination event occurred.",
}


@dataclass(frozen=True, eq=False)
class Task:
    """What the core runs: a right-hand side with rows y, or an implicit model with rows (y, y')."""

    model: Any
    row: np.ndarray
    p: np.ndarray
    implicit: bool = False
    rates: bool = False  # whether the result has y' too
    kinked: bool = False  # whether the function may have kinks: always where it is not known as a formula
    plant: ImplicitPlant | None = None  # of a DAE whose formula is known

    @property
    def size(self) -> int:
        """How many components y has."""
        return len(self.row) // 2 if self.implicit else len(self.row)

    def slope(self, t: float) -> np.ndarray:
        """y' at the start."""
        if self.implicit:
            return self.row[self.size :]
        return self.model(np.array([t]), self.row, np.zeros(0), self.p)[0]


def run_in_core(
    task: Task,
    problem: Problem,
    settings: IvpSettings,
    guards: Guards | None,
    dense_output: bool,
    about: dict[str, Any],
) -> IvpResult:
    """The run and its result; `guards` is None where no events were asked for, and `about` goes into the result."""
    # A run without end (until an event) goes to the largest time there is room for, and its first step is found here.
    t0, t1 = problem.span
    first = settings.first_step
    if not np.isfinite(t1):
        t1 = float(np.copysign(_LATEST, t1))
        first = first or _small_step(task, t0, settings)
    start = (t0, task.row)
    atol = np.concatenate([settings.atol, np.ones(task.size)]) if task.implicit else settings.atol

    def integrate(**options: Any) -> Any:
        return _core.integrate(
            task.model, settings.core, t0, t1, task.row, np.zeros(0), task.p, rtol=settings.rtol, atol=atol,
            step=settings.step, first_step=first, max_step=settings.max_step, kinked=task.kinked, **options,
        )  # fmt: skip

    def first_step() -> tuple[float, np.ndarray]:
        if t0 == t1:
            return start
        short = integrate(max_steps=1)
        return float(short.t[-1]), short.x[-1]

    fired = guards.fired_at_start(first_step) if guards else []
    if guards and guards.reason:
        about = {**about, "reason": f"{about['reason']}; {guards.reason}"}
    ended = guards is not None and any(guards.events[i].ends_after == 1 for i in fired)
    if ended or t0 == t1:
        found = _found(guards, [], start, fired, task.size)
        return _standing(task, problem, dense_output, found, "event" if ended else "finished", about)
    run = integrate(save_at=problem.t_eval, **(guards.options(fired) if guards and guards.events else {}))
    if run.status == "interrupted":
        raise KeyboardInterrupt
    why = failure(run, task.size, task.rates)
    if task.plant is not None:
        run, why, note = on_its_branch(task.plant, run, task.p, settings.rtol, problem.t_eval is None, why)
        about = {**about, "reason": f"{about['reason']}; {note}"} if note else about
    found = _found(guards, run.events, start, fired, task.size)
    solution = None
    if dense_output:
        solution = _constant(task, t0)
        if run.steps:
            starts, ends, coefficients = run.dense()
            solution = DenseSolution(starts, ends, coefficients[:, :, : task.size])
    rows = _samples(run)
    counts = (run.rhs_calls, run.jacobians, run.factorisations)
    return _result(task, *rows, solution, found, counts, run.status, why, about)


def _found(guards: Guards | None, events: list[Any], start: tuple[float, np.ndarray], fired: list[int], n: int) -> Any:
    if guards is None:
        return None, None
    times, rows = guards.found(events, start, fired)
    return times, [values[:, :n] if values.ndim == 2 else values for values in rows]


def _small_step(task: Task, t0: float, settings: IvpSettings) -> float:
    """A first step that moves y by a hundredth of its size (Hairer, Nørsett, Wanner I, II.4)."""
    y = task.row[: task.size]
    scale = settings.atol + settings.rtol * np.abs(y) + np.finfo(float).tiny
    size, speed = np.linalg.norm(y / scale), np.linalg.norm(task.slope(t0) / scale)
    return float(0.01 * size / speed) if min(size, speed) > 1e-5 and np.isfinite(speed) else 1e-6


def _samples(run: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times and rows; the second sample at a terminal event's time, which repeats the first, is left out."""
    repeated = run.status == "event" and len(run.t) > 1 and run.t[-1] == run.t[-2]
    count = len(run.t) - 1 if repeated else len(run.t)
    return run.t[:count], run.x[:count].T


def _standing(
    task: Task, problem: Problem, dense_output: bool, found: Any, status: str, about: dict[str, Any]
) -> IvpResult:
    """The result of a run that takes no step: the start, twice, as SciPy returns it."""
    t0 = problem.span[0]
    times = np.array([t0, t0]) if problem.t_eval is None else problem.t_eval[problem.t_eval == t0]
    solution = _constant(task, t0) if dense_output else None
    rows = np.repeat(task.row[:, None], len(times), axis=1)
    return _result(task, times, rows, solution, found, (1, 0, 0), status, "", about)


def _constant(task: Task, t0: float) -> DenseSolution:
    return DenseSolution(np.array([t0]), np.array([t0]), task.row[None, None, : task.size])


def _result(
    task: Task, t: np.ndarray, rows: np.ndarray, sol: Any, found: Any, counts: tuple[int, int, int], end: str, why: str,
    about: dict[str, Any],
) -> IvpResult:  # fmt: skip
    status = {"finished": 0, "event": 1}.get(end, -1)
    calls, jacobians, factorisations = counts
    return IvpResult(
        t=t, y=rows[: task.size], **({"yp": rows[task.size :]} if task.rates else {}), sol=sol,
        t_events=found[0], y_events=found[1], nfev=calls, njev=jacobians, nlu=factorisations, status=status,
        message=MESSAGES.get(end, why), success=status >= 0, **about,
    )  # fmt: skip


def failure(run: Any, size: int, rates: bool = False) -> str:
    """Why a run stopped early, with the time and the component."""
    where = f"t = {run.stop_time:.6g}"
    name = "y" if run.culprit < 0 else f"y[{run.culprit}]" if run.culprit < size else f"yp[{run.culprit - size}]"
    if run.status == "not_finite":
        what = name
        if run.culprit_stage == "derivative":
            # An implicit method meets equations, and those of y' = f are numbered as y is.
            what = f"the derivative of {name}" if not rates else f"F[{run.culprit}]"
        return f"The run stopped at {where}: {what} is not finite there."
    if run.status == "step_too_small":
        return (
            f"Required step size is less than spacing between numbers. The run stopped at {where}, because of {name}."
        )
    if run.status == "newton_failed":
        return (
            f"The run stopped at {where}: Newton's method does not converge with steps of {abs(run.last_step):.2g}; "
            f"{run.newton_failures} failures, largest correction in {name}."
        )
    if run.status == "rounding":
        return f"The run stopped at {where}: rounding errors of {name} exceed its tolerance, whatever the step."
    if run.status == "singular":
        return f"The run stopped at {where}: the matrix of the step is singular, nothing determines {name} there."
    return f"The run stopped at {where}: {run.status.replace('_', ' ')}."
