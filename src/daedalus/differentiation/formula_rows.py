"""Variational equations with formulas as an implicit method takes them: 0 = y' - F(t, y, u, p), a row is (y, y').

Newton's matrix is the exact Jacobian (f_x in every diagonal block, f_xx S below the first), ordered and factorised as a
sparse matrix.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation import kept_invariants, saltation
from daedalus.differentiation.case import Case
from daedalus.differentiation.compiled_residual import compiled_residual
from daedalus.differentiation.core_rows import CoreRows
from daedalus.differentiation.residual_augmented import inputs_with_weights
from daedalus.differentiation.variational import Variational
from daedalus.simulation.plant import ExplicitPlant


class FormulaRows(CoreRows):
    """The variational equations of formulas for the core, each part compiled on first use."""

    def __init__(self, plant: ExplicitPlant, variational: Variational, rhs: Compiled) -> None:
        self._plant, self._variational, self._rhs = plant, variational, rhs
        self._size = variational.layout.size
        self._projections: dict[bool, Compiled | None] = {}

    @cached_property
    def model(self) -> Any:
        """What the core integrates, with its sparse Jacobians and the drift by t and u."""
        v = self._variational
        t, y, u, p = v.arguments
        rate = ca.SX.sym("rate", y.numel())
        model, self._code = compiled_residual([t, rate, y, ca.SX(0, 1), u, p], ca.densify(rate - v.rhs))
        return model

    def row(self, case: Case, t: float, y: np.ndarray) -> np.ndarray:
        """(y, y')."""
        u = inputs_with_weights(case, t, case.interval_at(t))
        return np.concatenate([y, self._rhs.core(np.array([t]), y, u, case.p)[0]])

    def unpacked(self, rows: np.ndarray) -> np.ndarray:
        """y of rows."""
        return np.ascontiguousarray(rows[..., : self._size])

    def entry(self, unknown: int) -> int:
        """y comes first."""
        return unknown

    def tolerances(self, case: Case) -> np.ndarray:
        """Absolute tolerances of a row; derivatives have no error of their own."""
        v = self._variational
        own = v.tolerances(case.settings.call["atol"], v.directions.sizes(v.system, case.p))
        return np.concatenate([own, np.ones(len(own))])

    def _of_rows(self, name: str, expression: ca.SX, rates: bool) -> Compiled:
        """A function of rows; with `rates` the derivatives are handed on behind every part of the size of y."""
        t, y, u, p = self._variational.arguments
        row = ca.SX.sym("row", 2 * y.numel())
        own = ca.substitute(expression, y, row[: y.numel()])
        if rates:
            parts = ca.reshape(own, y.numel(), own.numel() // y.numel())
            own = ca.vec(ca.vertcat(parts, ca.repmat(row[y.numel() :], 1, parts.size2())))
        return compile_function(ca.Function(name, [t, row, u, p], [ca.densify(own)]))

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

    @cached_property
    def resets(self) -> Compiled | None:
        """The rows behind each event, by saltation."""
        v = self._variational
        return self._of_rows("resets", saltation.resets(v), True) if v.system.events and v.order == 1 else None
