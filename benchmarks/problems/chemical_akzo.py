"""Chemical Akzo Nobel: five concentrations, one equilibrium, index 1, stiff, over three minutes."""

from collections.abc import Sequence
from typing import Any

from benchmarks.problem import OdeForm, Problem, Rhs


def equations(m: Any) -> Rhs:
    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        root = m.sqrt(x[1])
        squared = x[0] * x[0]
        r1 = p[0] * squared * squared * root
        r2 = p[1] * x[2] * x[3]
        r3 = p[1] / p[4] * x[0] * x[4]
        r4 = p[2] * x[0] * x[3] * x[3]
        r5 = p[3] * x[5] * x[5] * root
        feed = p[6] * (p[7] / p[8] - x[1])
        out[0] = -2.0 * r1 + r2 - r3 - r4
        out[1] = -0.5 * r1 - r4 - 0.5 * r5 + feed
        out[2] = r1 - r2 + r3
        out[3] = -r2 + r3 - 2.0 * r4
        out[4] = r2 - r3 + r5
        out[5] = p[5] * x[0] * x[3] - x[5]

    return rhs


def eliminated(m: Any) -> Rhs:
    """The equilibrium put into the five rates."""

    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        root = m.sqrt(x[1])
        squared = x[0] * x[0]
        salt = p[5] * x[0] * x[3]
        r1 = p[0] * squared * squared * root
        r2 = p[1] * x[2] * x[3]
        r3 = p[1] / p[4] * x[0] * x[4]
        r4 = p[2] * x[0] * x[3] * x[3]
        r5 = p[3] * salt * salt * root
        feed = p[6] * (p[7] / p[8] - x[1])
        out[0] = -2.0 * r1 + r2 - r3 - r4
        out[1] = -0.5 * r1 - r4 - 0.5 * r5 + feed
        out[2] = r1 - r2 + r3
        out[3] = -r2 + r3 - 2.0 * r4
        out[4] = r2 - r3 + r5

    return rhs


# k1 … k4, K, Ks, klA, p(CO2), H
PARAMETERS = (18.7, 0.58, 0.09, 0.42, 34.4, 115.83, 3.3, 0.9, 737.0)
START = (0.444, 0.00123, 0.0, 0.007, 0.0)


def with_salt(m: Any, x: Sequence[float]) -> Sequence[float]:
    return [*x, PARAMETERS[5] * x[0] * x[3]]


PROBLEM = Problem(
    name="chemical_akzo",
    title="Chemical Akzo Nobel, t = 180",
    equations=equations,
    start=(*START, 115.83 * 0.444 * 0.007),
    parameters=PARAMETERS,
    end=180.0,
    mass=tuple(tuple(1.0 if i == j < 5 else 0.0 for j in range(6)) for i in range(6)),
    reference=(
        0.1150794920661702,
        0.1203831471567715e-2,
        0.1611562887407974,
        0.3656156421249283e-3,
        0.1708010885264404e-1,
        0.4873531310307455e-2,
    ),
    scale=1e-30,
    atol_factor=1e-3,
    tolerances=(1e-2, 1e-10),
    ode=OdeForm(eliminated, START, with_salt),
    source="Mazzia, Magherini: Test Set for IVP Solvers, release 2.4, Chemical Akzo Nobel",
)
