"""The plant whose functions the core calls: that of a model with switches has modes behind its parameters."""

from __future__ import annotations

from daedalus.errors import DaedalusError
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import implicit_plant_of, plant_of
from daedalus.simulation.plant.variable_index import variable_index


def switched_plant(plant: Plant) -> tuple[Plant, Switches | None, tuple[str, ...]]:
    """The plant to run, its switches, and what a run tells of them; without switches the plant itself."""
    switches = switches_of(plant.system)
    if switches is None:
        return plant, None, ()
    twin = switches.system
    notes = [f"{name}(...) in the equations jumps where no step is cut" for name in switches.left]
    try:
        if not isinstance(plant, ImplicitPlant):
            return plant_of(twin), switches, tuple(notes)
        # The index of each variable is that of the equations as written.
        return implicit_plant_of(twin, variable_index(plant.system)), switches, tuple(notes)
    except DaedalusError as error:
        return plant, None, (f"switches are not located: {'; '.join(error.facts) or error.what}",)


def turns_text(count: int, switches: Switches) -> str:
    """How many switches were located in a run."""
    conditions = (*switches.conditions, *switches.on_time)
    listed = ", ".join(conditions[:4]) + (", …" if len(conditions) > 4 else "")
    return f"{count} {'switch' if count == 1 else 'switches'} located of the conditions {listed}"


def sliding_text(t: float, condition: str) -> str:
    """Why a run cannot go on where both branches of a condition lead back to it."""
    return (
        f"the condition {condition} switches to and fro at t = {t:.6g}: both branches lead back to it; friction needs "
        "a stick state: events that begin and end sticking, or a smooth law such as tanh(v/0.001) for sign(v)"
    )
