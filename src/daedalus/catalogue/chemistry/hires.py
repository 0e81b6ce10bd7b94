"""HIRES, the high irradiance response of plants: eight reacting substances in the photomorphogenesis of a plant.

    y1' = -k1 y1 + k2 y2 + k6 y3 + s              y5' = -(k1 + k5) y5 + k2 (y6 + y7)
    y2' =  k1 y1 - (k2 + k3) y2                   y6' = -k7 y6 y8 + k8 (y4 + y7) + k1 y5 - k2 y6
    y3' = -(k1 + k6) y3 + k2 y4 + k5 y5           y7' =  k7 y6 y8 - (k2 + k8 + k9) y7
    y4' =  k3 y2 + k1 y3 - (k2 + k4) y4           y8' = -y7'

Mildly stiff; y7 + y8 is conserved. The published problem has no units of time or concentration.

Reference: the published end values, computed there by RADAU5 on a Cray C90 with tolerance 1e-18;
extrapolation in long double agrees to 4e-15.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """The published run to t = 321.8122.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("hires")
    >>> k.conserved, float(k.reference["y"][0])
    (('y7_and_y8',), 0.0007371312573325668)
    """
    m = Model("hires")
    y = m.state("y", 8, start=[1, 0, 0, 0, 0, 0, 0, 0.0057])
    k = m.parameter("k", [1.71, 0.43, 8.32, 0.69, 0.035, 8.32, 280.0, 0.69, 0.69])
    supply = m.parameter("supply", 0.0007)

    y1, y2, y3, y4, y5, y6, y7, y8 = ca.vertsplit(y)
    k1, k2, k3, k4, k5, k6, k7, k8, k9 = ca.vertsplit(k)
    binding = k7 * y6 * y8 - (k2 + k8 + k9) * y7
    m.equation(
        m.der(y),
        [
            -k1 * y1 + k2 * y2 + k6 * y3 + supply,
            k1 * y1 - (k2 + k3) * y2,
            -(k1 + k6) * y3 + k2 * y4 + k5 * y5,
            k3 * y2 + k1 * y3 - (k2 + k4) * y4,
            -(k1 + k5) * y5 + k2 * (y6 + y7),
            -k7 * y6 * y8 + k8 * (y4 + y7) + k1 * y5 - k2 * y6,
            binding,
            -binding,
        ],
        name="reactions",
    )
    m.output("y7_and_y8", y7 + y8)
    return KnownSystem(
        m,
        span=(0.0, 321.8122),
        conserved=("y7_and_y8",),
        reference=Reference(
            321.8122, REFERENCE, 14, "published: F. Mazzia, C. Magherini, Test Set for IVP Solvers 2.4 (2008)"
        ),
        source="E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. (1996), IV.10",
    )


REFERENCE = {
    "y": [
        0.7371312573325668e-3,
        0.1442485726316185e-3,
        0.5888729740967575e-4,
        0.1175651343283149e-2,
        0.2386356198831331e-2,
        0.6238968252742796e-2,
        0.2849998395185769e-2,
        0.2850001604814231e-2,
    ]
}
