"""The discrete adjoint of implicit Runge–Kutta steps: transposed stage systems at the converged stages.

    F(t_i, K_i, X_i, Z_i) = 0, X_i = x + h Σ a_ij K_j, x⁺ = x + h Σ b_i K_i
    Σ_i (δ_ij [F_K F_Z]_iᵀ + h a_ij [F_X 0]_iᵀ) ν_i = -(h b_j λ, 0),    λ ← λ + Σ F_Xᵀ ν_i, and so for u and p

It is the reverse mode of `dd.flow` over steps of any length (flow_implicit.hpp), with exact stage Jacobians.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.discrete import nominal_settings
from daedalus.differentiation.flow_core import FlowCore
from daedalus.differentiation.flow_stages import stage_of
from daedalus.errors import SolverError
from daedalus.simulation.tableaux.tableau import Tableau


class ImplicitPullback:
    """Steps of one system by one tableau, pulled back."""

    def __init__(self, case: Case, tableau: Tableau) -> None:
        kept = "projection" in nominal_settings(case).call
        self.tableau, self.system = tableau, case.system
        self._flow = FlowCore(case.system, tableau, 1.0, 1, 0.0, stage_of(case.system, True, True, kept))

    @cached_property
    def _core(self) -> Any:
        return self._flow.first_order

    def steps(
        self, case: Case, times: np.ndarray, rows: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of the last state as those of the first, of the inputs of each step, and of the parameters."""
        n, nz = self.system.sizes["x"], self.system.sizes["z"]
        guesses = np.concatenate([rows[1:, n + nz :], rows[1:, n : n + nz]], axis=1)
        states, inputs = np.ascontiguousarray(rows[:-1, :n]), stage_inputs(case, times, self.tableau.c)
        found = self._core.pull_back(times, states, guesses, inputs, case.p, weights)
        if not found:
            raise SolverError(
                "The stages of a step cannot be solved again.",
                f"between t = {times[0]:.6g} and t = {times[-1]:.6g}",
                because="Newton's method for the stages does not arrive from the values at the end of the step.",
                remedy="a smaller rtol, or max_step=",
            )
        return found


def stage_inputs(case: Case, times: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The inputs at the stages of each step and at its end, (steps, stages + 1, nu).

    No step crosses a time of a table, so that within one they are constant or a straight line, known from inside it.
    """
    nu = case.system.sizes["u"]
    lengths, middle = np.diff(times), 0.5 * (times[1:] + times[:-1])
    if not case.drive.tables or not nu:
        return np.tile(case.drive.constants, (len(middle), len(c) + 1, 1)).reshape(len(middle), len(c) + 1, nu)
    before, after = case.drive.at(middle - lengths / 4), case.drive.at(middle + lengths / 4)
    slopes = (after - before)[:, None, :] * 2
    shares = np.append(c, 1.0)[None, :, None] - 0.5
    return np.ascontiguousarray(case.drive.at(middle)[:, None, :] + slopes * shares)


def implicit_pullback_of(case: Case, tableau: Tableau) -> ImplicitPullback:
    """The pullback of a system by a tableau, made once."""
    prepared = case.system.prepared
    key = ("implicit pullback", tableau, "projection" in nominal_settings(case).call)
    with case.system.lock:
        if key not in prepared:
            prepared[key] = ImplicitPullback(case, tableau)
    return prepared[key]
