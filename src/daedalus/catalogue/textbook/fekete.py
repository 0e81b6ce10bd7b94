"""Fekete points: particles on a sphere repel each other until the product of their distances is largest.

    p_i' = q_i + 2 μ_i p_i,     q_i' = Σ_j (p_i - p_j) / |p_i - p_j|² - q_i / 2 + 2 λ_i p_i,
    0 = |p_i|² - 1,             0 = 2 p_i · q_i,                                    i = 1..20

The form with μ has index 2 (C. W. Gear, B. Leimkuhler, G. K. Gupta, 1985); without μ and the last equation it is of
index 3. In rest λ = -(n - 1) / 4 for n particles.

Reference: the published end values of the first two and the last particle (outputs), computed there by RADAU5 with
tolerance 1e-12; λ = -4.75.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

# Particles on four parallels: how many, their latitude, and where the first one is.
PARALLELS = (
    (3, 3 * np.pi / 8, 2 * np.pi / 3 + np.pi / 13),
    (7, np.pi / 8, 2 * np.pi / 7 + np.pi / 29),
    (6, -2 * np.pi / 15, 2 * np.pi / 6 + np.pi / 7),
    (4, -3 * np.pi / 10, np.pi / 17),
)


def build(index: int = 2) -> KnownSystem:
    """The published run of 20 particles to t = 1000; `index` 3 leaves the second multipliers out.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("fekete")
    >>> k.index, k.start["p"].shape, k.reference["first"].tolist()
    (2, (3, 20), [-0.4070263380333202, 0.3463758772791802, 0.8451942450030429])
    """
    m = Model("fekete")
    begin = np.concatenate([_parallel(*parallel) for parallel in PARALLELS], axis=1)
    count = begin.shape[1]
    p, q = m.state("p", (3, count), start=begin), m.state("q", (3, count), start=np.zeros((3, count)))
    force = m.algebraic("force", count)
    points, speeds = ca.horzsplit(p), ca.horzsplit(q)
    pushes = []
    for i, own in enumerate(points):
        push = -0.5 * speeds[i] + 2 * force[i] * own
        for j, other in enumerate(points):
            if j != i:
                push += (own - other) / ca.sumsqr(own - other)
        pushes.append(push)
    motion = list(speeds)
    if index == 2:
        shift = m.algebraic("shift", count)
        motion = [speed + 2 * shift[i] * own for i, (own, speed) in enumerate(zip(points, speeds))]
        m.equation([2 * ca.dot(own, speed) for own, speed in zip(points, speeds)], name="tangent")
    m.equation(m.der(p), ca.horzcat(*motion), name="motion")
    m.equation(m.der(q), ca.horzcat(*pushes), name="forces")
    m.equation([ca.sumsqr(own) - 1 for own in points], name="sphere")
    for name, k in (("first", 0), ("second", 1), ("last", count - 1)):
        m.output(name, points[k])
    return KnownSystem(
        m,
        span=(0.0, 1000.0),
        index=index,
        stiff=True,
        reference=Reference(1000.0, REFERENCE, 9, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="P. M. Pardalos (1995); J. J. B. de Swart, W. J. H. Stortelder, Test Set for IVP Solvers",
    )


def _parallel(count: int, latitude: float, first: float) -> np.ndarray:
    """(3, count) points of one parallel."""
    around = first + 2 * np.pi * np.arange(count) / count
    flat = np.cos(latitude)
    return np.array([flat * np.cos(around), flat * np.sin(around), np.full(count, np.sin(latitude))])


REFERENCE = {
    "first": [-0.4070263380333202, 0.3463758772791802, 0.8451942450030429],
    "second": [0.7752934752521549e-1, -0.2628662719972299, 0.9617122871829146],
    "last": [0.2414481766969039, -0.3416456818373135, -0.9082846503446250],
    "force": [-4.75] * 20,
}
