"""Refuse an implicit method on a model that it cannot solve, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.methods import METHODS
from daedalus.simulation.plant.constant_mass import varying_mass
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_methods import FirstStepsWrong

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau


def check_fits(plant: ImplicitPlant, method: str | Tableau) -> None:
    """An InputError where the index is too high for the method, or its form does not fit the model."""
    found = plant.index.largest
    name, highest, why = _ability(method, found)
    if found > highest:
        labels = [*plant.system.labels["x"], *plant.system.labels["z"]]
        deep = [labels[k] for k in np.flatnonzero(plant.index.index > highest)]
        raise InputError(
            f"The method {name!r} does not solve a model of index {found}.",
            f"{', '.join(deep[:6])} {'has' if len(deep) == 1 else 'have'} an index above {highest}",
            because=why or "each derivative of the constraints costs an order, and none is left.",
            remedy='dd.simulate(dd.reduce(m), ...), or method="auto"',
        )
    if name in METHODS and METHODS[name].family == "rosenbrock":
        _check_mass(plant, name)


def caveats(plant: ImplicitPlant, method: str | Tableau) -> tuple[Record, ...]:
    """What a method that fits still does badly on a model."""
    if plant.index.largest < 3 or not _is_implicit_euler(method):
        return ()
    labels = [*plant.system.labels["x"], *plant.system.labels["z"]]
    return (FirstStepsWrong(tuple(labels[k] for k in np.flatnonzero(plant.index.index > 2))),)


def _is_implicit_euler(method: str | Tableau) -> bool:
    return method == "implicit_euler" if isinstance(method, str) else bool(method.stages == 1 and method.A[0, 0] == 1)


def _ability(method: str | Tableau, index: int) -> tuple[str, int, str]:
    """The name of a method, the highest index that it solves, and why not a higher one."""
    if isinstance(method, str):
        known = METHODS[method]
        return method, known.highest_index, known.why_not_higher
    from daedalus.integrators.tableaux.dae_orders import dae_orders

    name = method.name or "tableau"
    for highest in range(1, min(index, 3) + 1):
        orders = dae_orders(method, highest)
        if orders.is_refused:
            return name, highest - 1, f"{orders.reason}."
    return name, 3, ""


def _check_mass(plant: ImplicitPlant, name: str) -> None:
    moving = varying_mass(plant.system)
    if moving:
        raise InputError(
            f"The method {name!r} does not fit this model.",
            f"what stands before the derivatives depends on {', '.join(moving[:6])}",
            because="a Rosenbrock method keeps its order only where M x' = f(t, x, z) has a constant M.",
            remedy='method="radau5", or m.algebraic variables for the derivatives',
        )
