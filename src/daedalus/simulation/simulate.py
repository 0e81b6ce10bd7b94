"""Run a model: values in, machine code, one call into the core, a trajectory out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus.analysis.points.equilibrium import equilibrium
from daedalus.errors import InputError
from daedalus.integrators.methods import is_multistep
from daedalus.model.mechanics.mechanics_part import touching_book
from daedalus.model.model import Model, as_system
from daedalus.model.switching.locking_losses import locking
from daedalus.model.system.system import System
from daedalus.model.time_limit import time_limited
from daedalus.simulation.noise.noisy_run import run_with_noise, undriven_noises
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.judge import raise_stopped
from daedalus.simulation.run.linear_way import AUTO, LinearWay, Preconditioner, read_linear
from daedalus.simulation.run.progress import ProgressBar, progress_of
from daedalus.simulation.run.request import (
    NO_LIMITS,
    Options,
    Request,
    Start,
    check_on_stop,
    check_step,
    read_limits,
    read_save_at,
    read_saved_names,
    read_span,
    read_values,
)
from daedalus.simulation.run.road import find_road
from daedalus.simulation.run.sizes_of_parts import by_sizes_of_parts
from daedalus.simulation.run.travel import travel
from daedalus.simulation.saved_variables import SavedTrajectory
from daedalus.simulation.start.guessed_start import without_guesses

if TYPE_CHECKING:
    from daedalus.integrators.multistep.multistep import Multistep
    from daedalus.integrators.tableaux.tableau import Tableau


def simulate(
    model: Model | System,
    span: float | tuple[float, float],
    start: Start | str | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    method: str | Tableau | Multistep = "auto",
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
    seed: int | None = 0,
    linear: str = "auto",
    preconditioner: Preconditioner | None = None,
    save: Sequence[str] | None = None,
) -> Trajectory:
    """Simulate a model over a time span.

    Parameters
    ----------
    model: the model to run. A repeated call with new values neither retraces nor recompiles it.
    span: the end time (from 0), or (begin, end); the end may be before the beginning.
    start: start values by name that override those of the model (`dd.guess(value)` for one that may move), `tr.at(t)`
        of another run, or "equilibrium" to start at rest with the inputs at the start time.
    inputs: a value for every input: a number or vector, a function of time, an expression in the model's symbols, or a
        table `dd.signal(times, values)`. Integration restarts at every time of a table. An input that is differentiated
        in a constraint must be a number, an expression, or a function that can be traced.
    parameters: values by name over those of the model.
    method: a name of `dd.methods()`, a `dd.Tableau`, or a linear multistep method such as `dd.bdf(3)` with a fixed
        step, whose first values come from an adaptive method at rtol = 1e-12. "auto" starts with an explicit method of
        order 8 and switches to an implicit one where the model is stiff. With constraints it uses rtol/10, because
        constraints amplify integration errors.
    rtol, atol: the local error of each component is kept below atol + rtol |x|. A single atol is scaled by nominal
        values; an atol by name is absolute. If states of components turn out smaller than a thousand times their atol,
        the run is repeated with one that follows from their size.
    step: the fixed step size, for methods without error control (or any tableau). In a model with `m.noise`, white
        noise is held over this step; without it, steps are halved until the path changes by less than 0.1 %, with order
        1.5 where noise is added.
    save_at: the times to save, interpolated and projected onto the constraints. By default every step is saved.
    max_step, first_step: limits of the step size. max_steps, time_limit (seconds): limits of the run. time_limit
        includes searches (starts, modes, reduction), except for the first two seconds of preparation. If it passes
        before the first row exists, a SolverError says so.
    progress: True, False, a function of the time reached, or None to show a bar on a terminal.
    on_stop: what to do if a run ends early, also by Ctrl-C: "return" what was computed, or "raise" a SolverError that
        carries it as `error.trajectory`.
    locate_switches: end a step exactly where a condition in the equations (`if_else`, a comparison, `fabs`, `sign`,
        `fmin`, `fmax`) changes, which keeps the accuracy of the method. False steps over them.
    seed: which path of the noise of the model is computed; None takes a new one, which `tr.notes` names. Noise whose
        value is given among the inputs is not drawn.
    linear: how implicit steps solve linear systems: "dense", "sparse" (factors), "krylov" (GMRES: memory follows the
        entries of the matrix, not their fill), "matrix_free" (GMRES whose products J v come from compiled code; the
        matrix is made for its preconditioner alone), or "auto". If GMRES stops converging, factors take over and
        `tr.notes` says so; `tr.work.linear` has the counts.
    preconditioner: that of GMRES: "ilu" (incomplete factors), "block_ilu" (the same with the unknowns of a cell
        eliminated together), "banded" (factors of the band, exact for fields on a line), "amg" (algebraic multigrid,
        for fields in which diffusion dominates), or a function f(J, gamma) that returns a function solve(r) for about
        (M - gamma J)^-1 r, with J = -∂F/∂(x, z) as a SciPy matrix and M = ∂F/∂x' (the identity of x' = f). By
        default the size and the pattern of the matrix decide.
    save: the names of the variables to keep, outputs, derivatives and elements too, for large models. The result has
        their rows, and all values at the end (`tr.end`); it has no values between rows. By default everything is kept.

    If a run meets NaN or diverges, it ends and keeps its data; `tr.stop_reason` names the time and the variable. If the
    mass matrix is singular at the start, a SingularModelError names the part. If a run passes a dead centre on its
    branch, `tr.notes` gives the time; if it cannot stay on its branch, it ends there.

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
    if on_stop != "return":
        check_on_stop(on_stop)
    kept = None if save is None else read_saved_names(as_system(model), save, "save")
    way = AUTO if linear == "auto" and preconditioner is None else read_linear(linear, preconditioner)
    if time_limit is None:
        return _simulate(
            model, span, start, inputs, parameters, method, rtol, atol, save_at,
            (step, max_step, first_step, max_steps, None), progress, on_stop, cancel, locate_switches, seed, way, kept,
        )  # fmt: skip
    limits = read_limits(step, max_step, first_step, max_steps, time_limit)
    with time_limited(limits[-1]):
        return _simulate(
            model, span, start, inputs, parameters, method, rtol, atol, save_at, limits, progress, on_stop, cancel,
            locate_switches, seed, way, kept,
        )  # fmt: skip


