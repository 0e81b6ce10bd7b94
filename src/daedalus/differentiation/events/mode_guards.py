"""What tells of conditions in a part of a run with modes put in: their events, their guards, and how these move."""

from __future__ import annotations

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.formula_events import formula_events_of
from daedalus.differentiation.events.jumping_conditions import FixedModes, Point
from daedalus.differentiation.events.residual_events import events_of
from daedalus.simulation.plant.implicit_plant import ImplicitPlant

# Gradients whose directions differ by less are those of one surface.
PARALLEL = 1e-9


def own_events(case: Case) -> int:
    """How many events come before those of conditions."""
    found = case.system.part(FixedModes)
    return len(case.system.events) if found is None else len(found.conditions.original.events)


def point_of(case: Case, t: float, row: np.ndarray) -> Point:
    """(t, x', x, z, u, p) at a row (x, z, x')."""
    n = len(case.x0)
    return t, row[-n:], row[:n], row[n:-n], case.u_at(t), case.p


def fixed_modes(case: Case) -> FixedModes:
    """The modes that are put in."""
    found = case.system.part(FixedModes)
    assert found is not None
    return found


def event_of(case: Case, condition: int) -> int:
    """The event at which a condition changes."""
    return own_events(case) + fixed_modes(case).ends.index(condition)


def guard_slopes(case: Case, event: int, t: float, row: np.ndarray) -> np.ndarray:
    """∂g/∂(t, x, u, p) of an event at a row (x, z, x')."""
    plant = case.plant
    if isinstance(plant, ImplicitPlant):
        return events_of(plant).guards.at(t, row, case.u_at(t), case.p)[1][event]
    return formula_events_of(plant).guard_slopes(event, t, row[: len(case.x0)], case.u_at(t), case.p)


def time_slopes(case: Case, event: int, t: float, row: np.ndarray) -> np.ndarray:
    """∂τ/∂(x, u, p) of an event at a row (x, z, x')."""
    slope, n = guard_slopes(case, event, t, row), len(case.x0)
    return -slope[1:] / (slope[0] + slope[1 : 1 + n] @ row[-n:])


def rate_of_guard(case: Case, condition: int, t: float, row: np.ndarray) -> float:
    """ġ of a condition at a row (x, z, x')."""
    slope, n = guard_slopes(case, event_of(case, condition), t, row), len(case.x0)
    return float(slope[0] + slope[1 : 1 + n] @ row[-n:])


def parallel(one: np.ndarray, other: np.ndarray) -> float:
    """1 or -1 for slopes in one direction or opposite ones, 0 for others."""
    sizes = np.linalg.norm(one), np.linalg.norm(other)
    if not all(sizes) or not np.all(np.isfinite(sizes)):
        return 0.0
    sign = float(np.sign(one @ other))
    return sign if np.linalg.norm(one / sizes[0] - sign * other / sizes[1]) <= PARALLEL else 0.0
