"""A nonlinear program ready to be solved: a draft with its patterns settled and its functions in the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from daedalus import _core
from daedalus.optimisation.program.draft import OBJECTIVE, Draft, PlacedBlock
from daedalus.optimisation.program.mapped_functions import RunningCost


def joined(parts: Sequence[np.ndarray], kind: type = float) -> np.ndarray:
    """Arrays one behind the other."""
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)


@dataclass(frozen=True, eq=False)
class Program:
    """Bounds and parameters of a program, and its functions; all in the user's units.

    `values`, `first` and `second` are what a solver sees, but for the scaling of variables by `scale`.
    """

    lower: np.ndarray
    upper: np.ndarray
    scale: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    parameters: np.ndarray
    jacobian_row: np.ndarray
    jacobian_column: np.ndarray
    hessian_row: np.ndarray
    hessian_column: np.ndarray
    core: _core.Program = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of variables and rows."""
        return len(self.lower), len(self.row_lower)

    @property
    def scaled_bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The bounds of variables and rows as solvers see them."""
        return self.lower / self.scale, self.upper / self.scale, self.row_lower, self.row_upper

    def values(self, w: np.ndarray, parameters: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """The objective and the rows at w."""
        found = self.core.values(w / self.scale, self.parameters if parameters is None else parameters)
        if found is None:
            return np.nan, np.full(len(self.row_lower), np.nan)
        return float(found[-1]), found[:-1]

    def first(self, w: np.ndarray, parameters: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The gradient of the objective and the nonzeros of the Jacobian at w."""
        found = self.core.first(w / self.scale, self.parameters if parameters is None else parameters)
        nonzeros = len(self.jacobian_row)
        if found is None:
            found = np.full(nonzeros + len(w), np.nan)
        return found[nonzeros:] / self.scale, found[:nonzeros] / self.scale[self.jacobian_column]

    def second(
        self, w: np.ndarray, multipliers: np.ndarray, factor: float = 1.0, parameters: np.ndarray | None = None
    ) -> np.ndarray:
        """The nonzeros of the lower half of the Hessian of factor · f + multipliers · g at w."""
        p = self.parameters if parameters is None else parameters
        found = self.core.second(w / self.scale, p, factor, multipliers)
        if found is None:
            found = np.full(len(self.hessian_row), np.nan)
        return np.asarray(found / (self.scale[self.hessian_row] * self.scale[self.hessian_column]))


