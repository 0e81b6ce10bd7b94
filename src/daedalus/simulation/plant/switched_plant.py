"""The plant whose functions the core calls: that of a model with switches has modes behind its parameters."""

from __future__ import annotations

from daedalus.analysis.structure.written_structure import variable_index
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import find_plant, implicit_plant_of
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import JumpNotLocated, SwitchesNotLocated


def switched_plant(plant: Plant) -> tuple[Plant, Switches | None, tuple[Record, ...]]:
    """The plant to run, its switches, and what a run tells of them; without switches the plant itself."""
    switches = switches_of(plant.system)
    if switches is None:
        return plant, None, ()
    twin = switches.system
    notes = tuple(JumpNotLocated(name) for name in switches.left)
    if isinstance(plant, ImplicitPlant):
        # The index of each variable is that of the equations as written.
        return implicit_plant_of(twin, variable_index(plant.system)), switches, notes
    found = find_plant(twin)
    if isinstance(found, NoForm):
        return plant, None, (SwitchesNotLocated(found.reason),)
    return found, switches, notes
