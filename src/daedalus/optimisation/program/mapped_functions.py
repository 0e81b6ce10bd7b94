"""A small function with its first and second derivatives as machine code, to be mapped over many places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import compile_function
from daedalus.differentiation.flow.flow import Flow


@dataclass(frozen=True)
class RunningCost:
    """The curvature C of a cost along an interval at one of its points, and the slopes of the rates: of (x, u, p, τ).

    row, column: where the nonzeros of C are among v = (x, u), both halves; states, inputs: the sizes of x and u.
    formula: the same function, for code that is written down.
    """

    curvature: _core.Function
    formula: ca.Function
    row: np.ndarray
    column: np.ndarray
    states: int
    inputs: int


class Formulas(NamedTuple):
    """What mapped functions were compiled from: (v) -> r, (v) -> ∂r/∂v, (v, μ) -> the lower half of ∇²(μᵀr)."""

    value: ca.Function
    first: ca.Function
    second: ca.Function | None


@dataclass(frozen=True)
class MappedFunctions:
    """r(v), the nonzeros of ∂r/∂v, and those of the lower half of ∇²(μᵀr).

    first_row, first_column: where the nonzeros of the Jacobian are; second_row, second_column: those of the Hessian.
    first_wanted, second_wanted: which outputs of the functions these are; multiplier_input: which input of the second
    derivatives μ is. running: in the place of `second` for Gauss and Newton's Hessian of a flow with a cost; the core
    then makes the whole lower half by (x, u). formulas: what was compiled; or the
    flow, which has none.
    """

    value: _core.Function
    first: _core.Function
    second: _core.Function | None
    first_row: np.ndarray
    first_column: np.ndarray
    second_row: np.ndarray
    second_column: np.ndarray
    first_wanted: tuple[int, ...] = (1,)
    second_wanted: tuple[int, ...] = (1,)
    multiplier_input: int = 1
    running: RunningCost | None = None
    formulas: Formulas | None = None
    flow: Flow | None = None

    @property
    def slopes(self) -> np.ndarray:
        """For every nonzero of the Jacobian its place in the derivative by (x, u), row by row; -1 beside it."""
        cost = self.running
        if cost is None:
            return np.zeros(0, dtype=np.int32)
        size = cost.states + cost.inputs
        places = self.first_row.astype(np.int32) * size + self.first_column
        return np.where(self.first_column < size, places, -1).astype(np.int32)


def mapped_functions(
    results: ca.SX, arguments: ca.SX, moving: np.ndarray, curvature: tuple[ca.SX, ca.SX] | None = None
) -> MappedFunctions:
    """Compile r(v) and its derivatives by the arguments at the places `moving`: those that a solver changes.

    curvature: multipliers μ and a symmetric matrix of (v, μ) in the place of ∇²(μᵀr), for approximations of it.
    """
    results = ca.cse(results)
    by = arguments[moving.tolist()]
    jacobian = ca.jacobian(results, by)
    if curvature is None:
        multipliers = ca.SX.sym("mu", results.numel())
        hessian = ca.hessian(ca.dot(multipliers, results), by)[0]
    else:
        multipliers, hessian = curvature
    lower = ca.tril(hessian)
    first_row, first_column = (np.array(part, dtype=np.int32) for part in jacobian.sparsity().get_triplet())
    second_row, second_column = (np.array(part, dtype=np.int32) for part in lower.sparsity().get_triplet())
    formulas = Formulas(
        ca.Function("value", [arguments], [results]),
        ca.Function("first", [arguments], [jacobian]),
        ca.Function("second", [arguments, multipliers], [lower]) if lower.nnz() else None,
    )
    place = moving.astype(np.int32)
    return MappedFunctions(
        _code(formulas.value),
        _code(formulas.first),
        None if formulas.second is None else _code(formulas.second),
        first_row,
        place[first_column],
        place[second_row],
        place[second_column],
        formulas=formulas,
    )


def _code(function: ca.Function) -> _core.Function:
    """A search calls its functions some hundred times at some hundred places: less than it takes to compile well."""
    return compile_function(function, quick=True).core
