"""solve_dae: Radau IIA and BDF for F(t, x, x') = 0 in Python, the residual compiled by numba."""

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.numba_rhs import numbers, returning, writing
from benchmarks.problem import Problem
from benchmarks.semi_explicit import start_rates
from benchmarks.tool import NoSolution, Solve, Tool


@lru_cache(maxsize=1)
def residual(problem: Problem) -> Any:
    """Compiled M x' - f(t, x, u, p) as a new array."""
    import numba

    write, size = writing(problem), problem.size
    mass = np.eye(size) if problem.mass is None else np.array(problem.mass)

    @numba.njit
    def rows(t: float, x: Any, rate: Any, u: Any, p: Any) -> Any:
        out = np.empty(size)
        write(t, x, u, p, out)
        for i in range(size):
            total = -out[i]
            for j in range(size):
                total += mass[i, j] * rate[j]
            out[i] = total
        return out

    return rows


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    from solve_dae.integrate import solve_dae

    rows = residual(problem)
    start, inputs, parameters = numbers(problem)
    rates = returning(problem)(0.0, start, inputs, parameters) if problem.mass is None else start_rates(problem)

    def solve() -> Any:
        result = solve_dae(
            rows,
            (0.0, problem.end),
            start,
            rates,
            method=method,
            t_eval=(problem.end,),
            rtol=rtol,
            atol=atol,
            args=(inputs, parameters),
        )
        if not result.success:
            raise NoSolution(result.message)
        return result.y[:, -1]

    return solve


TOOL = Tool(
    "solve_dae",
    ("solve_dae.integrate", "numba"),
    prepare,
    ("solve-dae", "numba"),
    methods=("Radau",),
    dae_methods=("Radau", "BDF"),
)
