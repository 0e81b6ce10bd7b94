"""A slider-crank: crank, connecting rod and slider as planar bodies with three hinges and a guide; index 3.

The crank turns about the origin, the slider moves along the x axis, gravity acts along −y. Eight constraints on nine
coordinates leave one degree of freedom; the energy is conserved.

Reference: the angle of the crank as the only coordinate.
"""

from __future__ import annotations

import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.doors.joint_kinds import ground
from daedalus.model.model import Model

CRANK, ROD = 0.15, 0.4  # lengths, m
ANGLE, RATE = 0.7, 12.0  # of the crank at the start, rad and rad/s


def build() -> KnownSystem:
    """A small engine without its gas, turning at twelve radians a second.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("slider_crank")
    >>> list(k.model.bodies), k.model.freeze().sizes["z"]
    (['crank', 'rod', 'slider'], 8)
    """
    m = Model("slider_crank")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")
    m.gravity([0.0, -gravity])
    lean = -np.arcsin(CRANK / ROD * np.sin(ANGLE))
    swing = -CRANK * RATE * np.cos(ANGLE) / (ROD * np.cos(lean))
    crank_arm, rod_arm = arm(CRANK / 2, ANGLE), arm(ROD / 2, lean)
    crank_speed, rod_speed = RATE * across(crank_arm), swing * across(rod_arm)
    crank = m.body(
        "crank", 0.8, 0.8 * CRANK**2 / 12, "planar",
        position=crank_arm, velocity=crank_speed, rotation=ANGLE, angular_velocity=RATE,
    )  # fmt: skip
    rod = m.body(
        "rod", 1.2, 1.2 * ROD**2 / 12, "planar",
        position=2 * crank_arm + rod_arm, velocity=2 * crank_speed + rod_speed, rotation=lean, angular_velocity=swing,
    )  # fmt: skip
    slider = m.body(
        "slider", 0.5, 1e-3, "planar",
        position=2 * crank_arm + 2 * rod_arm, velocity=2 * crank_speed + 2 * rod_speed, rotation=0.0,
        angular_velocity=0.0,
    )  # fmt: skip
    m.joint("main_bearing", "revolute", ground, crank, at_b=[-CRANK / 2, 0.0])
    m.joint("crank_pin", "revolute", crank, rod, at_a=[CRANK / 2, 0.0], at_b=[-ROD / 2, 0.0])
    m.joint("gudgeon_pin", "revolute", rod, slider, at_a=[ROD / 2, 0.0])
    m.joint("guide", "prismatic", ground, slider, axis_a=[1.0, 0.0])
    kinetic = crank.kinetic_energy + rod.kinetic_energy + slider.kinetic_energy
    m.output("energy", kinetic + gravity * (crank.mass * crank.position[1] + rod.mass * rod.position[1]))
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        index=3,
        conserved=("energy",),
        reference=Reference(1.0, REFERENCE, 10, "crank angle alone, order 8 at a tolerance of 1e-13"),
        source="the classical mechanism; numbers chosen here",
    )


def arm(length: float, angle: float) -> np.ndarray:
    """The vector of this length and angle."""
    return length * np.array([np.cos(angle), np.sin(angle)])


def across(vector: np.ndarray) -> np.ndarray:
    """A quarter turn on."""
    return np.array([-vector[1], vector[0]])


REFERENCE: dict[str, object] = {
    "crank.position": [-0.04010804244706524, 0.06337463949455185],
    "rod.position": [0.1094774971505333, 0.06337463949455185],
    "slider.position": [0.2991710791951971, 0.0],
    "crank.angle": 14.70140708930358,
    "rod.angle": -0.32243097610283517,
}
