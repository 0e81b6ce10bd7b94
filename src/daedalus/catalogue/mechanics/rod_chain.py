"""A chain of rods that hangs from the origin by hinges, as planar bodies; index 3.

Each rod is a metre long over the number of rods and weighs a kilogram over it; it is let go horizontally from rest. The
energy is conserved. Twice as many rods are twice as many equations, each with the same few neighbours.

Reference (ten rods): the angles as coordinates, with Lagrange's equations and no constraint.
"""

from __future__ import annotations

import operator
from typing import Any

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.errors import InputError
from daedalus.model.doors.body import Body
from daedalus.model.doors.joint_kinds import Ground, ground
from daedalus.model.model import Model


def build(rods: Any = 10) -> KnownSystem:
    """A chain of this many rods.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("rod_chain", rods=50)
    >>> k.model.freeze().sizes["x"], k.model.freeze().sizes["z"]
    (300, 100)
    """
    try:
        count = operator.index(rods)
    except TypeError:
        count = 0
    if count < 1:
        raise InputError("The option rods is not a number of rods.", f"got {rods!r}", remedy="rods=10")
    m = Model("rod_chain")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")
    m.gravity([0.0, -gravity])
    length = mass = 1.0 / count
    partner: Body | Ground = ground
    at, energy = [0.0, 0.0], ca.SX(0)
    for k in range(count):
        rod = m.body(
            f"rod{k}", mass, mass * length**2 / 12, "planar",
            position=[(k + 0.5) * length, 0.0], velocity=[0.0, 0.0], rotation=0.0, angular_velocity=0.0,
        )  # fmt: skip
        m.joint(f"hinge{k}", "revolute", partner, rod, at_a=at, at_b=[-length / 2, 0.0])
        energy += rod.kinetic_energy + mass * gravity * rod.position[1]
        partner, at = rod, [length / 2, 0.0]
    # From the lowest position it can reach, so that the number is not small by cancellation.
    m.output("energy", energy + 0.5 * gravity)
    return KnownSystem(
        m,
        span=(0.0, 0.5),
        index=3,
        conserved=("energy",),
        reference=Reference(0.5, REFERENCE, 11, "angles alone, order 8 at a tolerance of 1e-13")
        if count == 10
        else None,
        source="the classical chain; numbers chosen here",
    )


REFERENCE: dict[str, object] = {
    "rod0.angle": -1.5276269399739475,
    "rod4.position": [-0.007691746857820944, -0.44859304854061177],
    "rod9.position": [-0.2162567662124371, -0.8509543764298307],
    "rod9.angle": -2.887003768614477,
}
