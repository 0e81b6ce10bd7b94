"""Variational equations with formulas as an implicit method takes them: 0 = y' - F(t, y, u, p), a row is (y, y').

In a row S and W are whole matrices, with zeros where the layout of y leaves an entry out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.case import Case
from daedalus.differentiation.variational import kept_invariants
from daedalus.differentiation.variational.column_equations import ColumnEquations
from daedalus.differentiation.variational.residual_augmented import inputs_with_weights
from daedalus.differentiation.variational.variational import Variational
from daedalus.model.lazy_values import cached_property
from daedalus.simulation.plant.explicit_plant import ExplicitPlant


class FormulaRows:
    """The variational equations of formulas for the core, each part compiled on first use."""

    def __init__(self, plant: ExplicitPlant, variational: Variational, rhs: Callable[[], Compiled]) -> None:
        self._plant, self._variational, self._rhs = plant, variational, rhs
        layout = variational.layout
        n, self._widths = layout.n, [layout.first.shape[1], layout.second.shape[1]][: variational.order]
        (i, j), (k, pair) = layout.places
        first, pairs = layout.first.shape[1], layout.second.shape[1]
        self._places = np.concatenate([np.arange(n), n + i * first + j, n * (1 + first) + k * pairs + pair])
        self._size = n * (1 + first + pairs)
        self._projections: dict[bool, Compiled | None] = {}

    # -- the model ---------------------------------------------------------------------------------------------

    @cached_property
    def _columns(self) -> ColumnEquations:
        v = self._variational
        rate = ca.SX.sym("rate", v.x.numel())
        arguments = [v.t, rate, v.x, ca.SX(0, 1), ca.vertcat(v.u, v.weights), v.p]
        return ColumnEquations(arguments, ca.densify(rate - v.form.xdot), v.directions)

    @cached_property
    def model(self) -> Any:
        """What the core integrates."""
        v, zeros = self._variational, self._size - len(self._places)
        if v.order == 1:
            return self._columns.model(zeros)
        t, y, u, p = v.arguments
        rate, whole = ca.SX.sym("rate", self._size), ca.SX.sym("whole", self._size)
        rhs, places = ca.SX.zeros(self._size), self._places.tolist()
        rhs[places] = ca.substitute(v.rhs, y, whole[places])
        arguments = [t, rate, whole, ca.SX(0, 1), u, p]
        return self._columns.model_of_all(self._widths, zeros, arguments, ca.densify(rate - rhs))

    # -- rows --------------------------------------------------------------------------------------------------

    def row(self, case: Case, t: float, y: np.ndarray) -> np.ndarray:
        """(y, y')."""
        out, n = np.zeros(2 * self._size), self._variational.layout.n
        out[self._places] = y
        u = inputs_with_weights(case, t, case.interval_at(t))
        if self._variational.order == 2:
            out[self._size + self._places] = self._rhs().core(np.array([t]), y, u, case.p)[0]
            return out
        point = [np.array([t]), np.zeros(n), y[:n], np.zeros(0), u, case.p]
        S = out[n : self._size].reshape(n, -1)
        own, left = self._columns.left(point, np.zeros_like(S), S)
        out[self._size :] = -np.concatenate([own, left.ravel()])
        return out

    def unpacked(self, rows: np.ndarray) -> np.ndarray:
        """y of rows."""
        return np.take(rows, self._places, axis=-1)

    def entry(self, unknown: int) -> int:
        """Where an unknown of the core stands in y; -1 for none."""
        found = np.flatnonzero(self._places == unknown)
        return int(found[0]) if len(found) else -1

    def tolerances(self, case: Case) -> np.ndarray:
        """Absolute tolerances of a row; derivatives have no error of their own."""
        v, out = self._variational, np.ones(2 * self._size)
        out[self._places] = v.tolerances(case.settings.call["atol"], v.directions.sizes(v.system, case.p))
        return out

    def _of_rows(self, name: str, expression: ca.SX, rates: bool) -> Compiled:
        """A function of rows; with `rates` the derivatives are handed on behind every part of the size of y."""
        t, y, u, p = self._variational.arguments
        places = self._places.tolist()
        row = ca.SX.sym("row", 2 * self._size)
        own = ca.substitute(expression, y, row[places])
        if rates:
            parts = ca.reshape(own, y.numel(), own.numel() // y.numel())
            whole = ca.SX.zeros(2 * self._size, parts.size2())
            whole[places, :] = parts
            whole[self._size :, :] = ca.repmat(row[self._size :], 1, parts.size2())
            own = ca.vec(whole)
        return compile_function(ca.Function(name, [t, row, u, p], [ca.densify(own)]))

    # -- invariants and events ---------------------------------------------------------------------------------

    def projection(self, exact: bool) -> Compiled | None:
        """The row moved onto the invariants; None where there are none, or none that can be kept so."""
        if exact not in self._projections:
            v, found = self._variational, None
            if v.system.invariants and self._plant.projection is not None:
                way = kept_invariants.exact if exact else kept_invariants.tangential
                found = self._of_rows("projection", way(v), True)
            self._projections[exact] = found
        return self._projections[exact]

    @cached_property
    def guards(self) -> Compiled | None:
        """The guards of the events."""
        v = self._variational
        if not v.system.events:
            return None
        return self._of_rows("guards", v.on_state(v.form.applied(v.system, v.system.guards)), False)
