"""The plan of a reduction as a derivation shows it: inputs that are differentiated keep their names, u_dot, u_ddot."""

from __future__ import annotations

from dataclasses import replace
from math import factorial

import casadi as ca

from daedalus.model.expressions import concatenate
from daedalus.model.model import Model
from daedalus.model.names import derivative_name
from daedalus.model.notebook import adopt
from daedalus.model.variables import Variable
from daedalus.reduction.index.derivative_inputs import CONSTANT, MOMENT
from daedalus.reduction.index.differentiate import DifferentiatedInputError
from daedalus.reduction.index.given_inputs import with_inputs
from daedalus.reduction.reduction_plan import ReductionPlan, plan_reduction
from daedalus.reduction.rewriting import written_out


def planned(model: Model) -> tuple[ReductionPlan, dict[str, ca.SX]]:
    """The plan, and the symbols of inputs that are differentiated and of their derivatives, by name."""
    try:
        return plan_reduction(written_out(model)), {}
    except DifferentiatedInputError as error:
        return _with_inputs_differentiated(model, error.needed)


def _with_inputs_differentiated(model: Model, needed: dict[str, int]) -> tuple[ReductionPlan, dict[str, ca.SX]]:
    """Inputs as Taylor polynomials about a moment, which is put at the time afterwards (see `derivative_inputs`)."""
    book = written_out(model)
    moment = adopt(book, Variable(MOMENT, "parameter", start=(0.0,), nominal=(1.0,)), ca.SX.sym("moment"))
    constants: dict[str, ca.SX] = {}
    symbols: dict[str, ca.SX] = {}
    polynomials: dict[str, object] = {}
    for name, times in needed.items():
        old = model.written.variables[name]
        shape = model.written.symbols[name].shape
        polynomial = ca.SX.zeros(*shape)
        for k in range(times + 1):
            own = derivative_name(name, k)
            variable = replace(old, name=CONSTANT.format(name=own), kind="parameter", start=(0.0,) * old.size)
            constants[own] = adopt(book, variable, ca.SX.sym(own, *shape))
            symbols[own] = model.written.symbols[name] if k == 0 else ca.SX.sym(own, *shape)
            polynomial = polynomial + constants[own] * ((book.written.time - moment) ** k / factorial(k))
        polynomials[name] = polynomial
    plan = plan_reduction(with_inputs(book, polynomials))
    old_symbols = concatenate([moment, *constants.values()])
    new_symbols = concatenate([book.written.time, *symbols.values()])

    def put(expression: ca.SX) -> ca.SX:
        return ca.densify(ca.substitute(expression, old_symbols, new_symbols))

    levels = {at: put(expression) for at, expression in plan.levels.items()}
    flow = replace(plan.flow, value={j: put(value) for j, value in plan.flow.value.items()})
    return replace(plan, levels=levels, residual=put(plan.residual), flow=flow), symbols
