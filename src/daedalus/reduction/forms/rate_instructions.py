"""The right-hand side of x' = f(t, x, u, p) out of the instructions of 0 = x' - f: long equations are read once."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import LONG_EQUATIONS
from daedalus.compilation.foreign_calls import calls_foreign_code
from daedalus.model.system.instruction_list import (
    Instructions,
    UnknownOperationError,
    column_of,
    expressions_at,
    read_instructions,
)
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

# Where the arguments of a right-hand side stand among those of the equations.
_TAKEN = tuple(ARGUMENTS.index(letter) for letter in ("t", "x", "u", "p"))
_RATE = ARGUMENTS.index("xdot")


class WrittenRates(NamedTuple):
    """Equations 0 = x' - f, as instructions: each has one rate, which stands nowhere else."""

    rows: Instructions
    outputs: np.ndarray
    differences: np.ndarray
    rates: np.ndarray
    values: np.ndarray  # what is taken from each rate
    states: np.ndarray  # whose rates these are

    def without_differences(self) -> Instructions:
        """The list with f as its output."""
        return _written(self.rows, self.outputs, self.differences, self.rates, (self.values, self.states))

    def formulas(self, system: System) -> ca.SX:
        """f as expressions: those that were written, not copies of them."""
        values = self.values[np.argsort(self.states)]
        return expressions_at(system.function, system.symbols(), self.rows, values)


def rate_instructions(system: System) -> Instructions | None:
    """Instructions of f, in the order of the states; None for short systems, and for equations of another form.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("decay"); x = m.state("x", 20000, start=1.0)
    >>> m.equation(m.der(x), -0.5 * x)
    >>> found = rate_instructions(m.freeze())
    >>> found.size_in, found.size_out, len(found)
    ((1, 20000, 0, 0), (20000,), 60001)
    """
    found = written_rates(system, placed=False)
    return None if found is None else found.without_differences()


def written_rates(system: System, *, placed: bool = True) -> WrittenRates | None:
    """Where f stands in a long system 0 = x' - f; None for short systems, and for equations of another form.

    placed: whether the instructions have to be CasADi's, as formulas need, or may be such as were told.
    """
    function, n = system.function, system.sizes["x"]
    if function.n_instructions() < LONG_EQUATIONS or calls_foreign_code(function) or system.sizes["z"]:
        return None
    if not system.residual.is_dense() or system.residual.numel() != n:
        return None
    try:
        rows = read_instructions(function, placed=placed)
    except UnknownOperationError:
        return None
    operation, first, second, _ = rows.columns()
    outputs = np.flatnonzero(operation == ca.OP_OUTPUT)
    if len(outputs) != n or len(rows.size_out) != 1:
        return None
    differences = first[outputs]
    if np.any(operation[differences] != ca.OP_SUB):
        return None
    rates, values = first[differences], second[differences]
    states = second[rates]
    if np.any(operation[rates] != ca.OP_INPUT) or np.any(first[rates] != _RATE):
        return None
    is_input = operation == ca.OP_INPUT
    alone = len(np.unique(states)) == n == int((is_input & (first == _RATE)).sum())
    reads = ~(is_input | (operation == ca.OP_CONST))
    uses = np.bincount(first[reads], minlength=len(operation))
    uses += np.bincount(second[reads & (operation != ca.OP_OUTPUT) & (second >= 0)], minlength=len(operation))
    if not alone or np.any(uses[rates] != 1) or np.any(uses[differences] != 1):
        return None
    return WrittenRates(rows, outputs, differences, rates, values, states)


def _written(
    rows: Instructions,
    outputs: np.ndarray,
    differences: np.ndarray,
    rates: np.ndarray,
    given: tuple[np.ndarray, np.ndarray],
) -> Instructions:
    """The list without the differences: each output is the value that was taken from its rate."""
    operation, first, second, slot = (column.copy() for column in rows.columns())
    first[outputs], slot[outputs] = given
    left = np.ones(len(operation), bool)
    left[differences] = left[rates] = False
    place = np.cumsum(left, dtype=np.int32) - 1
    is_input, is_constant = operation == ca.OP_INPUT, operation == ca.OP_CONST
    reads = ~(is_input | is_constant)
    has_two = reads & (operation != ca.OP_OUTPUT) & (second >= 0)
    first[reads], second[has_two] = place[first[reads]], place[second[has_two]]
    argument = np.full(len(ARGUMENTS), -1, np.int32)
    argument[list(_TAKEN)] = np.arange(len(_TAKEN))
    first[is_input] = argument[first[is_input]]
    operations, one, two, slots = (column_of(column[left]) for column in (operation, first, second, slot))
    sizes = tuple(rows.size_in[k] for k in _TAKEN), rows.size_out
    return Instructions(operations, one, two, slots, rows.constants, *sizes)
