"""The discrete adjoint of implicit Runge–Kutta steps: transposed stage systems at the converged stages.

    F(t_i, K_i, X_i, Z_i) = 0, X_i = x + h Σ a_ij K_j, x⁺ = x + h Σ b_i K_i
    Σ_i (δ_ij [F_K F_Z]_iᵀ + h a_ij [F_X 0]_iᵀ) ν_i = -(h b_j λ, 0),    λ ← λ + Σ F_Xᵀ ν_i, and so for u and p

It is the reverse mode of `dd.flow` over steps of any length (flow_implicit.hpp), with exact stage Jacobians.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_MATRIX
from daedalus.differentiation.case import Case
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.differentiation.flow.flow_stages import stage_of
from daedalus.differentiation.steps.discrete import nominal_settings
from daedalus.differentiation.steps.residual_pullback import stage_inputs
from daedalus.differentiation.steps.sparse_adjoint import SparsePullback
from daedalus.errors import SolverError
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.plant.plants import implicit_plant_of


class ImplicitPullback:
    """Steps of one system by one tableau, pulled back."""

    def __init__(self, system: System, tableau: Tableau, kept: bool) -> None:
        self.tableau, self.system = tableau, system
        self._flow = FlowCore(system, tableau, 1.0, 1, 0.0, stage_of(system, True, True, kept))

    @cached_property
    def _core(self) -> Any:
        return self._flow.first_order

    def steps(
        self, case: Case, times: np.ndarray, rows: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of the last state as those of the first, of the inputs of each step, and of the parameters."""
        n, nz = self.system.sizes["x"], self.system.sizes["z"]
        ends = np.concatenate([rows[:, n + nz :], rows[:, n : n + nz]], axis=1)
        shares = np.asarray(self.tableau.c)[None, :, None]
        guesses = np.ascontiguousarray((1 - shares) * ends[:-1, None] + shares * ends[1:, None])
        states, (inputs, _) = (
            np.ascontiguousarray(rows[:-1, :n]),
            stage_inputs(case, times, np.append(self.tableau.c, 1)),
        )
        found = self._core.pull_back(times, states, guesses, inputs, case.p, weights)
        if not found:
            raise SolverError(
                "The stages of a step cannot be solved again.",
                f"between t = {times[0]:.6g} and t = {times[-1]:.6g}",
                because="Newton's method for the stages does not converge from the values at both ends of the step.",
                remedy="a smaller rtol, or max_step=",
            )
        return found


def implicit_pullback_of(case: Case, tableau: Tableau) -> ImplicitPullback | SparsePullback:
    """The pullback of a system by a tableau, made once."""
    return once(case.system, _pullback, tableau, nominal_settings(case).moves_by_formula)


def _pullback(system: System, tableau: Tableau, projected: bool) -> ImplicitPullback | SparsePullback:
    if tableau.stages * largest_block(system) > FULL_MATRIX:
        return SparsePullback(implicit_plant_of(system), tableau, projected)
    return ImplicitPullback(system, tableau, projected)


def largest_block(system: System) -> int:
    """The number of unknowns x' and z of the largest group that depend on each other, states standing for their x'."""
    n, size = system.sizes["x"], system.sizes["x"] + system.sizes["z"]
    plant = implicit_plant_of(system)
    places = [pair for pattern in plant.patterns for pair in zip(*pattern.get_triplet())]
    rows, columns = zip(*sorted(set(places))) if places else ((), ())
    count, _, _, _, starts, *_ = ca.Sparsity.triplet(size, size, list(rows), list(columns)).btf()
    return max((starts[b + 1] - starts[b] for b in range(count)), default=n)
