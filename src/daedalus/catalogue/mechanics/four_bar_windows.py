"""Four-bar linkages side by side that pass their dead centres together; index 3, problem A02 of the IFToMM library.

2 n + 1 uniform bars of 1 m and 1 kg form n windows; the legs are upright at first and their upper ends move to the side
with 1 m/s. Where all bars lie on one line the rank of the constraints drops from 2 n + 1 to n + 1, and other motions
branch off. The coordinates are those of the upper ends of the legs.

    T = Σ legs ⅙ m |p'|² + Σ bars ⅙ m (|a'|² + a'ᵀb' + |b'|²),    V = m g Σ heights of the centres,    |bar|² = 1

Reference: all legs turn alike, so that one angle from the ground describes the motion:
((n + 1)/3 + n) m L² φ'' = −((n + 1)/2 + n) m g L cos φ.
"""

from __future__ import annotations

from itertools import pairwise

import casadi as ca

from daedalus.catalogue.known_system import KnownSystem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build(count: int = 2) -> KnownSystem:
    """Two windows, five bars, through two dead centres; count: how many windows, with a reference for two only.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("four_bar_windows")
    >>> k.index, k.model.freeze().sizes["z"]
    (3, 5)
    """
    m = Model("four_bar_windows")
    gravity, mass = m.parameter("gravity", 9.81, unit="m/s^2"), m.parameter("mass", 1.0, unit="kg")
    start = [value for j in range(count + 1) for value in (float(j), 1.0)]
    ends = m.coordinate("ends", 2 * (count + 1), start=start, rate=[1.0, 0.0] * (count + 1), unit="m")
    points = [ends[2 * j : 2 * j + 2] for j in range(count + 1)]
    speeds = [m.rate(ends)[2 * j : 2 * j + 2] for j in range(count + 1)]
    squares = ca.sumsqr(m.rate(ends)) + sum(ca.sumsqr(a) + ca.dot(a, b) + ca.sumsqr(b) for a, b in pairwise(speeds))
    heights = sum(p[1] for p in points) + sum(a[1] + b[1] for a, b in pairwise(points))
    kinetic, potential = mass * squares / 6, 0.5 * mass * gravity * heights
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    for j, p in enumerate(points):
        m.constraint(f"leg_{j}", 0.5 * (ca.sumsqr(p - ca.DM([j, 0])) - 1.0))
    for j, (a, b) in enumerate(pairwise(points)):
        m.constraint(f"bar_{j}", 0.5 * (ca.sumsqr(b - a) - 1.0))
    m.output("energy", kinetic + potential, unit="J")
    return KnownSystem(
        m,
        span=(0.0, SPAN),
        index=3,
        conserved=("energy",),
        reference=Reference(SPAN, REFERENCE, 12, "one angle, order 8 at a tolerance of 1e-13") if count == 2 else None,
        source=(
            "M. González, D. Dopico, U. Lugrís, J. Cuadrado, A benchmarking system for MBS simulation software, "
            "Multibody System Dynamics 16 (2006) 179-190, problem A02"
        ),
    )


SPAN = 3.0
END = (-0.5493397393010329, -0.835599096950609)
REFERENCE: dict[str, object] = {"ends": [END[0], END[1], 1 + END[0], END[1], 2 + END[0], END[1]]}
