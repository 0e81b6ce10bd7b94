"""A plant of formulas: x' = f(t, x, u, p), z = g(t, x, u, p) as machine code."""

from __future__ import annotations

import casadi as ca

from daedalus.compilation import Compiled, compile_function
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.instruction_list import forget_told, tell_instructions
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.simulation.plant.plant import SELDOM, Plant
from daedalus.simulation.plant.rate_instructions import rate_instructions


class ExplicitPlant(Plant):
    """Compiled formulas x' = f(t, x, u, p), z = g(t, x, u, p)."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.form = explicit_form(system)

    @cached_property
    def rhs(self) -> Compiled:
        """x' = f(t, x, u, p)."""
        rows = rate_instructions(self.system)
        if rows is None:
            return self._compiled("rhs", self.form.xdot)
        arguments = self.system.symbols(("t", "x", "u", "p"))
        function = ca.Function("rhs", arguments, [ca.densify(self.form.xdot)])
        tell_instructions(function, rows)
        try:
            return compile_function(function, seldom=SELDOM)
        finally:
            forget_told()

    def _in_rows(self, expression: ca.SX) -> ca.SX:
        return self.form.applied(self.system, expression)
