"""The linear form of a system as the core takes it: one compiled function for the matrix and the right side."""

from __future__ import annotations

import casadi as ca

from daedalus import _core
from daedalus.compilation import compile_function
from daedalus.model.system import System
from daedalus.reduction.linear_form import linear_form


def linear_model(system: System) -> _core.LinearModel:
    """A(t, x, u, p) (x'; z) = b(t, x, u, p), made once and kept with the system."""
    with system.lock:
        if "linear model" not in system.prepared:
            form = linear_form(system)
            arguments = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
            nonzeros = ca.SX(form.matrix.nz[:])
            function = compile_function(ca.Function("matrix", arguments, [nonzeros, form.right]))
            pattern = form.matrix.sparsity()
            model = _core.LinearModel(
                function.core, system.sizes["x"], form.right.numel(), pattern.colind(), pattern.row()
            )
            system.prepared["linear model"] = model
            system.prepared["linear model code"] = function
    return system.prepared["linear model"]
