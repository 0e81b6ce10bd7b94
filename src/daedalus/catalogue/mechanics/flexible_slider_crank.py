"""A slider crank with an elastic connecting rod: two bending modes across, two nodes along; index 3, 2 or 1.

    M(p, q) w = f(p, q, v) - Gᵀ λ,    (p, q)' = v,    v' = w

p holds the angles of crank and rod and the place of the slider, q the deformation. Three constraints close the loop and
turn the crank at a constant 150 rad/s; they are written for positions (index 3), velocities (2) or accelerations (1).
Without damping the rod oscillates with up to 4e5 rad/s, at tiny amplitudes: stiff at coarse tolerances.

Reference: the published end values. Their start values have nine digits, which leaves seven or so in the rigid motion
and five in q; the start here meets the constraints to rounding.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.errors import InputError
from daedalus.model.model import Model

ROD_MASS, SLIDER_MASS = 0.151104, 0.075552
CRANK, ROD = 0.15, 0.30
CRANK_INERTIA, ROD_INERTIA = 0.002727, 0.0045339259
PI, YOUNG, WIDTH, HEIGHT, DENSITY, SPEED = 3.1415927, 0.2e12, 0.008, 0.008, 7870.0, 150.0
VOLUME, STIFFNESS = WIDTH * HEIGHT * ROD, YOUNG * WIDTH * HEIGHT / ROD

# Mass, stiffness and coupling of the elastic coordinates, and the integrals of their shapes.
MASS = DENSITY * VOLUME * np.array([[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 8, 1], [0, 0, 1, 2]])
BENDING = PI**4 * (HEIGHT / ROD) ** 2 * np.array([1 / 24, 2 / 3])
SPRING = STIFFNESS * np.array(
    [[BENDING[0], 0, 0, 0], [0, BENDING[1], 0, 0], [0, 0, 16 / 3, -8 / 3], [0, 0, -8 / 3, 7 / 3]]
)
_HALF = np.array([[0, 0, -16 / PI**3, 8 / PI**3 - 1 / PI], [0, 0, 0, 0.5 / PI], [0, 0, 0, 0], [0, 0, 0, 0]])
COUPLING = VOLUME * (_HALF - _HALF.T)
ALONG, ACROSS = VOLUME * np.array([0, 0, 2 / 3, 1 / 6]), VOLUME * np.array([2 / PI, 0, 0, 0])
ALONG_ARM = ROD * VOLUME * np.array([0, 0, 1 / 3, 1 / 6])
ACROSS_ARM = ROD * VOLUME * np.array([1 / PI, -0.5 / PI, 0, 0])
# Close to the smooth motion.
DEFORMATION = [0.0, 0.0, 0.103339863e-4, 0.169327969e-4]
DEFORMATION_RATE = [0.444896105, 0.463434311e-2, -0.178591076e-5, -0.268938672e-5]


def build(index: int = 2) -> KnownSystem:
    """The published run over 0.1 s; `index` says at which level the constraints are written.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("flexible_slider_crank", index=3)
    >>> k.index, k.span, k.reference["slide"]
    (3, (0.0, 0.1), 0.169737332671841)
    """
    if index not in (1, 2, 3):
        raise InputError("The option index is 1, 2 or 3.", f"got {index!r}", remedy="index=2")
    m = Model("flexible_slider_crank")
    arm = ROD + DEFORMATION[3]
    angle, slide = m.state("angle", 2, start=[0.0, 0.0]), m.state("slide", start=CRANK + arm)
    bend = m.state("bend", 4, start=DEFORMATION, nominal=1e-5)
    angle_rate = m.state("angle_rate", 2, start=[SPEED, -SPEED * CRANK / arm], nominal=100.0)
    slide_rate = m.state("slide_rate", start=DEFORMATION_RATE[3], nominal=10.0)
    bend_rate = m.state("bend_rate", 4, start=DEFORMATION_RATE, nominal=1e-2)
    acceleration = m.algebraic("acceleration", 7, nominal=1e3)
    force = m.algebraic("force", 3, nominal=100.0)
    place, speed = ca.vertcat(angle, slide, bend), ca.vertcat(angle_rate, slide_rate, bend_rate)
    m.equation(m.der(place), speed, name="kinematics")
    m.equation(m.der(speed), acceleration, name="dynamics")
    closure = ca.vertcat(
        CRANK * ca.sin(angle[0]) + (ROD + bend[3]) * ca.sin(angle[1]),
        slide - CRANK * ca.cos(angle[0]) - (ROD + bend[3]) * ca.cos(angle[1]),
        angle[0] - SPEED * m.time,
    )
    directions = ca.jacobian(closure, place)
    mass, forces = _motion(angle, bend, angle_rate, bend_rate)
    m.equation(mass @ acceleration, forces - directions.T @ force, name="balance")
    moving = directions @ speed - ca.DM([0.0, 0.0, SPEED])
    pushed = directions @ acceleration + ca.jacobian(moving, place) @ speed
    m.equation({3: closure, 2: moving, 1: pushed}[index], name="closure")
    return KnownSystem(
        m,
        span=(0.0, 0.1),
        index=index,
        stiff=True,
        reference=Reference(0.1, REFERENCE, 7, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="B. Simeon, Modelling a flexible slider crank mechanism by a mixed system of DAEs and PDEs (1996)",
    )


def _motion(angle: ca.SX, q: ca.SX, rate: ca.SX, speed: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The mass matrix and the forces; gravity is left out, as published."""
    cosine, sine, v1, v2 = ca.cos(angle[0] - angle[1]), ca.sin(angle[0] - angle[1]), rate[0], rate[1]
    along, across, along_arm, across_arm = (ca.DM(v) for v in (ALONG, ACROSS, ALONG_ARM, ACROSS_ARM))
    heavy, turning = ca.DM(MASS) @ q, ca.DM(COUPLING) @ speed
    lever, arm = DENSITY * CRANK, 0.5 * CRANK * ROD * ROD_MASS
    upper = ca.SX(7, 7)
    upper[0, 0] = CRANK_INERTIA + ROD_MASS * CRANK**2
    upper[0, 1] = arm * cosine + lever * (sine * ca.dot(across, q) + cosine * ca.dot(along, q))
    upper[1, 1] = ROD_INERTIA + ca.dot(q, heavy) + 2 * DENSITY * ca.dot(along_arm, q)
    upper[2, 2] = SLIDER_MASS
    upper[0, 3:] = (lever * (-sine * along + cosine * across)).T
    upper[1, 3:] = (DENSITY * (across_arm + ca.DM(COUPLING).T @ q)).T
    upper[3:, 3:] = ca.DM(MASS)
    crank = lever * v2**2 * (-sine * ca.dot(along, q) + cosine * ca.dot(across, q)) - arm * v2**2 * sine
    crank -= 2 * lever * v2 * (cosine * ca.dot(along, speed) + sine * ca.dot(across, speed))
    rod = arm * v1**2 * sine + lever * v1**2 * (sine * ca.dot(along, q) - cosine * ca.dot(across, q))
    rod -= 2 * v2 * (DENSITY * ca.dot(along_arm, speed) + ca.dot(speed, heavy)) + DENSITY * ca.dot(speed, turning)
    elastic = v2**2 * (heavy + DENSITY * along_arm) + lever * v1**2 * (cosine * along + sine * across)
    elastic += 2 * DENSITY * v2 * turning - ca.DM(SPRING) @ q
    return ca.triu2symm(ca.triu(upper)), ca.vertcat(crank, rod, 0, elastic)


REFERENCE: dict[str, object] = {
    "angle": [15.0, -3.311734987910881e-01],
    "slide": 1.697373326718410e-01,
    "angle_rate": [150.0, 6.025346682645789e01],
    "slide_rate": -8.753116989887888,
}
