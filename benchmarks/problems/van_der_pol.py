"""Van der Pol's oscillator with mu = 5: a relaxation oscillation, mildly stiff on its slow branches."""

from typing import Any

from benchmarks.problem import Problem, Rhs


def equations(m: Any) -> Rhs:
    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        out[0] = x[1]
        out[1] = p[0] * (1 - x[0] * x[0]) * x[1] - x[0]

    return rhs


PROBLEM = Problem(
    name="van_der_pol",
    title="van der Pol, mu = 5, t = 20",
    equations=equations,
    start=(2.0, 0.0),
    parameters=(5.0,),
    end=20.0,
    reference=(
        -1.601296879542854,
        0.19832667633866208,
    ),
    source="Hairer, Nørsett, Wanner: Solving Ordinary Differential Equations I, I.16",
)
