"""Run a model: values in, machine code, one call into the core, a trajectory out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.errors import InconsistentStartError, InputError, SolverError
from daedalus.model.model import Model, as_system
from daedalus.model.system import System
from daedalus.model.values import given_start, parameter_values
from daedalus.simulation.inputs import Drive, read_inputs
from daedalus.simulation.methods import Choice, choose_method
from daedalus.simulation.plant import Plant, plant_of
from daedalus.simulation.progress import ProgressBar, wants_progress
from daedalus.simulation.samples import Samples
from daedalus.simulation.stop_reason import remedy, stop_reason
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
) -> Trajectory:
    """Solve the model over a span of time.

    Parameters
    ----------
    model: what to run; a repeated call with only new values neither retraces nor recompiles.
    span: the end time (from 0), or (begin, end); backwards too.
    start: start values by name over those of the model, or `tr.at(t)` of another run.
    inputs: a value for every input: a number or vector, a function of time, an expression in the model's symbols, or
        a table `dd.signal(times, values)`. Integration restarts at every time of a table.
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

    A run that meets NaN or blows up ends with the time and the variable in `tr.stop_reason`, and keeps its data.

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
    system = as_system(model)
    t0, t1 = read_span(span)
    settings = read_settings(method, rtol, step, max_step, first_step, max_steps, time_limit, on_stop)
    p = parameter_values(system, parameters)
    system, drive = read_inputs(system, {} if inputs is None else inputs, (t0, t1))
    plant = plant_of(system)
    given = given_start(system, _start_mapping(system, start))
    x0 = given["x"]
    if not math.isfinite(x0.dot(x0)):
        x0 = np.where(np.isnan(x0), 0.0, x0)
    tolerance = absolute_tolerance(system, atol)
    rhs = _with_callbacks(plant, drive)
    if len(given) > 1:
        _check_given(plant, drive, given, t0, x0, p, tolerance, rtol)
    times = None if save_at is None else _read_save_at(save_at, t0, t1)
    bar = None if progress is False else _progress(progress, t0, t1, system.name)
    try:
        run = _core.integrate(
            rhs, settings.choice.core, t0, t1, x0, drive.constants, p, atol=tolerance, save_at=times, progress=bar,
            cancel=cancel, tables=drive.core_tables() if drive.tables else [],
            projection=plant.projection.core if system.invariants and plant.projection else None,
            **settings.core, **(_events(plant) if system.events else {}),
        )  # fmt: skip
    finally:
        if isinstance(bar, ProgressBar):
            bar.close()
    outcome = partial(_outcome, run, plant.system, settings, drive.notes + plant.notes)
    trajectory = Trajectory(plant, drive, p, run.t, run.x, run.status, outcome, run)
    if on_stop == "raise" and not trajectory.success:
        raise _stopped(trajectory)
    return trajectory


def _outcome(run: Any, system: System, settings: Settings, notes: tuple[str, ...]) -> Outcome:
    """What the core reports, in words."""
    return Outcome(
        stop_reason=stop_reason(run, system, settings.core["max_steps"], settings.core["time_limit"]),
        method=settings.choice.name,
        work=Work(steps=run.steps, rejected=run.rejected, rhs=run.rhs_calls, seconds=run.seconds),
        notes=(settings.choice.reason, *notes),
        events=tuple(run.events),
    )


def _stopped(trajectory: Trajectory) -> SolverError:
    error = SolverError(
        f"The run of {trajectory.system.name!r} stopped early.",
        [trajectory.stop_reason, f"{trajectory.work.steps} steps, {trajectory.work.rejected} rejected"],
        remedy=remedy(trajectory.status),
    )
    error.trajectory = trajectory  # type: ignore[attr-defined]
    return error


# -- reading the arguments -------------------------------------------------------------------------------------


def read_span(span: object) -> tuple[float, float]:
    """(t0, t1) from an end time or a pair."""
    try:
        t0, t1 = span if isinstance(span, (tuple, list, np.ndarray)) else (0.0, span)
        t0, t1 = float(t0), float(t1)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        t0 = t1 = math.nan
    if not (math.isfinite(t0) and math.isfinite(t1)):
        raise InputError("The span is not a time.", f"got {span!r}", remedy="10.0, or (0.0, 10.0)")
    return t0, t1


class Settings(NamedTuple):
    """How to run: the method, and the numbers that go to the core as they are."""

    choice: Choice
    core: dict[str, Any]


