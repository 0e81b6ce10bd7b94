"""Lotka and Volterra's prey and predators over ten years."""

from typing import Any

from benchmarks.problem import Problem, Rhs


def equations(m: Any) -> Rhs:
    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        out[0] = p[0] * x[0] - p[1] * x[0] * x[1]
        out[1] = p[3] * x[0] * x[1] - p[2] * x[1]

    return rhs


PROBLEM = Problem(
    name="lotka_volterra",
    title="Lotka–Volterra, t = 10",
    equations=equations,
    start=(1.0, 1.0),
    parameters=(1.5, 1.0, 3.0, 1.0),
    end=10.0,
    reference=(
        1.0263447675750894,
        0.9096910781360417,
    ),
    source="Hairer, Nørsett, Wanner: Solving Ordinary Differential Equations I, I.1",
)
