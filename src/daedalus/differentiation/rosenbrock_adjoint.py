"""The discrete adjoint of Rosenbrock steps: their linear systems transposed, the derivative of their matrix included.

    A k_i = r_i = -F(t_i, v_i, W_i) - h γ_i F_t,    A = F_x'/(h γ) + F_w at the beginning,    w⁺ = w + Σ m_j k_j
    W_i = w + Σ a_ij k_j,    v_i = -Σ c_ij k_j / h

A change of A and F_t moves k_i by -A⁻¹ (dA k_i + h γ_i dF_t), so that with Aᵀ κ_i = k̄_i, from the last stage down,

    k̄_j = m_j λ - Σ_i (a_ij F_wᵀ - c_ij F_x'ᵀ / h) κ_i
    λ ← λ - Σ_i F_wᵀ κ_i - ∂/∂w Σ_i κ_iᵀ (A k_i + h γ_i F_t),    and so for u and p

with second derivatives of F along k_i only (A. Sandu, D. N. Daescu, G. R. Carmichael, Direct and adjoint sensitivity
analysis of chemical kinetic systems with KPP, Atmospheric Environment 37, 2003; M. Schlegel, W. Marquardt, R. Ehrig,
U. Nowak, Sensitivity analysis of linearly-implicit differential-algebraic systems by one-step extrapolation, Applied
Numerical Mathematics 48, 2004). Steps taken again begin with z and x' solved for, so λ belongs to x between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.case import Case
from daedalus.errors import SolverError
from daedalus.reduction.explicit_form import ExplicitForm
from daedalus.simulation.implicit_plant import ARGUMENTS, ImplicitPlant
from daedalus.simulation.projection import projection
from daedalus.simulation.tableaux.rosenbrock_tables import RosenbrockTable, rosenbrock_table

# Matrices up to this size are factorised as full ones.
LARGEST_FULL = 100
Solve = Callable[[np.ndarray, bool], np.ndarray]


class Step(NamedTuple):
    """One step taken again: where it begins, its length, inputs at the stages and their slope, and its stages."""

    t: float
    h: float
    row: np.ndarray
    inputs: np.ndarray
    slope: np.ndarray
    solve: Solve
    k: np.ndarray


class RosenbrockPullback:
    """Steps of one system by one Rosenbrock method, pulled back; functions are compiled once."""

    def __init__(self, plant: ImplicitPlant, table: RosenbrockTable, projected: bool) -> None:
        self.plant, self.system, self.table = plant, plant.system, table
        self._residual, self._jacobian = (function.core for function in plant.functions)
        patterns = [matrix.sparsity().get_triplet() for matrix in plant.jacobians]
        self._places = [(np.array(rows, int), np.array(columns, int)) for rows, columns in patterns]
        symbols = {letter: self.system.symbol(letter) for letter in ARGUMENTS}
        weights = ca.SX.sym("weights", self.system.residual.numel())
        whole = [symbols[letter] for letter in ARGUMENTS]
        self._pull = self._gradients("residual_pullback", ca.dot(weights, self.system.residual), [*whole, weights])
        self._bend = self._matrix_pullback(symbols, whole, weights)
        self._moved: Compiled | None = None
        moved = projection(self.system, ExplicitForm(symbols["xdot"], symbols["z"])) if projected else None
        if moved is not None:
            along = ca.SX.sym("along", symbols["x"].numel())
            self._moved = self._gradients("moved_pullback", ca.dot(along, moved), [*whole, along])

    def _gradients(self, name: str, scalar: ca.SX, arguments: list[ca.SX]) -> Compiled:
        """The gradients of a scalar by x', x, z, u and p."""
        letters = [self.system.symbol(letter) for letter in ARGUMENTS[1:]]
        parts = [ca.densify(ca.gradient(scalar, letter)) if letter.numel() else ca.SX(0, 1) for letter in letters]
        return compile_function(ca.Function(name, arguments, parts))

    def _matrix_pullback(self, symbols: dict[str, ca.SX], whole: list[ca.SX], weights: ca.SX) -> Compiled:
        """∂/∂(x', x, z, u, p) of κᵀ (A k + h γ_i F_t): F_t is taken with x' = 0, as the core does."""
        F, n = self.system.residual, symbols["x"].numel()
        w = ca.vertcat(symbols["x"], symbols["z"])
        k, slope = ca.SX.sym("k", w.numel()), ca.SX.sym("udot", symbols["u"].numel())
        by_rate, by_time = ca.SX.sym("by_rate"), ca.SX.sym("by_time")
        product = ca.jtimes(F, w, k) + by_rate * ca.jtimes(F, symbols["xdot"], k[:n])
        drift = ca.jacobian(F, symbols["t"]) + ca.mtimes(ca.jacobian(F, symbols["u"]), slope)
        drift = ca.substitute(drift, symbols["xdot"], ca.DM.zeros(n))
        scalar = ca.dot(weights, ca.densify(product + by_time * drift))
        return self._gradients("matrix_pullback", scalar, [*whole, weights, k, slope, by_rate, by_time])

    def steps(
        self, case: Case, times: np.ndarray, rows: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of the last state as those of the first, of the inputs of each step, and of the parameters."""
        inputs, slopes = _stage_inputs(case, times, self.table.alpha)
        by_inputs, by_parameters = np.zeros((len(times) - 1, inputs.shape[2])), np.zeros(len(case.p))
        for j in reversed(range(len(times) - 1)):
            step = self._taken(float(times[j]), float(times[j + 1] - times[j]), rows[j], inputs[j], slopes[j], case.p)
            weights, by_inputs[j], of_p = self._pulled(step, case.p, weights)
            by_parameters += of_p
        return weights, by_inputs, by_parameters

    def _taken(self, t: float, h: float, row: np.ndarray, inputs: np.ndarray, slope: np.ndarray, p: np.ndarray) -> Step:
        """The stages of a step once more."""
        table, n = self.table, self.system.sizes["x"]
        w, rate, none = row[:-n], row[-n:], np.zeros(n)
        dot, whole = self._matrices(t, rate, w, inputs[0], p)
        dot[:, :n] /= h * table.gamma[0]
        solve = _factorised(dot + whole, t)
        drift = self.plant.drift.core(np.array([t]), none, w[:n], w[n:], inputs[0], p, slope)[0]
        k = np.zeros((len(table.alpha), len(w)))
        for i in range(len(k)):
            v, W = -(table.c[i, :i] @ k[:i, :n]) / h, w + table.a[i, :i] @ k[:i]
            F = self._residual(np.array([t + table.alpha[i] * h]), v, W[:n], W[n:], inputs[i], p)[0]
            k[i] = solve(-F - h * table.gamma[i] * drift, False)
        return Step(t, h, row, inputs, slope, solve, k)

    def _matrices(
        self, t: float, rate: np.ndarray, w: np.ndarray, u: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """F_x', with columns of zeros for z, and F_w."""
        n, size = len(rate), len(w)
        values = self._jacobian(np.array([t]), rate, w[:n], w[n:], u, p)
        out = []
        for places, nonzeros in zip(self._places, values):
            full = np.zeros((size, size))
            full[places] = nonzeros
            out.append(full)
        return out[0], out[1]

    def _pulled(self, step: Step, p: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of x behind a step as those of x before it, of its inputs and of the parameters."""
        table, n, (t, h, row, inputs, slope, solve, k) = self.table, self.system.sizes["x"], step
        stages, w = len(k), row[:-n]
        of_u, of_p, pulled = np.zeros(inputs.shape[1]), np.zeros(len(p)), np.zeros_like(k)
        of_w, of_rate = np.concatenate([weights, np.zeros(len(w) - n)]), np.zeros(n)
        last = -(table.c[-1] @ k[:, :n]) / h
        if self._moved is not None:
            end, rate = w + table.end @ k, k[-1, :n] / (h * table.gamma[0]) + last
            parts = self._moved.core(np.array([t + h]), rate, end[:n], end[n:], inputs[-1], p, weights)
            of_rate, of_w = parts[0], np.concatenate(parts[1:3])
            of_u, of_p = of_u + parts[3], of_p + parts[4]
        pulled += np.outer(table.end, of_w)
        pulled[:, :n] -= np.outer(table.c[-1], of_rate) / h
        pulled[-1, :n] += of_rate / (h * table.gamma[0])
        of_rate = np.zeros(n)
        for i in reversed(range(stages)):
            kappa = solve(pulled[i], True)
            v, W = -(table.c[i, :i] @ k[:i, :n]) / h, w + table.a[i, :i] @ k[:i]
            time = np.array([t + table.alpha[i] * h])
            by_v, by_x, by_z, by_u, by_p = self._pull.core(time, v, W[:n], W[n:], inputs[i], p, kappa)
            by_W = np.concatenate([by_x, by_z])
            pulled[:i] -= np.outer(table.a[i, :i], by_W)
            pulled[:i, :n] += np.outer(table.c[i, :i], by_v) / h
            factors = np.array([1 / (h * table.gamma[0])]), np.array([h * table.gamma[i]])
            bent = self._bend.core(np.array([t]), row[-n:], w[:n], w[n:], inputs[0], p, kappa, k[i], slope, *factors)
            of_w = of_w - by_W - np.concatenate(bent[1:3])
            of_rate = of_rate - bent[0]
            of_u, of_p = of_u - by_u - bent[3], of_p - by_p - bent[4]
        return self._through_start(step, p, of_w, of_rate, of_u, of_p)

    def _through_start(
        self, step: Step, p: np.ndarray, of_w: np.ndarray, of_rate: np.ndarray, of_u: np.ndarray, of_p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z and x' at the beginning of a step follow from x: [F_x' F_z]ᵀ ν = their weights."""
        n, t, row, u = self.system.sizes["x"], step.t, step.row, step.inputs[0]
        if not (np.any(of_w[n:]) or np.any(of_rate)):
            return of_w[:n], of_u, of_p
        dot, whole = self._matrices(t, row[-n:], row[:-n], u, p)
        both = np.concatenate([dot[:, :n], whole[:, n:]], axis=1)
        multipliers = _factorised(both, t)(np.concatenate([of_rate, of_w[n:]]), True)
        parts = self._pull.core(np.array([t]), row[-n:], row[:n], row[n:-n], u, p, multipliers)
        return of_w[:n] - parts[1], of_u - parts[3], of_p - parts[4]


def _factorised(matrix: np.ndarray, t: float) -> Solve:
    """Solves of a matrix and of its transpose, by one factorisation."""
    from scipy.linalg.lapack import dgetrf, dgetrs
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    if len(matrix) <= LARGEST_FULL:
        lu, pivots, failed = dgetrf(matrix)
        if failed:
            raise _singular(t)
        return lambda right, transposed: dgetrs(lu, pivots, right, trans=int(transposed))[0]
    try:
        sparse = splu(csc_matrix(matrix))
    except RuntimeError:
        raise _singular(t) from None
    return lambda right, transposed: sparse.solve(right, "T" if transposed else "N")


def _singular(t: float) -> SolverError:
    return SolverError(
        "The stages of a step cannot be solved again.",
        f"the matrix of the step at t = {t:.6g} is singular",
        because="the equations do not determine all unknowns there.",
        remedy='dd.analyse(m) at this point, or method="radau5"',
    )


def _stage_inputs(case: Case, times: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inputs at the stages of each step, (steps, stages, nu), and their slopes, (steps, nu).

    No step crosses a time of a table, so that within one they are constant or a straight line, known from inside it.
    """
    lengths, middle = np.diff(times), 0.5 * (times[1:] + times[:-1])
    nu = case.system.sizes["u"]
    if not case.drive.tables or not nu:
        return np.tile(case.drive.constants, (len(middle), len(alpha), 1)), np.zeros((len(middle), nu))
    before, after = case.drive.at(middle - lengths / 4), case.drive.at(middle + lengths / 4)
    change = (after - before) * 2
    shares = alpha[None, :, None] - 0.5
    return case.drive.at(middle)[:, None, :] + change[:, None, :] * shares, change / lengths[:, None]


def rosenbrock_pullback_of(case: Case) -> RosenbrockPullback:
    """The pullback of a system by the Rosenbrock method of a case, made once."""
    plant, projected = case.plant, "projection" in case.settings.call
    assert isinstance(plant, ImplicitPlant)
    prepared, key = case.system.prepared, ("rosenbrock pullback", case.method, projected)
    with case.system.lock:
        if key not in prepared:
            prepared[key] = RosenbrockPullback(plant, rosenbrock_table(case.method), projected)
    return prepared[key]
