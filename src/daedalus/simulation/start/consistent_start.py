"""A start on what the model keeps: used as it is, completed where values were left open, else refused in words.

`dd.initialise` does the work. A given value is never moved; values that were not written are guesses and may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from daedalus.errors import DaedalusError, InconsistentStartError
from daedalus.initialisation.initialise import initialise
from daedalus.model.model import Model, as_system
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_models import StartCompleted, StartMoved


def consistent_start(
    model: Model | System,
    plant: Plant,
    drive: Drive,
    t0: float,
    x0: np.ndarray,
    p: np.ndarray,
    rtol: float,
    given: tuple[object, Mapping[str, object] | None, Mapping[str, object] | None],
) -> tuple[np.ndarray, tuple[Record, ...]]:
    """The states at the start and what was done about them; `given` is start, inputs and parameters as they came."""
    off = _off_by(plant, drive, t0, x0, p, rtol)
    if not off:
        return x0, ()
    start, inputs, parameters = given
    try:
        # A reduction may add variables, or derivatives of algebraic ones as states.
        own = as_system(model).labels
        known = {*own["x"], *own["xdot"], *own["z"]}
        added = [label for label in plant.system.labels["x"] if label not in known]
        whole = opened(plant.system) if added else model
        found = initialise(whole, start, inputs=inputs, parameters=parameters, time=t0)
        moved = np.array([found[label] for label in plant.system.labels["x"]], dtype=float)
    except InconsistentStartError as error:
        raise in_terms_of_start(error, off) from None
    except DaedalusError:  # a start that only the reduced system has names for
        raise _off(off) from None
    if _off_by(plant, drive, t0, moved, p, rtol):
        raise _off(off)
    labels = plant.system.labels["x"]
    if found.moved is not None:
        return moved, (StartMoved(found.moved.names, found.moved.share),)
    changed = [(label, float(moved[k])) for k, label in enumerate(labels) if abs(moved[k] - x0[k]) > 1e-9]
    return moved, (StartCompleted(tuple(changed)),)


def is_off(plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray, rtol: float) -> bool:
    """Whether a start violates what the model keeps."""
    return bool(_off_by(plant, drive, t0, x0, p, rtol))


def check_on_invariants(plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray, rtol: float) -> None:
    """Refuse a start that violates what the model keeps."""
    off = _off_by(plant, drive, t0, x0, p, rtol)
    if off:
        raise _off(off)


def allowed_share(rtol: float) -> float:
    """By which share of their size given states may be off what the model keeps, for the tolerance of a run."""
    return max(1e-8, 10 * rtol)


def _off_by(plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray, rtol: float) -> list[str]:
    """What the start violates, the worst first; nothing where it is on all that the model keeps."""
    values = plant.invariants.core(np.array([t0]), x0, drive.at_time(t0), p)[0]
    largest, small = np.abs(values).max(), allowed_share(rtol)
    if largest <= small or largest <= small * np.abs(x0).max(initial=0.0):
        return []
    names = plant.invariant_labels
    return [f"{names[k]} is off by {abs(values[k]):.3g}" for k in np.argsort(-np.abs(values))[:3] if values[k] != 0]


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
        "The start violates what the model keeps.",
        off,
        because="a given start is never moved.",
        remedy="start=dd.initialise(m, {...}), which finds a consistent start near yours",
    )
