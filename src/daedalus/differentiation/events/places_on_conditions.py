"""What the equations are like on a condition: whether they jump there, and whether their slopes are infinite.

Found by trying: points on the condition, with its mode on and off, the other conditions as they happen to be there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate
from daedalus.model.system.system import System
from daedalus.reduction.switches import LETTERS
from daedalus.simulation.sliding.rest import BESIDE, NEARER, STEEP, has_roots, is_of_states
from daedalus.simulation.sliding.slide import LEAVES
from daedalus.simulation.sliding.sliding_system import held_state

# Points on a condition, how often each is moved towards it, and by what share of its terms an equation must jump there.
POINTS, MOVES, JUMPS = 6, 20, 1e-9


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
    expressions = [residual, guards[k]]
    for j in [j for j in order if j != k]:
        expressions = ca.substitute(expressions, [modes[j]], [guards[j] > 0])
    expressions[1] = ca.substitute(expressions[1], modes[k], guards[k] > 0)
    v = concatenate(system.symbol(letter) for letter in LETTERS)
    both = ca.Function("both", [v], [ca.substitute(expressions[0], modes[k], value) for value in (0, 1)])
    guard = ca.Function("guard", [v], [expressions[1], ca.jacobian(expressions[1], v)])
    steep = False
    for point, way in _places(system, guard):
        off, on = (part.full().ravel() for part in both(point))
        gap, terms = np.abs(off - on), np.abs(off) + np.abs(on) + 1e-12
        if np.all(np.isfinite(gap)) and np.any(gap > JUMPS * (terms + np.abs(terms).mean())):
            return OnCondition(True)
        steep = steep or (may_be_steep and _is_steep(both, point, way))
    held = held_state(system, guards[k]) if steep else None
    return OnCondition(False, 0.0 if held is None else LEAVES * held.size)


def _places(system: System, guard: ca.Function) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Points on a condition, and the way across it in usual values."""
    draw = np.random.default_rng(2000)
    middle, size = _usual(system)
    for _ in range(POINTS):
        point, way = middle + size * draw.standard_normal(len(middle)), np.zeros(len(middle))
        for _ in range(MOVES):
            value, slope = (part.full().ravel() for part in guard(point))
            scaled = slope * size
            if not np.all(np.isfinite(scaled)) or not scaled @ scaled:
                break
            point = point - size * scaled * (value[0] / (scaled @ scaled))
            way = size * scaled / np.sqrt(scaled @ scaled)
        yield point, way


def _is_steep(both: ca.Function, point: np.ndarray, way: np.ndarray) -> bool:
    """Whether a slope of the equations grows without bound towards a point, from one side or the other."""
    for k, side in enumerate((-1.0, 1.0)):
        far, near, there = (
            both(point + side * away * way)[k].full().ravel() for away in (BESIDE, NEARER * BESIDE, NEARER**2 * BESIDE)
        )
        far, near, least = np.abs(far - there), np.abs(near - there), 1e-3 * NEARER * BESIDE * (1 + np.abs(there))
        if np.any(np.isfinite(far) & (near > least) & (near > STEEP * NEARER * far)):
            return True
    return False


def _usual(system: System) -> tuple[np.ndarray, np.ndarray]:
    """A point (t, x', x, z, u, p) in the middle of the usual values, and how far they spread."""
    start, nominal, sizes = system.start, system.nominal, system.sizes
    p = np.nan_to_num(np.array(start["p"], dtype=float), nan=1.0)
    parts = {
        "t": (np.zeros(1), np.ones(1)),
        "xdot": (np.zeros(sizes["x"]), nominal["x"]),
        "x": (np.nan_to_num(np.array(system.default_start, dtype=float)), nominal["x"]),
        "z": (np.zeros(sizes["z"]), nominal["z"]),
        "u": (np.zeros(sizes["u"]), np.ones(sizes["u"])),
        "p": (p, 0.1 * np.abs(p)),
    }
    return tuple(np.concatenate([np.asarray(parts[letter][k], float) for letter in LETTERS]) for k in (0, 1))  # type: ignore[return-value]
