"""CyRK: C++ Runge–Kutta methods that call a numba right-hand side without Python in between."""

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.numba_rhs import numbers, writing
from benchmarks.problem import Problem
from benchmarks.tool import NoSolution, Solve, Tool


@lru_cache(maxsize=1)
def compiled_call(problem: Problem, method: str) -> Any:
    """A compiled function of (start, data, rtol, atol) that gives the end state, and the right-hand side it calls."""
    import numba
    from CyRK import cyjit, nbsolve2_ivp

    write, size = writing(problem), problem.size
    inputs, parameters = len(problem.inputs), len(problem.parameters)

    @cyjit
    def rhs(out: Any, t: float, x: Any, data: Any) -> None:
        block = numba.carray(data, (inputs + parameters + 1,))
        write(t, numba.carray(x, (size,)), block[:inputs], block[inputs:], numba.carray(out, (size,)))

    address, span = rhs.address, (0.0, problem.end)

    @numba.njit
    def call(start: Any, data: Any, rtol: float, atol: float) -> Any:
        result = nbsolve2_ivp(address, span, start, method=method, args=data, rtol=rtol, atol=atol)
        success, end = result.success, result.y[:size, -1].copy()
        result.free()
        return success, end

    # The right-hand side goes along: its code must live as long as its address is in use.
    return call, rhs


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    call, _ = compiled_call(problem, method)
    start, inputs, parameters = numbers(problem)
    data = np.concatenate([inputs, parameters, [0.0]])

    def solve() -> Any:
        success, end = call(start, data, rtol, atol)
        if not success:
            raise NoSolution("CyRK reports no success")
        return end

    return solve


# Its first call compiles for tens of seconds, so it runs only where a figure asks for it.
TOOL = Tool("cyrk", ("CyRK", "numba"), prepare, ("CyRK", "numba"), methods=("DOP853",), problems=("quadrotor",))
