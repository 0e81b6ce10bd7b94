"""Andrews' squeezing mechanism, problem A03 of the IFToMM library: seven planar bodies, six loop constraints; index 3.

A torque drives it.

q = (β, Θ, γ, Φ, δ, Ω, ε) are the angles of Hairer and Wanner; centres and angular velocities of the bodies give T, a
spring from D to C gives V, and a torque acts on β. Lengths in m, masses in kg. One degree of freedom; the motor turns
through two and a half rounds in 0.03 s. While the torque is constant, T + V − torque β is conserved.

Reference: F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4 (2008), Andrews' squeezing
mechanism.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

MASSES = [0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498]
INERTIAS = [2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5]
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
D, DA, E, EA = 0.028, 0.0115, 0.02, 0.01421
RR, RA, L0, C0 = 0.007, 0.00092, 0.07785, 4530.0
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB = 0.02308, 0.00916, 0.04, 0.01228, 0.00449
ZF, ZT, FA = 0.02, 0.04, 0.01421
# Consistent angles at rest.
START = [
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
]


def build() -> KnownSystem:
    """The problem of the test set.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("andrews")
    >>> k.model.mechanics().accelerations(inputs=k.inputs)["angle_ddot"][:2].round(5)
    array([ 14222.44392, -10666.83294])
    """
    m = Model("andrews")
    q = m.coordinate("angle", 7, start=START, rate=np.zeros(7), unit="rad")
    torque = m.input("torque", unit="N*m")
    masses, inertias = m.parameter("mass", MASSES, unit="kg"), m.parameter("inertia", INERTIAS, unit="kg*m^2")
    beta, theta, gamma, phi, delta, omega, epsilon = (q[k] for k in range(7))

    # Angles of the seven bodies, and their centres of mass.
    angles = [beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon]
    centres = [
        along(RA, beta),
        along(RR, beta) - along(DA, beta + theta),
        point(B) - across(SA, gamma) + along(SB, gamma),
        point(A) + along(ZT, delta) - across(E - EA, phi + delta),
        point(A) + along(TA, delta) + across(TB, delta),
        point(A) - across(U, epsilon) + along(ZF - FA, omega + epsilon),
        point(A) - across(UA, epsilon) - along(UB, epsilon),
    ]
    kinetic = sum(
        0.5 * masses[k] * ca.sumsqr(m.der(centre)) + 0.5 * inertias[k] * m.der(angle) ** 2
        for k, (centre, angle) in enumerate(zip(centres, angles))
    )
    spring = point(B) + along(SD, gamma) - across(SC, gamma) - point(C)
    potential = 0.5 * C0 * (ca.norm_2(spring) - L0) ** 2
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.generalised_force(beta, torque)
    pin = along(RR, beta) - along(D, beta + theta)
    m.constraint("loop3", pin + across(SS, gamma) - point(B))
    m.constraint("loop5", pin + across(E, phi + delta) - along(ZT, delta) - point(A))
    m.constraint("loop7", pin - along(ZF, omega + epsilon) + across(U, epsilon) - point(A))
    m.output("energy", kinetic + potential - torque * beta, unit="J")
    return KnownSystem(
        m,
        span=(0.0, 0.03),
        inputs={"torque": 0.033},
        index=3,
        conserved=("energy",),
        reference=Reference(0.03, REFERENCE, 8, "Test Set for Initial Value Problem Solvers"),
        source="E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, VII.7 (1996); Test Set (2008)",
    )


def point(place: tuple[float, float]) -> ca.SX:
    """A point of the frame."""
    return ca.SX(ca.DM(list(place)))


def along(length: float, angle: ca.SX) -> ca.SX:
    """The vector of this length and angle."""
    return length * ca.vertcat(ca.cos(angle), ca.sin(angle))


def across(length: float, angle: ca.SX) -> ca.SX:
    """The same a quarter turn on."""
    return length * ca.vertcat(-ca.sin(angle), ca.cos(angle))


REFERENCE: dict[str, object] = {
    "angle": [
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    ],
}
