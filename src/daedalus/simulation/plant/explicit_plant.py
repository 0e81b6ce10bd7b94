"""A plant of formulas: x' = f(t, x, u, p), z = g(t, x, u, p) as machine code."""

from __future__ import annotations

import casadi as ca

from daedalus.compilation import Compiled
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.simulation.plant.plant import Plant


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
