"""A model as the core's implicit methods take it: residual, both Jacobians and the drift in machine code."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus import _core
from daedalus.compilation import compile_function
from daedalus.model.model import as_system
from daedalus.model.system.system import System


def implicit_model(model: dd.Model | System, index=(), level=(), drift: str | None = "exact") -> Any:
    """F, dF/dx', dF/d(x, z) and dF/dt + dF/du u'; drift "no inputs" leaves the second part of the last one out.

    index and level of the unknowns and equations are needed where the index is above 1.
    """
    system = as_system(model)
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    t, xdot, x, z, u, _ = arguments
    F = system.residual
    dot, all_ = ca.jacobian(F, xdot), ca.jacobian(F, ca.vertcat(x, z))
    udot = ca.SX.sym("udot", u.shape[0])
    moves = ca.jacobian(F, t) + (ca.mtimes(ca.jacobian(F, u), udot) if drift == "exact" and u.shape[0] else 0)
    patterns = [list(part) for J in (dot, all_) for part in (J.sparsity().colind(), J.sparsity().row())]

    def core(name: str, inputs: list[ca.SX], outputs: list[ca.SX]) -> Any:
        return compile_function(ca.Function(name, inputs, outputs), wait=True).core

    return _core.ImplicitModel(
        core("residual", arguments, [ca.densify(F)]),
        core("jacobian", arguments, [dot, all_]),
        x.shape[0],
        x.shape[0] + z.shape[0],
        *patterns,
        list(index),
        list(level),
        drift=core("drift", [*arguments, udot], [ca.densify(moves)]) if drift else None,
    )


def integrate(model: _core.ImplicitModel, method: Any, span: float, start: Any, **options: Any) -> _core.Run:
    """A run from t = 0 without inputs and parameters; start is the row (x, z, x')."""
    return _core.integrate(model, method, 0.0, span, np.array(start, float), np.zeros(0), np.zeros(0), **options)
