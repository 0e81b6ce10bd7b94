"""Run a model: values in, machine code, one call into the core, a trajectory out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from daedalus import _core
from daedalus.errors import InconsistentStartError, InputError, SolverError
from daedalus.model.model import Model, as_system
from daedalus.model.system import System
from daedalus.model.values import given_start, parameter_values
from daedalus.simulation.consistent_start import check_on_invariants, consistent_start
from daedalus.simulation.implicit_plant import ImplicitPlant
from daedalus.simulation.implicit_start import first_row
from daedalus.simulation.inputs import Drive, read_inputs
from daedalus.simulation.lobatto_step import attach_momentum_form
from daedalus.simulation.methods import takes_momenta
from daedalus.simulation.plant import Plant
from daedalus.simulation.progress import ProgressBar, wants_progress
from daedalus.simulation.restart import with_restart
from daedalus.simulation.samples import Samples
from daedalus.simulation.settings import Settings, settings_of
from daedalus.simulation.singular_mass import SUSPECT, check_start_mass
from daedalus.simulation.stop_reason import remedy, stop_reason, without_advice
from daedalus.simulation.switched_plant import sliding_text, turns_text
from daedalus.simulation.system_to_run import implicit_choice, system_to_run
from daedalus.simulation.trajectory import Outcome, Trajectory, Work

if TYPE_CHECKING:
    from daedalus.simulation.tableaux.tableau import Tableau

Start = Mapping[str, object] | Samples


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
    method: a name of `dd.methods()` or a `dd.Tableau`; "auto" chooses by the tolerance.
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
    that is so because the mass matrix is singular at the start, a SingularModelError names the part.

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
    given = (span, start, inputs, parameters)
    t0, t1 = read_span(span)
    system, left, method, why = system_to_run(model, inputs, (t0, t1), method, rtol)
    p = parameter_values(system, parameters)
    system, drive = read_inputs(system, left, (t0, t1))
    if takes_momenta(method):
        attach_momentum_form(model, system)
    limits = (step, max_step, first_step, max_steps, time_limit)
    settings = settings_of(system, method, rtol, atol, *limits, locate_switches=locate_switches)
    plant = settings.plant
    x0 = system.default_start
    if isinstance(plant, ImplicitPlant):
        x0 = first_row(model, plant, drive, start, left, t0, p)
        if plant.index.largest > 1 and any(event.resets for event in system.events):
            settings = with_restart(settings, model)
    elif start is not None:
        x0 = read_start(plant, drive, start, t0, p, settings)
    if system.has_invariants and isinstance(plant, ImplicitPlant):
        check_on_invariants(plant, drive, t0, x0, p, rtol)
    elif system.has_invariants:
        x0, done = consistent_start(model, plant, drive, t0, x0, p, rtol, (start, inputs, parameters))
        drive = drive._replace(notes=(*drive.notes, *done)) if done else drive
    call = settings.call
    bar = None if progress is False else _progress(progress, t0, t1, system.name)
    if save_at is not None or drive.tables or cancel is not None or bar is not None:
        times = read_save_at(save_at, t0, t1)
        call = {**call, "save_at": times, "tables": drive.core_tables(), "cancel": cancel, "progress": bar}
    rhs = settings.rhs if not drive.callbacks else _with_callbacks(settings, drive)
    try:
        core_p = settings.core_parameters(p)
        run = _core.integrate(rhs, settings.core_method, t0, t1, x0, drive.constants, core_p, **call)
    finally:
        if isinstance(bar, ProgressBar):
            bar.close()
    status = run.status
    if status == "stiff":
        others = (save_at, progress, on_stop, cancel, locate_switches)
        return _solved_anew(model, run, given, rtol, atol, limits, *others)
    if status in SUSPECT:
        check_start_mass(model, system, t0, x0, p)
    trajectory = Trajectory(plant, drive, p, run.t, run.x, status, partial(explain, run, settings, drive, why), run)
    if on_stop != "return" and _raises(on_stop) and not trajectory.success:
        raise_stopped(trajectory)
    return trajectory


def _solved_anew(
    model: Model | System, run: Any, given: tuple[Any, ...], rtol: float, atol: object, limits: tuple[Any, ...],
    save_at: Any, progress: Any, on_stop: str, cancel: Any, locate_switches: bool,
) -> Trajectory:  # fmt: skip
    """The whole run by an implicit method, after an explicit one was held back by stability."""
    steps = "step" if run.steps == 1 else "steps"
    found = f"stability held the explicit method to steps of {abs(run.last_step):.2g} from t = {run.stop_time:.3g} on"
    name, why = implicit_choice(as_system(model), f"{found}, seen after {run.steps} {steps}", rtol)
    span, start, inputs, parameters = given
    step, max_step, _, max_steps, time_limit = limits
    trajectory = simulate(
        model, span, start, inputs, parameters, name, rtol, atol, step, save_at, max_step,  # type: ignore[arg-type]
        max_steps=max_steps, time_limit=time_limit, progress=progress, on_stop=on_stop, cancel=cancel,
        locate_switches=locate_switches,
    )  # fmt: skip
    return trajectory.with_note(why)


def _raises(on_stop: str) -> bool:
    if on_stop not in ("return", "raise"):
        raise InputError(f"on_stop={on_stop!r} means nothing.", remedy='on_stop="return" or on_stop="raise"')
    return on_stop == "raise"


def explain(run: Any, settings: Settings, drive: Drive, why: str = "") -> Outcome:
    """What the core reports, in words; `why` this method was taken where it was not asked for."""
    limits = (settings.max_steps, settings.time_limit, settings.call.get("step"))
    reason = stop_reason(run, settings.plant.system, *limits)
    told = settings.notes
    if settings.switches is not None:
        told += (turns_text(run.turns, settings.switches),)
        if run.status == "chattering" and run.last_turned >= 0:
            reason = sliding_text(run.stop_time, settings.switches.conditions[run.last_turned])
    return Outcome(
        stop_reason=reason,
        method=settings.method,
        work=Work(run.steps, run.rejected, run.rhs_calls, run.jacobians, run.factorisations, run.newton, run.seconds),
        notes=(why or settings.reason, *drive.notes, *settings.plant.notes, *told),
        events=tuple(run.events),
    )


def raise_stopped(trajectory: Trajectory) -> NoReturn:
    """Raise a SolverError that says how a run ended and carries it."""
    error = SolverError(
        f"The run of {trajectory.system.name!r} stopped early.",
        [without_advice(trajectory.stop_reason), f"{trajectory.work.steps} steps, {trajectory.work.rejected} rejected"],
        remedy=remedy(trajectory.status),
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


def read_start(plant: Plant, drive: Drive, start: Start, t0: float, p: np.ndarray, settings: Settings) -> np.ndarray:
    """x at the start; given derivatives and algebraic values must agree with the equations."""
    given = given_start(plant.system, _start_mapping(plant.system, start))
    x0 = given["x"]
    if not math.isfinite(x0.dot(x0)):
        x0 = np.where(np.isnan(x0), 0.0, x0)
    if len(given) > 1:
        _check_given(plant, drive, given, t0, x0, p, settings)
    return x0


def _start_mapping(system: System, start: Start) -> Mapping[str, object]:
    """Start values by name; a snapshot of another run gives those of its states that this model has."""
    if not isinstance(start, Samples):
        return start
    if start._times.size != 1:
        raise InputError(
            "A start is one moment of a run.", f"got {start._times.size} times", remedy="start=tr.at(t) with one t"
        )
    names = [name for name, place in system.places.items() if place.letter == "x"]
    single = {name: start._values(name)[0] for name in names if name in start}
    if not single:
        raise InputError("The start has no state of this model.", f"the model has {', '.join(names[:8])}")
    return single


def read_save_at(save_at: object, t0: float, t1: float) -> np.ndarray | None:
    """The times to keep: within the span and in the order of the run."""
    if save_at is None:
        return None
    times = np.asarray(save_at, dtype=float)
    if times.ndim == 0:
        times = times.reshape(1)
    low, high = min(t0, t1), max(t0, t1)
    if times.size == 1 and low <= times[0] <= high:
        return times
    if times.ndim != 1 or not np.all(np.isfinite(times)):
        raise InputError("save_at is a list of times.", f"got an array of shape {times.shape}")
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


def _progress(progress: object, t0: float, t1: float, title: str) -> Any:
    if callable(progress):
        return progress
    return ProgressBar(t0, t1, title) if wants_progress(progress) else None  # type: ignore[arg-type]


# -- preparing the core call -----------------------------------------------------------------------------------


def _with_callbacks(settings: Settings, drive: Drive) -> Any:
    """The model with Python functions among the inputs evaluated around it."""
    if takes_momenta(settings.method):
        raise InputError(
            f"The method {settings.method!r} takes no Python functions.",
            list(drive.notes),
            because="a step asks for the inputs of all its stages at once.",
            remedy='dd.signal(times, values), an expression of m["t"], or method="radau5"',
        )
    if isinstance(settings.plant, ImplicitPlant):
        plant = settings.core_plant
        assert isinstance(plant, ImplicitPlant)
        residual, jacobian = (_filling_inputs(function.core, drive) for function in plant.functions)
        return plant.core_model(residual, jacobian)
    return _filling_inputs(settings.rhs, drive)


def _filling_inputs(core: Any, drive: Drive) -> Any:
    """A function of (t, ..., u, p) that evaluates Python functions among the inputs first."""
    if isinstance(core, _core.LinearModel):
        return core.with_function(_filling_inputs(core.function, drive))
    wrapped = _core.Function(core.name, list(core.size_in), list(core.size_out), 0, 0, 0, 0)

    def call(t: np.ndarray, *others: np.ndarray) -> Any:
        *states, u, p = others
        found = core(t, *states, drive.fill(float(t[0]), u), p)
        return found[0] if len(found) == 1 else found

    wrapped.set_python(call)
    return wrapped


def _check_given(
    plant: Plant, drive: Drive, given: Mapping[str, np.ndarray], t0: float, x0: np.ndarray, p: np.ndarray,
    settings: Settings,
) -> None:  # fmt: skip
    """Refuse given derivatives or algebraic values that the equations contradict."""
    for letter in ("xdot", "z"):
        asked = np.flatnonzero(~np.isnan(given[letter])) if letter in given else ()
        if not len(asked):
            continue
        sample = Samples(plant, drive, p, np.array([t0]), x0[None, :])
        actual = sample._vector(letter)[0]
        for k in asked:
            wanted, name = given[letter][k], plant.system.labels[letter][k]
            gap = abs(actual[k] - wanted)
            floor = settings.call["atol"][k] if letter == "xdot" else 1e-9
            if gap > 10 * (settings.call["rtol"] * abs(wanted) + floor):
                raise InconsistentStartError(
                    f"The given {name} contradicts the equations.",
                    f"given {wanted:g}, the equations give {actual[k]:g}: a distance of {gap:.3g}",
                    because=f"{name} follows from the states at the start.",
                    remedy=f"leave {name} out of start=, or change the states",
                )