def read_settings(
    method: str | Tableau,
    rtol: float,
    step: float | None,
    max_step: float | None,
    first_step: float | None,
    max_steps: int | None,
    time_limit: float | None,
    on_stop: str,
) -> Settings:
    """The settings of a run; what means nothing is refused. The same settings are looked at once."""
    try:
        return _checked_settings(method, rtol, step, max_step, first_step, max_steps, time_limit, on_stop)
    except TypeError as error:
        # Only a value that cannot be looked up, such as a list, ends here.
        raise InputError("A setting is not a number.", str(error), remedy="numbers, such as rtol=1e-6") from None


@lru_cache(maxsize=256)
def _checked_settings(method: str | Tableau, rtol: float, *rest: Any) -> Settings:
    step, max_step, first_step, max_steps, time_limit, on_stop = rest
    numbers = {"rtol": rtol, "step": step, "max_step": max_step, "first_step": first_step, "max_steps": max_steps,
               "time_limit": time_limit}  # fmt: skip
    for name, value in numbers.items():
        if value is not None and (not isinstance(value, (int, float, np.integer, np.floating)) or not value > 0):
            raise InputError(
                f"{name} must be a positive number.", f"got {value!r}", remedy=f"{name}=None or a number > 0"
            )
    if on_stop not in ("return", "raise"):
        raise InputError(f"on_stop={on_stop!r} means nothing.", remedy='on_stop="return" or on_stop="raise"')
    return Settings(choose_method(method, rtol, step), numbers)


def _start_mapping(system: System, start: Start | None) -> Mapping[str, object]:
    """Start values by name; a snapshot of another run gives those of its states that this model has."""
    if not isinstance(start, Samples):
        return start if start is not None else {}
    if start._times.size != 1:
        raise InputError(
            "A start is one moment of a run.", f"got {start._times.size} times", remedy="start=tr.at(t) with one t"
        )
    names = [name for name, place in system.places.items() if place.letter == "x"]
    single = {name: start._values(name)[0] for name in names if name in start}
    if not single:
        raise InputError("The start has no state of this model.", f"the model has {', '.join(names[:8])}")
    return single


def absolute_tolerance(system: System, atol: object) -> np.ndarray:
    """atol as a vector over x: a number counts in nominal values, values by name are absolute."""
    key = ("atol", atol) if isinstance(atol, float) else None
    known = system.prepared.get(key) if key else None
    if known is not None:
        return known
    if not isinstance(atol, Mapping):
        if not isinstance(atol, (int, float, np.integer, np.floating)) or not atol >= 0:
            raise InputError("atol must be a number >= 0, or numbers by name.", f"got {atol!r}", remedy="atol=1e-9")
        vector = float(atol) * system.nominal["x"]
    else:
        vector = 1e-9 * system.nominal["x"]
        for name, value in atol.items():
            place = system.place(name)
            if place.letter != "x":
                raise InputError(f"atol of {name} means nothing.", "only states have an error of their own")
            entries = np.asarray(value, dtype=float).ravel(order="F")
            if entries.size not in (1, len(place.positions)) or not np.all(entries >= 0):
                raise InputError(f"atol of {name} does not fit.", f"got {value!r}", remedy=f'atol={{"{name}": 1e-9}}')
            vector[place.positions] = entries
    if key:
        system.prepared[key] = vector
    return vector


def _read_save_at(save_at: object, t0: float, t1: float) -> np.ndarray:
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


def _with_callbacks(plant: Plant, drive: Drive) -> Any:
    """The right-hand side; Python functions among the inputs are evaluated around it."""
    core = plant.rhs.core
    if not drive.callbacks:
        return core
    wrapped = _core.Function("rhs", list(core.size_in), list(core.size_out), 0, 0, 0, 0)

    def call(t: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        return core(t, x, drive.fill(float(t[0]), u), p)[0]

    wrapped.set_python(call)
    return wrapped


def _events(plant: Plant) -> dict[str, Any]:
    """Guards and resets for the core: every event cuts the step, terminal ones end the run."""
    events = plant.system.events
    if not events:
        return {}
    return {
        "guards": plant.guards.core,
        "resets": plant.resets.core,
        "directions": [e.direction for e in events],
        "actions": [2 if e.terminal else 1 for e in events],
        "occurrences": [1] * len(events),
    }


def _check_given(
    plant: Plant, drive: Drive, given: Mapping[str, np.ndarray], t0: float, x0: np.ndarray, p: np.ndarray,
    atol: np.ndarray, rtol: float,
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
            if gap > 10 * (rtol * abs(wanted) + (atol[k] if letter == "xdot" else 1e-9)):
                raise InconsistentStartError(
                    f"The given {name} contradicts the equations.",
                    f"given {wanted:g}, the equations give {actual[k]:g}: a distance of {gap:.3g}",
                    because=f"{name} follows from the states at the start.",
                    remedy=f"leave {name} out of start=, or change the states",
                )
