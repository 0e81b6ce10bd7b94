"""One sampling interval of an estimator: where a state goes, with which derivative, and the noise gathered on the way.

x₊ = φ(x, u)      Φ = ∂φ/∂x      Q₊ = ∫ Φ(t₁, τ) Q Φ(t₁, τ)ᵀ dτ      (Simpson's rule, with Φ(t₁, τ) = Φ(t₁) Φ(τ)⁻¹)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.simulation.plant.plants import plant_of

# A measurement may lead far off the constraints; each correction squares what is left.
CORRECTIONS = 6


class Propagated(NamedTuple):
    """The end of an interval, its derivative by the beginning, and the covariance of the noise gathered."""

    x: np.ndarray
    transition: np.ndarray
    noise: np.ndarray


class Propagation:
    """The model of an estimator: runs over intervals, outputs with derivatives, and the way onto its constraints."""

    def __init__(
        self, model: Model | System, outputs: Sequence[str], every: float, start: Any, options: Mapping[str, Any]
    ) -> None:
        self.model, self.outputs, self.every = model, list(outputs), every
        self.options = {"rtol": 1e-8, "atol": 1e-10, **options}
        first = self._run(0.0, None if start is None else start, None)
        self.system, self._samples = first.system, first.at(0.0)
        if self._samples._augmented.layout.width != self.system.sizes["x"]:
            raise InputError(
                "The estimator needs formulas for its algebraic variables.",
                f"{self.system.name} has equations that are solved at each step",
                remedy="dd.eliminate, or dd.reduce with another choice",
            )
        self.start, self.tangent = np.array(self._samples.value), first.projector
        self.labels = {"x": self.system.labels["x"], "u": self.system.labels["u"]}
        self._projection = plant_of(self.system).projection
        self._seen = [self._samples._followed(name) for name in self.outputs]

    def _run(self, t: float, start: object, inputs: Mapping[str, object] | None) -> Sensitivities:
        given = {**self.options.get("inputs", {}), **(inputs or {})}
        rest = {name: value for name, value in self.options.items() if name != "inputs"}
        return sensitivities(self.model, (t, t + self.every), wrt="start", start=start, inputs=given or None, **rest)

    def over(self, t: float, x: np.ndarray, u: np.ndarray | None, density: np.ndarray) -> Propagated:
        """What becomes of x, with inputs held, and what noise of a spectral density adds."""
        inputs = None if u is None else dict(zip(self.labels["u"], np.asarray(u, dtype=float).tolist()))
        sens = self._run(t, dict(zip(self.labels["x"], x.tolist())), inputs)
        whole, half = sens.M, sens.at(t + 0.5 * self.every).M
        second = whole @ np.linalg.pinv(half)
        parts = (whole @ density @ whole.T, second @ density @ second.T, density)
        noise = self.every / 6 * (parts[0] + 4 * parts[1] + parts[2])
        return Propagated(np.array(sens.value), whole, noise)

    def measured(self, t: float, x: np.ndarray, u: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The outputs at a state, below each other, and their derivative by it."""
        point = self._point(t, x, u)
        found = [what._all(point) for what in self._seen]
        n = len(x)
        return np.concatenate([v[0] for v, _ in found]), np.concatenate([s[0][:, :n] for _, s in found])

    def kept(self, t: float, x: np.ndarray, u: np.ndarray | None) -> np.ndarray:
        """The state moved onto the constraints and invariants of the model, the norm of a quaternion among them."""
        if self._projection is None:
            return x
        times, rows, inputs, p = self._point(t, x, u)
        for _ in range(CORRECTIONS):
            moved = self._projection.core.evaluate_many(times[:, None], rows, inputs, p)[0]
            if not np.all(np.isfinite(moved)):
                return x
            settled = np.allclose(moved, rows, rtol=0, atol=1e-15)
            rows = moved
            if settled:
                break
        return np.array(rows[0])

    def _point(self, t: float, x: np.ndarray, u: np.ndarray | None) -> tuple[np.ndarray, ...]:
        case = self._samples._case
        inputs = case.drive.at(np.array([t])) if u is None else np.atleast_2d(np.asarray(u, dtype=float))
        return np.array([t]), np.atleast_2d(x), inputs, case.p
