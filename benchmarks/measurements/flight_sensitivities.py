"""Seconds of a whole quadrotor flight with its 13 × 17 sensitivities by start and inputs, and how exact they are.

Tools: "daedalus" is the public call `dd.sensitivities`, "prepared" the integration of the compiled equations alone,
"pydiffsol" its forward sensitivities with the start values among the parameters, as it runs them unless told
otherwise: only the state is in its error test, which takes half the time of both in one test.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.diffsl import Expression, Functions, named, written
from benchmarks.problem import Problem, trace
from benchmarks.timing import best_cpu_time
from benchmarks.tools.daedalus_tool import model_of

Flight = Callable[[], tuple[np.ndarray, np.ndarray]]


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: seconds of a call, the end state and the sensitivities (13, 17) as lists."""
    problem = problems.load("quadrotor")
    make = {"daedalus": by_name, "prepared": compiled_alone, "pydiffsol": by_diffsol}[options["tool"]]
    call = make(problem, options["rtol"], 1e-3 * options["rtol"])
    value, slopes = call()
    seconds = best_cpu_time(call, options["seconds"])
    yield {"seconds": seconds, "value": np.ravel(value).tolist(), "slopes": np.asarray(slopes).tolist()}


def by_name(problem: Problem, rtol: float, atol: float) -> Flight:
    import daedalus as dd

    m, inputs = model_of(problem), {"u": np.array(problem.inputs)}
    options: dict[str, Any] = {"wrt": ("start", "inputs"), "inputs": inputs, "rtol": rtol, "atol": atol}
    if rtol > 1e-7:
        options["method"] = "tsit5"

    def call() -> tuple[np.ndarray, np.ndarray]:
        sens = dd.sensitivities(m, problem.end, **options)
        return sens.value, np.concatenate([sens.M, sens.N], axis=1)

    return call


def compiled_alone(problem: Problem, rtol: float, atol: float) -> Flight:
    from daedalus import _core
    from daedalus.differentiation.directions import read_directions
    from daedalus.differentiation.variational.augmented import augmented_of
    from daedalus.simulation.plant.plants import plant_of

    system = model_of(problem).freeze()
    directions = read_directions(system, ("start", "inputs"), 0)
    augmented = augmented_of(plant_of(system), directions, 1)
    layout = augmented.layout
    y0 = layout.packed(np.array(problem.start, dtype=float), np.eye(13, 17), np.zeros((13, 0)))
    u, p = np.array(problem.inputs), np.array(problem.parameters)
    atols = augmented.tolerances(np.full(13, atol), directions.sizes(system, p))
    rhs, method = augmented.rhs.core, "tsit5" if rtol > 1e-7 else "dop853"

    def call() -> tuple[np.ndarray, np.ndarray]:
        y = _core.integrate(rhs, method, 0.0, problem.end, y0, u, p, rtol=rtol, atol=atols).x[-1:]
        return layout.states(y)[0], layout.sensitivities(y)[0]

    return call


def by_diffsol(problem: Problem, rtol: float, atol: float) -> Flight:
    import pydiffsol

    ode = pydiffsol.Ode(text_with_start(problem), matrix_type=pydiffsol.nalgebra_dense, ode_solver=pydiffsol.tsit45)
    ode.rtol, ode.atol = rtol, atol
    values, ends = np.array([*problem.start, *problem.inputs], dtype=float), np.array([problem.end])

    def call() -> tuple[np.ndarray, np.ndarray]:
        found = ode.solve_fwd_sens(values, ends)
        return found.ys[:, -1], np.stack([column[:, -1] for column in found.sens], axis=1)

    return call


def text_with_start(problem: Problem) -> str:
    """The problem in DiffSL with start values and inputs as its parameters."""
    lines: list[tuple[str, str]] = []
    x = [Expression(f"x{i}x", lines) for i in range(problem.size)]
    start = [Expression(f"s{i}s", lines) for i in range(problem.size)]
    u = [Expression(f"u{i}u", lines) for i in range(len(problem.inputs))]
    f = trace(problem, Functions(), Expression("t", lines), x, u, list(problem.parameters))
    first = "u_i { " + ", ".join(f"{one.text} = {other.text}" for one, other in zip(x, start)) + " }"
    inputs = named("in_i", [*start, *u], (*problem.start, *problem.inputs))
    noted = [f"{name} {{ {text} }}" for name, text in lines]
    return "\n".join([inputs, first, *noted, "F_i { " + ", ".join(written(value) for value in f) + " }"])
