"""The equations of rest of a system, F(t, 0, x, z, u, p) = 0, as functions of the unknowns and of chosen parameters.

They are made square: rows that follow from others are joined with them, and directions that the equations leave open
(the place of a cart) are held. What marks a fold, a Hopf point or a branch point is added as further equations, whose
exact derivatives come from the expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_MATRIX, FULL_RANK, SINGULAR
from daedalus.analysis.linear.pencils.pencil import pencil
from daedalus.analysis.points.complete_point import Entry
from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.analysis.points.partial_derivatives import full_matrix
from daedalus.compilation import Compiled, compile_function
from daedalus.model.expressions import concatenate
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.model.system.system_record import LETTERS

# Where x' and z follow from x by a matrix of at most this condition, eigenvalues come from that formula.
WELL_CONDITIONED = 1e8


# What a pickle holds: expressions and functions are made again of these.
_NUMBERS = ("system", "active", "nx", "n", "constants", "y", "a", "nominal", "_joined", "free")


class RestEquations:
    """F(t, 0, x, z, u, p) = 0 near a point of rest, in y = (x, z) and the `active` entries a of u and p.

    like: equations that were made square at a general point; at a special one the rank says nothing.
    """

    def __init__(
        self, system: System, point: OperatingPoint, active: Sequence[Entry], like: RestEquations | None = None
    ) -> None:
        self.system, self.active = system, tuple(active)
        self.nx, self.n = system.sizes["x"], system.sizes["x"] + system.sizes["z"]
        vectors = point.vectors
        self.constants = [vectors["t"], vectors["u"], vectors["p"]]
        self.y = np.concatenate([vectors["x"], vectors["z"]])
        self.a = np.array([vectors[letter][k] for letter, k in self.active])
        nominal = np.concatenate([system.nominal["x"], system.nominal["z"]])
        self.nominal = np.where(nominal > 0, nominal, 1.0)
        self._symbols()
        if like is None:
            self._joined, self.free = self._ranks()
        else:
            self._joined, self.free = like._joined, like.free
        self._square()

    def _square(self) -> None:
        self._g = self._rest
        if self._joined is not None:
            held = ca.DM(self.free.T / self._sizes()) @ (self._y - ca.DM(self.y))
            self._g = ca.vertcat(ca.DM(self._joined) @ self._rest, held)

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in _NUMBERS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._symbols()
        self._square()

    def _sizes(self) -> np.ndarray:
        return np.maximum(self.nominal, np.abs(self.y))

    # -- expressions -------------------------------------------------------------------------------------------

    def _symbols(self) -> None:
        system = self.system
        self._rates = ca.SX.sym("rates", self.nx)
        self._y, self._a = ca.SX.sym("y", self.n), ca.SX.sym("a", len(self.active))
        self._c = [ca.SX.sym(letter, len(value)) for letter, value in zip("tup", self.constants)]
        given = {"u": ca.SX(self._c[1]), "p": ca.SX(self._c[2])}
        for k, (letter, entry) in enumerate(self.active):
            given[letter][entry] = self._a[k]
        rows = concatenate([system.residual, *system.invariants.values()])
        whole = ca.Function("rows", [system.symbol(letter) for letter in ("t", *LETTERS)], [rows])
        x, z = self._y[: self.nx], self._y[self.nx :]
        self._moving = whole(self._c[0], self._rates, x, z, given["u"], given["p"])
        self._rest = ca.substitute(self._moving, self._rates, ca.SX.zeros(self.nx))
        self._own = int(system.residual.numel())

    def _ranks(self) -> tuple[np.ndarray | None, np.ndarray]:
        """Independent combinations of the rows, None for the rows as they are, and directions that they leave free."""
        rows, nothing = int(self._rest.numel()), np.zeros((self.n, 0))
        if rows == self.n > FULL_RANK:
            return None, nothing
        function = ca.Function("slopes", [self._y, self._a, *self._c], [ca.jacobian(self._rest, self._y)])
        matrix = function(self.y, self.a, *self.constants).full() * self._sizes()
        scale = np.abs(matrix).max(axis=1, initial=0.0)
        scale = np.where(scale > 0, scale, 1.0)[:, None]
        left, values, right = np.linalg.svd(matrix / scale)
        rank = int(np.sum(values > SINGULAR * values[0])) if values.size else 0
        if rows == self.n == rank:
            return None, nothing
        return (left[:, :rank] / scale).T, right[rank:].T

    def all_rows(self, left: np.ndarray) -> np.ndarray:
        """A left vector of the square equations as one of all rows as they are written."""
        return left if self._joined is None else self._joined.T @ left[: len(self._joined)]

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
        own, moving = self._rest[: self._own], self._moving[: self._own]
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
        own = self._rest[: self._own]
        rates = ca.jacobian(self._moving[: self._own], self._rates)
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
    def _linear(self) -> Compiled:
        by_rates = ca.substitute(ca.jacobian(self._moving, self._rates), self._rates, ca.SX.zeros(self.nx))
        rows = [ca.densify(by_rates), ca.densify(ca.jacobian(self._rest, self._y))]
        return compile_function(ca.Function("linear", [self._y, self._a, *self._c], [ca.densify(row) for row in rows]))

    def pencil(self, y: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E and A of E δ' = A δ around a point of rest, δ = (δx, δz); all rows, those of what is kept last."""
        by_rates, by_y = self._linear(y, a, *self.constants)
        rows = int(self._rest.numel())
        E = np.zeros((rows, self.n))
        E[:, : self.nx] = by_rates.reshape(self.nx, rows).T
        return E, -by_y.reshape(self.n, rows).T

    def scales(self, y: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sizes of the equations as written, and of the unknowns."""
        E, A = self.pencil(y, a)
        size = np.maximum(self.nominal, np.abs(y))
        rows = np.maximum(np.abs(E * size).max(axis=1, initial=0.0), np.abs(A * size).max(axis=1, initial=0.0))
        return np.where(rows > 0, rows, 1.0)[: self._own], size

    def square_scales(self, y: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for the square equations; those that were joined have the size one already."""
        rows, size = self.scales(y, a)
        return (rows, size) if self._joined is None else (np.ones(self.n), size)

    def eigenvalues(self, y: np.ndarray, a: np.ndarray) -> np.ndarray:
        """The finite eigenvalues of the pencil of the equations as written."""
        E, A = self.pencil(y, a)
        return finite_eigenvalues(E[: self._own], A[: self._own], self.nx)

    @cached_property
    def _second(self) -> Compiled:
        first, second = self._directions("d"), self._directions("e")
        form = self._along(self._along(self._moving, first), second)
        return self._form("second", form, [first, second])

    @cached_property
    def _third(self) -> Compiled:
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

    def direction(self, y: np.ndarray, rate: complex = 0.0, a: np.ndarray | None = None) -> np.ndarray:
        """A direction (x', y, a) in which y moves as exp(rate t)."""
        moved = np.zeros(len(self.active)) if a is None else a
        return np.concatenate([rate * y[: self.nx], y, moved])

    def second(self, y: np.ndarray, a: np.ndarray, first: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The second derivative of all rows along two directions, which may be complex."""
        total = np.zeros(int(self._rest.numel()), complex)
        for one, factor in _parts(first):
            for two, more in _parts(other):
                total += factor * more * self._second(y, a, *self.constants, one, two)[0]
        return total

    def third(self, y: np.ndarray, a: np.ndarray, directions: Sequence[np.ndarray]) -> np.ndarray:
        """The third derivative of all rows along three directions, which may be complex."""
        total = np.zeros(int(self._rest.numel()), complex)
        for one, f in _parts(directions[0]):
            for two, g in _parts(directions[1]):
                for three, h in _parts(directions[2]):
                    total += f * g * h * self._third(y, a, *self.constants, one, two, three)[0]
        return total

    # -- points ------------------------------------------------------------------------------------------------

    def vectors(self, y: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
        """All values at a point of rest."""
        t, u, p = (np.array(value) for value in self.constants)
        found = {"t": t, "xdot": np.zeros(self.nx), "x": y[: self.nx], "z": y[self.nx :], "u": u, "p": p}
        for (letter, k), value in zip(self.active, a):
            found[letter][k] = value
        return found

    def point(self, y: np.ndarray, a: np.ndarray) -> OperatingPoint:
        """The point by name."""
        return OperatingPoint(self.system, self.vectors(y, a))


def _parts(direction: np.ndarray) -> list[tuple[np.ndarray, complex]]:
    """The real and imaginary parts that are not zero, with their factors."""
    real, imaginary = np.ascontiguousarray(direction.real), np.ascontiguousarray(direction.imag)
    parts: list[tuple[np.ndarray, complex]] = [(real, 1.0)]
    if np.iscomplexobj(direction) and np.any(imaginary):
        parts.append((imaginary, 1.0j))
    return parts


def finite_eigenvalues(E: np.ndarray, A: np.ndarray, states: int) -> np.ndarray:
    """The finite eigenvalues of s E - A, where the first columns are those of states and E has no others."""
    from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

    if E.shape[0] == E.shape[1]:
        matrix = np.hstack([E[:, :states], -A[:, states:]])
        rows = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), np.abs(A).max(axis=1, initial=0.0))
        rows = np.where(rows > 0, rows, 1.0)
        columns = np.abs(matrix / rows[:, None]).max(axis=0, initial=0.0)
        if np.all(columns > 0):
            scaled = matrix / rows[:, None] / columns
            factors, swaps, _ = dgetrf(scaled)
            reciprocal, _ = dgecon(factors, np.abs(scaled).sum(axis=0).max(initial=0.0))
            if reciprocal * WELL_CONDITIONED > 1:
                slopes, _ = dgetrs(factors, swaps, A[:, :states] / rows[:, None])
                return np.linalg.eigvals((slopes / columns[:, None])[:states])
    found = pencil(E, A)
    return np.asarray(found.finite)


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
        self.pattern = slopes.sparsity()
        self.size = int(unknowns.numel())
        self._function = compile_function(
            ca.Function("equations", [unknowns, *constants], [ca.densify(residual), slopes])
        )

    def __call__(self, unknowns: Any, *constants: Any) -> tuple[np.ndarray, Any]:
        """The residual and its Jacobian: a full matrix of a small system, a sparse one of a large one."""
        value, entries = self._function(unknowns, *constants)
        if self.size <= FULL_MATRIX:
            return value, full_matrix(self.pattern, entries)
        from scipy.sparse import csc_matrix

        return value, csc_matrix((entries, self.pattern.row(), self.pattern.colind()), shape=self.pattern.shape)
