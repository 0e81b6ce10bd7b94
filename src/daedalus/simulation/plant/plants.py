"""The plant of a system, made once and kept with it: formulas, linear solves, or equations as written."""

from __future__ import annotations

import numpy as np

from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import LargeBlock
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.selected_plant import SelectedPlant
from daedalus.simulation.plant.variable_index import VariableIndex


def plant_of(system: System) -> Plant:
    """The plant of a system, made once and kept with it."""
    return once(system, _evaluated)


def _evaluated(system: System) -> Plant:
    """Formulas where x' and z have them, else a linear solve at each evaluation."""
    try:
        return ExplicitPlant(system)
    except LargeBlock:
        return LinearPlant(system)


def implicit_plant_of(system: System, index: VariableIndex | None = None) -> ImplicitPlant:
    """The implicit plant of a system, made once and kept with it.

    index: that of each variable, where the system's own structure no longer shows it.
    """
    return once(system, _as_written, By(index))


def _as_written(system: System, index: By[VariableIndex | None]) -> ImplicitPlant:
    return SelectedPlant(system, index.value) if system.choices else ImplicitPlant(system, index.value)


def plant_for_rows(system: System, rows: np.ndarray) -> Plant:
    """The plant whose runs have rows of this width."""
    return plant_of(system) if rows.shape[1] == system.sizes["x"] else implicit_plant_of(system)
