"""A bead that slides down a wire of chosen shape: x' = v sin θ, y' = -v cos θ, v' = g cos θ; θ from the vertical.

Problem: the least time from (0, 10) to (10, 5), from rest, with g = 9.80665 m/s²; the wire is a cycloid and the time is
1.8016031225 s. Along any wire ½ v² + g y is conserved.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Straight down at 45 degrees.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("brachistochrone").optimum
    1.8016031225
    """
    m = Model("brachistochrone")
    x, y = m.state("x", start=0.0, unit="m"), m.state("y", start=10.0, unit="m")
    v = m.state("v", start=0.0, unit="m/s")
    angle = m.input("angle", unit="rad")
    g = m.parameter("gravity", 9.80665, unit="m/s^2")
    m.equation([m.der(x), m.der(y), m.der(v)], [v * ca.sin(angle), -v * ca.cos(angle), g * ca.cos(angle)])
    m.output("energy", 0.5 * v**2 + g * y, unit="J/kg")
    slope = np.cos(np.pi / 4)
    end = {"x": 0.5 * 9.80665 * slope**2, "y": 10.0 - 0.5 * 9.80665 * slope**2, "v": 9.80665 * slope}
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        inputs={"angle": np.pi / 4},
        conserved=("energy",),
        reference=Reference(1.0, end, 14, "a straight slope"),
        control=quickest,
        optimum=1.8016031225,
        source="Johann Bernoulli (1696); numbers of the example in OpenMDAO's dymos",
    )


@known_problem(duration=(2.0, 0.5, 10.0))
def quickest(ocp: Problem, m: Model) -> None:
    """The least time between the two points."""
    ocp.start()
    ocp.finish(x=10.0, y=5.0)
    ocp.bound("angle", 0.0, 3.0)
    ocp.input("angle", kind="linear")
    ocp.guess({"angle": [0.1, 1.7], "v": [0.0, 9.9]})
    ocp.minimise(final=ocp.duration)
