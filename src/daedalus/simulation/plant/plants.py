"""The plant of a system, made once and kept with it: formulas, linear solves, or equations as written."""

from __future__ import annotations

import numpy as np

from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import LargeBlock
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.selected_plant import SelectedPlant


def plant_of(system: System) -> Plant:
    """The plant of a system, made once and kept with it."""
    plant = system.prepared.get("plant")
    if plant is None:
        with system.lock:
            plant = system.prepared.setdefault("plant", _evaluated(system))
    return plant


def _evaluated(system: System) -> Plant:
    """Formulas where x' and z have them, else a linear solve at each evaluation."""
    try:
        return ExplicitPlant(system)
    except LargeBlock:
        return LinearPlant(system)


def implicit_plant_of(system: System) -> ImplicitPlant:
    """The implicit plant of a system, made once and kept with it."""
    plant = system.prepared.get("implicit plant")
    if plant is None:
        with system.lock:
            plant = system.prepared.setdefault("implicit plant", _as_written(system))
    return plant


def _as_written(system: System) -> ImplicitPlant:
    if not system.choices:
        return ImplicitPlant(system)
    return SelectedPlant(system)


def plant_for_rows(system: System, rows: np.ndarray) -> Plant:
    """The plant whose runs have rows of this width."""
    return plant_of(system) if rows.shape[1] == system.sizes["x"] else implicit_plant_of(system)
