"""A plant of formulas: x' = f(t, x, u, p), z = g(t, x, u, p) as machine code."""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.compilation import Compiled
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.simulation.plant.invariant_projection import invariant_projection
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.projection import projection
from daedalus.simulation.result.records_of_models import InvariantsNotKept


class ExplicitPlant(Plant):
    """Compiled formulas x' = f(t, x, u, p), z = g(t, x, u, p)."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.form = explicit_form(system)

    @cached_property
    def rhs(self) -> Compiled:
        """x' = f(t, x, u, p)."""
        return self._compiled("rhs", self.form.xdot)

    def _in_rows(self, expression: ca.SX) -> ca.SX:
        return self.form.applied(self.system, expression)

    @cached_property
    def projection(self) -> Any:
        """The state moved onto the invariants; None where there are none, or too many to be kept so."""
        try:
            return self._shortest_way()
        except SolverError as error:
            self.notes += (InvariantsNotKept(tuple(error.facts)),)
            return None

    def _shortest_way(self) -> Any:
        """The projection as a formula, or by a sparse solve where it would be too long."""
        try:
            projected = projection(self.system, self.form)
        except SolverError:
            kept = self.form.applied(self.system, concatenate(self.system.invariants.values()))
            return invariant_projection(self.system, kept)
        return None if projected is None else self._compiled("projection", projected)
