"""A point mass on a massless bar, released where the bar is horizontal; index 3, problem A01 of the IFToMM library.

    T = ½ m (x'² + y'²),   V = m g y,   c = ½ (x² + y² − L²) = 0

The start is at rest at (−L, 0). The energy is conserved.

Reference: the exact motion by Jacobi's elliptic functions: sin(φ/2) = k cd(ω t), k = sin(π/4), ω² = g/L, where φ is
the angle from the lowest point.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue.known_system import KnownSystem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Ten seconds, nearly four and a half swings.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("simple_pendulum")
    >>> k.index, k.start["place"]
    (3, array([-1.,  0.]))
    """
    m = Model("simple_pendulum")
    place = m.coordinate("place", 2, start=[-1.0, 0.0], rate=[0.0, 0.0], unit="m")
    mass = m.parameter("mass", 1.0, unit="kg")
    length = m.parameter("length", 1.0, unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")
    kinetic, potential = 0.5 * mass * ca.sumsqr(m.rate(place)), mass * gravity * place[1]
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.constraint("bar", 0.5 * (ca.sumsqr(place) - length**2))
    m.output("energy", kinetic + potential + mass * gravity * length, unit="J")  # of the lowest place
    return KnownSystem(
        m,
        span=(0.0, 10.0),
        index=3,
        conserved=("energy",),
        reference=Reference(10.0, REFERENCE, 12, "Jacobi's elliptic functions"),
        source=(
            "M. González, D. Dopico, U. Lugrís, J. Cuadrado, A benchmarking system for MBS simulation software, "
            "Multibody System Dynamics 16 (2006) 179-190, problem A01"
        ),
    )


REFERENCE: dict[str, object] = {"place": [-0.27508746257611686, -0.96141920509912506]}
