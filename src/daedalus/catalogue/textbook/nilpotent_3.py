"""A linear system that differentiates its input twice: E x' = x + B u with a nilpotent E of index 3.

    x1 = x2',    x2 = x3',    x3 = -u

No start value is free: x3 = -u, x2 = -u', x1 = -u''. For a constant input the solution is (0, 0, -u). Implicit Euler
is wrong by u''/2 in x1 at the first step, and by O(1) after each change of step, however short the steps are.
"""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Three unknowns that follow from a constant input.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("nilpotent_3").index
    3
    """
    m = Model("nilpotent_3")
    x = m.state("x", 3, start=[0.0, 0.0, -2.0])
    u = m.input("u")
    rate = m.der(x)
    m.equation([rate[1] - x[0], rate[2] - x[1], x[2] + u], name="chain")
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        inputs={"u": 2.0},
        index=3,
        reference=Reference(1.0, {"x": [0.0, 0.0, -2.0]}, 15, "closed form"),
        source="S. Gros, Numerical Optimal Control with DAEs, lecture slides (2016), fully implicit linear DAE",
    )
