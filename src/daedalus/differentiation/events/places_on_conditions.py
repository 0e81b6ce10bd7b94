"""What the equations are like on a condition: whether they jump there, and whether their slopes are infinite."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.model.system.system import System
from daedalus.simulation.sliding.rest import BESIDE, NEARER, has_roots, is_of_states, is_steep
from daedalus.simulation.sliding.slide import LEAVES
from daedalus.simulation.sliding.sliding_system import held_state
from daedalus.simulation.switching.jumps_on_conditions import differ, places_on, sides_of


class OnCondition(NamedTuple):
    """Whether the equations jump on a condition; where slopes are infinite, how far before it they are followed."""

    jumps: bool
    level: float = 0.0


def looked_at(
    system: System, residual: ca.SX, guards: list[ca.SX], modes: list[ca.SX], order: list[int], k: int
) -> OnCondition:
    """What the equations are like on the condition with a mode, where there is a place on it that tells.

    order: in which conditions are put in; guards contain modes of those that come later.
    """
    may_be_steep = has_roots(residual) and is_of_states(system, guards[k])
    if not may_be_steep and not ca.depends_on(residual, modes[k]):
        return OnCondition(False)
    sides, guard = sides_of(system, residual, guards, modes, order, k)
    steep = False
    for point, way in places_on(system, guard):
        if differ(sides, point, way):
            return OnCondition(True)
        steep = steep or (may_be_steep and _is_steep(sides, point, way))
    held = held_state(system, guards[k]) if steep else None
    return OnCondition(False, 0.0 if held is None else LEAVES * held.size)


def _is_steep(both: ca.Function, point: np.ndarray, way: np.ndarray) -> bool:
    """Whether a slope of the equations grows without bound towards a point, from one side or the other."""
    for k, side in enumerate((-1.0, 1.0)):
        far, near, there = (
            both(point + side * away * way)[k].full().ravel() for away in (BESIDE, NEARER * BESIDE, NEARER**2 * BESIDE)
        )
        far, near, least = far - there, near - there, 1e-3 * NEARER * BESIDE * (1 + np.abs(there))
        if np.any(np.isfinite(far) & (np.abs(near) > least) & is_steep(near, far)):
            return True
    return False
