"""Numbers of a CasADi function with dense outputs, without a detour through CasADi's matrices."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np


class DenseValues:
    """A function from arrays to arrays of its own, for many calls in a row; not to be shared between threads.

    A call through CasADi's matrices takes about ten times as long for small functions.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> x, p = ca.SX.sym("x", 2), ca.SX.sym("p")
    >>> f = ca.Function("f", [x, p], [p * x, ca.densify(ca.jacobian(p * x[0], x))])
    >>> [part.tolist() for part in DenseValues(f)(np.array([1.0, 2.0]), 10.0)]
    [[[10.0], [20.0]], [[10.0, 0.0]]]
    """

    def __init__(self, function: ca.Function) -> None:
        if not all(function.sparsity_out(k).is_dense() for k in range(function.n_out())):
            raise ValueError(f"outputs of {function.name()} are sparse: ca.densify them")
        self._function = function
        self._arguments = [np.zeros(function.nnz_in(k)) for k in range(function.n_in())]
        self._results = [np.zeros(function.size_out(k), order="F") for k in range(function.n_out())]
        self._buffer: Any
        self._buffer, self._trigger = function.buffer()
        for k, argument in enumerate(self._arguments):
            if argument.size:
                self._buffer.set_arg(k, argument.data)
        for k, result in enumerate(self._results):
            if result.size:
                self._buffer.set_res(k, result.ravel(order="K").data)

    def __call__(self, *arguments: np.ndarray | float) -> list[np.ndarray]:
        """All outputs, as matrices."""
        for own, argument in zip(self._arguments, arguments):
            own[:] = argument
        self._trigger()
        if self._buffer.ret():  # what fails inside is told as CasADi tells it
            return [part.full() for part in self._function.call(list(arguments))]
        return [result.copy() for result in self._results]
