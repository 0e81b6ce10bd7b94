"""The plant of a system, made once and kept with it: formulas, linear solves, or equations as written."""

from __future__ import annotations

import numpy as np

from daedalus.analysis.structure.written_structure import VariableIndex, variable_index
from daedalus.model.system.once import By, once, remembered
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.forms.solved_form import find_solved_form
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.plant.called_plant import CalledEquations, CalledPlant
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.selected_plant import SelectedPlant
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import JumpNotLocated, SwitchesNotLocated


def plant_of(system: System) -> Plant:
    """The plant of a system by formulas or linear solves; raises what stands in the way of both."""
    found = find_plant(system)
    if isinstance(found, NoForm):
        raise found.error
    return found


@remembered
def find_plant(system: System) -> Plant | NoForm:
    """The plant of a system, made once and kept with it, or why x' and z have neither formulas nor a linear solve."""
    called = system.part(CalledEquations)
    if called is not None:
        return CalledPlant(system, called)
    form = find_solved_form(system)
    if isinstance(form, NoForm):
        return form
    return ExplicitPlant(system) if isinstance(form, ExplicitForm) else LinearPlant(system)


def implicit_plant_of(
    system: System, index: VariableIndex | None = None, origin: System | None = None
) -> ImplicitPlant:
    """The implicit plant of a system, made once and kept with it.

    index: that of each variable, where the system's own structure no longer shows it. origin: the system of the same
    unknowns whose conditions have become modes in this one.
    """
    return once(system, _as_written, By(index), By(origin))


def _as_written(system: System, index: By[VariableIndex | None], origin: By[System | None]) -> ImplicitPlant:
    if system.choices:
        return SelectedPlant(system, index.value)
    return ImplicitPlant(system, index.value, origin.value)


def plant_for_rows(system: System, rows: np.ndarray) -> Plant:
    """The plant whose runs have rows of this width."""
    return plant_of(system) if rows.shape[1] == system.sizes["x"] else implicit_plant_of(system)


def switched_plant(plant: Plant) -> tuple[Plant, Switches | None, tuple[Record, ...]]:
    """The plant to run, its switches, and what a run tells of them; without switches the plant itself."""
    switches = switches_of(plant.system)
    if switches is None:
        return plant, None, ()
    twin = switches.system
    notes = tuple(JumpNotLocated(name) for name in switches.left)
    if isinstance(plant, ImplicitPlant):
        # The index of each variable is that of the equations as written.
        return implicit_plant_of(twin, variable_index(plant.system), plant.system), switches, notes
    found = find_plant(twin)
    if isinstance(found, NoForm):
        return plant, None, (SwitchesNotLocated(found.reason),)
    return found, switches, notes
