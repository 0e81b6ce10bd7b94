"""A residual F(t, x', x, z, u, p) in machine code with sparse Jacobians and its drift, as the core integrates it."""

from __future__ import annotations

import casadi as ca

from daedalus import _core
from daedalus.compilation import Compiled, compile_function


def compiled_residual(arguments: list[ca.SX], residual: ca.SX) -> tuple[_core.ImplicitModel, list[Compiled]]:
    """The model of the core, and the functions that it is made of: residual, Jacobians by x' and (x, z), drift.

    arguments: t, x', x, z, u, p.

    Example
    -------
    >>> import casadi as ca
    >>> t, rate, x, u = (ca.SX.sym(name) for name in ("t", "rate", "x", "u"))
    >>> nothing = ca.SX(0, 1)
    >>> model, code = compiled_residual([t, rate, x, nothing, u, nothing], rate + u * x)
    >>> len(code)
    3
    """
    t, rate, x, z, u, _ = arguments
    slopes = ca.SX.sym("udot", u.numel())
    by_rate, by_state = ca.jacobian(residual, rate), ca.jacobian(residual, ca.vertcat(x, z))
    moved = ca.densify(ca.jacobian(residual, t) + ca.mtimes(ca.jacobian(residual, u), slopes))
    code = [
        compile_function(ca.Function("residual", arguments, [residual])),
        compile_function(ca.Function("jacobian", arguments, [by_rate, by_state])),
        compile_function(ca.Function("drift", [*arguments, slopes], [moved])),
    ]
    dot, whole = by_rate.sparsity(), by_state.sparsity()
    patterns = (list(dot.colind()), list(dot.row()), list(whole.colind()), list(whole.row()))
    own, jacobian, drift = (function.core for function in code)
    unknowns = x.numel() + z.numel()
    return _core.ImplicitModel(own, jacobian, x.numel(), unknowns, *patterns, [], [], drift=drift), code
