"""The car axis at several tolerances: errors of positions, velocities and multipliers at the end, each relative."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.problem import Problem
from benchmarks.tool import NoSolution
from benchmarks.worker import one_line


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record a tolerance: the three errors, or why there are none."""
    problem = problems.load("car_axis_index_3")
    run = {"direct": direct, "reduced": reduced}[options["way"]]
    for rtol in options["tolerances"]:
        try:
            found = run(problem, options["method"], rtol)
        except Exception as failure:
            yield {"rtol": rtol, "failure": one_line(failure)}
            continue
        error = np.abs(found / np.array(problem.reference) - 1.0)
        parts = {"positions": error[:4], "velocities": error[4:8], "multipliers": error[8:]}
        yield {"rtol": rtol, **{name: float(values.max()) for name, values in parts.items()}}


def direct(problem: Problem, method: str, rtol: float) -> np.ndarray:
    """The equations as they stand, index 3."""
    from benchmarks.tools.daedalus_tool import prepare

    return np.asarray(prepare(problem, method, rtol, rtol)())


def reduced(problem: Problem, method: str, rtol: float) -> np.ndarray:
    """The mechanism in coordinates, by reduction and projection, multipliers from the solve at the end."""
    import daedalus as dd

    assert problem.mechanics is not None
    model, inputs, name = problem.mechanics()
    tr = dd.simulate(model, problem.end, inputs=inputs, method=method, rtol=rtol, atol=rtol, progress=False)
    if not tr.success:
        raise NoSolution(tr.stop_reason)
    last = [np.ravel(tr[label][-1]) for label in (name, f"{name}_dot", "line", "bar")]
    return np.concatenate(last)
