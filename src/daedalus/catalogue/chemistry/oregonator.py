"""The Oregonator: three substances of the Belousov-Zhabotinskii reaction, which oscillates with sudden jumps.

    y1' = s (y2 + y1 (1 - q y1 - y2)),    y2' = (y3 - (1 + y1) y2) / s,    y3' = w (y1 - y3)

with s = 77.27, q = 8.375e-6 and w = 0.161. Values pass through five orders of magnitude within a period.

Reference: the published end values, computed there with tolerance 1e-18.
"""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """The published run over a little more than one period.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("oregonator")
    >>> k.span, k.start["y"].tolist()
    ((0.0, 360.0), [1.0, 2.0, 3.0])
    """
    m = Model("oregonator")
    y = m.state("y", 3, start=[1.0, 2.0, 3.0])
    s, q, w = m.parameter("s", 77.27), m.parameter("q", 8.375e-6), m.parameter("w", 0.161)
    m.equation(
        m.der(y),
        [s * (y[1] + y[0] * (1 - q * y[0] - y[1])), (y[2] - (1 + y[0]) * y[1]) / s, w * (y[0] - y[2])],
        name="reactions",
    )
    return KnownSystem(
        m,
        span=(0.0, 360.0),
        stiff=True,
        reference=Reference(360.0, {"y": REFERENCE}, 14, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="R. J. Field, R. M. Noyes (1974); E. Hairer, G. Wanner, Solving Ordinary Differential Equations II",
    )


REFERENCE = [0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3]
