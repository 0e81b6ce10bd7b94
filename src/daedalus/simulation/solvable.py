"""Make a model solvable before a run: as it stands where possible, else with its index reduced, and say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daedalus.errors import InconsistentStartError, SingularModelError, SolverError
from daedalus.model.model import Model, as_system
from daedalus.model.system import System
from daedalus.reduction.explicit_form import explicit_form
from daedalus.simulation.inputs import Drive
from daedalus.simulation.methods import is_implicit
from daedalus.simulation.plant import Plant
from daedalus.simulation.singular_mass import check_general_mass
from daedalus.simulation.variable_index import variable_index

if TYPE_CHECKING:
    from daedalus.simulation.tableaux.tableau import Tableau


def system_to_run(model: Model | System, method: str | Tableau, rtol: float) -> tuple[System, str | Tableau, str]:
    """The system to run, the method, and why this method where that was left open.

    Explicit methods run the system of `solvable_system`, implicit ones the model as it is written. "auto" is explicit
    where x' and z are formulas of x, after a reduction of the index if need be, and implicit otherwise.
    """
    if method != "auto":
        return (as_system(model) if is_implicit(method) else solvable_system(model)), method, ""
    known = as_system(model).prepared.get("without formulas")
    if known is None:
        try:
            return solvable_system(model), method, ""
        except SolverError as error:
            known = as_system(model).prepared["without formulas"] = "; ".join(error.facts)
    return as_system(model), *implicit_choice(as_system(model), known, rtol)


def implicit_choice(system: System, reason: str, rtol: float) -> tuple[str, str]:
    """The implicit method for a system, and the reason in words."""
    # Order 9 pays its five stages back at tight tolerances, but loses more orders at index 3.
    name = "radau9" if rtol < 1e-7 and variable_index(system).largest < 3 else "radau5"
    return name, f"auto: {name}, implicit, because {reason}"


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
        explicit_form(system)
    except SingularModelError:
        if not isinstance(model, Model):
            raise
        from daedalus.reduction.reduce import reduce

        if not model._mechanics.constraints:
            check_general_mass(model)
        reduced = reduce(model)
        found = reduced.freeze()
        explicit_form(found)
        found.prepared["notes"] = tuple(str(reduced.reduction).splitlines()[1:2])
        return found
    return system


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
