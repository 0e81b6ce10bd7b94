"""One interval of an estimator: where a state goes, with which derivative, and the noise gathered on the way.

x₊ = φ(x, u)      Φ = ∂φ/∂x      Q₊ = ∫ Φ(t₁, τ) Q Φ(t₁, τ)ᵀ dτ      (Simpson's rule, with Φ(t₁, τ) = Φ(t₁) Φ(τ)⁻¹)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.errors import InputError
from daedalus.estimation.held_flow import held_flow
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.simulation.plant.plants import plant_of

# A measurement may lead far off the constraints; each correction squares what is left.
CORRECTIONS = 6
SETTLED = 1e-15


class Propagated(NamedTuple):
    """The end of an interval, its derivative by the beginning, and the covariance of the noise gathered."""

    x: np.ndarray
    transition: np.ndarray
    noise: np.ndarray


class Propagation:
    """The model of an estimator: runs over intervals, outputs with derivatives, and the way onto its constraints.

    Inputs are held over an interval, and it is a map of fixed steps in the core; models with events or driven by
    signals are run with their sensitivities.
    """

    def __init__(
        self, model: Model | System, outputs: Sequence[str], every: float, start: Any, options: Mapping[str, Any]
    ) -> None:
        self.model, self.every, self.options = model, every, {"rtol": 1e-8, "atol": 1e-10, **options}
        first = self._run(0.0, every, None if start is None else start, None)
        self.system, samples = first.system, first.at(0.0)
        if samples._augmented.layout.width != self.system.sizes["x"]:
            raise InputError(
                "The estimator needs formulas for its algebraic variables.",
                f"{self.system.name} has equations that are solved at each step",
                remedy="dd.eliminate, or dd.reduce with another choice",
            )
        self.start, self.tangent = np.array(samples.value), first.projector
        self.labels = {"x": self.system.labels["x"], "u": self.system.labels["u"]}
        self._case = samples._case
        self._flow = held_flow(self._case)
        projection = plant_of(self.system).projection
        self._projection = None if projection is None else projection.core
        self._outputs = self._compiled([samples._followed(name).function for name in outputs])

    def _compiled(self, each: Sequence[ca.Function]) -> Any:
        """Outputs below each other and their derivative by the state, as one compiled function of (t, x, u, p)."""
        arguments = [ca.SX.sym(letter, self.system.sizes[letter]) for letter in ("x", "u", "p")]
        arguments = [ca.SX.sym("t"), *arguments]
        found = [function(*arguments) for function in each]
        n = self.system.sizes["x"]
        values = ca.vertcat(*(pair[0] for pair in found))
        slopes = ca.vertcat(*(pair[1][:, :n] for pair in found))
        # By rows, as the core reads matrices.
        outputs = [ca.densify(values), ca.vec(ca.densify(slopes).T)]
        return compile_function(ca.Function("measured", arguments, outputs)).core

    def _run(self, t: float, length: float, start: object, inputs: Mapping[str, object] | None) -> Sensitivities:
        given = {**self.options.get("inputs", {}), **(inputs or {})}
        rest = {name: value for name, value in self.options.items() if name != "inputs"}
        return sensitivities(self.model, (t, t + length), wrt="start", start=start, inputs=given or None, **rest)

    def carried(
        self, t: float, length: float, x: np.ndarray, covariance: np.ndarray, u: np.ndarray | None, density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A state and its covariance at the end of an interval, with noise of a spectral density on the way."""
        if length == 0.0:
            return x, covariance
        if self._flow is not None:
            return self._flow.carry(t, length, x, self._held(t, u), covariance, density)
        ahead = self.over(t, length, x, u, density)
        return ahead.x, ahead.transition @ covariance @ ahead.transition.T + ahead.noise

    def over(self, t: float, length: float, x: np.ndarray, u: np.ndarray | None, density: np.ndarray) -> Propagated:
        """What becomes of x, with inputs held, and what noise of a spectral density adds."""
        if length == 0.0:
            return Propagated(x, np.eye(len(x)), np.zeros_like(density))
        if self._flow is not None:
            end, first, second = self._flow.halves(t, length, x, self._held(t, u))
            whole = second @ first
        else:
            inputs = None if u is None else dict(zip(self.labels["u"], np.asarray(u, dtype=float).tolist()))
            sens = self._run(t, length, dict(zip(self.labels["x"], x.tolist())), inputs)
            end, whole = np.array(sens.value), sens.M
            second = whole @ np.linalg.pinv(sens.at(t + 0.5 * length).M)
        parts = (whole @ density @ whole.T, second @ density @ second.T, density)
        return Propagated(end, whole, length / 6 * (parts[0] + 4 * parts[1] + parts[2]))

    def measured(self, t: float, x: np.ndarray, u: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The outputs at a state, below each other, and their derivative by it."""
        values, slopes = self._outputs(np.array([t]), x, self._held(t, u), self._case.p)
        return values, slopes.reshape(len(values), len(x))

    def kept(self, t: float, x: np.ndarray, u: np.ndarray | None) -> np.ndarray:
        """The state moved onto the constraints and invariants of the model, the norm of a quaternion among them."""
        if self._projection is None:
            return x
        at, held, row = np.array([[t]]), self._held(t, u)[None, :], x[None, :]
        for _ in range(CORRECTIONS):
            moved = self._projection.evaluate_many(at, row, held, self._case.p)[0]
            change = float(np.abs(moved - row).max())
            if not np.isfinite(change):
                return x
            row = moved
            if change <= SETTLED:
                break
        return np.array(row[0])

    def _held(self, t: float, u: np.ndarray | None) -> np.ndarray:
        return self._case.u_at(t) if u is None else u
