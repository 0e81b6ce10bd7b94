"""A reduction that leaves inputs open which it differentiates: u', u'', ... become inputs of the reduced model.

An input that stands in a constraint is needed with its derivatives. Before the reduction it is written as its Taylor
polynomial about a moment τ, u(t) = Σ_k u_k (t - τ)^k / k!, with constants u_k; the k-th derivative of that at t = τ is
u_k. With τ = t put into the reduced equations, the constants are the inputs `u`, `u_dot`, `u_ddot`, ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import factorial

import casadi as ca

from daedalus.model.expressions import concatenate
from daedalus.model.input_rates import rate_variable
from daedalus.model.model import Model
from daedalus.model.names import derivative_name
from daedalus.model.notebook import adopt
from daedalus.model.variables import Variable
from daedalus.reduction.rewriting import ReducedModel, rewritten, substituted, written_out

# Names that nobody writes, for what is there only while the equations are differentiated.
MOMENT, CONSTANT = "(moment)", "({name} at the moment)"


def with_derivative_inputs(
    model: Model, needed: Mapping[str, int], reduced: Callable[[Model, Mapping[str, ca.SX]], ReducedModel]
) -> ReducedModel:
    """The reduced model with the derivatives of inputs as inputs.

    `needed` says how often each is differentiated; `reduced(model, inputs)` reduces a model with expressions in the
    place of inputs.
    """
    book = written_out(model)
    moment = adopt(book, Variable(MOMENT, "parameter", start=(0.0,), nominal=(1.0,)), ca.SX.sym("moment"))
    constants, polynomials, inputs = {}, {}, {}
    for name, times in needed.items():
        old = model.written.variables[name]
        polynomial = ca.SX.zeros(*model.written.symbols[name].shape)
        for k in range(times + 1):
            own = derivative_name(name, k)
            constant = replace(old, name=CONSTANT.format(name=own), kind="parameter", start=(0.0,) * old.size)
            constants[own] = adopt(book, constant, ca.SX.sym(own, *model.written.symbols[name].shape))
            inputs[own] = rate_variable(old, k) if k else old
            polynomial = polynomial + constants[own] * ((book.written.time - moment) ** k / factorial(k))
        polynomials[name] = polynomial
    n = reduced(book, polynomials)

    final = rewritten(n, dict.fromkeys([MOMENT, *(CONSTANT.format(name=own) for own in constants)]))
    final.written.equations = dict(n.written.equations)
    final.written.outputs = {name: value for name, value in n.written.outputs.items() if name not in constants}
    final._know(replace(n.reduction, original=model.freeze()), *n._found)
    symbols = {own: adopt(final, inputs[own], model.written.symbols.get(own, constants[own])) for own in constants}
    substituted(final, concatenate([moment, *constants.values()]), concatenate([final.written.time, *symbols.values()]))
    return final
