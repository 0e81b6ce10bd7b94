"""scikit-sundae: SUNDIALS' CVODE and IDA with a right-hand side compiled by numba."""

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.numba_rhs import numbers, writing
from benchmarks.problem import Problem
from benchmarks.semi_explicit import start_rates
from benchmarks.tool import NoSolution, Solve, Tool

# A run that needs more has lost its way: none of the problems takes a tenth of it.
MOST_STEPS = 200_000


@lru_cache(maxsize=1)
def residual(problem: Problem) -> Any:
    """Compiled M x' - f(t, x, u, p), written into the last argument but two."""
    import numba

    write, size, mass = writing(problem), problem.size, np.array(problem.mass)

    @numba.njit
    def rows(t: float, x: Any, rate: Any, out: Any, u: Any, p: Any) -> None:
        write(t, x, u, p, out)
        for i in range(size):
            total = -out[i]
            for j in range(size):
                total += mass[i, j] * rate[j]
            out[i] = total

    return rows


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    start, inputs, parameters = numbers(problem)
    ends = np.array([0.0, problem.end])
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "max_num_steps": MOST_STEPS}
    if problem.mass is None:
        from sksundae.cvode import CVODE

        write = writing(problem)
        solver = CVODE(lambda t, x, out: write(t, x, inputs, parameters, out), method=method, **options)
        given: tuple[Any, ...] = (ends, start)
    else:
        from sksundae.ida import IDA

        rows = residual(problem)
        algebraic = [i for i in range(problem.size) if not any(row[i] for row in problem.mass)]
        solver = IDA(
            lambda t, x, rate, out: rows(t, x, rate, out, inputs, parameters), algebraic_idx=algebraic, **options
        )
        given = (ends, start, start_rates(problem))

    def solve() -> Any:
        result = solver.solve(*given)
        if not result.success:
            raise NoSolution(result.message)
        return result.y[-1]

    return solve


TOOL = Tool(
    "sundae",
    ("sksundae", "numba"),
    prepare,
    ("scikit-sundae", "numba"),
    methods=("Adams", "BDF"),
    dae_methods=("IDA",),
)
