"""Coefficients of normal forms at folds of cycles, period doublings and torus points, for equations as written.

The motion beside the orbit u is expanded in the amplitude ξ of the critical motion v and put into F(t, x', x, z) = 0:

    x = u(θ) + ξ v(θ) + ξ² h(θ) + …,   θ' = 1 + κ ξ + a ξ² + …,   ξ' = b ξ² or c ξ³,

with v(T) = μ v(0), μ the multiplier that is 1, -1 or on the unit circle. Every order is a linear problem on the mesh of
the orbit; its solvability gives the coefficient, as the last unknowns of a bordered system. For x' = f(x) these are
the forms of Y. A. Kuznetsov, W. Govaerts, E. J. Doedel and A. Dhooge, SIAM J. Numer. Anal. 43 (2005), 1407-1435.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.studies.collocation import STAGES
from daedalus.studies.orbits.orbit_equations import OrbitEquations, OrbitValues


class MotionBeside(NamedTuple):
    """A motion beside the orbit: x on the mesh (N + 1, n), and x', x, z at the Gauss points (points, ·)."""

    mesh: np.ndarray
    rates: np.ndarray
    x: np.ndarray
    z: np.ndarray

    def direction(self, more: np.ndarray | float = 0.0) -> np.ndarray:
        """(x' + more, x, z) at the points."""
        return np.hstack([self.rates + more, self.x, self.z])

    def conj(self) -> MotionBeside:
        """The complex conjugate."""
        return MotionBeside(*(part.conj() for part in self))

    def scaled(self, factor: float) -> MotionBeside:
        """The same motion, so many times as large."""
        return MotionBeside(*(factor * part for part in self))


def _compiled(system: System) -> Compiled:
    """F along one direction, its second derivative along two and its third along three, of (x', x, z)."""
    arguments = system.symbols()
    moved = ca.vertcat(*arguments[1:4])
    directions = [ca.SX.sym(name, moved.numel()) for name in "def"]
    forms, form = [], system.residual
    for direction in directions:
        form = ca.jtimes(form, moved, direction)
        forms.append(ca.densify(form))
    return compile_function(ca.Function("beside", [*arguments, *directions], forms))


