"""Robertson's three reactions, with rates nine orders of magnitude apart, as a DAE of index 1.

    y1' = -0.04 y1 + 1e4 y2 y3
    y2' =  0.04 y1 - 1e4 y2 y3 - 3e7 y2²
    0   =  y1 + y2 + y3 - 1

The third equation is the balance of mass in place of y3' = 3e7 y2².
"""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """The problem over its full published span.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("robertson")
    >>> k.index, k.span, k.stiff
    (1, (0.0, 100000000000.0), True)
    """
    m = Model("robertson")
    y = m.state("y", 3, start=[1.0, 0.0, 0.0], nominal=[1.0, 1e-5, 1.0])
    rate = m.parameter("rate", [0.04, 1e4, 3e7])
    slow, back, fast = rate[0] * y[0], rate[1] * y[1] * y[2], rate[2] * y[1] ** 2
    m.equation(m.der(y)[:2], [back - slow, slow - back - fast], name="reactions")
    m.equation(y[0] + y[1] + y[2] - 1, name="mass")
    return KnownSystem(
        m,
        span=(0.0, 1e11),
        index=1,
        stiff=True,
        reference=Reference(1e11, {"y": REFERENCE}, 14, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="H. H. Robertson, The solution of a set of reaction rate equations (1966)",
    )


REFERENCE = [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050]
