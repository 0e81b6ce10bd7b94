"""The variational equations of 0 = F(t, x', x, z, u, p) as it is written, for models without formulas for x' and z.

    F_x' S' + F_x S + F_z S_z + F_θ = 0                          S = ∂x/∂θ, S_z = ∂z/∂θ
    F_x' W' + F_x W + F_z W_z + V_jᵀ F'' V_k = 0                 W_jk = ∂²x/∂θ_j ∂θ_k, V = ∂(x, z, x', u, p)/∂θ

With F they are one implicit system of the same index, whose matrix has the matrix of F in every diagonal block
(T. Maly, L. R. Petzold, Numerical methods and software for sensitivity analysis of differential-algebraic systems,
Applied Numerical Mathematics 20, 1996); column_equations.py says how that is used. A row is (x, z, x'), and S and W are
those of the whole row.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.differentiation.directions import Directions
from daedalus.differentiation.variational.variational import Layout, bent, given_seeds
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm


class ResidualVariational:
    """The augmented implicit system of one set of directions: unknowns X = (x, S, W), Z = (z, S_z, W_z), and X'."""

    def __init__(self, system: System, directions: Directions, order: int) -> None:
        self.system, self.directions, self.order = system, directions, order
        self.t, self.u, self.p = system.symbols(("t", "u", "p"))
        self.x, self.z, self.xdot = system.symbols(("x", "z", "xdot"))
        self.weights = ca.SX.sym("w", directions.intervals)
        # x' and z stand for themselves in an expression.
        self.form = ExplicitForm(self.xdot, self.z)
        self.row = ca.vertcat(self.x, self.z, self.xdot)
        self.v = ca.vertcat(self.row, self.u, self.p)
        self.pairs = np.triu_indices(directions.count) if order == 2 else (np.zeros(0, int), np.zeros(0, int))
        n, width, m, pairs = self.x.numel(), self.row.numel(), directions.count, len(self.pairs[0])
        self.layout = Layout(n, np.ones((width, m), bool), np.ones((width, pairs), bool), self.pairs)
        self.S, self.W = ca.SX.sym("S", width, m), ca.SX.sym("W", width, pairs)

    @cached_property
    def parts(self) -> tuple[slice, slice, slice]:
        """Where x, z and x' stand in a row."""
        n, nz = self.x.numel(), self.z.numel()
        return slice(0, n), slice(n, n + nz), slice(n + nz, 2 * n + nz)

    def unknowns(self) -> list[ca.SX]:
        """X, Z and X' as the core takes them: values, then S and W row by row."""
        own = [self.x, self.z, self.xdot]
        return [
            ca.vertcat(value, _by_rows(self.S[part, :]), _by_rows(self.W[part, :]))
            for value, part in zip(own, self.parts)
        ]

    @cached_property
    def places(self) -> np.ndarray:
        """Where the entries of y stand in a row (X, Z, X') of the core."""
        m, pairs = self.directions.count, len(self.pairs[0])
        counts, first, S, W, offset = [part.stop - part.start for part in self.parts], [], [], [], 0
        for count in counts:
            first.append(offset + np.arange(count))
            S.append(offset + count + np.arange(count * m))
            W.append(offset + count * (1 + m) + np.arange(count * pairs))
            offset += count * (1 + m + pairs)
        return np.concatenate([*first, *S, *W])

    def seeds(self, S: ca.SX) -> ca.SX:
        """V = (S, ∂u/∂θ, ∂p/∂θ): how the row, u and p change with every direction."""
        return ca.vertcat(S, given_seeds(self.directions, self.u, self.p, self.weights))

    @cached_property
    def residual(self) -> ca.SX:
        """F and its derivatives along every direction and pair of directions, each where its unknown stands."""
        F, n = self.system.residual, self.x.numel()
        slopes, V = ca.jacobian(F, self.v), self.seeds(self.S)
        parts = [F, ca.mtimes(slopes, V)]
        if self.order == 2:
            hessians = [ca.hessian(F[i], self.v)[0] for i in range(F.numel())]
            parts.append(ca.mtimes(slopes[:, : self.row.numel()], self.W) + bent(hessians, V, self.pairs))
        return ca.densify(
            ca.vertcat(*(_by_rows(part[rows, :]) for rows in (slice(0, n), slice(n, None)) for part in parts))
        )


def _by_rows(matrix: ca.SX) -> ca.SX:
    """The entries of a matrix, one row after the other."""
    return ca.vec(ca.densify(matrix).T)
