"""What joints and other constraints hold of the velocities of bodies that touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate
from daedalus.model.mechanics.equations_of_motion import time_derivative
from daedalus.model.system.system import System
from daedalus.simulation.touching.body_rows import TWIST, BodyRows
from daedalus.simulation.touching.tree_rows import TreeRows

if TYPE_CHECKING:
    from daedalus.model.model import Model


class HeldByJoints(NamedTuple):
    """Rows J over twists, (rows, bodies, 6), the rates that J T has, and how far positions are off."""

    jacobian: np.ndarray
    rates: np.ndarray
    off: np.ndarray


class JointRows:
    """What joints say of velocities: J v = target, as functions of (t, x, u, p)."""

    def __init__(self, function: ca.Function, bodies: int) -> None:
        self.function, self.bodies = function, bodies

    def at(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, seen: Any) -> HeldByJoints:
        """The rows at a place; seen: how twists are read, which is one way for bodies with states of their own."""
        jacobian, offset, position = (
            np.asarray(v, dtype=float) for v in self.function.call([ca.DM(t), ca.DM(x), ca.DM(u), ca.DM(p)])
        )
        return HeldByJoints(jacobian.reshape(-1, self.bodies, TWIST), -offset.ravel(), position.ravel())


class LoopRows:
    """The same where joints bring the states, of what closes loops between them."""

    def __init__(self, function: ca.Function, rows: TreeRows) -> None:
        self.function, self.rows = function, rows

    def at(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, seen: Any) -> HeldByJoints:
        """The rows at a place; seen: where the bodies are whose twists are read."""
        given = [ca.DM(t), ca.DM(x[self.rows.places]), ca.DM(u), ca.DM(p)]
        jacobian, offset, position = (np.asarray(v, dtype=float) for v in self.function.call(given))
        loops = jacobian.reshape(-1, len(self.rows.speeds)) @ seen.inverse
        return HeldByJoints(loops.reshape(-1, len(self.rows.names), TWIST), -offset.ravel(), position.ravel())


def joint_rows(system: System, book: Model, rows: BodyRows | TreeRows) -> JointRows | LoopRows | None:
    """What holds the bodies of a model together; None where nothing does."""
    written = book.written.mechanics
    if not written.constraints:
        return None
    if isinstance(rows, TreeRows):
        return LoopRows(_loops(system, book, rows), rows)
    rate, positions = _rates(book)
    columns, symbols = [], []
    for name in rows.names:
        body = written.bodies[name]
        speed = book.written.symbols[f"{name}.velocity"]
        linear = ca.jacobian(rate, speed)
        symbols.append(speed)
        if body.size == 2:
            linear = ca.horzcat(linear, ca.SX.zeros(rate.numel()))
        angular = ca.SX.zeros(rate.numel(), 3)
        if body.orientation is not None:
            spin = book.written.symbols[f"{name}.angular_velocity"]
            symbols.append(spin)
            own = ca.jacobian(rate, spin)
            angular = ca.horzcat(ca.SX.zeros(rate.numel(), 2), own) if body.orientation == "planar" else own
        columns.append(ca.horzcat(linear, angular))
    velocities = concatenate(symbols)
    offset = ca.substitute(rate, velocities, ca.SX.zeros(velocities.numel()))
    arguments = system.symbols(("t", "x", "u", "p"))
    function = ca.Function("joints", arguments, [ca.densify(ca.horzcat(*columns)), offset, positions])
    return JointRows(function, len(rows.names))


def _rates(book: Model) -> tuple[ca.SX, ca.SX]:
    """The rates of all constraints, and the positions that they hold, zero where they hold velocities alone."""
    written = book.written.mechanics
    rates, positions = [], []
    for c in written.constraints.values():
        expression = ca.vec(c.expression)
        holonomic = c.kind == "holonomic"
        rates.append(time_derivative(book, written, expression) if holonomic else expression)
        positions.append(expression if holonomic else ca.SX.zeros(expression.numel()))
    return concatenate(rates), concatenate(positions)


def _loops(system: System, book: Model, rows: TreeRows) -> ca.Function:
    """Constraints beside a tree as functions of (t, coordinates, u, p): rows over its velocities, and the rest."""
    rate, positions = _rates(book)
    jacobian = ca.jacobian(rate, rows.velocities)
    offset = ca.substitute(rate, rows.velocities, ca.SX.zeros(rows.velocities.numel()))
    t, u, p = system.symbols(("t", "u", "p"))
    return ca.Function("loops", [t, rows.symbols, u, p], [ca.densify(jacobian), ca.densify(offset), positions])


def as_links(jacobian: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows as the core takes them: where each begins, its bodies, and its entries."""
    rows, bodies = np.nonzero(np.any(jacobian != 0, axis=2))
    begins = np.searchsorted(rows, np.arange(len(jacobian) + 1)).astype(np.int64)
    return begins, bodies.astype(np.int64), np.ascontiguousarray(jacobian[rows, bodies])
