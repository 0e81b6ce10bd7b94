"""Where the variables of a program stand in a chain along time, for searches that go through it link by link."""

from __future__ import annotations

import numpy as np

from daedalus.optimisation.program.program import Program
from daedalus.optimisation.transcription.program_layout import ProgramLayout

# Variables that all links see make every link wider: beyond so many a search over the whole program is quicker.
MOST_COMMON = 40
COMMON, OPEN = -1, -2


def chain_positions(program: Program, layout: ProgramLayout) -> np.ndarray | None:
    """For every variable 2 k at node k, 2 k + 1 between it and the next, -1 where all see it; None for no chain.

    Rows and second derivatives may join what lies between two nodes, these nodes and common variables. Inputs that
    neighbours see (where their change is bounded) move onto the node behind them; what is asked of start and end
    together makes the start common.
    """
    position = _known_positions(program.shape[0], layout)
    variable, group = groups = _joined(program)
    _place_loose(groups, position)
    low, high = _spans(groups, position)
    neighbours = (low % 2 == 1) & (high == low + 2)
    position[np.unique(variable[neighbours[group] & (position[variable] == low[group])])] += 1
    wide = _too_wide(*_spans(groups, position))
    if wide.any():
        position[np.unique(variable[wide[group] & (position[variable] == 0)])] = COMMON
        wide = _too_wide(*_spans(groups, position))
    if wide.any() or (position == COMMON).sum() > MOST_COMMON:
        return None
    return position.astype(np.int32)


def _known_positions(count: int, layout: ProgramLayout) -> np.ndarray:
    """Positions of everything that the layout has a place in time for."""
    position = np.full(count, OPEN)
    for k in range(layout.intervals):
        position[layout.inputs[k]] = 2 * k + 1
    for part in (layout.points, layout.unknowns):
        position[part.ravel()] = np.repeat(2 * layout.mesh.point_interval + 1, part.shape[1])
    for column in (layout.length, *layout.parameters.T):
        own = column[column >= 0]
        position[own] = 2 * np.arange(len(own)) if len(np.unique(own)) > 1 else COMMON
    for k, node in enumerate(layout.nodes):
        position[node[node >= 0]] = 2 * k
    return position


def _joined(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Variables that stand together, as (variable, group): in a row, or in a mixed second derivative."""
    curved = np.arange(len(program.hessian_row)) + program.shape[1]
    variable = np.concatenate([program.jacobian_column, program.hessian_row, program.hessian_column])
    return variable.astype(int), np.concatenate([program.jacobian_row, curved, curved]).astype(int)


def _spans(groups: tuple[np.ndarray, np.ndarray], position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest position in every group, of variables that have one."""
    variable, group = groups
    count = int(group.max(initial=-1)) + 1
    low, high = np.full(count, np.iinfo(int).max // 2), np.full(count, -1)
    use = position[variable] >= 0
    np.minimum.at(low, group[use], position[variable[use]])
    np.maximum.at(high, group[use], position[variable[use]])
    return low, high


def _too_wide(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.asarray((high >= 0) & (high > 2 * (low // 2) + 2))


def _place_loose(groups: tuple[np.ndarray, np.ndarray], position: np.ndarray) -> None:
    """What is left (unknowns at nodes, parts of soft conditions) goes to what it is joined to, or is common."""
    variable, group = groups
    low, high = _spans(groups, position)
    first, last = np.full(len(position), np.iinfo(int).max // 2), np.full(len(position), -1)
    np.minimum.at(first, variable, low[group])
    np.maximum.at(last, variable, high[group])
    loose = position == OPEN
    apart = _too_wide(first, last) | (last < 0)
    position[loose & apart] = COMMON
    position[loose & ~apart] = 2 * (first[loose & ~apart] // 2) + 1
