"""A chain of given length between two nails: y' = slope over the horizontal distance.

Problem: the least potential energy ∫ y √(1 + y'²) of a chain of length ∫ √(1 + y'²) = 4 between the heights 1 and 3,
one unit apart; the optimum is 5.06848.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A straight line.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("hanging_chain").optimum
    5.06848
    """
    m = Model("hanging_chain")
    y, slope = m.state("y", start=1.0), m.input("slope")
    m.equation(m.der(y), slope)
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        inputs={"slope": 2.0},
        reference=Reference(1.0, {"y": 3.0}, 15, "a straight line"),
        control=lowest,
        optimum=5.06848,
        source="E. D. Dolan, J. J. Moré, T. S. Munson, COPS 3.0 (2004), hanging chain",
    )


@known_problem(duration=1.0)
def lowest(ocp: Problem, m: Model) -> None:
    """The least energy of a chain of length 4."""
    stretch = ca.sqrt(1 + m["slope"] ** 2)
    ocp.start()
    ocp.finish(y=3.0)
    ocp.subject_to(ocp.integral(stretch) == 4.0, at="end", name="length")
    ocp.input("slope", kind="linear")
    ocp.guess({"y": np.array([1.0, 0.0, 1.0, 3.0]), "slope": np.array([-4.0, 8.0])})
    ocp.minimise(running=m["y"] * stretch)
