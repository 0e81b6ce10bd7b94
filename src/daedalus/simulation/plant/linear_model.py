"""The linear form of a system as the core takes it: one compiled function for matrix, right side and what is known."""

from __future__ import annotations

import casadi as ca

from daedalus import _core
from daedalus.compilation import Compiled, compile_function
from daedalus.model.expressions import nonzeros
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.condensed_form import condensed_form


def linear_model(system: System) -> _core.LinearModel:
    """A(t, x, u, p) (x'; z) = b(t, x, u, p) less the rows that need no solve, made once and kept with the system."""
    return once(system, _made)[0]


def _made(system: System) -> tuple[_core.LinearModel, Compiled]:
    """The model, and its code, which changes over to a quicker one while somebody holds it."""
    form = condensed_form(system)
    arguments = system.symbols(("t", "x", "u", "p"))
    results = [nonzeros(form.matrix), form.right, *([form.values] if len(form.known) else [])]
    function = compile_function(ca.Function("matrix", arguments, results))
    pattern = form.matrix.sparsity()
    model = _core.LinearModel(
        function.core, system.sizes["x"], len(form.rows), pattern.colind(), pattern.row(),
        form.solved.tolist(), form.known.tolist(),
    )  # fmt: skip
    return model, function
