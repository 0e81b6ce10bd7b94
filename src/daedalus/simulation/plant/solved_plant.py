"""The plant that gives x' and z of an implicit run from its states alone: that of the reduced equations."""

from __future__ import annotations

from daedalus.reduction.forms.no_form import NoForm
from daedalus.simulation.plant.held_levels import system_with_levels
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import find_plant


def solved_plant(plant: Plant) -> Plant | None:
    """The plant by formulas or linear solves with the same states; None where there is none.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus import catalogue
    >>> from daedalus.simulation.plant.plants import implicit_plant_of
    >>> written = implicit_plant_of(catalogue.load("pendulum_3d").model.freeze())
    >>> found = solved_plant(written)
    >>> found.is_implicit, found.system.labels["x"] == written.system.labels["x"]
    (False, True)
    """
    if not isinstance(plant, ImplicitPlant):
        return plant
    if plant.index.largest < 2 or plant.system.choices:
        return None
    reduced = system_with_levels(plant.system, plant.index)
    found = None if reduced is None else find_plant(reduced)
    return None if isinstance(found, NoForm) else found
