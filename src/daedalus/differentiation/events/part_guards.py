"""What tells of conditions in a part of a run with modes put in: their events, their guards, and how these move."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.jumping_conditions import FixedModes, Point
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.once import By, once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm


def is_corner(case: Case, event: int) -> bool:
    """Whether the equations only bend at an event, or end a stay on a surface: no share in first derivatives."""
    part = case.system.part(FixedModes)
    assert part is not None
    return event >= len(part.chosen) or part.conditions.corners[part.chosen[event]]


def event_of(case: Case, condition: int) -> int:
    """The event at which a condition changes."""
    part = case.system.part(FixedModes)
    assert part is not None
    return part.chosen.index(condition)


def point_of(case: Case, t: float, row: np.ndarray) -> Point:
    """(t, x', x, z, u, p) at a row (x, z, x')."""
    n = len(case.x0)
    return t, row[-n:], row[:n], row[n:-n], case.u_at(t), case.p


def instants_of(case: Case) -> System | None:
    """The system with all that happens in a run; None where nothing does."""
    held = case.system.part(HeldStates)
    return None if held is None else held.instants


def guards_along(case: Case, t: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and rates of the guards of a part at rows x, or (x, z, x'), (times, guards) each."""
    n, along = len(case.x0), once(case.system, _along, case.has_formulas, By(case.form, "form"))
    if isinstance(along, ca.Function):
        u, p = ca.DM(case.drive.at(t)).T, ca.repmat(ca.DM(case.p), 1, len(t))
        values, rates = (part.full().T for part in along(ca.DM(t).T, ca.DM(rows[:, :n]).T, u, p))
        return values, rates
    found = [along.at(float(a), row, u, case.p)[:2] for a, row, u in zip(t, rows, case.drive.at(t))]
    slopes = [slope[:, 0] + slope[:, 1 : 1 + n] @ row[-n:] for (_, slope), row in zip(found, rows)]
    return np.array([value for value, _ in found]), np.array(slopes)


def _along(system: System, formulas: bool, form: By[ExplicitForm]) -> ca.Function | ImplicitSlopes:
    guards = system.guards
    if not formulas:
        return ImplicitSlopes(system, guards)
    t, x, u, p = system.symbols(("t", "x", "u", "p"))
    flat = ca.densify(form.value.applied(system, guards))
    rates = ca.jacobian(flat, t) + ca.mtimes(ca.jacobian(flat, x), form.value.xdot)
    return ca.Function("along", [t, x, u, p], [flat, ca.densify(rates)])


def expression_slopes(case: Case, expression: ca.SX, t: float, row: np.ndarray) -> tuple[float, np.ndarray]:
    """A scalar expression and its derivatives by (t, x, u, p), z moving along, at a row (x, z, x')."""
    system, u, p = case.system, case.u_at(t), case.p
    if not case.has_formulas:
        value, slopes, _ = ImplicitSlopes(system, expression).at(t, row, u, p)
        return float(value[0]), slopes[0]
    arguments = system.symbols(("t", "x", "u", "p"))
    flat = case.form.applied(system, expression)
    function = ca.Function("expression", arguments, [flat, ca.densify(ca.jacobian(flat, ca.vertcat(*arguments)))])
    value, slopes = function(t, row[: len(case.x0)], u, p)
    return float(value), slopes.full()[0]
