"""Goddard's rocket: how high does it get with the fuel it has? Height, speed and mass in units of the start.

    h' = v,   v' = (thrust - drag)/m - 1/h²,   m' = -thrust/c,   drag = 310 v² exp(500 (1 - h)),   c = ½

Problem: the greatest height with 40 % of the mass as fuel and thrusts between 0 and 3.5, in a free time; part of
the way is flown on a singular arc. The published optimum is 1.01283.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Hovering for a moment: the thrust carries the weight.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("goddard_rocket").optimum
    -1.01283
    """
    m = Model("goddard_rocket")
    height = m.state("height", start=1.0)
    speed = m.state("speed", start=0.0, nominal=0.1)
    mass = m.state("mass", start=1.0)
    thrust = m.input("thrust")
    drag = 310.0 * speed**2 * ca.exp(500.0 * (1.0 - height))
    m.equation(m.der(height), speed, name="climb")
    m.equation(m.der(speed), (thrust - drag) / mass - 1.0 / height**2, name="momentum")
    m.equation(m.der(mass), -2.0 * thrust, name="fuel")
    m.output("drag", drag)
    return KnownSystem(
        m,
        span=(0.0, 0.1),
        inputs={"thrust": 1.0},
        reference=Reference(0.1, REFERENCE, 12, "order 8 at a tolerance of 1e-13, by two programs"),
        control=highest,
        optimum=-1.01283,
        source="E. D. Dolan, J. J. Moré, T. S. Munson, COPS 3.0 (2004), Goddard rocket",
    )


@known_problem(duration=(0.2, 0.05, 1.0))
def highest(ocp: Problem, m: Model) -> None:
    """The greatest height."""
    ocp.start()
    ocp.finish(mass=0.6)
    ocp.bound("thrust", 0.0, 3.5)
    ocp.bound("speed", 0.0, None)
    ocp.bound("height", 1.0, None)
    ocp.guess({"thrust": [3.5, 0.0], "height": [1.0, 1.01], "speed": [0.0, 0.1, 0.0], "mass": [1.0, 0.6]})
    ocp.minimise(final=-m["height"])


REFERENCE = {"height": 1.000358671280201, "speed": 0.01081259235746, "mass": 0.8}
