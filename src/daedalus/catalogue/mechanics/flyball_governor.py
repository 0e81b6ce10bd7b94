"""A flyball governor whose couplers are stiff springs with dampers; an ODE of four joints, problem A05 of IFToMM.

A shaft turns about the vertical. Two rods of 1 m with 5 kg at their ends hang on it, 0.05 m beside the axis. Springs of
800 kN/m with dampers of 40 kN s/m from their middles carry a slider. Rods and shaft have a square section of 0.01 m,
the slider has edges of 0.1 m, all of density 3000 kg/m³. At first the rods are 30° below the horizontal, the slider is
0.5 m above the foot of the shaft, and everything turns with one round a second. The angular momentum is conserved.

Reference: shaft angle, rod angle and height as three coordinates, both rods alike, T and V written out.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem
from daedalus.catalogue.reference import Reference
from daedalus.geometry import inertia as inertia_of
from daedalus.model.doors.joint_kinds import ground
from daedalus.model.model import Model

DENSITY, LENGTH, WIDTH, EDGE, BALL = 3000.0, 1.0, 0.01, 0.1, 5.0
STIFFNESS, DAMPING, REST = 8e5, 4e4, 0.5


def build() -> KnownSystem:
    """Ten seconds: the balls fall, rise and settle into a nutation.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("flyball_governor")
    >>> k.index, k.stiff
    (0, True)
    """
    m = Model("flyball_governor")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")
    m.gravity([0.0, 0.0, -gravity])
    weight = DENSITY * LENGTH * WIDTH**2
    thin = inertia_of.box(weight, WIDTH, WIDTH, LENGTH)
    # A rod and the ball at its end as one body, about their common centre.
    centre = -(weight * LENGTH / 2 + BALL * LENGTH) / (weight + BALL)
    across = weight * (LENGTH / 2 + centre) ** 2 + BALL * (LENGTH + centre) ** 2
    rod = np.asarray(thin) + np.diag([across, across, 0.0])
    block = DENSITY * EDGE**3
    shaft = m.body("shaft", mass=weight, inertia=thin)
    slider = m.body("slider", mass=block, inertia=inertia_of.box(block, EDGE, EDGE, EDGE))
    joint: dict[str, Any] = {"coordinates": "joint"}
    m.joint(
        "bearing",
        "revolute",
        ground,
        shaft,
        at_b=[0, 0, -LENGTH / 2],
        axis_a=[0, 0, 1],
        start=0.0,
        rate=2 * np.pi,
        **joint,
    )
    m.joint(
        "guide", "prismatic", shaft, slider, at_a=[0, 0, -LENGTH / 2], axis_a=[0, 0, 1], start=0.5, rate=0.0, **joint
    )
    for side, name in ((1, "right"), (-1, "left")):
        arm = m.body(name, mass=weight + BALL, inertia=rod)
        top: dict[str, Any] = {"at_a": [side * EDGE / 2, 0, LENGTH / 2], "at_b": [0, 0, -centre]}
        # The angle is from the downward vertical, positive outwards: 30° below the horizontal at the start.
        m.joint(
            f"{name}_hinge", "revolute", shaft, arm, axis_a=[0, -side, 0], start=np.pi / 3, rate=0.0, **top, **joint
        )
        middle = [0, 0, -LENGTH / 2 - centre]
        reach = arm.point(middle) - slider.point([side * EDGE / 2, 0, 0])
        length = ca.norm_2(reach)
        speed = arm.point_velocity(middle) - slider.point_velocity([side * EDGE / 2, 0, 0])
        m.potential_energy(0.5 * STIFFNESS * (length - REST) ** 2)
        m.dissipation(0.5 * DAMPING * (ca.dot(reach, speed) / length) ** 2)
    return KnownSystem(
        m,
        span=(0.0, 10.0),
        index=0,
        stiff=True,
        reference=Reference(10.0, REFERENCE, 9, "three coordinates, order 9 at a tolerance of 1e-12"),
        source=(
            "M. González, D. Dopico, U. Lugrís, J. Cuadrado, A benchmarking system for MBS simulation software, "
            "Multibody System Dynamics 16 (2006) 179-190, problem A05"
        ),
    )


REFERENCE: dict[str, object] = {
    "bearing.angle": 55.9354099091,
    "right_hinge.angle": 1.18072262495,
    "left_hinge.angle": 1.18072262495,
    "guide.displacement": 0.61962291706,
    "bearing.angle_dot": 5.5482036227,
    "guide.displacement_dot": -0.7476033542,
    "right_hinge.angle_dot": -0.8084670513,
    "left_hinge.angle_dot": -0.8084670513,
}
