"""The equations of a stage as numbers: rates and unknowns at many instants at once, beside the program."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.newton_steps import full_newton, newton_of_many
from daedalus.algebra.rank_decision import NOT_ZERO, ROUNDING
from daedalus.model.expressions import concatenate, elements
from daedalus.model.lazy_values import cached_property
from daedalus.optimisation.transcription.along_rows import AlongRows
from daedalus.optimisation.transcription.inputs_at_points import given_values
from daedalus.optimisation.transcription.problem_stage import ProblemStage

# Corrections of z at a guess, which double the digits.
NEWTON_STEPS = 8
# Inputs and unknowns that do the same, such as a force along a cable and the tension in it, share what they do evenly:
# this part of the squares is large beside rounding errors, and what it takes from the rest the next step gives back.
UNSETTLED = 1e-8
# Where slopes at a guess are no numbers, as of |F| at zero, inputs begin beside it by about this part of their sizes.
BESIDE_GUESS = 0.1


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
    def _rates(self) -> AlongRows:
        return AlongRows(self._arguments, [self.stage.rates])

    @cached_property
    def _equations(self) -> AlongRows:
        g = self.stage.equations
        return AlongRows(self._arguments, [g, ca.jacobian(g, self.stage.unknowns.symbols)])

    @cached_property
    def _inverse(self) -> AlongRows:
        """Rates of the model and equations, with their derivatives by inputs, held and linear, and unknowns."""
        stage, n = self.stage, self.stage.model_states
        together = concatenate([*elements(stage.rates)[:n], stage.equations])
        held = elements(stage.inputs.symbols)[: len(stage.constant)]
        linear = elements(stage.states.symbols)[n : n + len(stage.linear)]
        chosen = concatenate([*held, *linear, stage.unknowns.symbols])
        return AlongRows(self._arguments, [together, ca.jacobian(together, chosen)])

    def rates(self, *instants: np.ndarray) -> np.ndarray:
        """f at instants."""
        return self._rates(*instants)[0]

    def surroundings(self, length: float, parameters: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, ...]:
        """Given inputs, parameters, duration and shares of the instants at some shares of a duration."""
        description, count = self.stage.description, len(shares)
        given = given_values(description, self.stage.given_positions, description.begin + length * shares)
        return given, np.tile(parameters, (count, 1)), np.full((count, 1), length), shares[:, None]

    def solved_unknowns(self, *instants: np.ndarray) -> np.ndarray:
        """The unknowns for which g = 0, from the given ones by Newton's method; rows that fail stay as they are."""
        x, z, *rest = instants
        size = self.stage.unknowns.size
        if not size:
            return z

        def equations(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            g, jacobian = self._equations(x, rows, *rest)
            return g, jacobian.reshape(len(g), size, g.shape[1]).transpose(0, 2, 1)

        found, _ = newton_of_many(equations, z, most=NEWTON_STEPS, tolerance=ROUNDING)
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
        scale = np.concatenate([stage.inputs.nominal[: held + linear], stage.unknowns.nominal])
        target = np.concatenate([wanted, np.zeros((len(wanted), stage.equations.numel()))], axis=1)
        places = np.cumsum([held, linear])

        def spread(row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            inputs, states = u.copy(), x.copy()
            inputs[:, :held], states[:, n : n + linear], unknowns = np.split(row, places, axis=1)
            return states, unknowns, inputs

        def correction(row: np.ndarray) -> np.ndarray | None:
            value, jacobian = self._inverse(*spread(row), *rest)
            matrices = jacobian.reshape(len(x), len(scale), len(weight)).transpose(0, 2, 1) * weight[:, None] * scale
            left = (target - value) * weight
            if not (np.isfinite(matrices).all() and np.isfinite(left).all()):
                return None
            normal = matrices.transpose(0, 2, 1) @ matrices
            size = np.trace(normal, axis1=1, axis2=2)[:, None, None]
            normal += (UNSETTLED * size + NOT_ZERO) * np.eye(len(scale))
            return np.asarray(np.linalg.solve(normal, matrices.transpose(0, 2, 1) @ left[..., None])[..., 0] * scale)

        def length(step: np.ndarray, row: np.ndarray) -> float:
            return float(np.abs(step).max(initial=0.0) / max(np.abs(row).max(initial=0.0), NOT_ZERO))

        begin = np.concatenate([u[:, :held], x[:, n : n + linear], z], axis=1)
        if correction(begin) is None:  # |F| has no slope at zero
            begin = begin + BESIDE_GUESS * scale * (1.0 + np.arange(len(scale)) / len(scale))
        x, z, u = spread(full_newton(correction, begin, length, most=4, tolerance=UNSETTLED).values)
        return x, z, u
