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

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled
from daedalus.differentiation.case import Case
from daedalus.differentiation.steps.residual_pullback import (
    Entries,
    ResidualPullback,
    Solve,
    StepFactors,
    iterated_as_runs,
    stage_inputs,
)
from daedalus.integrators.tableaux.rosenbrock_coefficients import RosenbrockCoefficients, rosenbrock_coefficients
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.run.linear_way import DIRECT


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

    def __init__(self, plant: ImplicitPlant, method: RosenbrockCoefficients, projected: bool) -> None:
        self.plant, self.method, self.n = plant, method, plant.system.sizes["x"]
        self._parts = ResidualPullback(plant, projected)
        self._bend = self._matrix_pullback().core

    def _matrix_pullback(self) -> Compiled:
        """∂/∂(x', x, z, u, p) of κᵀ (A k + h γ_i F_t): F_t is taken with x' = 0, as the core does."""
        symbols, weights, F = self._parts.symbols, self._parts.weights, self.plant.system.residual
        structure = structure_of(self.plant.system)
        w = structure.symbols("x", "z")
        k, slope = ca.SX.sym("k", w.numel()), ca.SX.sym("udot", symbols["u"].numel())
        by_rate, by_time = ca.SX.sym("by_rate"), ca.SX.sym("by_time")
        product = ca.jtimes(F, w, k) + by_rate * ca.jtimes(F, symbols["xdot"], k[: self.n])
        drift = structure.slopes("t") + ca.mtimes(structure.slopes("u"), slope)
        drift = ca.substitute(drift, symbols["xdot"], ca.DM.zeros(self.n))
        scalar = ca.dot(weights, ca.densify(product + by_time * drift))
        return self._parts.gradients("matrix_pullback", scalar, [weights, k, slope, by_rate, by_time])

    def steps(
        self, case: Case, times: np.ndarray, rows: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of the last state as those of the first, of the inputs of each step, and of the parameters."""
        inputs, slopes = stage_inputs(case, times, self.method.alpha)
        by_inputs, by_parameters = np.zeros((len(times) - 1, inputs.shape[2])), np.zeros(len(case.p))
        factors = StepFactors(rows.shape[1] - self.n, iterated_as_runs(self.plant.system, DIRECT))
        at_start = StepFactors(rows.shape[1] - self.n)
        for j in reversed(range(len(times) - 1)):
            t, h = float(times[j]), float(times[j + 1] - times[j])
            step = self._taken(t, h, rows[j], inputs[j], slopes[j], case.p, factors)
            weights, by_inputs[j], of_p = self._pulled(step, case.p, weights, at_start)
            by_parameters += of_p
        return weights, by_inputs, by_parameters

    def _taken(
        self, t: float, h: float, row: np.ndarray, inputs: np.ndarray, slope: np.ndarray, p: np.ndarray,
        factors: StepFactors,
    ) -> Step:  # fmt: skip
        """The stages of a step once more."""
        method, n = self.method, self.n
        w, rate, none = row[:-n], row[-n:], np.zeros(n)
        dot, whole = self._parts.jacobians(t, rate, w, inputs[0], p)
        solve = factors.of([(dot[0], dot[1], dot[2] / (h * method.gamma[0])), whole], t)
        drift = self.plant.drift.core(np.array([t]), none, w[:n], w[n:], inputs[0], p, slope)[0]
        k = np.zeros((len(method.alpha), len(w)))
        for i in range(len(k)):
            v, W = -(method.c[i, :i] @ k[:i, :n]) / h, w + method.a[i, :i] @ k[:i]
            F = self._parts.residual(np.array([t + method.alpha[i] * h]), v, W[:n], W[n:], inputs[i], p)[0]
            k[i] = solve(-F - h * method.gamma[i] * drift, False)
        return Step(t, h, row, inputs, slope, solve, k)

    def _pulled(
        self, step: Step, p: np.ndarray, weights: np.ndarray, at_start: StepFactors
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of x behind a step as those of x before it, of its inputs and of the parameters."""
        method, n, (t, h, row, inputs, slope, solve, k) = self.method, self.n, step
        w, factor = row[:-n], 1 / (h * method.gamma[0])
        pulled, of_w, of_u, of_p = self._end(step, p, weights)
        of_rate = np.zeros(n)
        for i in reversed(range(len(k))):
            kappa = solve(pulled[i], True)
            v, W = -(method.c[i, :i] @ k[:i, :n]) / h, w + method.a[i, :i] @ k[:i]
            time = np.array([t + method.alpha[i] * h])
            by_v, by_x, by_z, by_u, by_p = self._parts.pull(time, v, W[:n], W[n:], inputs[i], p, kappa)
            by_W = np.concatenate([by_x, by_z])
            pulled[:i] -= np.outer(method.a[i, :i], by_W)
            pulled[:i, :n] += np.outer(method.c[i, :i], by_v) / h
            factors = np.array([factor]), np.array([h * method.gamma[i]])
            bent = self._bend(np.array([t]), row[-n:], w[:n], w[n:], inputs[0], p, kappa, k[i], slope, *factors)
            of_w = of_w - by_W - np.concatenate(bent[1:3])
            of_rate = of_rate - bent[0]
            of_u, of_p = of_u - by_u - bent[3], of_p - by_p - bent[4]
        return self._through_start(step, p, of_w, of_rate, of_u, of_p, at_start)

    def _end(self, step: Step, p: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """Weights of x behind a step as those of its stages, of w before it, of u and of p, projection included."""
        method, n, (t, h, row, inputs, _, _, k) = self.method, self.n, step
        of_rate, of_w = np.zeros(n), np.concatenate([weights, np.zeros(k.shape[1] - n)])
        of_u, of_p, factor = np.zeros(inputs.shape[1]), np.zeros(len(p)), 1 / (h * method.gamma[0])
        if self._parts.moved is not None:
            end, rate = row[:-n] + method.end @ k, factor * k[-1, :n] - (method.c[-1] @ k[:, :n]) / h
            parts = self._parts.moved(np.array([t + h]), rate, end[:n], end[n:], inputs[-1], p, weights)
            of_rate, of_w, of_u, of_p = parts[0], np.concatenate(parts[1:3]), parts[3], parts[4]
        pulled = np.outer(method.end, of_w)
        pulled[:, :n] -= np.outer(method.c[-1], of_rate) / h
        pulled[-1, :n] += factor * of_rate
        return pulled, of_w, of_u, of_p

    def _through_start(
        self, step: Step, p: np.ndarray, of_w: np.ndarray, of_rate: np.ndarray, of_u: np.ndarray, of_p: np.ndarray,
        at_start: StepFactors,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """z and x' at the beginning of a step follow from x: [F_x' F_z]ᵀ ν = their weights."""
        n, t, row, u = self.n, step.t, step.row, step.inputs[0]
        if not (np.any(of_w[n:]) or np.any(of_rate)):
            return of_w[:n], of_u, of_p
        dot, whole = self._parts.jacobians(t, row[-n:], row[:-n], u, p)
        of_z = whole[1] >= n
        by_z: Entries = (whole[0][of_z], whole[1][of_z], whole[2][of_z])
        multipliers = at_start.of([dot, by_z], t)(np.concatenate([of_rate, of_w[n:]]), True)
        parts = self._parts.pull(np.array([t]), row[-n:], row[:n], row[n:-n], u, p, multipliers)
        return of_w[:n] - parts[1], of_u - parts[3], of_p - parts[4]


def rosenbrock_pullback_of(case: Case) -> RosenbrockPullback:
    """The pullback of a system by the Rosenbrock method of a case, made once."""
    plant, projected = case.plant, case.settings.moves_by_formula
    assert isinstance(plant, ImplicitPlant)
    return once(case.system, _pullback, plant, case.method, projected)


def _pullback(system: System, plant: ImplicitPlant, method: str, projected: bool) -> RosenbrockPullback:
    return RosenbrockPullback(plant, rosenbrock_coefficients(method), projected)
