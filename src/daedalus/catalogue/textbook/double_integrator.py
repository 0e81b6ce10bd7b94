"""A unit mass that is pushed: position' = velocity, velocity' = force, with |force| <= 1, a force for each kilogram.

Problem: from rest to rest one metre further in the least time: full push for one second, full brake for another.
Reference: position = ½ t², velocity = t for a push of 1.
"""

from __future__ import annotations

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A kilogram pushed by one newton.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("double_integrator")
    >>> round(k.problem.solve().duration, 6)
    2.0
    """
    m = Model("double_integrator")
    position, velocity = m.state("position", start=0.0, unit="m"), m.state("velocity", start=0.0, unit="m/s")
    force = m.input("force", unit="m/s^2")
    m.equation([m.der(position), m.der(velocity)], [velocity, force])
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        inputs={"force": 1.0},
        reference=Reference(1.0, {"position": 0.5, "velocity": 1.0}, 15, "½ t² and t"),
        control=quickest,
        optimum=2.0,
        source="A. E. Bryson, Y.-C. Ho, Applied Optimal Control (1975), 3.9",
    )


@known_problem(duration=(3.0, 0.1, 10.0))
def quickest(ocp: Problem, m: Model) -> None:
    """The least time from rest to rest."""
    ocp.start()
    ocp.finish(position=1.0, velocity=0.0)
    ocp.bound("force", -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
