"""A nonlinear program on paper: variables, rows and blocks are added one by one, then put together for the core.

Variables are numbered from 0; parameters, which a solver does not change, by -1, -2, …; the objective is row OBJECTIVE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements, symbol_key
from daedalus.optimisation.program.gauss_newton import gauss_newton_curvature
from daedalus.optimisation.program.mapped_functions import MappedFunctions, mapped_functions

# The row of the objective, before all conditions.
OBJECTIVE = -1

# Symbols, and what they stand for at every place: variables or parameters, (places, symbols).
Binding = tuple[ca.SX, np.ndarray]


@dataclass(frozen=True)
class PlacedBlock:
    """A function at many places: what its arguments are, and which rows its results add to."""

    functions: MappedFunctions
    sources: np.ndarray  # (places, arguments)
    rows: np.ndarray  # (places, results)
    weights: np.ndarray  # (places, results)


@dataclass
class Draft:
    """What is written of a program so far; numbers of variables are those of the user, unscaled."""

    lower: list[np.ndarray] = field(default_factory=list)
    upper: list[np.ndarray] = field(default_factory=list)
    scale: list[np.ndarray] = field(default_factory=list)
    row_lower: list[np.ndarray] = field(default_factory=list)
    row_upper: list[np.ndarray] = field(default_factory=list)
    parameters: list[np.ndarray] = field(default_factory=list)
    blocks: list[PlacedBlock] = field(default_factory=list)
    linear: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    gauss_newton: bool = False  # leave out the curvature of conditions
    variables: int = 0  # how many there are
    rows: int = 0  # beside the objective
    _parameters: int = 0

    def add_variables(
        self, shape: tuple[int, ...], *, lower: object = -np.inf, upper: object = np.inf, scale: object = 1.0
    ) -> np.ndarray:
        """New variables: their numbers in an array of this shape; the rest is spread over it."""
        first = self.variables
        for store, value in ((self.lower, lower), (self.upper, upper), (self.scale, scale)):
            store.append(np.broadcast_to(np.asarray(value, dtype=float), shape).ravel().copy())
        self.variables += self.lower[-1].size
        return np.arange(first, self.variables).reshape(shape)

    def add_parameters(self, values: object) -> np.ndarray:
        """New parameters with these values: their (negative) numbers in an array of the same shape."""
        array = np.asarray(values, dtype=float)
        self.parameters.append(array.ravel().copy())
        self._parameters += array.size
        return -1 - np.arange(self._parameters - array.size, self._parameters).reshape(array.shape)

    def add_rows(self, shape: tuple[int, ...], *, lower: object = 0.0, upper: object = 0.0) -> np.ndarray:
        """New rows of g with these bounds: their numbers in an array of this shape."""
        first = self.rows
        for store, value in ((self.row_lower, lower), (self.row_upper, upper)):
            store.append(np.broadcast_to(np.asarray(value, dtype=float), shape).ravel().copy())
        self.rows += self.row_lower[-1].size
        return np.arange(first, self.rows).reshape(shape)

    def add_linear(self, rows: object, columns: object, values: object) -> None:
        """Add value · variable to rows; the three are spread over each other."""
        spread = np.broadcast_arrays(np.asarray(rows), np.asarray(columns), np.asarray(values, dtype=float))
        self.linear.append((spread[0].ravel(), spread[1].ravel(), spread[2].ravel()))

    def add_block(self, results: ca.SX, bindings: Sequence[Binding], rows: np.ndarray, weights: object = 1.0) -> None:
        """Add weight · r(v) to rows (places, results), at every place of the bindings."""
        arguments, sources = bound_arguments(results, bindings, len(rows))
        moving = np.flatnonzero((sources >= 0).any(axis=0))
        curvature = None
        if self.gauss_newton:
            by = arguments[moving.tolist()]
            curvature = gauss_newton_curvature(results, by, (rows[0] == OBJECTIVE).tolist())
        compiled = mapped_functions(results, arguments, moving, curvature)
        self.add_functions(compiled, sources, rows, weights)

    def add_functions(self, functions: MappedFunctions, sources: np.ndarray, rows: np.ndarray, weights: object) -> None:
        """Add functions that are compiled already."""
        spread = np.broadcast_to(np.asarray(weights, dtype=float), rows.shape)
        self.blocks.append(PlacedBlock(functions, sources, rows, spread))


def bound_arguments(results: ca.SX, bindings: Sequence[Binding], places: int) -> tuple[ca.SX, np.ndarray]:
    """The symbols that occur in an expression, in the order of the bindings, and what each stands for."""
    used = {symbol_key(symbol) for symbol in ca.symvar(results)}
    symbols, columns = [], []
    for group, sources in bindings:
        table = np.broadcast_to(sources, (places, group.numel()))
        for k, symbol in enumerate(elements(group)):
            if symbol_key(symbol) in used:
                used.discard(symbol_key(symbol))
                symbols.append(symbol)
                columns.append(table[:, k])
    assert not used, "every symbol of a block is bound"
    stacked = np.stack(columns, axis=1) if columns else np.zeros((places, 0), dtype=int)
    return (ca.vertcat(*symbols) if symbols else ca.SX(0, 1)), stacked