@dataclass(frozen=True, eq=False)
class ProgramTables:
    """A draft as tables of whole numbers and factors, in the order in which the core and written code go through them.

    jacobian, hessian: rows and columns of the nonzeros, of the Hessian the lower half. blocks: the tables of each.
    linear: row, column, place among the derivatives, and coefficient of the scaled variable; row m is the objective.
    """

    scale: np.ndarray
    jacobian: tuple[np.ndarray, np.ndarray]
    hessian: tuple[np.ndarray, np.ndarray]
    blocks: list[dict[str, object]]
    linear: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def program_tables(draft: Draft) -> ProgramTables:
    """The tables of a draft."""
    n, m = draft.variables, draft.rows
    scale = joined(draft.scale)
    wide = max(n, 1)
    entries = [_block_entries(block, wide) for block in draft.blocks]
    linear = [joined([part[k] for part in draft.linear], kind) for k, kind in enumerate((int, int, float))]
    linear_keys = linear[0].astype(np.int64) * wide + linear[1].astype(np.int64)
    of_rows = linear[0] >= 0
    # Entries by row · width + column, in their order.
    jacobian = np.unique(np.concatenate([*(keys[use] for keys, use, _, _ in entries), linear_keys[of_rows]]))
    hessian = np.unique(joined([keys[use] for _, _, keys, use in entries], np.int64))
    of_jacobian, of_hessian = ((table(keys // wide), table(keys % wide)) for keys in (jacobian, hessian))
    blocks = [_core_block(block, (n, m), scale, jacobian, hessian, own) for block, own in zip(draft.blocks, entries)]
    places = np.where(of_rows, np.searchsorted(jacobian, linear_keys), len(jacobian) + linear[1])
    rows, columns, entries_at = (table(part) for part in (np.where(of_rows, linear[0], m), linear[1], places))
    coefficients = linear[2] * scale[columns] if len(columns) else np.zeros(0)
    return ProgramTables(scale, of_jacobian, of_hessian, blocks, (rows, columns, entries_at, coefficients))


def assembled(draft: Draft) -> Program:
    """The program of a draft."""
    tables = program_tables(draft)
    parameters = joined(draft.parameters)
    core = _core.Program(len(parameters), draft.rows, tables.scale, *tables.jacobian, *tables.hessian)
    for block in tables.blocks:
        core.add_block(block)
    core.set_linear(*tables.linear)
    return Program(
        joined(draft.lower), joined(draft.upper), tables.scale, joined(draft.row_lower), joined(draft.row_upper),
        parameters, *tables.jacobian, *tables.hessian, core,
    )  # fmt: skip


def _block_entries(block: PlacedBlock, wide: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Keys of the entries of a block in Jacobian and Hessian (places, entries), and which of them count there."""
    f = block.functions
    rows, columns = block.rows[:, f.first_row], block.sources[:, f.first_column]
    keys = rows.astype(np.int64) * wide + columns
    one, two = block.sources[:, f.second_row].astype(np.int64), block.sources[:, f.second_column].astype(np.int64)
    low = np.maximum(one, two) * wide + np.minimum(one, two)
    # Functions that give both halves are read once.
    half = f.second_row >= f.second_column
    return keys, (rows != OBJECTIVE) & (columns >= 0), low, (one >= 0) & (two >= 0) & half


def _core_block(
    block: PlacedBlock, size: tuple[int, int], scale: np.ndarray, jacobian: np.ndarray, hessian: np.ndarray,
    entries: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> dict[str, object]:  # fmt: skip
    """The tables of a block as the core takes them."""
    (n, m), f = size, block.functions
    first, first_use, second, second_use = entries
    columns = block.sources[:, f.first_column]
    to_gradient = (block.rows[:, f.first_row] == OBJECTIVE) & (columns >= 0)
    in_gradient = np.where(to_gradient, len(jacobian) + columns, -1)
    places = np.where(first_use, np.searchsorted(jacobian, first), in_gradient)
    factors = block.weights[:, f.first_row] * _scales(scale, columns)
    one, two = block.sources[:, f.second_row], block.sources[:, f.second_column]
    twice = _scales(scale, one) * _scales(scale, two)
    # Two arguments of one place may be the same variable: both halves of their mixed derivative then count.
    twice = np.where((one == two) & (f.second_row != f.second_column), 2.0 * twice, twice)
    return {
        "value": f.value,
        "first": f.first,
        "second": f.second,
        "first_wanted": table(np.array(f.first_wanted)),
        "second_wanted": table(np.array(f.second_wanted)),
        "multiplier_input": f.multiplier_input,
        "running": None if f.running is None else _running(f.running),
        "slopes": table(f.slopes),
        "count": len(block.rows),
        "sources": table(np.where(block.sources < 0, n - 1 - block.sources, block.sources)),
        "rows": table(np.where(block.rows == OBJECTIVE, m, block.rows)),
        "weights": np.ascontiguousarray(block.weights, dtype=float),
        "first_places": table(places),
        "first_factors": np.ascontiguousarray(factors),
        "second_places": table(np.where(second_use, np.searchsorted(hessian, second), -1)),
        "second_factors": np.ascontiguousarray(twice),
    }


def _running(cost: RunningCost) -> tuple[object, ...]:
    return cost.curvature, table(cost.row), table(cost.column), cost.states, cost.inputs


def _scales(scale: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The scales of variables, and ones in the place of parameters."""
    if not len(scale):
        return np.ones(columns.shape)
    return np.where(columns >= 0, scale[np.maximum(columns, 0)], 1.0)


def table(entries: object) -> np.ndarray:
    """Whole numbers as the core takes them."""
    return np.ascontiguousarray(entries, dtype=np.int32)
