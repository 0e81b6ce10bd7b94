"""A model as the core's implicit methods take it: 0 = F(t, x', x, z, u, p), with its Jacobians and patterns."""

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus import _core
from daedalus.compilation import compile_function


def implicit_model(model: dd.Model, index=(), level=()) -> _core.ImplicitModel:
    """The core's description of a model; index and level of its unknowns and equations where the index is above 1."""
    system = model.freeze()
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    F = system.residual
    by_rate = ca.jacobian(F, system.symbol("xdot"))
    by_value = ca.jacobian(F, ca.vertcat(system.symbol("x"), system.symbol("z")))
    residual = compile_function(ca.Function("residual", arguments, [ca.densify(F)]), wait=True)
    jacobian = compile_function(ca.Function("jacobian", arguments, [by_rate, by_value]), wait=True)
    patterns = [list(part) for J in (by_rate, by_value) for part in (J.sparsity().colind(), J.sparsity().row())]
    states = system.sizes["x"]
    unknowns = states + system.sizes["z"]
    return _core.ImplicitModel(residual.core, jacobian.core, states, unknowns, *patterns, list(index), list(level))


def integrate(model: _core.ImplicitModel, method: object, span: float, start: object, **options: object) -> _core.Run:
    """A run from t = 0 without inputs and parameters; start is the row (x, z, x')."""
    return _core.integrate(model, method, 0.0, span, np.array(start, float), np.zeros(0), np.zeros(0), **options)
