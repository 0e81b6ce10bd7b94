"""The car axis at several tolerances: errors of positions, velocities and multipliers at the end.

Each of these is measured twice: every component relative to itself (one velocity passes near zero and counts a hundred
times there), and the largest error relative to the largest component of the group.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.problem import Problem
from benchmarks.tool import NoSolution
from benchmarks.worker import one_line

GROUPS = {"positions": slice(0, 4), "velocities": slice(4, 8), "multipliers": slice(8, 10)}


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record a tolerance: the errors of the three groups, or why there are none."""
    problem = problems.load("car_axis_index_3")
    run = {"direct": direct, "reduced": reduced}[options["way"]]
    for rtol in options["tolerances"]:
        try:
            found = run(problem, options["method"], rtol)
        except Exception as failure:
            yield {"rtol": rtol, "failure": one_line(failure)}
            continue
        sizes = np.abs(np.array(problem.reference))
        errors = np.abs(found - np.array(problem.reference))
        record = {"rtol": rtol}
        for name, part in GROUPS.items():
            record[name] = float(np.max(errors[part] / sizes[part]))
            record[f"{name} as a vector"] = float(errors[part].max() / sizes[part].max())
        yield record


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
