"""Variational equations as one plain implicit system with one large matrix, which columns must agree with."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import compile_function
from daedalus.differentiation.case import Case, core_inputs, read_case
from daedalus.differentiation.directions import read_directions
from daedalus.differentiation.variational.augmented import augmented_of
from daedalus.differentiation.variational.tangent_start import tangent_start
from daedalus.integrators.methods import choose_method


def plain_model(augmented: Any) -> Any:
    """All columns in one residual, with its whole Jacobian and its drift."""
    v = augmented.variational
    if hasattr(v, "unknowns"):
        X, Z, rate = v.unknowns()
        u, residual, zeros = ca.vertcat(v.u, v.weights), v.residual, 0
    else:
        places, size = augmented.core_rows._places.tolist(), augmented.core_rows._size
        X, Z, rate = ca.SX.sym("X", size), ca.SX(0, 1), ca.SX.sym("rate", size)
        rhs, u, zeros = ca.SX.zeros(size), v.arguments[2], size - len(places)
        rhs[places] = ca.substitute(v.rhs, v.y, X[places])
        residual = ca.densify(rate - rhs)
    arguments, slopes = [v.t, rate, X, Z, u, v.p], ca.SX.sym("udot", u.numel())
    dot, whole = ca.jacobian(residual, rate), ca.jacobian(residual, ca.vertcat(X, Z))
    moved = ca.densify(ca.jtimes(residual, ca.vertcat(v.t, u), ca.vertcat(1, slopes)))
    code = [
        compile_function(ca.Function(name, [*arguments, *more], results), wait=True)
        for name, more, results in (
            ("residual", [], [residual]), ("jacobian", [], [dot, whole]), ("drift", [slopes], [moved]),
        )
    ]  # fmt: skip
    patterns = [list(part) for J in (dot, whole) for part in (J.sparsity().colind(), J.sparsity().row())]
    own, jacobian, drift = (function.core for function in code)
    return _core.ImplicitModel(own, jacobian, X.numel(), X.numel() + Z.numel(), *patterns, drift=drift, zeros=zeros)


class Prepared:
    """One run of the variational equations of a model, by columns and by one large matrix."""

    def __init__(
        self, model: Any, span: Any, order: int = 1, wrt: Any = ("start", "parameters"), **options: Any
    ) -> None:
        grid = options.pop("grid", None)
        self.case: Case = read_case(model, span, options, grid)
        directions = read_directions(self.case.system, wrt, self.case.intervals)
        self.augmented = augmented_of(self.case.plant, directions, order)
        start = tangent_start(self.case, directions, order)
        self.rows = self.augmented.core_rows
        self.row = self.rows.row(self.case, self.case.t0, self.augmented.begin(self.case, start))

    def run(self, model: Any) -> Any:
        """The run of the core."""
        case, (u, tables) = self.case, core_inputs(self.case)
        call = {"rtol": case.settings.call["rtol"], "atol": self.rows.tolerances(case), "tables": tables}
        call |= {name: value for name, value in case.limits.items() if value is not None}
        step = call.get("step")
        method = choose_method(case.method, call["rtol"], step).core
        return _core.integrate(model, method, case.t0, case.t1, self.row, u, case.p, **call)

    def by_columns(self) -> Any:
        return self.run(self.rows.model)

    def by_one_matrix(self) -> Any:
        return self.run(plain_model(self.augmented))


def end_of(prepared: Prepared, run: Any) -> np.ndarray:
    """y at the end of a run."""
    return prepared.rows.unpacked(run.x[-1])
