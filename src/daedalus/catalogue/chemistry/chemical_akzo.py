"""A reaction of FLB and ZHU with carbon dioxide, given by Akzo Nobel: five concentrations and one equilibrium.

    r1 = k1 y1⁴ √y2,  r2 = k2 y3 y4,  r3 = k2/K y1 y5,  r4 = k3 y1 y4²,  r5 = k4 y6² √y2,  F = klA (p/H - y2)

    y1' = -2 r1 + r2 - r3 - r4        y4' = -r2 + r3 - 2 r4
    y2' = -½ r1 - r4 - ½ r5 + F       y5' = r2 - r3 + r5
    y3' = r1 - r2 + r3                0   = Ks y1 y4 - y6

The index is 1. The square root makes the problem undefined where y2 becomes negative.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Three minutes of the reaction.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("chemical_akzo")
    >>> k.index, float(k.start["y"][5])
    (1, 0.35999964)
    """
    m = Model("chemical_akzo")
    y = m.state("y", 6, start=[0.444, 0.00123, 0.0, 0.007, 0.0, 115.83 * 0.444 * 0.007])
    k = m.parameter("k", [18.7, 0.58, 0.09, 0.42])
    equilibrium, solubility = m.parameter("K", 34.4), m.parameter("Ks", 115.83)
    transfer, pressure, henry = m.parameter("klA", 3.3), m.parameter("pressure", 0.9), m.parameter("H", 737.0)
    root = ca.sqrt(y[1])
    r1, r2, r3 = k[0] * y[0] ** 4 * root, k[1] * y[2] * y[3], k[1] / equilibrium * y[0] * y[4]
    r4, r5 = k[2] * y[0] * y[3] ** 2, k[3] * y[5] ** 2 * root
    feed = transfer * (pressure / henry - y[1])
    m.equation(
        m.der(y)[:5],
        [
            -2 * r1 + r2 - r3 - r4,
            -0.5 * r1 - r4 - 0.5 * r5 + feed,
            r1 - r2 + r3,
            -r2 + r3 - 2 * r4,
            r2 - r3 + r5,
        ],
        name="reactions",
    )
    m.equation(solubility * y[0] * y[3] - y[5], name="equilibrium")
    return KnownSystem(
        m,
        span=(0.0, 180.0),
        index=1,
        stiff=True,
        reference=Reference(180.0, {"y": REFERENCE}, 14, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="W. J. H. Stortelder, Parameter Estimation in Nonlinear Dynamical Systems (1998)",
    )


REFERENCE = [
    0.1150794920661702,
    0.1203831471567715e-2,
    0.1611562887407974,
    0.3656156421249283e-3,
    0.1708010885264404e-1,
    0.4873531310307455e-2,
]
