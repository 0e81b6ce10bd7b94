"""pydiffsol: diffsol's solvers in Rust, the equations compiled from DiffSL by LLVM."""

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.diffsl import diffsl
from benchmarks.problem import Problem
from benchmarks.semi_explicit import semi_explicit
from benchmarks.tool import Solve, Tool


@lru_cache(maxsize=1)
def compiled(problem: Problem, method: str) -> Any:
    """The compiled equations with a solver, and the matrix back to x; tolerances can be changed afterwards."""
    import pydiffsol

    solver = getattr(pydiffsol, method)
    back = np.eye(problem.size)
    if problem.mass is not None:
        form = semi_explicit(problem)
        problem, back = form.problem, form.back
    return pydiffsol.Ode(diffsl(problem), matrix_type=pydiffsol.nalgebra_dense, ode_solver=solver), back


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    ode, back = compiled(problem, method)
    ode.rtol, ode.atol = rtol, atol
    values, ends = np.array([*problem.inputs, *problem.parameters]), np.array([problem.end])

    def solve() -> Any:
        return back @ ode.solve_dense(values, ends).ys[:, -1]

    return solve


TOOL = Tool(
    "pydiffsol",
    ("pydiffsol",),
    prepare,
    ("pydiffsol",),
    methods=("tsit45", "bdf"),
    dae_methods=("bdf", "esdirk34"),
)
