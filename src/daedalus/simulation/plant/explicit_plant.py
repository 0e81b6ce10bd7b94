"""A plant of formulas: x' = f(t, x, u, p), z = g(t, x, u, p) as machine code."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca

from daedalus.compilation import Compiled
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate
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

    @cached_property
    def guards(self) -> Compiled:
        """The guards of the events."""
        return self._compiled("guards", self.form.applied(self.system, self.located_guards))

    @cached_property
    def resets(self) -> Compiled:
        """The states after each event, one event after the other."""
        after = self.form.applied(self.system, self.resets_in_order)
        return self._compiled("resets", ca.vec(after.T))

    def _in_rows(self, expression: ca.SX) -> ca.SX:
        return self.form.applied(self.system, expression)

    @cached_property
    def readout(self) -> Compiled:
        """Algebraic variables, then the outputs below each other."""
        outputs = concatenate(self.system.outputs.values())
        return self._compiled("readout", ca.vertcat(self.form.z, self.form.applied(self.system, outputs)))

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

    @cached_property
    def invariants(self) -> Compiled:
        """What solutions keep at zero, below each other."""
        kept = concatenate(self.system.invariants.values())
        return self._compiled("invariants", self.form.applied(self.system, kept))

    @cached_property
    def watched(self) -> Compiled:
        """What solutions keep at zero without being held to it, below each other."""
        kept = concatenate(self.system.watched.values())
        return self._compiled("watched", self.form.applied(self.system, kept))

    @cached_property
    def constraints(self) -> Compiled:
        """The equations without a derivative, as left by x and z = g(t, x, u, p)."""
        rows = self.constraint_rows
        return self._compiled("constraints", self.form.applied(self.system, self.system.residual[rows]))
