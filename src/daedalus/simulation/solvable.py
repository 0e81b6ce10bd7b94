"""Make a model solvable before a run: as it stands where possible, else with its index reduced, and say so."""

from __future__ import annotations

import numpy as np

from daedalus.errors import InconsistentStartError, SingularModelError
from daedalus.model.model import Model, as_system
from daedalus.model.system import System
from daedalus.reduction.explicit_form import LargeBlock, explicit_form
from daedalus.reduction.linear_form import linear_form
from daedalus.simulation.inputs import Drive
from daedalus.simulation.plant import Plant
from daedalus.simulation.singular_mass import check_general_mass


def solvable_system(model: Model | System) -> System:
    """The system that is run for a model: its own, or that of `dd.reduce(model)`; found once and kept.

    A System cannot be reduced, since it has no notebook to write the differentiated equations into.
    """
    system = as_system(model)
    known = system.prepared.get("solvable")
    if known is not None:
        return known
    with system.lock:
        system.prepared["solvable"] = _made_solvable(model, system)
    return system.prepared["solvable"]


def _made_solvable(model: Model | System, system: System) -> System:
    # An input may close a loop that makes the system solvable, so only a failure without inputs is decisive.
    try:
        _check_determined(system)
    except SingularModelError:
        if not isinstance(model, Model):
            raise
        from daedalus.reduction.reduce import reduce

        if not model._mechanics.constraints:
            check_general_mass(model)
        reduced = reduce(model)
        found = reduced.freeze()
        found.prepared["notes"] = tuple(str(reduced.reduction).splitlines()[1:2])
        return found
    return system


def _check_determined(system: System) -> None:
    """Raise where x' and z do not follow from the equations as they stand."""
    try:
        explicit_form(system)
    except LargeBlock:
        linear_form(system)


def check_on_invariants(plant: Plant, drive: Drive, t0: float, x0: np.ndarray, p: np.ndarray, rtol: float) -> None:
    """Refuse a start that violates what the model keeps: constraints left by a reduction, unit quaternions."""
    values = plant.invariants.core(np.array([t0]), x0, drive.at(np.array([t0]))[0], p)[0]
    worst = int(np.argmax(np.abs(values)))
    scale = max(1.0, float(np.max(np.abs(x0), initial=0.0)))
    if np.abs(values[worst]) <= max(1e-8, 10 * rtol) * scale:
        return
    names = plant.invariant_labels
    off = [f"{names[k]} is off by {abs(values[k]):.3g}" for k in np.argsort(-np.abs(values))[:3] if values[k] != 0]
    raise InconsistentStartError(
        "The start violates what the model keeps.",
        off,
        because="a given start is never moved.",
        remedy="start=dd.initialise(m, {...}), which finds a consistent start near yours",
    )
