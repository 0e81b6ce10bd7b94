"""CasADi's SUNDIALS integrators, on its virtual machine or on C code compiled by the C compiler of the machine."""

import os
from typing import Any

import numpy as np

from benchmarks.problem import Problem, casadi_expressions
from benchmarks.semi_explicit import semi_explicit, start_rates
from benchmarks.tool import Solve, Tool

COMPILED = " compiled"

# A run that needs more has lost its way: none of the problems takes a tenth of it.
MOST_STEPS = 200_000


def integrator(problem: Problem, plugin: str, differential: int, options: dict[str, Any]) -> Any:
    """A CasADi integrator over the span of a problem; rows after the differential ones are algebraic equations."""
    import casadi

    s = casadi_expressions(problem)
    p = casadi.vertcat(s.u, s.p)
    dae = {"x": s.x[:differential], "t": s.t, "p": p, "ode": s.f[:differential]}
    if differential < problem.size:
        dae |= {"z": s.x[differential:], "alg": s.f[differential:]}
    return casadi.integrator("solve", plugin, dae, 0.0, problem.end, options)


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    plugin = method.removesuffix(COMPILED)
    options: dict[str, Any] = {"reltol": rtol, "abstol": atol, "max_num_steps": MOST_STEPS}
    back, differential = np.eye(problem.size), problem.size
    if problem.mass is not None:
        form = semi_explicit(problem)
        problem, back, differential = form.problem, form.back, form.differential
        # The start is consistent, but IDAS has to be told the rates.
        options |= {"calc_ic": False, "init_xdot": start_rates(problem)[:differential].tolist()}
    if method != plugin:
        options |= {"jit": True, "compiler": "shell"}
        options["jit_options"] = {"compiler": os.environ.get("CC", "cc"), "flags": ["-O2"], "verbose": False}
    call = integrator(problem, plugin, differential, options)
    values = np.array([*problem.inputs, *problem.parameters])
    start, guess = np.array(problem.start[:differential]), np.array(problem.start[differential:])

    def solve() -> Any:
        result = call(x0=start, z0=guess, p=values)
        return back @ np.concatenate([result["xf"].full(), result["zf"].full()]).ravel()

    return solve


TOOL = Tool(
    "casadi",
    ("casadi",),
    prepare,
    ("casadi>=3.8",),
    methods=("cvodes",),
    dae_methods=("idas", "idas" + COMPILED),
)
