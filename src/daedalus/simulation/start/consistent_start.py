"""A start on what the model keeps: used as it is, completed where values were left open, else refused in words.

`dd.initialise` does the work. A given value is never moved; values that were not written are guesses and may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InconsistentStartError
from daedalus.initialisation.initialise import initialise
from daedalus.initialisation.start import Start as ConsistentStart
from daedalus.model.expressions import concatenate
from daedalus.model.model import as_system
from daedalus.model.names import split_index
from daedalus.model.system.system import System
from daedalus.model.values import given_start
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant, labels_of
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_models import StartCompleted, StartMoved
from daedalus.simulation.run.request import Request
from daedalus.simulation.start.start_tolerance import start_tolerance


def consistent_start(
    request: Request, left: Mapping[str, object], plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray,
    start: Any,
) -> tuple[np.ndarray, tuple[Record, ...]]:  # fmt: skip
    """The states at the start and what was done about them; `left` are the inputs that the run's system takes."""
    off = _off_by(plant, drive, t0, x0, p, request.rtol)
    if not off:
        return x0, ()
    try:
        found, labels = _initialised(request, left, plant.system, t0, p, start), plant.system.labels["x"]
    except InconsistentStartError as error:
        if _may_drift(plant, drive, t0, x0, p, request.rtol, start):
            return x0, ()
        raise in_terms_of_start(error, off) from None
    moved = np.array([found[label] for label in labels], dtype=float)
    if _off_by(plant, drive, t0, moved, p, request.rtol):
        raise _off(off)
    if found.moved is not None:
        return moved, (StartMoved(found.moved.names, found.moved.share),)
    changed = [(label, float(moved[k])) for k, label in enumerate(labels) if abs(moved[k] - x0[k]) > 1e-9]
    return moved, (StartCompleted(tuple(changed)),)


def completed_start(
    request: Request, left: Mapping[str, object], system: System, t0: float, p: np.ndarray, start: Any
) -> tuple[np.ndarray, tuple[Record, ...]]:
    """States that follow from what is given for derivatives and algebraic variables, and the record of those."""
    try:
        found = _initialised(request, left, system, t0, p, start)
    except InconsistentStartError as error:
        raise in_terms_of_start(error, []) from None
    x = np.array([found[label] for label in system.labels["x"]], dtype=float)
    was = given_start(system, start)["x"]
    values = tuple((label, float(value)) for label, value, old in zip(system.labels["x"], x, was) if np.isnan(old))
    return x, (StartCompleted(values),)


def _initialised(
    request: Request, left: Mapping[str, object], system: System, t0: float, p: np.ndarray, start: Any
) -> ConsistentStart:
    """The start of the model as it is written where that has all states of the run, else of the system that is run."""
    own = as_system(request.model).labels
    known = {*own["x"], *own["xdot"], *own["z"]}
    if all(label in known for label in system.labels["x"]):
        return initialise(request.model, start, inputs=request.inputs, parameters=request.parameters, time=t0)
    # A reduction made further states: derivatives of algebraic variables, or combinations of others.
    inputs = {name: value for name, value in left.items() if split_index(name)[0] in system.places}
    parameters = dict(zip(system.labels["p"], p.tolist()))
    return initialise(system, start, inputs=inputs, parameters=parameters, time=t0)


def is_off(plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray, rtol: float) -> bool:
    """Whether a start violates what the model keeps."""
    return bool(_off_by(plant, drive, t0, x0, p, rtol))


def check_on_invariants(plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray, rtol: float) -> None:
    """Refuse a start that violates what the model keeps."""
    off = _off_by(plant, drive, t0, x0, p, rtol, watched=False)
    if off:
        raise _off(off)


def _may_drift(plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray, rtol: float, start: Any) -> bool:
    """Whether a start is off only what nothing holds a run to, in states that are given: an error that is meant."""
    if _off_by(plant, drive, t0, x0, p, rtol, watched=False):
        return False
    system = plant.system
    given = ~np.isnan(given_start(system, start)["x"]) if start is None or isinstance(start, Mapping) else None
    watched = ca.jacobian_sparsity(concatenate(system.watched.values()), system.symbol("x"))
    return given is None or bool(np.all(given[sorted(set(watched.get_triplet()[1]))]))


def _off_by(
    plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray, rtol: float, watched: bool = True
) -> list[str]:
    """What the start violates, the worst first; nothing where it is on all that the model keeps."""
    values = _left(plant, watched, np.array([t0]), x0, drive.at_time(t0), p)
    largest, small = np.abs(values).max(initial=0.0), start_tolerance(rtol)
    if largest <= small or largest <= small * np.abs(x0).max(initial=0.0):
        return []
    names = [*plant.invariant_labels, *labels_of(plant.system.watched)]
    return [f"{names[k]} is off by {abs(values[k]):.3g}" for k in np.argsort(-np.abs(values))[:3] if values[k] != 0]


def _left(plant: Plant, watched: bool, *point: np.ndarray) -> np.ndarray:
    """What is left of what a run is held to, and of what is only watched if asked for."""
    kept = plant.invariants.core(*point)[0] if plant.system.has_invariants else np.zeros(0)
    return np.concatenate([kept, plant.watched.core(*point)[0]]) if watched and plant.system.watched else kept


def in_terms_of_start(error: InconsistentStartError, off: list[str]) -> InconsistentStartError:
    """The conflict as `dd.initialise` names it, with the line that mends it in a call of `dd.simulate`."""
    if error.ways and error.ways[0].frees:
        first = error.ways[0]
        called = replace(first, argument=f"start=dd.initialise(m, {{...}}, {first.argument})")
        return InconsistentStartError(error.what, error.facts or off, error.because, ways=(called, *error.ways[1:]))
    remedy = "start=dd.initialise(m, ...) with other values, or values that are free"
    if error.remedy:
        remedy = f"start=dd.initialise(m, {{...}}): {error.remedy}"
    return InconsistentStartError(error.what, error.facts or off, because=error.because, remedy=remedy)


def _off(off: list[str]) -> InconsistentStartError:
    return InconsistentStartError(
        "The start violates the constraints or invariants of the model.",
        off,
        because="given start values are never changed.",
        remedy="start=dd.initialise(m, {...}), which finds a consistent start near yours",
    )
