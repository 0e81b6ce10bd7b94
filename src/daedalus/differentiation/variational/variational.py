"""The variational equations: a system x' = f(t, x, u, p) together with its sensitivities, as one right-hand side.

    S' = f_x S + f_θ                                        S = ∂x/∂θ,  V = (S, ∂u/∂θ, ∂p/∂θ)
    W_jk' = f_x W_jk + V_jᵀ f'' V_k                         W_jk = ∂²x/∂θ_j ∂θ_k, stored for j <= k

f_x is formed once and multiplied with all columns, so that a call costs the right-hand side, its Jacobian and a sparse
product. Entries of S and W that stay zero by structure are left out. Reference: E. Hairer, S. P. Nørsett, G. Wanner,
Solving Ordinary Differential Equations I, section I.14; for second order A. Barrio, Sensitivity analysis of ODEs/DAEs
using the Taylor series method, SIAM J. Sci. Comput. 27 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from daedalus.differentiation.directions import Directions
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm


@dataclass(frozen=True, eq=False)
class Layout:
    """Where a row, S and W stand in the augmented state y: the row first, then the entries of S and of W row by row.

    A row is x, or (x, z, x') where those have no formulas; S and W are its derivatives.
    """

    n: int  # states
    first: np.ndarray  # (width, m) bool: which entries of S are kept
    second: np.ndarray  # (width, pairs) bool: which entries of W are kept; no pairs at first order
    pairs: tuple[np.ndarray, np.ndarray]  # j <= k of every pair

    @property
    def width(self) -> int:
        """The number of entries of a row."""
        return len(self.first)

    @cached_property
    def places(self) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """Rows and columns of the kept entries of S and of W."""
        return np.nonzero(self.first), np.nonzero(self.second)

    @property
    def size(self) -> int:
        """The number of entries of y."""
        return self.width + len(self.places[0][0]) + len(self.places[1][0])

    def packed(self, row: np.ndarray, S: np.ndarray, W: np.ndarray) -> np.ndarray:
        """y of numbers: a row (width,), S (width, m), W (width, pairs)."""
        return np.concatenate([row, S[self.places[0]], W[self.places[1]]])

    def packed_symbols(self, x: ca.SX, S: ca.SX, W: ca.SX) -> ca.SX:
        """y of expressions."""
        parts = [x]
        for matrix, (rows, columns) in zip((S, W), self.places):
            flat = ca.vec(ca.densify(matrix))  # by columns
            parts.append(flat[(rows + matrix.size1() * columns).tolist()] if len(rows) else ca.SX(0, 1))
        return ca.densify(ca.vertcat(*parts))

    def states(self, y: np.ndarray) -> np.ndarray:
        """x, (times, n)."""
        return y[:, : self.n]

    def rows(self, y: np.ndarray) -> np.ndarray:
        """The rows, (times, width)."""
        return y[:, : self.width]

    def sensitivities(self, y: np.ndarray) -> np.ndarray:
        """S, (times, width, m)."""
        rows, columns = self.places[0]
        out = np.zeros((len(y), *self.first.shape))
        out[:, rows, columns] = y[:, self.width : self.width + len(rows)]
        return out

    def curvatures(self, y: np.ndarray) -> np.ndarray:
        """W as full symmetric blocks, (times, width, m, m)."""
        m = self.first.shape[1]
        rows, columns = self.places[1]
        j, k = self.pairs[0][columns], self.pairs[1][columns]
        out = np.zeros((len(y), self.width, m, m))
        values = y[:, self.width + len(self.places[0][0]) :]
        out[:, rows, j, k] = values
        out[:, rows, k, j] = values
        return out


class Variational:
    """The augmented system of one set of directions as expressions of (t, y, u and the grid's weights, p)."""

    def __init__(self, system: System, form: ExplicitForm, directions: Directions, order: int, full: bool) -> None:
        self.system, self.form, self.directions, self.order = system, form, directions, order
        self.t, self.x, self.u, self.p = system.symbols(("t", "x", "u", "p"))
        self.weights = ca.SX.sym("w", directions.intervals)
        self.row = self.x
        self.v = ca.vertcat(self.x, self.u, self.p)
        self._bends = [ca.hessian(form.xdot[i], self.v)[0] for i in range(form.xdot.numel())] if order == 2 else []
        m = directions.count
        self.pairs = np.triu_indices(m) if order == 2 else (np.zeros(0, int), np.zeros(0, int))
        self.layout = self._layout(full)
        self.y = ca.SX.sym("y", self.layout.size)
        self.S, self.W = self._unpacked()

    @cached_property
    def _slopes(self) -> ca.SX:
        """f_v."""
        return ca.jacobian(self.form.xdot, self.v)

    # -- the augmented state -----------------------------------------------------------------------------------

    def _layout(self, full: bool) -> Layout:
        n, m = self.x.numel(), self.directions.count
        if full:
            return Layout(n, np.ones((n, m), bool), np.ones((n, len(self.pairs[0])), bool), self.pairs)
        slopes = _pattern(self._slopes.sparsity())
        seeds = np.zeros((self.v.numel(), m), bool)
        for letter, offset in (("u", n), ("p", n + self.u.numel())):
            columns = self.directions.columns(letter)
            members = getattr(self.directions, letter)
            if members:
                rows = offset + np.resize(members, columns.stop - columns.start)
                seeds[rows, np.arange(columns.start, columns.stop)] = True
        begun = _product(slopes, seeds)
        begun[list(self.directions.x), np.arange(n + m)[self.directions.columns("x")]] = True
        first = _reached(slopes[:, :n], begun)
        seeds[:n] = first
        second = np.zeros((n, len(self.pairs[0])), bool)
        if self.order == 2:
            for i, bend in enumerate(self._bends):
                second[i] = _product(_product(seeds.T, _pattern(bend.sparsity())), seeds)[self.pairs]
            second = _reached(slopes[:, :n], second)
        return Layout(n, first, second, self.pairs)

    def _unpacked(self) -> tuple[ca.SX, ca.SX]:
        n, offset, out = self.x.numel(), self.x.numel(), []
        for shape, (rows, columns) in zip(((n, self.directions.count), (n, len(self.pairs[0]))), self.layout.places):
            # CasADi's nonzeros stand column by column.
            order = np.lexsort((rows, columns))
            pattern = ca.Sparsity.triplet(*shape, rows[order].tolist(), columns[order].tolist())
            out.append(ca.SX(pattern, self.y[(offset + order).tolist()]) if len(rows) else ca.SX(*shape))
            offset += len(rows)
        return out[0], out[1]

    def seeds(self, S: ca.SX) -> ca.SX:
        """V = (S, ∂u/∂θ, ∂p/∂θ): how (x, u, p) change with every direction."""
        return ca.vertcat(S, given_seeds(self.directions, self.u, self.p, self.weights))

    # -- expressions -------------------------------------------------------------------------------------------

    @property
    def arguments(self) -> list[ca.SX]:
        """(t, y, u with the weights of the grid, p)."""
        return [self.t, self.y, ca.vertcat(self.u, self.weights), self.p]

    def on_state(self, expression: ca.SX) -> ca.SX:
        """An expression of x as one of y."""
        return ca.substitute(expression, self.x, self.y[: self.x.numel()])

    @cached_property
    def rhs(self) -> ca.SX:
        """y' as an expression of the arguments."""
        n = self.x.numel()
        V = self.seeds(self.S)
        S_rate = ca.mtimes(self._slopes, V)
        W_rate = ca.SX(n, len(self.pairs[0]))
        if self.order == 2:
            W_rate = ca.mtimes(self._slopes[:, :n], self.W) + self.bend(self._bends, V)
        return self.on_state(self.layout.packed_symbols(self.form.xdot, S_rate, W_rate))

    def tolerances(self, atol: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Absolute tolerances of y: those of x, divided by the sizes of what is varied."""
        j, k = self.pairs
        m, n = len(sizes), len(atol)
        first = atol[:, None] / sizes[None, :]
        second = atol[:, None] / (sizes[j] * sizes[k])[None, :] if len(j) else np.zeros((n, 0))
        return self.layout.packed(atol, first.reshape(n, m), second)

    def bend(self, hessians: list[ca.SX], V: ca.SX) -> ca.SX:
        """V_jᵀ H_i V_k of every row i and every pair j <= k."""
        return bent(hessians, V, self.pairs)


def given_seeds(directions: Directions, u: ca.SX, p: ca.SX, weights: ca.SX) -> ca.SX:
    """∂(u, p)/∂θ: how inputs, with the weights of the grid, and parameters change with every direction."""
    d = directions
    inputs, parameters = ca.SX(u.numel(), d.count), ca.SX(p.numel(), d.count)
    for i in range(max(d.intervals, 1)):
        for k in d.u:
            inputs[k, d.column_of("u", k, i)] = weights[i] if d.intervals else 1
    for k in d.p:
        parameters[k, d.column_of("p", k)] = 1
    return ca.vertcat(inputs, parameters)


def bent(hessians: list[ca.SX], V: ca.SX, pairs: tuple[np.ndarray, np.ndarray]) -> ca.SX:
    """V_jᵀ H_i V_k of every row i and every pair j <= k."""
    rows = [_chosen(ca.mtimes(V.T, ca.mtimes(hessian, V)), pairs) for hessian in hessians]
    return ca.vertcat(*rows) if rows else ca.SX(0, len(pairs[0]))


def _chosen(matrix: ca.SX, pairs: tuple[np.ndarray, np.ndarray]) -> ca.SX:
    """The entries of a square matrix at the pairs, as a sparse row."""
    m = matrix.size1()
    flat = ca.reshape(matrix, 1, m * m)
    return flat[0, [int(j + k * m) for j, k in zip(*pairs)]]


def _product(one: Any, other: Any) -> np.ndarray:
    """The pattern of the product of two matrices with these patterns: of the few entries that fields have."""
    return (csr_array(one, dtype=float) @ csr_array(other, dtype=float)).toarray() > 0


def _reached(slopes: csr_array, begun: np.ndarray) -> np.ndarray:
    """Which states (n,) move where those that `begun` (n, columns) marks do, through all rates."""
    n, columns = begun.shape
    moves = block_array([[csr_array(slopes.T), None], [csr_array(begun.T), csr_array((columns, columns), dtype=bool)]])
    graph = moves.astype(float).tocsr()
    out = np.zeros((n, columns), bool)
    for j in range(columns):
        order = breadth_first_order(graph, n + j, return_predecessors=False)
        out[order[order < n], j] = True
    return out


def _pattern(sparsity: ca.Sparsity) -> csr_array:
    """A sparsity as an array with ones."""
    rows, columns = sparsity.get_triplet()
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=sparsity.shape)
