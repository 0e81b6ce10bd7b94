"""A system as the core's implicit methods take it: residual, both Jacobians and the drift in machine code."""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus import _core
from daedalus.compilation import compile_function
from daedalus.model.system import System


def implicit_model(system: System, drift: str | None = "exact") -> Any:
    """F, dF/dx', dF/d(x, z) and dF/dt + dF/du u' of a system; drift "no inputs" leaves the second part out."""
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    t, xdot, x, z, u, _ = arguments
    F = system.residual
    dot, all_ = ca.jacobian(F, xdot), ca.jacobian(F, ca.vertcat(x, z))
    udot = ca.SX.sym("udot", u.shape[0])
    moves = ca.jacobian(F, t) + (ca.mtimes(ca.jacobian(F, u), udot) if drift == "exact" and u.shape[0] else 0)

    def core(name: str, inputs: list[ca.SX], outputs: list[ca.SX]) -> Any:
        return compile_function(ca.Function(name, inputs, outputs), wait=True).core

    return _core.ImplicitModel(
        core("residual", arguments, [ca.densify(F)]),
        core("jacobian", arguments, [dot, all_]),
        x.shape[0],
        x.shape[0] + z.shape[0],
        list(dot.sparsity().colind()),
        list(dot.sparsity().row()),
        list(all_.sparsity().colind()),
        list(all_.sparsity().row()),
        drift=core("drift", [*arguments, udot], [ca.densify(moves)]) if drift else None,
    )
