"""What does not change from call to call: method, tolerances, limits and compiled functions, checked once and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.system import System
from daedalus.simulation.methods import choose_method
from daedalus.simulation.plant import Plant, plant_of

if TYPE_CHECKING:
    from daedalus.simulation.tableaux.tableau import Tableau

# A System keeps this many settings; beyond that it begins anew.
MOST_KEPT = 64
NUMBERS = ("rtol", "step", "max_step", "first_step", "max_steps", "time_limit")


@dataclass(frozen=True, eq=False)
class Settings:
    """One way to run one system."""

    plant: Plant
    rhs: Any  # the compiled right-hand side, as the core takes it
    core_method: Any  # a name or a tableau, as the core takes it
    method: str
    reason: str
    max_steps: int | None
    time_limit: float | None
    call: dict[str, Any]  # keyword arguments of the core that differ from its own defaults


def settings_of(system: System, method: str | Tableau, rtol: float, atol: object, *limits: Any) -> Settings:
    """The settings of a run, from memory where they were used before; what means nothing is refused.

    `limits` are step, max_step, first_step, max_steps and time_limit.
    """
    kept = system.prepared.setdefault("settings", {})
    key = (method, rtol, atol, limits)
    try:
        known = kept.get(key)
    except TypeError:  # atol by name cannot be looked up
        return _checked(system, method, rtol, atol, limits)
    if known is None:
        known = _checked(system, method, rtol, atol, limits)
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[key] = known
    return known


def _checked(system: System, method: str | Tableau, rtol: float, atol: object, limits: tuple[Any, ...]) -> Settings:
    numbers = dict(zip(NUMBERS, (rtol, *limits)))
    for name, value in numbers.items():
        if value is not None and (not isinstance(value, (int, float, np.integer, np.floating)) or not value > 0):
            raise InputError(
                f"{name} must be a positive number.", f"got {value!r}", remedy=f"{name}=None or a number > 0"
            )
    choice = choose_method(method, rtol, numbers["step"])
    call = {"atol": absolute_tolerance(system, atol), **{k: v for k, v in numbers.items() if v is not None}}
    plant = plant_of(system)
    if system.invariants and plant.projection is not None:
        call["projection"] = plant.projection.core
    if system.events:
        call.update(_events(plant))
    chosen = (choice.core, choice.name, choice.reason)
    return Settings(plant, plant.rhs.core, *chosen, numbers["max_steps"], numbers["time_limit"], call)


def absolute_tolerance(system: System, atol: object) -> np.ndarray:
    """atol as a vector over x: a number counts in nominal values, values by name are absolute."""
    if not isinstance(atol, Mapping):
        if not isinstance(atol, (int, float, np.integer, np.floating)) or not atol >= 0:
            raise InputError("atol must be a number >= 0, or numbers by name.", f"got {atol!r}", remedy="atol=1e-9")
        vector = float(atol) * system.nominal["x"]
    else:
        vector = 1e-9 * system.nominal["x"]
        for name, value in atol.items():
            place = system.place(name)
            if place.letter != "x":
                raise InputError(f"atol of {name} means nothing.", "only states have an error of their own")
            entries = np.asarray(value, dtype=float).ravel(order="F")
            if entries.size not in (1, len(place.positions)) or not np.all(entries >= 0):
                raise InputError(f"atol of {name} does not fit.", f"got {value!r}", remedy=f'atol={{"{name}": 1e-9}}')
            vector[place.positions] = entries
    return vector


def _events(plant: Plant) -> dict[str, Any]:
    """Guards and resets for the core: every event cuts the step, terminal ones end the run."""
    events = plant.system.events
    return {
        "guards": plant.guards.core,
        "resets": plant.resets.core,
        "directions": [e.direction for e in events],
        "actions": [2 if e.terminal else 1 for e in events],
        "occurrences": [1] * len(events),
    }
