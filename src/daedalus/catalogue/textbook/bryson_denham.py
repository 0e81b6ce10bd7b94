"""A mass thrown at a wall that it must not touch: x' = v, v' = u with x <= l.

Problem: from x = 0, v = 1 to x = 0, v = -1 in one unit of time with x <= l = 1/9, at the least cost ½ ∫ u² dt; the
optimum is 4/(9 l) = 4. Bryson, Denham and Dreyfus, AIAA Journal 1 (1963), 2544-2550.
"""

from __future__ import annotations

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Thrown without a force.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("bryson_denham").optimum
    4.0
    """
    m = Model("bryson_denham")
    x, v, u = m.state("x", start=0.0), m.state("v", start=1.0), m.input("u")
    m.parameter("limit", 1.0 / 9.0)
    m.equation([m.der(x), m.der(v)], [v, u])
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        inputs={"u": 0.0},
        reference=Reference(1.0, {"x": 1.0, "v": 1.0}, 15, "x = t"),
        control=turned_back,
        optimum=4.0,
        source="A. E. Bryson, W. F. Denham, S. E. Dreyfus, AIAA Journal 1 (1963), 2544-2550",
    )


@known_problem(duration=1.0)
def turned_back(ocp: Problem, m: Model) -> None:
    """Back at the start with the opposite velocity, without passing the limit."""
    ocp.start()
    ocp.finish(x=0.0, v=-1.0)
    ocp.subject_to(m["x"] <= m["limit"], name="wall")
    ocp.input("u", kind="linear")
    ocp.minimise(running=0.5 * m["u"] ** 2)
