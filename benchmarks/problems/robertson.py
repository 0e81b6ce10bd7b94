"""Robertson's reaction as an index-1 DAE: three concentrations, rates nine orders of magnitude apart, to t = 4e10."""

from typing import Any

from benchmarks.problem import OdeForm, Problem, Rhs


def equations(m: Any) -> Rhs:
    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        out[0] = -p[0] * x[0] + p[1] * x[1] * x[2]
        out[1] = p[0] * x[0] - p[1] * x[1] * x[2] - p[2] * x[1] * x[1]
        out[2] = x[0] + x[1] + x[2] - 1.0

    return rhs


def without_balance(m: Any) -> Rhs:
    """The third concentration by its own rate in place of the balance of mass."""

    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        out[0] = -p[0] * x[0] + p[1] * x[1] * x[2]
        out[1] = p[0] * x[0] - p[1] * x[1] * x[2] - p[2] * x[1] * x[1]
        out[2] = p[2] * x[1] * x[1]

    return rhs


PROBLEM = Problem(
    name="robertson",
    title="Robertson DAE, t = 4e10",
    equations=equations,
    start=(1.0, 0.0, 0.0),
    parameters=(0.04, 1e4, 3e7),
    end=4e10,
    mass=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)),
    # python -m benchmarks.collocation_reference robertson 300 1e-6
    reference=(5.2083451767992384e-08, 2.0833381779254888e-13, 0.99999994791634),
    scale=1e-30,
    atol_factor=1e-8,
    tolerances=(1e-2, 1e-10),
    ode=OdeForm(without_balance, (1.0, 0.0, 0.0), lambda m, x: x),
    source="Mazzia, Magherini: Test Set for IVP Solvers, release 2.4, ROBER",
)
