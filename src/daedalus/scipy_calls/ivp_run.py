"""One run in the core with what SciPy's users expect around it: events, samples, dense output, status and message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.scipy_calls.dae_branches import on_its_branch
from daedalus.scipy_calls.ivp_ending import code_of, message_of, stop_of
from daedalus.scipy_calls.ivp_events import Guards
from daedalus.scipy_calls.ivp_result import DenseSolution, IvpResult
from daedalus.scipy_calls.ivp_settings import IvpSettings, Problem
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Ending, Stop
from daedalus.simulation.result.records import Record, sentences
from daedalus.simulation.result.trajectory import Trajectory

_LATEST = 1e300


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


class Ended(NamedTuple):
    """What a run leaves behind: samples, events, its dense output, what it cost, how it ended, what it passed."""

    t: np.ndarray
    rows: np.ndarray  # (samples, entries)
    events: list[Any]
    dense: Callable[[], tuple[np.ndarray, np.ndarray, np.ndarray]]
    steps: int
    counts: tuple[int, int, int]  # calls, Jacobians, factorisations
    stop: Stop
    records: tuple[Record, ...] = ()


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
        stop = Stop(Ending.EVENT if ended else Ending.FINISHED, t0, "no step was taken")
        return _standing(task, problem, dense_output, found, stop, about)
    run = integrate(save_at=problem.t_eval, **(guards.options(fired) if guards and guards.events else {}))
    if run.status == Ending.INTERRUPTED:
        raise KeyboardInterrupt
    left = _ended(task, problem, settings, run, about["method"])
    about = {**about, "reason": "; ".join([about["reason"], *sentences(left.records)])}
    found = _found(guards, left.events, start, fired, task.size)
    solution = None
    if dense_output:
        solution = _constant(task, t0)
        if left.steps:
            starts, ends, coefficients = left.dense()
            solution = DenseSolution(starts, ends, coefficients[:, :, : task.size])
    return _result(task, *_samples(left), solution, found, left.counts, left.stop, about)


def _ended(task: Task, problem: Problem, settings: IvpSettings, run: Any, method: str) -> Ended:
    """What a core run leaves behind; of a DAE whose formula is known, as far as it stays on its branch."""
    stop, counts = stop_of(run, task.size, task.rates), (run.rhs_calls, run.jacobians, run.factorisations)
    if task.plant is None:
        return Ended(run.t, run.x, run.events, run.dense, run.steps, counts, stop)
    found = on_its_branch(task.plant, run, task.p, method, settings.rtol, problem.t_eval is None, stop)
    return Ended(
        found._times, found._x, list(found.outcome.events), lambda: _arrays(found), run.steps, counts, found.stop,
        found.records,
    )  # fmt: skip


def _arrays(found: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    dense = found.dense
    return dense.starts, dense.ends, dense.coefficients


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


def _samples(left: Ended) -> tuple[np.ndarray, np.ndarray]:
    """Times and rows; the second sample at a terminal event's time, which repeats the first, is left out."""
    repeated = left.stop.ending is Ending.EVENT and len(left.t) > 1 and left.t[-1] == left.t[-2]
    count = len(left.t) - 1 if repeated else len(left.t)
    return left.t[:count], left.rows[:count].T


def _standing(
    task: Task, problem: Problem, dense_output: bool, found: Any, stop: Stop, about: dict[str, Any]
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
    task: Task, t: np.ndarray, rows: np.ndarray, sol: Any, found: Any, counts: tuple[int, int, int], stop: Stop,
    about: dict[str, Any],
) -> IvpResult:  # fmt: skip
    status = code_of(stop)
    calls, jacobians, factorisations = counts
    return IvpResult(
        t=t, y=rows[: task.size], **({"yp": rows[task.size :]} if task.rates else {}), sol=sol,
        t_events=found[0], y_events=found[1], nfev=calls, njev=jacobians, nlu=factorisations, status=status,
        message=message_of(stop), success=status >= 0, **about, stop=stop,
    )  # fmt: skip
