"""SciPy's solve_ivp with a right-hand side compiled by numba."""

from typing import Any

import numpy as np

from benchmarks.numba_rhs import numbers, returning
from benchmarks.problem import Problem
from benchmarks.tool import NoSolution, Solve, Tool


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    from scipy.integrate import solve_ivp

    read = None if problem.ode is None else problem.ode.read
    problem = problem if problem.mass is None else problem.as_ode()
    rhs = returning(problem)
    start, inputs, parameters = numbers(problem)
    span, ends = (0.0, problem.end), (problem.end,)

    def solve() -> Any:
        result = solve_ivp(
            rhs, span, start, method=method, t_eval=ends, rtol=rtol, atol=atol, args=(inputs, parameters)
        )
        if not result.success:
            raise NoSolution(result.message)
        return result.y[:, -1] if read is None else read(np, result.y[:, -1])

    return solve


TOOL = Tool(
    "scipy",
    ("scipy.integrate", "numba"),
    prepare,
    ("scipy", "numba"),
    methods=("DOP853", "LSODA"),
    ode_form_methods=("Radau", "LSODA"),
)
