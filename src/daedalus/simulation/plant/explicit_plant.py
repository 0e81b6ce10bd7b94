"""A plant of formulas: x' = f(t, x, u, p), z = g(t, x, u, p) as machine code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca

from daedalus.compilation import Compiled, compile_function
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.instruction_list import forget_told, tell_instructions
from daedalus.model.system.system import System
from daedalus.reduction.forms.cost_of_forms import solve_costs_less
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.reduction.forms.rate_instructions import rate_instructions
from daedalus.simulation.plant.linear_model import linear_model
from daedalus.simulation.plant.plant import SELDOM, Plant
from daedalus.simulation.result.records_of_models import SolvedEachTime


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

    @cached_property
    def rates(self) -> Any:
        """By the formulas, or by a sparse solve where that takes fewer operations."""
        if not solve_costs_less(self.system):
            return self.rhs
        model = linear_model(self.system)
        self.notes += (SolvedEachTime(model.unknowns),)
        return SimpleNamespace(core=model)

    def _in_rows(self, expression: ca.SX) -> ca.SX:
        return self.form.applied(self.system, expression)
