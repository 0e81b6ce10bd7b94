"""Which variables and rows of a program belong to which stage, for solvers that go through the stages one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daedalus.optimisation.program.program import Program, table


@dataclass(frozen=True, eq=False)
class StageStructure:
    """Stages k = 0 … K - 1 with inputs and states; rows of variables' bounds are numbered -1 - variable.

    order: variables, inputs before states in every stage. steps: rows 0 = x_{k+1} - F_k, in the order of the states.
    """

    inputs: list[np.ndarray]
    states: list[np.ndarray]
    equations: list[np.ndarray]
    inequalities: list[np.ndarray]
    steps: list[np.ndarray]

    def tables(self) -> dict[str, np.ndarray]:
        """The structure as the core takes it."""
        order = [part for pair in zip(self.inputs, self.states) for part in pair]
        return {
            "nu": table([len(part) for part in self.inputs]),
            "nx": table([len(part) for part in self.states]),
            "order": table(np.concatenate(order)),
            **_listed("equation", self.equations),
            **_listed("inequality", self.inequalities),
            **_listed("step", self.steps),
        }


def _listed(name: str, parts: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    rows = np.concatenate(parts) if parts else np.zeros(0)
    return {name: table(rows), f"{name}_start": table(starts)}


def stage_structure(
    program: Program, states: Sequence[np.ndarray], inputs: Sequence[np.ndarray], steps: Sequence[np.ndarray]
) -> StageStructure | None:
    """The structure of a program whose states, inputs and steps are known; None where a row spans several stages.

    Variables that are neither (what is left over of soft conditions, bounds in the place of kinks) are inputs of the
    stage of their rows.
    """
    n, m = program.shape
    stage = np.full(n, -1)
    for k, part in enumerate(states):
        stage[part] = k
    for k, part in enumerate(inputs):
        stage[part] = k
    stepping = np.zeros(m, dtype=bool)
    stepping[np.concatenate(steps)] = True
    rows, columns = program.jacobian_row, program.jacobian_column
    low, high = np.full(m, n), np.full(m, -1)
    while True:
        own = ~stepping[rows] & (stage[columns] >= 0)
        np.minimum.at(low, rows[own], stage[columns[own]])
        np.maximum.at(high, rows[own], stage[columns[own]])
        # A row may hold variables alone that other rows tell the stage of.
        loose = (stage[columns] < 0) & (high[rows] >= 0)
        if not loose.any():
            break
        stage[columns[loose]] = high[rows[loose]]
    if np.any((low != high) & ~stepping):
        return None
    if np.any(stage < 0) or not _steps_fit(program, stage, states, steps):
        return None
    if np.any(stage[program.hessian_row] != stage[program.hessian_column]):
        return None
    known = np.zeros(n, dtype=bool)
    known[np.concatenate(states)] = True
    count = len(states)
    equal = (program.row_lower == program.row_upper) & ~stepping
    between = ~equal & ~stepping
    fixed = program.lower == program.upper
    bounded = ~fixed & (np.isfinite(program.lower) | np.isfinite(program.upper))
    return StageStructure(
        [np.flatnonzero((stage == k) & ~known) for k in range(count)],
        list(states),
        [np.concatenate([_at(high, equal, k), -1 - _at(stage, fixed, k)]) for k in range(count)],
        [np.concatenate([_at(high, between, k), -1 - _at(stage, bounded, k)]) for k in range(count)],
        list(steps),
    )


def _at(stage: np.ndarray, use: np.ndarray, k: int) -> np.ndarray:
    return np.flatnonzero(use & (stage == k))


def _steps_fit(program: Program, stage: np.ndarray, states: Sequence[np.ndarray], steps: Sequence[np.ndarray]) -> bool:
    """Whether every step holds variables of its stage and, once, the state of the next that it leads to."""
    step_stage, target = np.full(program.shape[1], -1), np.full(program.shape[1], -1)
    for k, part in enumerate(steps):
        step_stage[part], target[part] = k, states[k + 1]
    rows, columns = program.jacobian_row, program.jacobian_column
    own = step_stage[rows] >= 0
    here = stage[columns[own]] == step_stage[rows[own]]
    leads = columns[own] == target[rows[own]]
    return bool(np.all(here | leads))
