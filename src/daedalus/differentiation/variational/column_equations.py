"""The equations of a model with columns of derivatives beside its unknowns, as the core runs them on one factor.

    F(t, x', w, u, p) = 0,    F_x' S' + F_w S + F_θ = 0                   w = (x, z), S = ∂w/∂θ

Newton's matrix of all of them has that of F in every diagonal block: the core factors one block and solves with it for
all columns (M. Caracotsios, W. E. Stewart, Computers & Chemical Engineering 9, 1985). What stands below the diagonal
multiplies the correction of the model itself, and is the derivative of the residual of the columns along it: so the
steps are those of one large matrix, and linearly implicit methods stay exact (M. Schlegel, W. Marquardt, R. Ehrig,
U. Nowak, Applied Numerical Mathematics 48, 2004). Leaving it out (T. Maly, L. R. Petzold, Applied Numerical Mathematics
20, 1996) costs more than it saves: Newton's iterations of radau5 at rtol = 1e-6 were 1317 for 580 (quadrotor), 2689 for
750 (robertson), 381 for 271 (hires).

At first order both are products: one compiled function gives F and the nonzeros of F_x', F_w and F_θ, another the
derivatives of those along a direction, whatever the number of columns. At second order functions of all columns are
compiled.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.directions import Directions
from daedalus.model.expressions import nonzeros

Entries = list[tuple[int, int, int, int]]


class ColumnEquations:
    """The functions of one model for all its directions.

    arguments: t, x', x, z, u with the weights of the grid, p.
    """

    def __init__(self, arguments: list[ca.SX], residual: ca.SX, directions: Directions) -> None:
        _, rate, x, z, u, p = arguments
        self.arguments, self.residual, self.directions = arguments, ca.densify(residual), directions
        self.states, self.unknowns = x.numel(), x.numel() + z.numel()
        varied = [*(u[k] for k in directions.u), *(p[k] for k in directions.p)]
        by_rate, by_state = ca.jacobian(residual, rate), ca.jacobian(residual, ca.vertcat(x, z))
        given = ca.jacobian(residual, ca.vertcat(*varied)) if varied else ca.SX(self.unknowns, 0)
        self._matrices = (by_rate, by_state, given)
        self._values = ca.vertcat(*(nonzeros(matrix) for matrix in self._matrices))
        self._kept: list[Compiled] = []  # code that is compiled in the background changes over while somebody holds it
        self._slopes = self._compiled("column_slopes", [], [self.residual, self._values])

    def _compiled(self, name: str, more: list[ca.SX], results: list[ca.SX]) -> Compiled:
        self._kept.append(compile_function(ca.Function(name, [*self.arguments, *more], results)))
        return self._kept[-1]

    # -- for the core ------------------------------------------------------------------------------------------

    def model(self, zeros: int) -> Any:
        """What the core integrates at first order; so many derivatives of states are zero by structure."""
        products = [_core.ColumnProducts(self._slopes.core, *self._entries()), self._below(), self._drift()]
        return self._made(self._slopes, [self.directions.count], zeros, products=products)

    def model_of_all(self, widths: list[int], zeros: int, arguments: list[ca.SX], residual: ca.SX) -> Any:
        """What the core integrates at any order, with a residual of all columns in groups of these widths."""
        t, rate, x, z, u, _ = arguments
        point = ca.vertcat(rate, x, z)
        turns = [ca.SX.sym(name, part.numel()) for name, part in (("drate", rate), ("dx", x), ("dz", z))]
        slopes = ca.SX.sym("udot", u.numel())
        below = ca.densify(ca.jtimes(residual, point, ca.vertcat(*turns)))
        drift = ca.densify(ca.jtimes(residual, ca.vertcat(t, u), ca.vertcat(1, slopes)))
        code = [
            compile_function(ca.Function(name, [*arguments, *more], [result]))
            for name, more, result in (("residual", [], residual), ("below", turns, below), ("drift", [slopes], drift))
        ]
        self._kept += code
        return self._made(code[0], widths, zeros, drift=code[2].core, below=code[1].core)

    def _made(self, residual: Compiled, widths: list[int], zeros: int, **more: Any) -> Any:
        dot, whole = (matrix.sparsity() for matrix in self._matrices[:2])
        patterns = (list(dot.colind()), list(dot.row()), list(whole.colind()), list(whole.row()))
        jacobian = self._compiled("jacobian", [], list(self._matrices[:2]))
        t, _, _, _, u, _ = self.arguments
        return _core.ImplicitModel(
            residual.core, jacobian.core, self.states, self.unknowns, *patterns, columns=widths, zeros=zeros,
            autonomous=not ca.depends_on(self.residual, ca.vertcat(t, u)), **more,
        )  # fmt: skip

    def _below(self) -> Any:
        """Products with what a correction of the model changes in the slopes; None where they are constant."""
        _, rate, x, z, _, _ = self.arguments
        turns = [ca.SX.sym(name, part.numel()) for name, part in (("drate", rate), ("dx", x), ("dz", z))]
        changes = ca.sparsify(ca.jtimes(self._values, ca.vertcat(rate, x, z), ca.vertcat(*turns)))
        if changes.nnz() == 0:
            return None
        code = self._compiled("column_changes", turns, [nonzeros(changes)])
        return _core.ColumnProducts(code.core, *self._entries(changes.row()))

    def _drift(self) -> Any:
        """Products with what the slopes change by in time, inputs moving with a slope of their own."""
        t, _, _, _, u, _ = self.arguments
        slopes = ca.SX.sym("udot", u.numel())
        moves = [ca.jtimes(part, ca.vertcat(t, u), ca.vertcat(1, slopes)) for part in (self.residual, self._values)]
        changes = ca.sparsify(moves[1])
        code = self._compiled("column_drift", [slopes], [ca.densify(moves[0]), nonzeros(changes)])
        return _core.ColumnProducts(code.core, *self._entries(changes.row()))

    def _entries(self, kept: list[int] | None = None) -> tuple[Entries, Entries]:
        """Terms and seeds of all values, or of those that are kept, in their order."""
        numbers = range(self._values.numel()) if kept is None else kept
        place = {value: source for source, value in enumerate(numbers)}
        d, offset, terms, seeds = self.directions, 0, [], []
        plain = self.arguments[4].numel() - d.intervals
        for matrix, of_rate in zip(self._matrices, (1, 0, None)):
            for value, (row, column) in enumerate(zip(*matrix.sparsity().get_triplet()), offset):
                if value not in place:
                    continue
                if of_rate is not None:
                    terms.append((place[value], row, column, of_rate))
                elif column >= len(d.u):
                    seeds.append((place[value], row, d.column_of("p", d.p[column - len(d.u)]), -1))
                else:
                    for i in range(max(d.intervals, 1)):
                        slot = plain + i if d.intervals else -1
                        seeds.append((place[value], row, d.column_of("u", d.u[column], i), slot))
            offset += matrix.nnz()
        return terms, seeds

    # -- at points ---------------------------------------------------------------------------------------------

    def left(self, point: list[np.ndarray], rates: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F, and F_x' S' + F_w S + F_θ, at a point (t, x', x, z, u, p), with S' and S as given."""
        own, values = self._slopes.core(*point)
        out = np.zeros((self.unknowns, self.directions.count))
        terms, seeds = self._entries()
        for source, row, column, of_rate in terms:
            out[row] += values[source] * (rates if of_rate else columns)[column]
        for source, row, column, slot in seeds:
            out[row, column] += values[source] * (point[4][slot] if slot >= 0 else 1.0)
        return own, out
