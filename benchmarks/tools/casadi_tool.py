"""CasADi's SUNDIALS integrators, on its virtual machine or on C code compiled by the C compiler of the machine."""

import os
from typing import Any

import numpy as np

from benchmarks.problem import Problem, casadi_expressions, trace
from benchmarks.tool import NoSolution, Solve, Tool

COMPILED = " compiled"


def integrator(problem: Problem, plugin: str, options: dict[str, Any]) -> Any:
    """A CasADi integrator over the span of a problem; rows without mass are algebraic equations."""
    import casadi

    s = casadi_expressions(problem)
    p = casadi.vertcat(s.u, s.p)
    if problem.mass is None:
        return casadi.integrator("solve", plugin, {"x": s.x, "t": s.t, "p": p, "ode": s.f}, 0.0, problem.end, options)
    mass = np.array(problem.mass)
    differential = [i for i in range(problem.size) if mass[i, i] != 0]
    algebraic = [i for i in range(problem.size) if mass[i, i] == 0]
    if np.any(mass - np.diag(np.diag(mass))) or any(mass[i, i] != 1 for i in differential):
        raise NoSolution("CasADi takes only semi-explicit DAEs, and this mass matrix is not of that form")
    dae = {"x": s.x[differential], "z": s.x[algebraic], "t": s.t, "p": p}
    dae |= {"ode": s.f[differential], "alg": s.f[algebraic]}
    return casadi.integrator("solve", plugin, dae, 0.0, problem.end, options)


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    plugin = method.removesuffix(COMPILED)
    options: dict[str, Any] = {"reltol": rtol, "abstol": atol, "max_num_steps": 1_000_000}
    if problem.mass is not None:
        # The start is consistent, but IDAS has to be told the rates.
        rates = trace(problem, np, 0.0, problem.start, problem.inputs, problem.parameters)
        options |= {"calc_ic": False, "init_xdot": [r for r, row in zip(rates, problem.mass) if any(row)]}
    if method != plugin:
        options |= {"jit": True, "compiler": "shell"}
        options["jit_options"] = {"compiler": os.environ.get("CC", "cc"), "flags": ["-O2"], "verbose": False}
    call = integrator(problem, plugin, options)
    values = np.array([*problem.inputs, *problem.parameters])
    differential = call.size1_in("x0")
    start, guess = np.array(problem.start[:differential]), np.array(problem.start[differential:])

    def solve() -> Any:
        result = call(x0=start, z0=guess, p=values)
        return np.concatenate([result["xf"].full(), result["zf"].full()]).ravel()

    return solve


TOOL = Tool(
    "casadi",
    ("casadi",),
    prepare,
    ("casadi>=3.8",),
    methods=("cvodes",),
    dae_methods=("idas", "idas" + COMPILED),
)
