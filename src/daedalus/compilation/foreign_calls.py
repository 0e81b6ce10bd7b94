"""Functions that call foreign code in the middle of an expression: evaluated by CasADi, called from the core as Python.

CasADi would print an exception of the foreign code and keep only its text. So it is kept here, and raised when CasADi
has come back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

_kept = threading.local()


def keep_error(error: Exception) -> None:
    """Keep an exception of foreign code for `python_call`, which raises it; outside of that, raise it at once."""
    if not getattr(_kept, "is_watched", False):
        raise error
    if _kept.error is None:
        _kept.error = error


def calls_foreign_code(f: ca.Function) -> bool:
    """Whether an SX function calls functions that are more than arithmetic.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> calls_foreign_code(ca.Function("f", [x], [2 * x]))
    False
    """
    return bool(f.is_a("SXFunction") and f.find_functions(0))


def jacobian_past_calls(expression: ca.SX, by: ca.SX, others: ca.SX) -> ca.SX:
    """The Jacobian of an expression; calls of foreign code that see only `others` count as constants.

    CasADi differentiates a call also where none of its arguments moves, and the zeros that come of it are calls, too.

    Example
    -------
    >>> import casadi as ca
    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> jacobian_past_calls(x * y, x, y)
    SX(y)
    """
    if not calls_foreign_code(ca.Function("whole", [by, others], [expression], {"allow_free": True})):
        return ca.jacobian(expression, by)
    plain, symbols, meant = ca.extract_parametric(expression, others, {})
    found = ca.jacobian(plain, by)
    return ca.substitute(found, ca.vertcat(*symbols), ca.vertcat(*meant)) if symbols else found


def python_call(f: ca.Function) -> Callable[..., Any]:
    """A function of arrays of nonzeros that evaluates f by CasADi and raises what the foreign code raised."""
    sizes_in, sizes_out = ([nnz(k) for k in range(n)] for nnz, n in ((f.nnz_in, f.n_in()), (f.nnz_out, f.n_out())))
    own = threading.local()  # memory of each thread

    def call(*arrays: np.ndarray) -> Any:
        if getattr(own, "evaluate", None) is None:
            own.buffer, own.evaluate = f.buffer()
            own.given, own.found = [np.zeros(n) for n in sizes_in], [np.zeros(n) for n in sizes_out]
            for k, room in enumerate(own.given):
                own.buffer.set_arg(k, memoryview(room))
            for k, room in enumerate(own.found):
                own.buffer.set_res(k, memoryview(room))
        for room, values in zip(own.given, arrays):
            room[:] = values
        outer = getattr(_kept, "is_watched", False), getattr(_kept, "error", None)
        _kept.is_watched, _kept.error = True, None
        try:
            own.evaluate()
            error, failed = _kept.error, own.buffer.ret()
        finally:
            _kept.is_watched, _kept.error = outer
        if error is not None:
            raise error
        if failed:
            raise RuntimeError(f"the evaluation of {f.name()} failed")
        found = [room.copy() for room in own.found]
        return found[0] if len(found) == 1 else found

    return call
