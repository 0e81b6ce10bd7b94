"""The fixed-step map of a system in the core: patterns in, values and derivatives out, before CasADi sees it."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.differentiation.flow.flow_directions import INPUTS, FlowDirections, StageDependence, block_arguments
from daedalus.differentiation.flow.flow_stages import Stage, stage_of, written_is_shorter
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.plant.projection import CORRECTIONS


class FlowCore:
    """The map x⁺ = φ(x, u, p) of `steps` steps of length `step`, with its derivatives.

    `first`, `second` and `tensors` give arrays over the directions `labels(parameters)`; an empty step fails with None.
    """

    def __init__(
        self, system: System, tableau: Tableau, step: float, steps: int, t0: float, stage: Stage | None = None
    ) -> None:
        self.system, self.tableau = system, tableau
        self.step, self.steps, self.t0 = float(step), int(steps), float(t0)
        self.stage: Stage = _stage_for(system, tableau) if stage is None else stage
        self.dependence = dependence_of(self.stage)

    @cached_property
    def core(self) -> Any:
        """The core's own object, without full tensors."""
        return _core.Flow(self._arguments(self.directions, False))

    @cached_property
    def first_order(self) -> Any:
        """The core's own object without second derivatives: values, first derivatives and `pull_back`."""
        directions = tuple(FlowDirections(self.dependence, parameters, False) for parameters in (False, True))
        return _core.Flow(self._arguments(directions, False))

    @cached_property
    def _core_with_tensors(self) -> Any:
        return _core.Flow(self._arguments(self.directions, True))

    @cached_property
    def directions(self) -> tuple[FlowDirections, FlowDirections]:
        """Directions without and with the parameters."""
        return FlowDirections(self.dependence, False), FlowDirections(self.dependence, True)

    def _arguments(self, directions: tuple[FlowDirections, ...], with_tensors: bool) -> dict[str, Any]:
        stage, system, sizes = self.stage, self.system, self.stage.sizes
        guess = np.zeros(sizes["x"] + sizes["z"])
        guess[sizes["x"] :] = np.nan_to_num(system.start["z"])[: sizes["z"]]
        return {
            "n": sizes["x"],
            "nu": sizes["u"],
            "np": sizes["p"],
            "nz": sizes["z"],
            "implicit": stage.implicit,
            "stages": self.tableau.stages,
            "steps": self.steps,
            "corrections": CORRECTIONS,
            "t0": self.t0,
            "step": self.step,
            "A": self.tableau.A.ravel().tolist(),
            "b": self.tableau.b.tolist(),
            "c": self.tableau.c.tolist(),
            "guess": guess.tolist(),
            "nominal": [*system.nominal["x"].tolist(), *system.nominal["z"].tolist()],
            "blocks": block_arguments(self.dependence.blocks),
            "directions": [along.core_arguments(with_tensors) for along in directions],
        }

    # -- numbers -----------------------------------------------------------------------------------------------

    def value(self, x: Any, u: Any, p: Any) -> np.ndarray | None:
        """x⁺, or None where the step failed."""
        found = self.core.evaluate("value", x, u, p, self._zero)
        return found[0] if found else None

    def first(self, x: Any, u: Any, p: Any, parameters: bool = False) -> tuple[np.ndarray, np.ndarray] | None:
        """x⁺ (n,) and ∂x⁺/∂(x, u[, p]) (n, directions)."""
        found = self.core.evaluate("first", x, u, p, self._zero, parameters)
        return (found[0], self._in_order(found[1], parameters)) if found else None

    def second(
        self, x: Any, u: Any, p: Any, multipliers: Any, parameters: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """x⁺, ∂x⁺/∂(x, u[, p]), λᵀ∂x⁺/∂(x, u, p) and λᵀ∇²φ (directions, directions)."""
        found = self.core.evaluate("second", x, u, p, multipliers, parameters)
        if not found:
            return None
        value, jacobian, adjoint, hessian = found
        return value, self._in_order(jacobian, parameters), adjoint, self._symmetric(hessian[None], parameters)[0]

    def tensors(
        self, x: Any, u: Any, p: Any, parameters: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """x⁺, ∂x⁺/∂(x, u[, p]) and all second derivatives (n, directions, directions).

        Explicit maps without projection take one loop over the stages, others one contraction a state.
        """
        if self.has_tensor_loop:
            found = self._core_with_tensors.evaluate("tensors", x, u, p, self._zero, parameters)
            if not found:
                return None
            value, jacobian, blocks = found
            flat = blocks.reshape(len(value), -1)
            return value, self._in_order(jacobian, parameters), self._symmetric(flat, parameters)
        parts = [self.second(x, u, p, row, parameters) for row in np.eye(self.stage.sizes["x"])]
        if any(part is None for part in parts) or not parts:
            return None
        value, jacobian = parts[0][:2]  # type: ignore[index]
        return value, jacobian, np.array([part[3] for part in parts])  # type: ignore[index]

    @cached_property
    def has_tensor_loop(self) -> bool:
        """Whether full second derivatives come from one loop over the stages."""
        stage = self.stage
        return not stage.implicit and stage.projection(False) is None and bool(stage.tensor(True)[0])

    def time_per_call(self, part: str, x: Any, u: Any, p: Any, repetitions: int) -> float:
        """Seconds of one evaluation along x and u, from a loop in the core.

        part: "value", "first", "reverse", "second" or "tensors".
        """
        core = self._core_with_tensors if part == "tensors" else self.core
        seed = np.linspace(1.0, 2.0, self.stage.sizes["x"])
        return core.time_per_call(part, x, u, p, seed, repetitions=repetitions)

    @cached_property
    def _zero(self) -> np.ndarray:
        return np.zeros(self.stage.sizes["x"])

    def _in_order(self, flat: np.ndarray, parameters: bool) -> np.ndarray:
        along = self.directions[parameters]
        result = np.empty((self.stage.sizes["x"], len(along.order)))
        result[:, along.order] = flat.reshape(-1, along.lanes)[:, : len(along.order)]
        return result

    def _symmetric(self, flat: np.ndarray, parameters: bool) -> np.ndarray:
        along = self.directions[parameters]
        count, active = len(along.order), along.order[: along.active]
        blocks = flat.reshape(len(flat), along.active_lanes, along.active_lanes)[:, : along.active, : along.active]
        upper = np.triu(blocks)
        result = np.zeros((len(flat), count, count))
        result[np.ix_(range(len(flat)), active, active)] = upper + np.triu(blocks, 1).transpose(0, 2, 1)
        return result

    # -- patterns for CasADi -----------------------------------------------------------------------------------

    def jacobian_pattern(self, letter: str) -> ca.Sparsity:
        """The pattern of ∂x⁺/∂(letter)."""
        return pattern_of(self.dependence.state[:, self.directions[1].columns(letter)])

    def second_pattern(self, first: str, second: str) -> ca.Sparsity:
        """The pattern of a block of λᵀ∇²φ."""
        columns = self.directions[1].columns
        return pattern_of(self.dependence.second[np.ix_(columns(first), columns(second))])

    def shapes(self) -> list[tuple[list[ca.Sparsity], list[ca.Sparsity], list[str], list[str]]]:
        """Patterns and names of inputs and outputs: the map, its Jacobian, its reverse mode, the Jacobian of that."""
        size = self.stage.sizes
        plain = {letter: ca.Sparsity.dense(size[letter], 1) for letter in INPUTS}
        state, unused = plain["x"], {letter: ca.Sparsity(size[letter], 1) for letter in INPUTS}
        inputs, given = list(plain.values()), list(INPUTS)
        names = [f"adj_{letter}" for letter in INPUTS]
        reverse_in, reverse_names = [*inputs, unused["x"], state], [*given, "out_x_next", "adj_x_next"]
        second, second_names = [], []
        for first in INPUTS:
            second += [self.second_pattern(first, other) for other in INPUTS]
            second += [ca.Sparsity(size[first], size["x"]), self.jacobian_pattern(first).T]
            second_names += [f"jac_adj_{first}_{name}" for name in reverse_names]
        jacobians = [self.jacobian_pattern(letter) for letter in INPUTS]
        return [
            (inputs, [state], given, ["x_next"]),
            ([*inputs, unused["x"]], jacobians, [*given, "out_x_next"], [f"jac_x_next_{k}" for k in INPUTS]),
            (reverse_in, inputs, reverse_names, names),
            ([*reverse_in, *unused.values()], second, [*reverse_names, *(f"out_{k}" for k in names)], second_names),
        ]


def _stage_for(system: System, tableau: Tableau) -> Stage:
    """The stage of a tableau: k = f, or a residual, of the formulas or as the equations are written."""
    implicit = not tableau.is_explicit
    return stage_of(system, implicit, implicit and written_is_shorter(system))


def dependence_of(stage: Stage) -> StageDependence:
    """The dependence of a stage's variables, found once and kept with the system."""
    return once(stage.system, _dependence, *stage.key)


def _dependence(system: System, implicit: bool, written: bool, kept: bool) -> StageDependence:
    return StageDependence(stage_of(system, implicit, written, kept))


def pattern_of(mask: np.ndarray) -> ca.Sparsity:
    """The CasADi pattern of a boolean matrix."""
    height, width = mask.shape
    rows, columns = np.nonzero(mask)
    return ca.Sparsity.triplet(height, width, rows.tolist(), columns.tolist())
