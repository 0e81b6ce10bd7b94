"""The stages of a controller's quadratic program as tables for C: sizes, offsets and where each derivative goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.optimisation.receding.horizon import Horizon


@dataclass(frozen=True, eq=False)
class StageTables:
    """Sizes by their names in C, and tables of whole numbers; widest: the most columns of a stage."""

    sizes: dict[str, int]
    integers: dict[str, np.ndarray]
    widest: int
    largest: int


def stage_tables(horizon: Horizon) -> StageTables:
    """Stage by stage the variables (u, x), without those that are measured, which are the last columns of stage 0."""
    program, structure = horizon.program, horizon.structure()
    assert structure is not None
    measured = horizon.measured
    known = set(measured.tolist())
    K = len(structure.states)
    states = [
        np.array([v for v in own if k or int(v) not in known], dtype=int) for k, own in enumerate(structure.states)
    ]
    variables = [np.concatenate([structure.inputs[k], states[k]]).astype(int) for k in range(K)]
    columns = [np.concatenate([variables[0], measured]), *variables[1:]]
    nu, nx = (np.array([len(part) for part in parts]) for parts in (structure.inputs, states))
    wide, following = np.array([len(part) for part in columns]), np.append(nx[1:], 0)
    rows = [_of_rows(structure.equations[k], structure.inequalities[k]) for k in range(K)]
    bounds = [_of_bounds(structure.equations[k], structure.inequalities[k], known) for k in range(K)]
    own_rows = np.array([len(part) for part in rows])
    conditions = own_rows + [len(part) for part in bounds]
    place = np.full(program.shape[0], -1)
    stage = np.full(program.shape[0], -1)
    for k, part in enumerate(columns):
        place[part], stage[part] = np.arange(len(part)), k
    at_H, at_J, at_G, at_F = (_starts(part) for part in (wide**2, following * wide, own_rows * wide, (nu + nx) ** 2))
    step_stage, step_at = _positions(program.shape[1], structure.steps)
    row_stage, row_at = _positions(program.shape[1], rows)
    row, column = program.jacobian_row, program.jacobian_column
    steps = (step_stage[row] >= 0) & (stage[column] == step_stage[row])
    k = stage[column]
    step_target = np.where(steps, at_J[k] + step_at[row] * wide[k] + place[column], -1)
    row_target = np.where(row_stage[row] >= 0, at_G[k] + row_at[row] * wide[k] + place[column], -1)
    one, two = program.hessian_row, program.hessian_column
    k = stage[one]
    curves = np.stack(
        [at_H[k] + place[one] * wide[k] + place[two], at_H[k] + place[two] * wide[k] + place[one]], axis=1
    )
    condition_place = [np.concatenate([np.full(len(rows[k]), -1), place[bounds[k]]]) for k in range(K)]
    condition_row = [np.concatenate([rows[k], -1 - bounds[k]]) for k in range(K)]
    integers = {
        "nu": nu, "nx": nx, "wide": wide, "own_rows": own_rows, "conditions": conditions, "at_H": at_H, "at_J": at_J,
        "at_G": at_G, "at_F": at_F, "at_v": _starts(nu + nx), "at_c": _starts(conditions), "at_b": _starts(following),
        "condition_place": np.concatenate(condition_place), "condition_row": np.concatenate(condition_row),
        "variable": np.concatenate(variables), "step_rows": np.concatenate(structure.steps),
        "step_target": step_target, "row_target": row_target, "curve_target": curves,
    }  # fmt: skip
    sizes = {
        "K": K, "NQ": int((nu + nx).sum()), "NB": int(following.sum()), "NC": int(conditions.sum()),
        "SIZE_H": int((wide**2).sum()), "SIZE_J": int((following * wide).sum()),
        "SIZE_G": int((own_rows * wide).sum()), "SIZE_F": int(((nu + nx) ** 2).sum()),
    }  # fmt: skip
    return StageTables(sizes, integers, int(wide.max()), int(nx.max()))


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.asarray(np.concatenate([[0], np.cumsum(sizes)[:-1]]), dtype=int)


def _of_rows(equations: np.ndarray, inequalities: np.ndarray) -> np.ndarray:
    both = np.concatenate([equations, inequalities]).astype(int)
    return both[both >= 0]


def _of_bounds(equations: np.ndarray, inequalities: np.ndarray, known: set[int]) -> np.ndarray:
    """Variables of a stage with bounds, but for those that are measured."""
    both = np.concatenate([equations, inequalities]).astype(int)
    return np.array([-1 - row for row in both if row < 0 and int(-1 - row) not in known], dtype=int)


def _positions(count: int, groups: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Of every row its stage and its place there; -1 for those of other kinds."""
    stage, place = np.full(count, -1), np.full(count, -1)
    for k, rows in enumerate(groups):
        own = np.asarray(rows, dtype=int)
        stage[own], place[own] = k, np.arange(len(own))
    return stage, place
