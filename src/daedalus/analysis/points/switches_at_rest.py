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
    search ends with the one at hand, whose values stay.
    """
    if not system.discrete_count:
        return False
    own, said = vectors["p"][-system.discrete_count :], _said(system, vectors)
    known.add(tuple(own.tolist()))
    if tuple(said.tolist()) in known:
        return False
    own[:] = said
    return True


def disagreements(system: System, vectors: dict[str, np.ndarray]) -> list[str]:
    """A sentence for each discrete variable that is not what its conditions say at the point."""
    if not system.discrete_count:
        return []
    own, said = vectors["p"][-system.discrete_count :], _said(system, vectors)
    labels = system.labels["p"][-system.discrete_count :]
    return [
        f"{labels[k]} is {own[k]:g} at this point, where its conditions say {said[k]:g}: none of the values that were "
        "tried agrees with its own point at rest, as in an oscillator that switches for ever."
        for k in np.flatnonzero(own != said)
    ]


def _said(system: System, vectors: dict[str, np.ndarray]) -> np.ndarray:
    """The discrete variables at a point with what the conditions that hold there assign."""
    acting, function = _acting(system)
    before = vectors["p"][-system.discrete_count :]
    said = np.array(before)
    if function is None:
        return said
    guards, assigned = (np.array(found) for found in function(*(vectors[letter] for letter in LETTERS)))
    for row, k in enumerate(acting):
        if guards[row, 0] * system.events[k].direction > 0:
            changed = assigned[row] != before
            said[changed] = assigned[row][changed]
    return said
