"""A thin disc that rolls on a level plane without slipping: a body and three velocity constraints; index 2.

The material at the contact, the lowest point of the rim, stands still:

    v + R ω × (P − p) = 0,     P = p − r s,   s the unit vector up the disc along its steepest line

The axle is the body's z axis, with the moment of inertia C = ½ m r² about it and A = ¼ m r² across. The energy is
conserved, and the height of the contact, which the velocities keep, is an invariant of the model. With the axle at the
angle θ from the vertical the disc rolls in a circle at the turn rate W where its spin about the axle, s, obeys

    A W² sin θ cos θ − (C + m r²) W s sin θ − m g r cos θ = 0

Reference: Euler's angles with the angular velocity along horizontal, steepest line and axle, free of constraints.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.doors.joint_kinds import ground
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A disc that leans by about a third of a radian and is let go without turning: it nods along a wavy curve.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("rolling_disc")
    >>> k.index, k.model.freeze().sizes["z"], list(k.model.freeze().invariants)
    (2, 3, ['disc.quaternion length', 'contact height'])
    """
    m = Model("rolling_disc")
    mass = m.parameter("mass", 2.0, unit="kg")
    radius = m.parameter("radius", RADIUS, unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")
    m.gravity([0.0, 0.0, -gravity])
    disc = m.body(
        "disc", mass, mass * radius**2 * ca.DM([0.25, 0.25, 0.5]),
        position=[0.0, 0.0, RADIUS * SINE], velocity=[-RADIUS * SPIN, 0.0, 0.0],
        rotation=QUATERNION, angular_velocity=[0.0, 0.0, SPIN],
    )  # fmt: skip
    m.joint("contact", "rolling", ground, disc, axis_a=[0.0, 0.0, 1.0], axis_b=[0.0, 0.0, 1.0], radius=radius)

    m.output("axle", disc.rotation[:, 2])
    m.output("energy", disc.kinetic_energy + mass * gravity * disc.position[2], unit="J")
    return KnownSystem(
        m,
        span=(0.0, 2.0),
        index=2,
        conserved=("energy",),
        reference=Reference(2.0, REFERENCE, 13, "Euler's angles, extrapolation in extended precision"),
        source="J. I. Neimark, N. A. Fufaev, Dynamics of Nonholonomic Systems (1972); numbers chosen here",
    )


RADIUS, SPIN = 0.3, -8.0
# The axle at θ = 2 atan 0.7 = 1.22 rad from the vertical, about x: (1, 0.7, 0, 0) up to its length.
QUATERNION = [1.0 / 1.49**0.5, 0.7 / 1.49**0.5, 0.0, 0.0]
SINE = 1.4 / 1.49

REFERENCE: dict[str, object] = {
    "disc.position": [1.4035473107862817, 3.4958477410014157, 0.27568859487606473],
    "disc.velocity": [-1.767706266386366, 1.6445175704811006, 0.09094480294557825],
    "disc.quaternion": [0.4137672352534641, -0.5087839033519009, -0.20968040524446035, -0.725237714392479],
    "disc.angular_velocity": [0.8019603539126857, -0.8778875269276478, -8.016862811851604],
}
