"""Switches with a memory at a point of rest: conditions that act at the start act there too.

A switch with hysteresis is open or closed by what it was. At rest it is what its conditions say where they say
something, and what it was between them. The point is sought again with what they assign until nothing changes.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.system.once import remembered
from daedalus.model.system.system import System

LETTERS = ("t", "xdot", "x", "z", "u", "p")


@remembered
def _acting(system: System) -> tuple[list[int], ca.Function | None]:
    """The events that act at the start, and a function of their guards and of what they assign."""
    acting = [k for k, event in enumerate(system.events) if event.manner.at_start and event.direction]
    if not acting or not system.discrete_count:
        return [], None
    guards, assigned = system.guards[acting], system.assigned[acting, :]
    return acting, ca.Function("switches", [system.symbol(letter) for letter in LETTERS], [guards, assigned])


def switch(system: System, vectors: dict[str, np.ndarray], known: set[tuple[float, ...]]) -> bool:
    """Assign what conditions that hold at a point assign; whether the point has to be sought again.

    known: the values that points were sought with; where one comes back, no value agrees with its own point, and the
    search ends with the one at hand.
    """
    acting, function = _acting(system)
    if function is None:
        return False
    own = vectors["p"][-system.discrete_count :]
    known.add(tuple(own.tolist()))
    guards, assigned = (np.array(found) for found in function(*(vectors[letter] for letter in LETTERS)))
    before = own.copy()
    for row, k in enumerate(acting):
        if guards[row, 0] * system.events[k].direction > 0:
            changed = assigned[row] != before
            own[changed] = assigned[row][changed]
    return tuple(own.tolist()) not in known
