"""What stands in equations with many components, seen in their instructions and not component by component."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.model.system.instruction_list import (
    Instructions,
    UnknownOperationError,
    dependent_outputs,
    expressions_at,
    read_at_once,
)


@dataclass(frozen=True, eq=False)
class ManyComponents:
    """Which components contain an unknown, the operation at the root of each, and whether a == stands anywhere."""

    depends: np.ndarray
    roots: np.ndarray
    has_equality: bool
    _function: ca.Function
    _arguments: tuple[ca.SX, ca.SX]
    _rows: Instructions
    _operands: tuple[np.ndarray, np.ndarray]

    def suspects(self, operations: Iterable[int | None]) -> list[int]:
        """The components that contain no unknown, are a number or end in one of some operations."""
        found = ~self.depends | np.isin(self.roots, [ca.OP_CONST, *(kind for kind in operations if kind is not None)])
        return [int(k) for k in np.flatnonzero(found)]

    def differences(self) -> ca.SX | None:
        """a - b of components a == b; None where a component is something else."""
        if np.any(self.roots != ca.OP_EQ):
            return None
        left, right = (expressions_at(self._function, self._arguments, self._rows, k) for k in self._operands)
        return left - right


def many_components(whole: ca.SX, unknowns: ca.SX, others: ca.SX) -> ManyComponents | None:
    """What stands in the components of a column; None where other symbols, NaN or foreign functions stand there, too.

    Example
    -------
    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p")
    >>> found = many_components(ca.vertcat(x * p, 2 * p, x < p), x, p)
    >>> found.depends.tolist(), found.suspects([ca.OP_LT])
    ([True, False, True], [1, 2])
    """
    function = ca.Function("equations", [unknowns, others], [whole], {"allow_free": True})
    if function.has_free():
        return None
    try:
        rows = read_at_once(function)
    except UnknownOperationError:  # a foreign function
        return None
    if rows is None or np.isnan(np.frombuffer(rows.constants, float)).any():
        return None
    operation, first, second, slot = rows.columns()
    stored = np.flatnonzero(operation == ca.OP_OUTPUT)
    ends = np.zeros(whole.numel(), np.int32)
    ends[slot[stored]] = first[stored]
    (depends,) = dependent_outputs(rows, (operation == ca.OP_INPUT) & (first == 0))
    return ManyComponents(
        depends,
        operation[ends],
        bool((operation == ca.OP_EQ).any()),
        function,
        (unknowns, others),
        rows,
        (first[ends], np.maximum(second[ends], 0)),
    )
