"""Run a model: values in, machine code, one call into the core, a trajectory out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.simulation.inputs.differentiated_inputs import with_input_derivatives
from daedalus.simulation.inputs.input_elements import gathered_inputs
from daedalus.simulation.inputs.read_inputs import check_finite_inputs
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.known_way import known_piece
from daedalus.simulation.run.next_piece import Asked, first_piece, next_piece
from daedalus.simulation.run.pieces import Piece, run_in_pieces
from daedalus.simulation.run.progress import ProgressBar, wants_progress
from daedalus.simulation.run.stop_reason import SUCCESS, advice_of, remedy, without_advice
from daedalus.simulation.singular.branches import told_of_branches
from daedalus.simulation.start.singular_mass import SUSPECT, check_start_mass
from daedalus.simulation.start.start_row import Start

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau

# Beyond this many steps the time no longer moves by each of them.
MOST_FIXED_STEPS = 1e15


def simulate(
    model: Model | System,
    span: float | tuple[float, float],
    start: Start | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    method: str | Tableau = "auto",
    rtol: float = 1e-6,
    atol: float | Mapping[str, object] = 1e-9,
    step: float | None = None,
    save_at: Sequence[float] | np.ndarray | None = None,
    max_step: float | None = None,
    first_step: float | None = None,
    max_steps: int | None = None,
    time_limit: float | None = None,
    progress: bool | Callable[[float], None] | None = None,
    on_stop: str = "return",
    cancel: Any = None,
    locate_switches: bool = True,
) -> Trajectory:
    """Solve the model over a span of time.

    Parameters
    ----------
    model: what to run; a repeated call with only new values neither retraces nor recompiles.
    span: the end time (from 0), or (begin, end); backwards too.
    start: start values by name over those of the model, or `tr.at(t)` of another run.
    inputs: a value for every input: a number or vector, a function of time, an expression in the model's symbols, or
        a table `dd.signal(times, values)`. Integration restarts at every time of a table. An input that a constraint
        differentiates needs derivatives: a number, an expression, or a function that can be read as a formula.
    parameters: values by name over those of the model.
    method: a name of `dd.methods()` or a `dd.Tableau`; "auto" chooses by the tolerance, and goes on with an implicit
        method from where the model turns stiff; where constraints are kept it holds a tenth of the tolerance.
    rtol, atol: the local error of each component is kept below atol + rtol |x|; a single atol counts in nominal values,
        atol by name is absolute.
    step: fixed step, for methods without error control (or any tableau).
    save_at: times to keep, from the dense output; without it every step is kept.
    max_step, first_step: limits of the step. max_steps, time_limit (seconds): limits of the run.
    progress: True, False, a function of the time reached, or None for a bar on a terminal.
    on_stop: what to do when a run ends early: "return" what was computed, or "raise" a SolverError that carries it as
        `error.trajectory`. Ctrl-C ends a run early too.
    locate_switches: steps end where a condition of the equations (`if_else`, a comparison, `fabs`, `sign`, `fmin`,
        `fmax`) changes, and the error stays that of the method; False steps over them.

    A run that meets NaN or blows up ends with the time and the variable in `tr.stop_reason`, and keeps its data. Where
    that is so because the mass matrix is singular at the start, a SingularModelError names the part. A run over a dead
    centre gives the time in `tr.notes` where it stays on its branch, and ends there where it does not.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), -x)
    >>> tr = dd.simulate(m, 3.14159265358979, rtol=1e-10)
    >>> round(float(tr["x"][-1]), 8), tr.method
    (-1.0, 'dop853')
    """
    t0, t1 = read_span(span)
    limits = (step, max_step, first_step, max_steps, time_limit)
    asked = Asked(model, t1, method, inputs, parameters, rtol, atol, limits, locate_switches)
    first = known_piece(asked, t0, start)
    if first is None:
        asked = asked._replace(inputs=with_input_derivatives(model, gathered_inputs(model, inputs), (t0, t1)))
        first = first_piece(asked, t0, start)
    if step is not None:
        _check_step(step, t0, t1)
    times = None if save_at is None else read_save_at(save_at, t0, t1)
    bar = None if progress is False else _progress(progress, t0, t1, first.settings.plant.system.name)
    try:
        trajectory = run_in_pieces(first, partial(next_piece, asked, first=first), t1, times, bar, cancel)
    finally:
        if isinstance(bar, ProgressBar):
            bar.close()
    trajectory = told_of_branches(trajectory, rtol, times is None)
    if trajectory.status not in SUCCESS:
        _check_start(asked, first, trajectory)
    if on_stop != "return" and _raises(on_stop) and not trajectory.success:
        raise_stopped(trajectory)
    return trajectory


def _check_start(asked: Asked, first: Piece, trajectory: Trajectory) -> None:
    """Refuse what made a run stop at its start."""
    system, begin = first.settings.plant.system, first.begin
    if trajectory.status == "not_finite" and not trajectory.work.steps:
        check_finite_inputs(system, first.drive, begin)
    if trajectory.status in SUSPECT:
        check_start_mass(asked.model, system, begin, first.row, first.parameters)


def _raises(on_stop: str) -> bool:
    if on_stop not in ("return", "raise"):
        raise InputError(f"on_stop={on_stop!r} means nothing.", remedy='on_stop="return" or on_stop="raise"')
    return on_stop == "raise"


def raise_stopped(trajectory: Trajectory) -> NoReturn:
    """Raise a SolverError that says how a run ended and carries it."""
    error = SolverError(
        f"The run of {trajectory.system.name!r} stopped early.",
        [without_advice(trajectory.stop_reason), f"{trajectory.work.steps} steps, {trajectory.work.rejected} rejected"],
        remedy=advice_of(trajectory.stop_reason) or remedy(trajectory.status),
    )
    error.trajectory = trajectory  # type: ignore[attr-defined]
    raise error


# -- reading the arguments -------------------------------------------------------------------------------------


def read_span(span: object) -> tuple[float, float]:
    """(t0, t1) from an end time or a pair."""
    try:
        if type(span) is float and math.isfinite(span):
            return 0.0, span
        t0, t1 = span if isinstance(span, (tuple, list, np.ndarray)) else (0.0, span)
        t0, t1 = float(t0), float(t1)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        t0 = t1 = math.nan
    if not (math.isfinite(t0) and math.isfinite(t1)):
        raise InputError("The span is not a time.", f"got {span!r}", remedy="10.0, or (0.0, 10.0)")
    return t0, t1


def read_save_at(save_at: object, t0: float, t1: float) -> np.ndarray | None:
    """The times to keep: within the span and in the order of the run."""
    if save_at is None:
        return None
    try:
        times = np.asarray(save_at, dtype=float)
    except (TypeError, ValueError):
        raise _not_times(f"got {save_at!r}"[:120]) from None
    if times.ndim == 0:
        times = times.reshape(1)
    low, high = (t0, t1) if t0 <= t1 else (t1, t0)
    if times.size == 1 and low <= times.item() <= high:
        return times
    if times.ndim != 1 or not np.all(np.isfinite(times)):
        got = f"got an array of shape {times.shape}" if times.ndim != 1 else "got times that are not finite"
        raise _not_times(got)
    if times.size and (times.min() < low or times.max() > high):
        raise InputError(
            "save_at leaves the span.",
            f"the run covers {low:g} to {high:g}, save_at {times.min():g} to {times.max():g}",
            remedy="times within the span",
        )
    steps = np.diff(times)
    if np.any(steps <= 0 if t1 >= t0 else steps >= 0):
        raise InputError("The times of save_at are not in order.", remedy="sort them in the direction of the run")
    return times


def _check_step(step: float, t0: float, t1: float) -> None:
    """Refuse a fixed step that no computer can count up to the end with."""
    if abs(t1 - t0) > MOST_FIXED_STEPS * step:
        raise InputError(
            "step is too short for the span.",
            f"the run from {t0:g} to {t1:g} would take {abs(t1 - t0) / step:.1e} steps of {step:g}",
            remedy="a longer step, or a method that chooses it",
        )


def _not_times(got: str) -> InputError:
    return InputError("save_at is a list of times.", got, remedy="np.linspace(t0, t1, 101), or None for every step")


def _progress(progress: object, t0: float, t1: float, title: str) -> Any:
    if callable(progress):
        return progress
    return ProgressBar(t0, t1, title) if wants_progress(progress) else None  # type: ignore[arg-type]
