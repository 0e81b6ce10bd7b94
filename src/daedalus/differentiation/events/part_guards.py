"""What tells of conditions in a part of a run with modes put in: their events, their guards, and how these move."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.formula_events import formula_events_of
from daedalus.differentiation.events.jumping_conditions import FixedModes, Point
from daedalus.differentiation.events.residual_events import events_of
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes
from daedalus.simulation.plant.implicit_plant import ImplicitPlant


def own_events(case: Case) -> int:
    """How many events come before those of conditions."""
    found = case.system.part(FixedModes)
    return len(case.system.events) if found is None else len(found.conditions.original.events)


def is_corner(case: Case, event: int) -> bool:
    """Whether the equations only bend at an event, or end a stay on a surface: no share in first derivatives."""
    found, number = case.system.part(FixedModes), event - own_events(case)
    if found is None or number < 0:
        return False
    return number >= len(found.chosen) or found.conditions.corners[found.chosen[number]]


def event_of(case: Case, condition: int) -> int:
    """The event at which a condition changes."""
    found = case.system.part(FixedModes)
    assert found is not None
    return own_events(case) + found.chosen.index(condition)


def point_of(case: Case, t: float, row: np.ndarray) -> Point:
    """(t, x', x, z, u, p) at a row (x, z, x')."""
    n = len(case.x0)
    return t, row[-n:], row[:n], row[n:-n], case.u_at(t), case.p


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


def expression_slopes(case: Case, expression: ca.SX, t: float, row: np.ndarray) -> tuple[float, np.ndarray]:
    """A scalar expression and its derivatives by (t, x, u, p), z moving along, at a row (x, z, x')."""
    system, u, p = case.system, case.u_at(t), case.p
    if not case.has_formulas:
        value, slopes, _ = ImplicitSlopes(system, expression).at(t, row, u, p)
        return float(value[0]), slopes[0]
    arguments = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
    flat = case.form.applied(system, expression)
    function = ca.Function("expression", arguments, [flat, ca.densify(ca.jacobian(flat, ca.vertcat(*arguments)))])
    value, slopes = function(t, row[: len(case.x0)], u, p)
    return float(value), slopes.full()[0]