class CycleForm:
    """The linear problems beside one orbit."""

    def __init__(self, equations: OrbitEquations, orbit: OrbitValues) -> None:
        self.equations, self.orbit = equations, orbit
        self.collocation = equations.problem.collocation
        self.rows = equations.interval_rows(orbit)
        self.times = equations.times(orbit.period)
        self.n, self.q, self.N = self.collocation.n, self.collocation.rows, equations.intervals
        self._vectors = equations._stage_vectors(orbit)
        self._forms = once(equations.problem.system, _compiled)
        weights = np.diff(equations.mesh)[:, None] * self.collocation.b
        self.weights = weights.ravel()
        self.flow = orbit.values.rates.reshape(-1, self.n)
        self.flow_on_mesh = np.vstack([orbit.values.rates[:, 0], orbit.values.rates[:1, 0]])

    # -- derivatives -------------------------------------------------------------------------------------------

    def form(self, *directions: np.ndarray) -> np.ndarray:
        """The derivative of the equations at all points along one, two or three directions, which may be complex."""
        total = np.zeros((len(self.flow), self.q), complex)
        parts = [[(part, unit) for part, unit in ((d.real, 1.0), (d.imag, 1j)) if np.any(part)] for d in directions]
        self._add(total, parts, [], 1.0)
        return total

    def _add(self, total: np.ndarray, parts: list[Any], chosen: list[np.ndarray], factor: complex) -> None:
        if len(chosen) == len(parts):
            empty = [np.zeros_like(chosen[0])] * (3 - len(chosen)) if chosen else []
            given = [np.ascontiguousarray(d, dtype=float) for d in (*chosen, *empty)]
            total += factor * self._forms.core.evaluate_many(*self._vectors, *given)[len(chosen) - 1]
            return
        for part, unit in parts[len(chosen)]:
            self._add(total, parts, [*chosen, part], factor * unit)

    def pushed(self, rates: np.ndarray) -> np.ndarray:
        """∂F/∂x' times something at all points."""
        rest = np.zeros((len(rates), self.n + self.collocation.m))
        return self.form(np.hstack([rates, rest]))

    # -- linear problems ---------------------------------------------------------------------------------------

    def solved(
        self, multiplier: complex, right: np.ndarray, columns: Sequence[np.ndarray] = (),
        normal: Sequence[np.ndarray] = (), values: Sequence[float] = (),
    ) -> tuple[MotionBeside, np.ndarray]:  # fmt: skip
        """h and numbers s: L h + Σ s · column = right at the points, h(T) = multiplier · h(0), normal · h = values."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.linalg import splu

        block, N, n = self.rows.block, self.N, self.n
        height, width, e = block.shape[1], self.collocation.width, len(columns)
        last = N * width
        first = np.arange(N)[:, None, None]
        rows = np.broadcast_to(first * height + np.arange(height)[None, :, None], block.shape)
        places = np.broadcast_to(first * width + np.arange(width + n)[None, None, :], block.shape)
        own, at_points = np.arange(n), (np.arange(N)[:, None] * height + np.arange(height - n)).ravel()
        data = [block.ravel(), np.ones(n), np.full(n, -multiplier), *(column.ravel() for column in columns)]
        where = [rows.ravel(), N * height + own, N * height + own, *([at_points] * e)]
        which = [places.ravel(), last + own, own, *(np.full(len(at_points), last + n + k) for k in range(e))]
        on_mesh = (np.arange(N + 1)[:, None] * width + own).ravel()
        for k, weights in enumerate(normal):
            data.append((weights.conj() / self.equations.size_x**2).ravel())
            where.append(np.full(len(on_mesh), N * height + n + k))
            which.append(on_mesh)
        size = last + n + e
        entries = np.concatenate([np.asarray(part, dtype=complex) for part in data])
        matrix = coo_matrix((entries, (np.concatenate(where), np.concatenate(which))), (size, size))
        whole = np.zeros(size, complex)
        whole[at_points] = right.ravel()
        whole[N * height + n :] = values if len(values) else 0.0
        v = splu(matrix.tocsc()).solve(whole)
        inner = v[:last].reshape(N, width)
        stages = inner[:, n:].reshape(N, STAGES, self.q)
        x = np.vstack([inner[:, :n], v[last : last + n]])
        h = np.diff(self.times)[:, None, None]
        inside = x[:-1, None] + h * np.einsum("jl,iln->ijn", self.collocation.A, stages[:, :, :n])
        found = MotionBeside(
            x, stages[:, :, :n].reshape(-1, n), inside.reshape(-1, n), stages[:, :, n:].reshape(N * STAGES, self.q - n)
        )
        return found, v[last + n :]

    def unit(self, v: MotionBeside) -> MotionBeside:
        """The same motion with |v|² of mean one, the largest state at the beginning growing."""
        mean = float(np.sum(self.weights[:, None] * np.abs(v.x) ** 2))
        first = v.mesh[0] / self.equations.size_x
        sign = 1.0 if np.iscomplexobj(v.x) and np.any(v.x.imag) else np.sign(first[np.argmax(np.abs(first))].real) or 1
        return v.scaled(sign / np.sqrt(mean))

    def critical(self, multiplier: complex) -> tuple[MotionBeside, complex]:
        """The motion that comes back multiplied, and its multiplier on the unit circle."""
        product, _ = self.equations.monodromy(self.orbit)
        found, vectors = np.linalg.eig(product / self.equations.size_x[:, None] * self.equations.size_x)
        k = int(np.argmin(np.abs(found - multiplier)))
        first = vectors[:, k] * self.equations.size_x
        own = found[k] / abs(found[k])
        weights = np.zeros((self.N + 1, self.n), complex)
        weights[0] = first
        # Bordered by a column out of reach of the others: what is missing at the points to close with |μ| = 1.
        column = self.pushed(np.repeat(first[None], len(self.flow), axis=0))
        length = float(np.sum(np.abs(first / self.equations.size_x) ** 2))
        v, _ = self.solved(own, np.zeros((len(self.flow), self.q)), [column], [weights], [length])
        return self.unit(v), own

    # -- coefficients ------------------------------------------------------------------------------------------

    def fold(self) -> float:
        """b of ξ' = b ξ²."""
        guess = self.equations.direction_of(self.orbit, 1.0).x.astype(complex)
        moved = self.rows.by_moved[..., 0].reshape(-1, self.q)
        nothing = np.zeros((len(self.flow), self.q))
        length = float(np.sum(np.abs(guess / self.equations.size_x) ** 2))
        if self.equations.problem.driven:
            v = self.unit(self.solved(1.0, nothing, [moved], [guess], [length])[0])
            right = -0.5 * self.form(v.direction(), v.direction())
            return float(self.solved(1.0, right, [self.pushed(v.x)], [v.mesh])[1][0].real)
        flow, along = self.pushed(self.flow), self.flow_on_mesh.astype(complex)
        found, numbers = self.solved(1.0, nothing, [flow, moved], [along, guess], [0.0, length])
        v = self.unit(found)
        kappa = float(numbers[0].real * np.sum(np.abs(v.x)) / np.sum(np.abs(found.x)))
        kappa *= float(np.sign(np.sum((v.x * found.x).real)))
        V = v.direction(kappa * self.flow)
        right = -0.5 * self.form(V, V) - kappa * self.pushed(v.rates)
        return float(self.solved(1.0, right, [flow, self.pushed(v.x)], [along, v.mesh])[1][1].real)

    def cubic(self, multiplier: complex) -> float:
        """Re c of ξ' = c ξ |ξ|², multipliers -1 or a pair on the unit circle."""
        v, own = self.critical(multiplier)
        V = v.direction()
        is_real = abs(own.imag) < 1e-9
        even = 0.5 * self.form(V, V) if is_real else self.form(V, V.conj())
        a, flow = 0.0, np.zeros_like(self.flow)
        if self.equations.problem.driven:
            h, _ = self.solved(1.0, -even)
        else:
            h, numbers = self.solved(1.0, -even, [self.pushed(self.flow)], [self.flow_on_mesh.astype(complex)])
            a, flow = float(numbers[0].real), self.flow
        terms = self.form(V, h.direction(a * flow)) + a * self.pushed(v.rates)
        if is_real:
            terms = terms + self.form(V, V, V) / 6
        else:
            double, _ = self.solved(own**2, -0.5 * self.form(V, V))
            terms = terms + self.form(V.conj(), double.direction()) + 0.5 * self.form(V, V, V.conj())
        return float(self.solved(own, -terms, [self.pushed(v.x)], [v.mesh])[1][0].real)


def cycle_coefficient(kind: str, equations: Any, orbit: OrbitValues, multipliers: np.ndarray) -> float:
    """The coefficient of a special orbit; NaN where it has none, and of models with constraints or events."""
    if not isinstance(equations, OrbitEquations) or len(equations.kept) or kind == "branch point":
        return float("nan")
    form = CycleForm(equations, orbit)
    try:
        if kind == "fold of cycles":
            return form.fold() if equations.problem.entry is not None else float("nan")
        pairs = multipliers[multipliers.imag > 1e-9 * np.abs(multipliers)]
        critical = complex(pairs[int(np.argmin(np.abs(np.abs(pairs) - 1)))]) if kind == "torus" else complex(-1.0)
        return form.cubic(critical)
    except RuntimeError:  # a singular problem: a point of higher codimension
        return float("nan")
