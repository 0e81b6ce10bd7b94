"""numbalsoda: compiled dop853 and lsoda that call a numba right-hand side without Python in between."""

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.numba_rhs import numbers, writing
from benchmarks.problem import Problem
from benchmarks.tool import NoSolution, Solve, Tool


@lru_cache(maxsize=1)
def compiled_rhs(problem: Problem) -> Any:
    """The right-hand side behind numbalsoda's C signature; inputs and parameters come as one block of data."""
    import numba
    from numbalsoda import lsoda_sig

    write, size = writing(problem), problem.size
    inputs, parameters = len(problem.inputs), len(problem.parameters)

    @numba.cfunc(lsoda_sig, error_model="numpy")
    def rhs(t: float, x: Any, out: Any, data: Any) -> None:
        block = numba.carray(data, (inputs + parameters + 1,))
        write(t, numba.carray(x, (size,)), block[:inputs], block[inputs:], numba.carray(out, (size,)))

    return rhs


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    import numbalsoda

    integrate, address = getattr(numbalsoda, method), compiled_rhs(problem).address
    start, inputs, parameters = numbers(problem)
    data = np.concatenate([inputs, parameters, [0.0]])
    ends = np.array([0.0, problem.end])

    def solve() -> Any:
        states, success = integrate(address, start, ends, data=data, rtol=rtol, atol=atol)
        if not success:
            raise NoSolution("numbalsoda reports no success")
        return states[-1]

    return solve


TOOL = Tool("numbalsoda", ("numbalsoda", "numba"), prepare, ("numbalsoda", "numba"), methods=("dop853", "lsoda"))
