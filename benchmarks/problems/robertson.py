"""Robertson's reaction as an index-1 DAE over eleven decades of time; runs only when asked for by name."""

from typing import Any

from benchmarks.problem import Problem, Rhs


def equations(m: Any) -> Rhs:
    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        out[0] = -p[0] * x[0] + p[1] * x[1] * x[2]
        out[1] = p[0] * x[0] - p[1] * x[1] * x[2] - p[2] * x[1] * x[1]
        out[2] = x[0] + x[1] + x[2] - 1.0

    return rhs


PROBLEM = Problem(
    name="robertson",
    title="Robertson DAE, t = 1e11",
    equations=equations,
    start=(1.0, 0.0, 0.0),
    parameters=(0.04, 1e4, 3e7),
    end=1e11,
    mass=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)),
    # End values of the Bari Test Set for IVP Solvers, problem ROBER.
    reference=(0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050),
    scale=1e-30,
    atol_factor=1e-8,
    in_default_run=False,
    source="Mazzia, Magherini: Test Set for IVP Solvers, release 2.4, ROBER",
)
