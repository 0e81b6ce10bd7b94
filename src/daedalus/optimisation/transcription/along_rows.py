"""A CasADi function at many rows of arguments, on CasADi's interpreter and without its matrices in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate


class AlongRows:
    """Expressions at K places: from one array (K, n) a group of symbols to one (K, entries) an expression.

    For functions that are called at a few hundred places and are not worth compiling.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> x, p = ca.SX.sym("x", 2), ca.SX.sym("p")
    >>> both = AlongRows([x, p], [p * x, ca.dot(x, x)])
    >>> [values.tolist() for values in both(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[10.0], [1.0]]))]
    [[[10.0, 20.0], [3.0, 4.0]], [[5.0], [25.0]]]
    """

    def __init__(self, symbols: Sequence[ca.SX], expressions: Sequence[ca.SX]) -> None:
        dense = [ca.vec(ca.densify(expression)) for expression in expressions]
        function = ca.Function("rows", [concatenate(symbols)], [concatenate(dense)])
        self._ends = np.cumsum([entry.numel() for entry in dense])[:-1]
        self._argument, self._result = np.zeros(function.numel_in(0)), np.zeros(function.numel_out(0))
        buffer: Any
        buffer, self._trigger = function.buffer()
        if self._argument.size:
            buffer.set_arg(0, self._argument.data)
        if self._result.size:
            buffer.set_res(0, self._result.data)
        self._kept = function, buffer  # they stay alive as long as this

    def __call__(self, *groups: np.ndarray) -> list[np.ndarray]:
        """The expressions at every row."""
        arguments = np.concatenate(groups, axis=1)
        found = np.empty((len(arguments), self._result.size))
        for row, argument in zip(found, arguments):
            self._argument[:] = argument
            self._trigger()
            row[:] = self._result
        return np.split(found, self._ends, axis=1)
