"""The machine code of the residual variational equations of one system: what the core runs, starts, guards."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.variational import kept_invariants
from daedalus.differentiation.variational.column_equations import ColumnEquations
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes
from daedalus.differentiation.variational.residual_variational import ResidualVariational
from daedalus.differentiation.variational.tangent_start import TangentStart
from daedalus.differentiation.variational.variational import Variational
from daedalus.model.lazy_values import cached_property
from daedalus.simulation.plant.implicit_plant import ImplicitPlant


class ResidualAugmented:
    """Compiled functions of the augmented implicit system; made once for a system and its directions."""

    def __init__(self, plant: ImplicitPlant, directions: Directions, order: int) -> None:
        self.plant = plant
        self.variational = ResidualVariational(plant.system, directions, order)
        self.layout = self.variational.layout
        self._projections: dict[bool, Compiled | None] = {}

    @property
    def core_rows(self) -> ResidualAugmented:
        """How the core integrates y with an implicit method."""
        return self

    @cached_property
    def _symbols(self) -> dict[str, ca.SX]:
        v = self.variational
        X, Z, rate = v.unknowns()
        return {"t": v.t, "rate": rate, "X": X, "Z": Z, "u": ca.vertcat(v.u, v.weights), "p": v.p}

    @cached_property
    def _columns(self) -> ColumnEquations:
        v = self.variational
        arguments = [v.t, v.xdot, v.x, v.z, self._symbols["u"], v.p]
        return ColumnEquations(arguments, v.system.residual, v.directions)

    @cached_property
    def model(self) -> Any:
        """What the core integrates."""
        v = self.variational
        if v.order == 1:
            return self._columns.model(0)
        widths = [v.directions.count, len(v.pairs[0])]
        return self._columns.model_of_all(widths, 0, list(self._symbols.values()), v.residual)

    # -- rows --------------------------------------------------------------------------------------------------

    def row(self, case: Case, t: float, y: np.ndarray) -> np.ndarray:
        """The row of the core at y."""
        out = np.empty(len(y))
        out[self.variational.places] = y
        return out

    def unpacked(self, rows: np.ndarray) -> np.ndarray:
        """y of rows of the core."""
        return rows[..., self.variational.places]

    def entry(self, unknown: int) -> int:
        """Where an unknown of the core stands in y; -1 for none."""
        found = np.flatnonzero(self.variational.places == unknown)
        return int(found[0]) if len(found) else -1

    def tolerances(self, case: Case) -> np.ndarray:
        """Absolute tolerances of a row: those of x and z, divided by the sizes of what is varied."""
        v, n = self.variational, self.layout.n
        own = case.settings.call["atol"]
        sizes, (j, k) = v.directions.sizes(v.system, case.p), v.pairs
        first = own[:, None] / sizes[None, :]
        second = own[:, None] / (sizes[j] * sizes[k])[None, :] if len(j) else np.zeros((len(own), 0))
        first[-n:], second[-n:] = 1.0, 1.0
        return self.row(case, case.t0, self.layout.packed(own, first, second))

    def begin(self, case: Case, start: TangentStart) -> np.ndarray:
        """y at the start: z, x' and their derivatives solved for."""
        return self._solved(case, case.t0, case.row0, start.S, start.W, case.interval_at(case.t0))

    def _solved(self, case: Case, t: float, row: np.ndarray, S: np.ndarray, W: np.ndarray, interval: int) -> np.ndarray:
        """y at a consistent row with derivatives S and W of the states; those of x' and z are solved for."""
        layout, order = self.layout, self.variational.order
        n, width, m = layout.n, layout.width, self.variational.directions.count
        whole, second = np.zeros((width, m)), np.zeros((width, W.shape[1]))
        whole[:n], second[:n] = S, W
        others, u = np.r_[width - n : width, n : width - n], inputs_with_weights(case, t, interval)
        point = [np.array([t]), row[width - n :], row[:n], row[n : width - n], u, case.p]
        left = self._columns.left(point, whole[width - n :], whole[: width - n])[1]
        whole[others] -= self._slopes.solve(t, row, case.u_at(t), case.p, left)
        if order == 2:
            core = self.row(case, t, layout.packed(row, whole, second))
            left = self._second_left(t, core, u, case.p)
            second[others] -= self._slopes.solve(t, row, case.u_at(t), case.p, left)
        return layout.packed(row, whole, second)

    @cached_property
    def _slopes(self) -> ImplicitSlopes:
        return ImplicitSlopes(self.plant.system)

    def _second_left(self, t: float, core: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """What is left in the equations of second order at a row of the core."""
        states, unknowns = self._symbols["X"].numel(), self._symbols["X"].numel() + self._symbols["Z"].numel()
        parts = core[unknowns:], core[:states], core[states:unknowns]
        function = compile_function(ca.Function("residual", list(self._symbols.values()), [self.variational.residual]))
        left = function.core(np.array([t]), *parts, u, p)[0]
        width, pairs = self.layout.width, len(self.variational.pairs[0])
        begin, rows = width * (1 + self.variational.directions.count), width - self.layout.n
        return left[self.variational.places[begin : begin + rows * pairs]].reshape(rows, pairs)

    # -- invariants and events ---------------------------------------------------------------------------------

    def projection(self, exact: bool) -> Compiled | None:
        """The row moved onto the invariants; None where there are none, or none that can be kept so."""
        if exact not in self._projections:
            self._projections[exact] = self._moved(exact) if self.plant.projection is not None else None
        return self._projections[exact]

    def _moved(self, exact: bool) -> Compiled:
        v, s = self.variational, self._symbols
        states = Variational(v.system, v.form, v.directions, v.order, True)
        moved = (kept_invariants.exact if exact else kept_invariants.tangential)(states)
        size, width = s["X"].numel(), 2 * s["X"].numel() + s["Z"].numel()
        row, u = ca.SX.sym("row", width), ca.vertcat(states.u, states.weights)
        expression = ca.substitute(moved, states.y, row[:size])
        function = ca.Function("projection", [states.t, row, u, states.p], [ca.vertcat(expression, row[size:])])
        return compile_function(function)

    @cached_property
    def guards(self) -> Compiled | None:
        """The guards of the events as functions of rows of the core."""
        v, s = self.variational, self._symbols
        if not v.system.events:
            return None
        row = ca.SX.sym("row", 2 * s["X"].numel() + s["Z"].numel())
        own = row[v.places[: self.layout.width].tolist()]
        guards = ca.densify(ca.substitute(v.system.guards, v.row, own))
        return compile_function(ca.Function("guards", [v.t, row, s["u"], v.p], [guards]))


def varied_at(case: Case, variational: Variational | ResidualVariational, t: float, y: np.ndarray) -> np.ndarray:
    """∂(x, u, p)/∂θ at y."""
    S = variational.layout.sensitivities(y[None])[0][: variational.layout.n]
    return np.concatenate([S, case.given_slopes(variational.directions, t)])


def inputs_with_weights(case: Case, t: float, interval: int) -> np.ndarray:
    """The inputs at a time, with the weights of an interval of the grid behind them."""
    weights = np.zeros(case.intervals)
    weights[interval : interval + 1] = 1.0
    return np.concatenate([case.drive.at_time(t), weights])
