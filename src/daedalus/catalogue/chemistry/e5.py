"""E5, a pyrolysis: four concentrations that fall from 1e-3 to 1e-22 while time runs to 1e13.

    y1' = -A y1 - B y1 y3
    y2' =  A y1 - C y2 y3               A = 7.89e-10, B = 1.1e7, C = 1.13e9, D = 1.13e3
    y3' =  A y1 - C y2 y3 - B y1 y3 + D y4
    y4' =  B y1 y3 - D y4

Starting from zero, y2 = y3 + y4 for all times. At the end both behave like 1/(C t), and a difference of 1e-25, which is
a rounding error of the values on the way, would be seen: the law replaces the equation of y2 here.

Reference: computed with radau5 and radau9 at rtol = 1e-12 and absolute tolerances of 1e-30, equal to 10 digits. The
published end values, 8.867655517642120e-23 and 8.854814626268838e-23, miss y2 = y3 by 1e-3; their mean agrees to 2e-7.
"""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """The published run; nominal values make the tolerances of y2, y3 and y4 small enough.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("e5")
    >>> k.index, k.span[1], k.reference["y"][1:3]
    (1, 10000000000000.0, array([8.86123352e-23, 8.86123352e-23]))
    """
    m = Model("e5")
    y = m.state("y", 4, start=[1.76e-3, 0.0, 0.0, 0.0], nominal=[1e-3, 1e-18, 1e-18, 1e-18])
    a, b, c, d = m.parameter("A", 7.89e-10), m.parameter("B", 1.1e7), m.parameter("C", 1.13e9), m.parameter("D", 1.13e3)
    rate = m.der(y)
    m.equation(rate[0], -a * y[0] - b * y[0] * y[2], name="first")
    m.equation(y[1], y[2] + y[3], name="balance")
    m.equation(rate[2], a * y[0] - c * y[1] * y[2] - b * y[0] * y[2] + d * y[3], name="third")
    m.equation(rate[3], b * y[0] * y[2] - d * y[3], name="fourth")
    return KnownSystem(
        m,
        span=(0.0, 1e13),
        index=1,
        stiff=True,
        reference=Reference(1e13, {"y": [0.0, END, END, 0.0]}, 9, "radau5 and radau9 at rtol = 1e-12"),
        source="W. H. Enright, T. E. Hull, B. Lindberg, Comparing numerical methods for stiff systems of ODEs (1975)",
    )


END = 8.861233517e-23
