"""The equations of rest of a system as expressions, and what marks special points, compiled when they are asked for.

What marks a fold, a Hopf point or a branch point is added as further equations, whose exact derivatives come from the
expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_MATRIX
from daedalus.analysis.points.complete_point import Entry
from daedalus.compilation import Compiled, compile_function
from daedalus.model.expressions import concatenate
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System


class RestForms:
    """F(t, 0, x, z, u, p) = 0 in y = (x, z) and the `active` entries a of u and p; `held` makes the rows square.

    held: combinations of the rows that are independent, directions that they leave free in shares of sizes, and where
    these stay; None for the rows as they are.
    """

    def __init__(self, system: System, active: Sequence[Entry], held: tuple[np.ndarray, ...] | None = None) -> None:
        self.system, self.active = system, tuple(active)
        self.nx, self.n = system.sizes["x"], system.sizes["x"] + system.sizes["z"]
        self._symbols()
        self._g = self.rest
        if held is not None:
            joined, directions, place = (ca.DM(part) for part in held)
            self._g = ca.vertcat(joined @ self.rest, directions @ (self._y - place))

    def _symbols(self) -> None:
        system = self.system
        self._rates = ca.SX.sym("rates", self.nx)
        self._y, self._a = ca.SX.sym("y", self.n), ca.SX.sym("a", len(self.active))
        self._c = [ca.SX.sym(letter, system.sizes.get(letter, 1)) for letter in "tup"]
        given = {"u": ca.SX(self._c[1]), "p": ca.SX(self._c[2])}
        for k, (letter, entry) in enumerate(self.active):
            given[letter][entry] = self._a[k]
        rows = concatenate([system.residual, *system.invariants.values()])
        whole = ca.Function("rows", system.symbols(), [rows])
        x, z = self._y[: self.nx], self._y[self.nx :]
        self._moving = whole(self._c[0], self._rates, x, z, given["u"], given["p"])
        self.rest = ca.substitute(self._moving, self._rates, ca.SX.zeros(self.nx))
        self.own = int(system.residual.numel())

    @cached_property
    def slopes(self) -> ca.Function:
        """∂F/∂y of all rows."""
        return ca.Function("slopes", [self._y, self._a, *self._c], [ca.jacobian(self.rest, self._y)])

    # -- functions ---------------------------------------------------------------------------------------------

    @cached_property
    def branch(self) -> CompiledEquations:
        """G(y, a) = 0 in Y = (y, a)."""
        return CompiledEquations(self._g, ca.vertcat(self._y, self._a), self._c)

    @cached_property
    def fold(self) -> CompiledEquations:
        """G = 0, G_y q = 0, d·q = 1 in Y = (y, q, a), d given: G. Moore and A. Spence 1980."""
        q, d = ca.SX.sym("q", self.n), ca.SX.sym("d", self.n)
        rows = ca.vertcat(self._g, ca.jtimes(self._g, self._y, q), ca.dot(d, q) - 1)
        return CompiledEquations(rows, ca.vertcat(self._y, q, self._a), [*self._c, d])

    @cached_property
    def hopf(self) -> CompiledEquations:
        """G = 0, (F_y + iω F_x') q = 0, d·q = 1 in Y = (y, Re q, Im q, ω, a), d = (Re d, Im d) given."""
        n = self.n
        real, imaginary, omega = ca.SX.sym("qr", n), ca.SX.sym("qi", n), ca.SX.sym("w")
        d = ca.SX.sym("d", 2 * n)
        own, moving = self.rest[: self.own], self._moving[: self.own]
        rates = ca.jacobian(moving, self._rates)
        rates = ca.substitute(rates, self._rates, ca.SX.zeros(self.nx))
        rows = ca.vertcat(
            self._g,
            ca.jtimes(own, self._y, real) - omega * (rates @ imaginary[: self.nx]),
            ca.jtimes(own, self._y, imaginary) + omega * (rates @ real[: self.nx]),
            ca.dot(d[:n], real) + ca.dot(d[n:], imaginary) - 1,
            ca.dot(d[:n], imaginary) - ca.dot(d[n:], real),
        )
        return CompiledEquations(rows, ca.vertcat(self._y, real, imaginary, omega, self._a), [*self._c, d])

    @cached_property
    def double_zero(self) -> CompiledEquations:
        """G = 0, F_y q = 0, F_y r + F_x' q = 0, d·q = 1, d·r = 0 in Y = (y, q, r, a): a double zero eigenvalue."""
        q, r, d = (ca.SX.sym(name, self.n) for name in "qrd")
        own = self.rest[: self.own]
        rates = ca.jacobian(self._moving[: self.own], self._rates)
        rates = ca.substitute(rates, self._rates, ca.SX.zeros(self.nx))
        chain = ca.jtimes(own, self._y, r) + rates @ q[: self.nx]
        rows = ca.vertcat(self._g, ca.jtimes(own, self._y, q), chain, ca.dot(d, q) - 1, ca.dot(d, r))
        return CompiledEquations(rows, ca.vertcat(self._y, q, r, self._a), [*self._c, d])

    @cached_property
    def crossing(self) -> CompiledEquations:
        """G + β ψ = 0, G_yᵀ ψ = 0, G_a·ψ = 0, ψ·ψ = 1 in Y = (y, a, ψ, β): where branches cross, β = 0."""
        psi, beta = ca.SX.sym("psi", self.n), ca.SX.sym("beta")
        by_y = ca.jtimes(self._g, self._y, psi, True)
        by_a = ca.jtimes(self._g, self._a, psi, True)
        rows = ca.vertcat(self._g + beta * psi, by_y, by_a, ca.dot(psi, psi) - 1)
        return CompiledEquations(rows, ca.vertcat(self._y, self._a, psi, beta), self._c)

    @cached_property
    def linear(self) -> Compiled:
        """∂F/∂x' and ∂F/∂y of all rows, full."""
        by_rates = ca.substitute(ca.jacobian(self._moving, self._rates), self._rates, ca.SX.zeros(self.nx))
        rows = [ca.densify(by_rates), ca.densify(ca.jacobian(self.rest, self._y))]
        return compile_function(ca.Function("linear", [self._y, self._a, *self._c], [ca.densify(row) for row in rows]))

    @cached_property
    def second(self) -> Compiled:
        """Second derivatives of all rows along two directions."""
        first, second = self._directions("d"), self._directions("e")
        form = self._along(self._along(self._moving, first), second)
        return self._form("second", form, [first, second])

    @cached_property
    def third(self) -> Compiled:
        """Third derivatives of all rows along three directions."""
        first, second, third = self._directions("d"), self._directions("e"), self._directions("f")
        form = self._along(self._along(self._along(self._moving, first), second), third)
        return self._form("third", form, [first, second, third])

    def _directions(self, name: str) -> ca.SX:
        return ca.SX.sym(name, self.nx + self.n + len(self.active))

    def _along(self, expression: ca.SX, direction: ca.SX) -> ca.SX:
        return ca.jtimes(expression, ca.vertcat(self._rates, self._y, self._a), direction)

    def _form(self, name: str, form: ca.SX, directions: list[ca.SX]) -> Compiled:
        form = ca.substitute(form, self._rates, ca.SX.zeros(self.nx))
        arguments = [self._y, self._a, *self._c, *directions]
        return compile_function(ca.Function(name, arguments, [ca.densify(form)]))


class CompiledEquations:
    """R(Y; constants) and ∂R/∂Y.

    Example
    -------
    >>> import casadi as ca
    >>> Y, c = ca.SX.sym("Y", 2), ca.SX.sym("c")
    >>> circle = CompiledEquations(ca.sumsqr(Y) - c, Y, [c])
    >>> value, slopes = circle([3.0, 4.0], [24.0])
    >>> float(value[0]), slopes.tolist()
    (1.0, [[6.0, 8.0]])
    """

    def __init__(self, residual: ca.SX, unknowns: ca.SX, constants: list[ca.SX]) -> None:
        slopes = ca.jacobian(residual, unknowns)
        pattern = slopes.sparsity()
        self.shape, self.size = pattern.shape, int(unknowns.numel())
        self._rows, self._ends = (np.array(part, dtype=np.int32) for part in (pattern.row(), pattern.colind()))
        self._columns = np.repeat(np.arange(self.size), np.diff(self._ends))
        self._function = compile_function(
            ca.Function("equations", [unknowns, *constants], [ca.densify(residual), slopes])
        )

    def __call__(self, unknowns: Any, *constants: Any) -> tuple[np.ndarray, Any]:
        """The residual and its Jacobian: a full matrix of a small system, a sparse one of a large one."""
        value, entries = self._function(unknowns, *constants)
        if self.size <= FULL_MATRIX:
            full = np.zeros(self.shape)
            full[self._rows, self._columns] = entries
            return value, full
        from scipy.sparse import csc_matrix

        return value, csc_matrix((entries, self._rows, self._ends), shape=self.shape)