def _simulate(
    model: Model | System,
    span: float | tuple[float, float],
    start: Start | str | None,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
    method: str | Tableau | Multistep,
    rtol: float,
    atol: float | Mapping[str, object],
    save_at: Sequence[float] | np.ndarray | None,
    limits: tuple[Any, ...],
    progress: bool | Callable[[float], None] | None,
    on_stop: str,
    cancel: Any,
    locate_switches: bool,
    seed: int | None,
    linear: LinearWay,
    kept: list[str] | None,
) -> Trajectory:
    """The run, with its limits as LIMITS names them, and what is kept of it."""
    t0, t1 = read_span(span)
    if isinstance(model, Model):
        model = locking(model, among_themselves=True)
    begins: Start | None = start_at_rest(model, start, inputs, parameters, t0) if isinstance(start, str) else start
    times = None if save_at is None else read_save_at(save_at, t0, t1)
    if limits != NO_LIMITS:
        limits = read_limits(*limits)
    if type(method) is not str and getattr(method, "is_implicit_euler", False):
        method = "implicit_euler"
    begins = without_guesses(model, begins, inputs, parameters, t0)
    begins, inputs, parameters = read_values(begins, inputs, parameters)
    options = Options(method, rtol, atol, limits, locate_switches, linear)
    request = Request(model, t0, t1, begins, inputs, parameters, times, options)
    if request.system.noises and (noises := undriven_noises(request)):
        trajectory = run_with_noise(request, noises, seed, lambda own: _asked_for(own, progress, cancel))
    else:
        rows_only = kept is not None and times is not None
        trajectory = _asked_for(request._replace(rows_only=rows_only), progress, cancel)
    if kept is not None:
        trajectory = SavedTrajectory.of(trajectory, kept)
    if on_stop == "raise" and not trajectory.success:
        raise_stopped(trajectory)
    return trajectory


def _asked_for(request: Request, progress: bool | Callable[[float], None] | None, cancel: Any) -> Trajectory:
    """The run of a request whose inputs are all given."""
    method: Any = request.options.method
    limits, t0, t1 = request.options.limits, request.t0, request.t1
    if touching_book(request.system) is not None:
        return _touching(request, progress)
    road = None if type(method) is not str and is_multistep(method) else find_road(request)
    if limits[0] is not None:
        check_step(request)
    bar = None if progress is False else progress_of(progress, t0, t1, (road or request).system.name)
    try:
        if road is None:
            trajectory = _by_past_values(request, method, bar)
        else:
            first = travel(road, bar, cancel)
            trajectory = by_sizes_of_parts(request, first, lambda again: travel(find_road(again), bar, cancel))
    finally:
        if isinstance(bar, ProgressBar):
            bar.close()
    return trajectory


def _touching(request: Request, progress: bool | Callable[[float], None] | None) -> Trajectory:
    """The run of bodies with hard contacts."""
    from daedalus.simulation.touching.time_stepping import run_touching

    bar = None if progress is False else progress_of(progress, request.t0, request.t1, request.system.name)
    try:
        return run_touching(request, bar)
    finally:
        if isinstance(bar, ProgressBar):
            bar.close()


def _by_past_values(request: Request, method: Any, progress: Any) -> Trajectory:
    """The run of a linear multistep method."""
    from daedalus.simulation.multistep.multistep_run import run_multistep

    return run_multistep(request, method, progress)


# -- runs that begin where the model rests ----------------------------------------------------------------------


def start_at_rest(
    model: Model | System, word: str, inputs: Mapping[str, object] | None, parameters: Mapping[str, object] | None,
    t0: float,
) -> dict[str, object]:  # fmt: skip
    """The states at rest by name, with inputs as they are at t0."""
    if word not in ("equilibrium", "operating_point"):
        raise InputError(
            f"start={word!r} is not valid.",
            because="start= takes values by name, or one of two words for a start at rest.",
            remedy='start="equilibrium", start="operating_point", or start={"name": value}',
        )
    values = {name: _at(value, t0) for name, value in (inputs or {}).items()}
    found = equilibrium(model, inputs=values, guess={"t": t0}, parameters=dict(parameters or {}))
    return {v.name: found[v.name] for v in as_system(model).of_kind("state")}


def _at(value: object, t0: float) -> object:
    """An input as a number at the beginning."""
    if isinstance(value, ca.SX) and not value.is_constant():
        raise InputError(
            "A start at rest takes no input that is an expression.",
            because="the equilibrium depends on the input, and the input on the equilibrium.",
            remedy="dd.equilibrium of the model with the loop closed",
        )
    return np.asarray(value(t0)) if callable(value) else value
