"""The two-stage transistor amplifier: eight node voltages, index 1, a mass matrix that is not diagonal."""

from math import pi
from typing import Any

from benchmarks.problem import Problem, Rhs

SPEED = 200.0 * pi


def equations(m: Any) -> Rhs:
    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        supply, thermal, gain, saturation, r0, r = p[0], p[1], p[2], p[3], p[4], p[5]
        first = saturation * (m.exp((x[1] - x[2]) / thermal) - 1.0)
        second = saturation * (m.exp((x[4] - x[5]) / thermal) - 1.0)
        out[0] = (0.1 * m.sin(SPEED * t) - x[0]) / r0
        out[1] = supply / r - 2.0 * x[1] / r - (1.0 - gain) * first
        out[2] = first - x[2] / r
        out[3] = (supply - x[3]) / r - gain * first
        out[4] = supply / r - 2.0 * x[4] / r - (1.0 - gain) * second
        out[5] = second - x[5] / r
        out[6] = (supply - x[6]) / r - gain * second
        out[7] = -x[7] / r

    return rhs


def capacities() -> tuple[tuple[float, ...], ...]:
    """Coupling capacitors between nodes 1–2, 4–5 and 7–8, others to ground."""
    matrix = [[0.0] * 8 for _ in range(8)]
    for a, c in ((0, 1e-6), (3, 3e-6), (6, 5e-6)):
        matrix[a][a] = matrix[a + 1][a + 1] = c
        matrix[a][a + 1] = matrix[a + 1][a] = -c
    matrix[2][2], matrix[5][5] = 2e-6, 4e-6
    return tuple(map(tuple, matrix))


PROBLEM = Problem(
    name="transistor_amplifier",
    title="transistor amplifier, t = 0.2",
    equations=equations,
    start=(0.0, 3.0, 3.0, 6.0, 3.0, 3.0, 6.0, 0.0),
    parameters=(6.0, 0.026, 0.99, 1e-6, 1000.0, 9000.0),
    end=0.2,
    mass=capacities(),
    reference=(
        -0.5562145012262709e-2,
        0.3006522471903042e1,
        0.2849958788608128e1,
        0.2926422536206241e1,
        0.2704617865010554e1,
        0.2761837778393145e1,
        0.4770927631616772e1,
        0.1236995868091548e1,
    ),
    scale=1.0,
    tolerances=(1e-2, 1e-10),
    source="Mazzia, Magherini: Test Set for IVP Solvers, release 2.4, Transistor Amplifier",
)
