"""The equations of a stage as numbers: rates and unknowns at many instants at once, beside the program."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements
from daedalus.optimisation.transcription.problem_stage import ProblemStage

NEWTON_STEPS = 8


class StageFunctions:
    """f and g of a stage at K instants; arrays have one row an instant.

    An instant is (states, unknowns, inputs, given, parameters, duration, share).
    """

    def __init__(self, stage: ProblemStage) -> None:
        self.stage = stage
        s = stage
        self._arguments = [
            s.states.symbols, s.unknowns.symbols, s.inputs.symbols, s.given, s.parameters, s.length, s.share,
        ]  # fmt: skip

    @cached_property
    def _rates(self) -> ca.Function:
        return ca.Function("rates", self._arguments, [self.stage.rates])

    @cached_property
    def _equations(self) -> ca.Function:
        g = self.stage.equations
        jacobian = ca.densify(ca.jacobian(g, self.stage.unknowns.symbols))
        return ca.Function("equations", self._arguments, [g, ca.vec(jacobian)])

    @cached_property
    def _inverse(self) -> ca.Function:
        """Rates of the model and equations, with their derivatives by inputs, held and linear, and unknowns."""
        stage, n = self.stage, self.stage.model_states
        together = concatenate([*elements(stage.rates)[:n], stage.equations])
        held = elements(stage.inputs.symbols)[: len(stage.constant)]
        linear = elements(stage.states.symbols)[n : n + len(stage.linear)]
        chosen = concatenate([*held, *linear, stage.unknowns.symbols])
        return ca.Function("inverse", self._arguments, [together, ca.vec(ca.densify(ca.jacobian(together, chosen)))])

    def rates(self, *instants: np.ndarray) -> np.ndarray:
        """f at instants."""
        return np.asarray(self._rates(*(part.T for part in instants)).full().T)

    def solved_unknowns(self, *instants: np.ndarray) -> np.ndarray:
        """The unknowns for which g = 0, from the given ones by Newton's method; rows that fail stay as they are."""
        x, z, *rest = instants
        size = self.stage.unknowns.size
        if not size:
            return z
        found = z.copy()
        for _ in range(NEWTON_STEPS):
            g, jacobian = (part.full().T for part in self._equations(x.T, found.T, *(part.T for part in rest)))
            if not np.isfinite(g).all() or np.abs(g).max() < 1e-12:
                break
            matrices = jacobian.reshape(len(g), size, g.shape[1]).transpose(0, 2, 1)
            try:
                found = found - np.linalg.solve(matrices, g[..., None])[..., 0]
            except np.linalg.LinAlgError:
                break
        good = np.isfinite(found).all(axis=1)
        return np.where(good[:, None], found, z)

    def inverse_dynamics(self, wanted: np.ndarray, *instants: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States, unknowns and inputs whose rates come near the wanted ones, (instants, model states).

        A few Gauss-Newton steps move held inputs, linear ones among the states, and unknowns.
        """
        stage = self.stage
        x, z, u, *rest = (part.copy() for part in instants)
        n, held, linear = stage.model_states, len(stage.constant), len(stage.linear)
        weight = np.concatenate([1.0 / stage.states.nominal[:n], np.full(stage.equations.numel(), 10.0)])
        scale = np.concatenate([stage.inputs.nominal, stage.unknowns.nominal])
        target = np.concatenate([wanted, np.zeros((len(wanted), stage.equations.numel()))], axis=1)
        for _ in range(4):
            value, jacobian = (p.full().T for p in self._inverse(x.T, z.T, u.T, *(part.T for part in rest)))
            matrices = jacobian.reshape(len(x), len(scale), len(weight)).transpose(0, 2, 1) * weight[:, None] * scale
            left = (target - value) * weight
            if not (np.isfinite(matrices).all() and np.isfinite(left).all()):
                break
            normal = matrices.transpose(0, 2, 1) @ matrices + 1e-9 * np.eye(len(scale))
            step = np.linalg.solve(normal, matrices.transpose(0, 2, 1) @ left[..., None])[..., 0] * scale
            u[:, :held] += step[:, :held]
            x[:, n : n + linear] += step[:, held : held + linear]
            z += step[:, held + linear :]
        return x, z, u
