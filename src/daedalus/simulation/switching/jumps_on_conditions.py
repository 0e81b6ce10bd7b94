"""What equations are like where a condition changes, found by trying at places on it: whether they jump there, and
whether their slopes are infinite.

There its mode is off and on; other conditions are as they happen to be. Runs and derivatives ask here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import BESIDE
from daedalus.algebra.rank_decision import SAME_FORMULA
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.deadline import poll
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.sliding.rest import LEAVES, NEARER, has_roots, is_of_states, is_steep
from daedalus.simulation.sliding.surface import held_state, of_one_ratio, values_at_random
from daedalus.simulation.sliding.surfaces_together import MOST_TOGETHER

# Points on a condition, and how often each is moved towards it.
POINTS, MOVES = 6, 20
# The sides of a condition are compared with their terms, and with how much they differ so far beside it, in usual
# values: what meets on it differs there by rounding times a slope.
ASIDE = 1e-3


@remembered
def jumps_on_states(system: System) -> bool:
    """Whether equations jump where a condition on states and time changes, as dry friction and lossy gears do.

    At an index above one that is a jump of algebraic variables that no equation of the model itself determines right
    behind it, and other conditions may depend on those. With the index reduced they follow at once. Networks with more
    such conditions than can be decided together are run as they are written.
    """
    found = switches_of(system)
    if found is None or not found.count:
        return False
    twin, guards, modes, x = found.system, found.guards, found.modes, system.symbol("x")
    known = {symbol_key(s) for letter in ("t", "x", "u", "p") for s in elements(system.symbol(letter))}
    of_states = [
        k for k, guard in enumerate(guards)
        if ca.depends_on(guard, x) and all(symbol_key(s) in known for s in ca.symvar(guard))
    ]  # fmt: skip
    if len(of_states) > MOST_TOGETHER:
        return False
    order = [*reversed(range(found.count))]
    for k in of_states:
        poll("conditions that change")
        if on_condition(twin, twin.residual, guards, modes, order, k).jumps:
            return True
    return False


@remembered
def switches_on_algebraics(system: System) -> bool:
    """Whether a condition asks for algebraic variables, as that of a diode does for its voltage, and all that a
    reduction would differentiate is linear, as currents are that meet in a star.

    Above index one such variables have errors of their own on a step, and a crossing may be lost among them.
    """
    found = switches_of(system)
    if found is None or not any(ca.depends_on(guard, system.symbol("z")) for guard in found.guards):
        return False
    rows = np.flatnonzero(np.asarray(structure_of(system).signature.c) > 0).tolist()
    unknowns = ca.vertcat(system.symbol("x"), system.symbol("z"), system.symbol("t"))
    return bool(rows) and bool(ca.is_linear(system.residual[rows], unknowns))


class OnCondition(NamedTuple):
    """Whether the equations jump on a condition; where slopes are infinite, how far before it they are followed."""

    jumps: bool
    level: float = 0.0


def on_condition(
    system: System, residual: ca.SX, guards: list[ca.SX], modes: list[ca.SX], order: list[int], k: int
) -> OnCondition:
    """What the equations are like on the condition with a mode, where there is a place on it that tells.

    order: in which conditions are put in; guards contain modes of those that come later.
    """
    may_be_steep = has_roots(residual) and is_of_states(system, guards[k])
    if not may_be_steep and not ca.depends_on(residual, modes[k]):
        return OnCondition(False)
    sides, guard = _sides_of(system, residual, guards, modes, order, k)
    steep = False
    for point, way in _places_on(system, guard):
        if _differ(sides, point, way):
            return OnCondition(True)
        steep = steep or (may_be_steep and _is_steep(sides, point, way))
    held = held_state(system, guards[k]) if steep else None
    return OnCondition(False, 0.0 if held is None else LEAVES * held.size)


def jumps_near(switches: Switches, k: int, place: np.ndarray) -> bool:
    """Whether the equations jump on a condition where it is nearest to a place (t, x', x, z, u, p) of its system."""
    twin, guards, modes = switches.system, switches.guards, switches.modes
    sides, guard = _sides_of(twin, twin.residual, guards, modes, [*reversed(range(switches.count))], k)
    return _differ(sides, *_moved_onto(guard, place, _usual(twin)[1]))


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


def _sides_of(
    system: System, residual: ca.SX, guards: list[ca.SX], modes: list[ca.SX], order: list[int], k: int
) -> tuple[ca.Function, ca.Function]:
    """The equations with a mode off and on, and the guard with its slopes, of (t, x', x, z, u, p).

    Conditions that change at the same places change with it, the others are as they happen to be.
    """
    values = values_at_random(system, guards[k], *guards)[0]
    together = [j for j in of_one_ratio(system, guards, guards[k]) if j != k]
    off, on = residual, residual
    guard = guards[k]
    for j in [j for j in order if j != k]:
        own = guards[j] > 0
        guard = ca.substitute(guard, modes[j], own)
        same = bool(values[1 + j] * values[0] > 0)
        off, on = (
            ca.substitute(side, modes[j], float(same == which) if j in together else own)
            for side, which in ((off, False), (on, True))
        )
    v = concatenate(system.symbols())
    guard = ca.substitute(guard, modes[k], guards[k] > 0)
    sides = ca.Function("sides", [v], [ca.substitute(off, modes[k], 0), ca.substitute(on, modes[k], 1)])
    return sides, ca.Function("guard", [v], [guard, ca.jacobian(guard, v)])


def _differ(sides: ca.Function, point: np.ndarray, way: np.ndarray) -> bool:
    """Whether the equations are others on the two sides of a place."""
    off, on = (part.full().ravel() for part in sides(point))
    beside = np.subtract(*(part.full().ravel() for part in sides(point + ASIDE * way)))
    gap, terms = np.abs(off - on), np.abs(off) + np.abs(on) + 1e-12
    least = SAME_FORMULA * np.maximum(terms + terms.mean(), np.nan_to_num(np.abs(beside)))
    return bool(np.all(np.isfinite(gap)) and np.any(gap > least))


def _places_on(system: System, guard: ca.Function) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Points on a condition, and the way across it in usual values."""
    draw = np.random.default_rng(2000)
    middle, size = _usual(system)
    for _ in range(POINTS):
        yield _moved_onto(guard, middle + size * draw.standard_normal(len(middle)), size)


def _moved_onto(guard: ca.Function, point: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A point on a condition near another one, and the way across it, in values of these sizes."""
    way = np.zeros(len(point))
    for _ in range(MOVES):
        value, slope = (part.full().ravel() for part in guard(point))
        scaled = slope * size
        if not np.all(np.isfinite(scaled)) or not scaled @ scaled:
            break
        point = point - size * scaled * (value[0] / (scaled @ scaled))
        way = size * scaled / np.sqrt(scaled @ scaled)
    return point, way


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
    return tuple(np.concatenate([np.asarray(parts[letter][k], float) for letter in ARGUMENTS]) for k in (0, 1))  # type: ignore[return-value]
