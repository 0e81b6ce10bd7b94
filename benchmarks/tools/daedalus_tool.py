"""Daedalus: the whole public call `dd.simulate` repeated with one model, and `dd.prepare` for loops."""

from typing import Any

import numpy as np

from benchmarks.problem import Problem, trace
from benchmarks.tool import NoSolution, Solve, Tool


def model_of(problem: Problem) -> Any:
    """The problem written as a Daedalus model: a state vector x, an input vector u, parameters p."""
    import casadi

    import daedalus as dd

    m = dd.Model(problem.name)
    x = m.state("x", problem.size, start=list(problem.start))
    u = m.input("u", len(problem.inputs)) if problem.inputs else None
    p = m.parameter("p", list(problem.parameters)) if problem.parameters else None
    parts = [[] if vector is None else casadi.vertsplit(vector) for vector in (x, u, p)]
    m.equation(m.der(x), casadi.vertcat(*trace(problem, casadi, m.time, *parts)))
    return m


def prepare_run(m: Any, problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    """`dd.prepare`: arrays in, arrays out, as the compiled peers are called."""
    import daedalus as dd

    inputs = {"u": np.array(problem.inputs)} if problem.inputs else {}
    run = dd.prepare(m, problem.end, inputs=inputs, method=method, rtol=rtol, atol=atol, save_at=[problem.end])
    start, u = np.array(problem.start, dtype=float), np.array(problem.inputs, dtype=float)
    return lambda: run(start, u)[-1]


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    import daedalus as dd

    m = model_of(problem)
    if method.startswith("prepared-"):
        return prepare_run(m, problem, method.removeprefix("prepared-"), rtol, atol)
    inputs = {"u": np.array(problem.inputs)} if problem.inputs else {}
    end = np.array([problem.end])

    def solve() -> Any:
        tr = dd.simulate(
            m, problem.end, inputs=inputs, method=method, rtol=rtol, atol=atol, save_at=end, progress=False
        )
        if not tr.success:
            raise NoSolution(tr.stop_reason)
        return tr["x"][-1]

    return solve


TOOL = Tool("daedalus", ("casadi", "daedalus"), prepare, methods=("dop853", "prepared-dop853", "tsit5", "dopri5"))
