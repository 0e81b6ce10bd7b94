"""Guards and resets of implicit runs, with multipliers and accelerations of a higher index as the states give them.

    0 = F(t, x', x, z),    z = z(t, x) by the reduced equations

The end of a step has an error in them that its tolerance does not bound: what is kept small is h² times a multiplier of
index 3. Short steps, as a run takes behind an event, leave nothing of their sign.
"""

from __future__ import annotations

from typing import TypeGuard

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled
from daedalus.model.expressions import elements
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.solved_plant import solved_plant


def guards_by_states(plant: Plant, switches: int) -> Compiled:
    """The guards of a plant for the core, switches last: these judge the equations of the step, by its own values.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> from daedalus.simulation.plant.plants import implicit_plant_of
    >>> m = dd.Model("pendulum")
    >>> q = m.coordinate("q", 2, start=[1.0, 0.0]); m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    >>> m.potential_energy(9.81 * q[1]); rod = m.constraint("rod", (ca.sumsqr(q) - 1) / 2)
    >>> m.event("pull", rod + 5)
    >>> row = np.r_[1.0, 0.0, 0.0, 1.0, 1e9, np.zeros(4)]  # at the side, upwards at 1 m/s, by a step that knows no rod
    >>> guards_by_states(implicit_plant_of(m.freeze()), 0)([0.0], row, [], [])[0]
    array([4.])
    """
    return once(plant.system, _guards, By(plant), switches) if _is_deep(plant) else plant.guards


def resets_by_states(plant: Plant) -> Compiled:
    """The rows behind each event for the core, one event after the other."""
    return once(plant.system, _resets, By(plant)) if _is_deep(plant) else plant.resets


def _is_deep(plant: Plant) -> TypeGuard[ImplicitPlant]:
    return isinstance(plant, ImplicitPlant) and bool(plant.deep_by_index.any())


def _guards(system: System, owner: By[ImplicitPlant], switches: int) -> Compiled:
    plant = owner.value
    total = plant.located_guards.numel()
    events, turned = ca.vertsplit(plant.located_guards, [0, total - switches, total])
    found = _by_states(plant, events)
    return plant.guards if found is None else plant.compiled_values("guards", ca.vertcat(found, turned))


def _resets(system: System, owner: By[ImplicitPlant]) -> Compiled:
    plant = owner.value
    width = system.resets.shape[1]
    found = _by_states(plant, ca.horzcat(system.resets, system.assigned))
    return plant.resets if found is None else plant.resets_to(found[:, :width], found[:, width:])


def _by_states(plant: ImplicitPlant, expression: ca.SX) -> ca.SX | None:
    """An expression without z and x' of a higher index; None where it reads none of them, or they have no formulas."""
    system, deep = plant.system, plant.deep_by_index
    old, names = [], []
    for letter in ("z", "xdot"):
        symbols = elements(system.symbol(letter))
        for k in np.flatnonzero(deep[plant.row_parts[letter]]):
            old.append(symbols[k])
            names.append((letter, system.labels[letter][k]))
    if not ca.depends_on(ca.densify(expression), ca.vertcat(*old)):
        return None
    solved = solved_plant(plant)
    if not isinstance(solved, ExplicitPlant):
        return None
    places = {letter: {name: k for k, name in enumerate(solved.system.labels[letter])} for letter in ("z", "xdot")}
    if any(name not in places[letter] for letter, name in names):
        return None  # redundant constraints: the solved equations may do without some of the forces
    formulas = {"z": solved.form.z, "xdot": solved.form.xdot}
    letters = ("t", "x", "u", "p")
    new = ca.substitute(
        [ca.vertcat(*(formulas[letter][places[letter][name]] for letter, name in names))],
        [solved.system.symbol(letter) for letter in letters],
        [system.symbol(letter) for letter in letters],
    )
    return ca.substitute([expression], [ca.vertcat(*old)], new)[0]
