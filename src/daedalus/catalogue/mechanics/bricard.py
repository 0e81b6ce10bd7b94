"""Bricard's linkage: five rods and six hinges, one motion although Grübler counts none; index 3, problem A04 of IFToMM.

Rods of 1 m and 1 kg with a square section of 0.1 m lie along the edges of a cube and close a loop with the ground;
every hinge is at right angles to both of its rods. Gravity acts along −y. Five angles are the coordinates of the rods;
the hinge at the end closes the loop by five constraints, of which four are independent.

Reference: by symmetry hinges turn alike in threes, by angles α and β with (1 + cos α)(1 + cos β) = 1 (Y. Chen, Z. You,
T. Tarnai, Threefold-symmetric Bricard linkages for deployable structures, International Journal of Solids and
Structures 42, 2005); two coordinates and one constraint.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem
from daedalus.catalogue.reference import Reference
from daedalus.model.doors.joint_kinds import ground
from daedalus.model.model import Model

# Corners of the cube along the rods; the ground joins the last to the first.
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
WIDTH = 0.1


def build() -> KnownSystem:
    """From rest along the edges of the cube, ten seconds.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("bricard")
    >>> k.model.freeze().labels["x"][:5]
    ('hinge_0.angle', 'hinge_1.angle', 'hinge_2.angle', 'hinge_3.angle', 'hinge_4.angle')
    """
    m = Model("bricard")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")
    m.gravity([0.0, -gravity, 0.0])
    length = m.parameter("length", 1.0, unit="m")
    ways = np.roll(CORNERS, -1, axis=0) - CORNERS
    rods = []
    for k in range(5):
        along = np.diag(np.abs(ways[k]))
        inertia = np.diag(WIDTH**2 / 6 * along + (1 + WIDTH**2) / 12 * (np.eye(3) - along))
        rods.append(m.body(f"rod_{k}", mass=1.0, inertia=inertia))
    before: list[Any] = [ground, *rods]
    for k, rod in enumerate(rods):
        axis = np.cross(ways[k - 1], ways[k])
        places: dict[str, Any] = {
            "at_a": length * ca.DM(CORNERS[0] if k == 0 else ways[k - 1] / 2),
            "at_b": -length * ca.DM(ways[k] / 2),
        }
        m.joint(
            f"hinge_{k}", "revolute", before[k], rod, axis_a=axis, **places, coordinates="joint", start=0.0, rate=0.0
        )
    places = {"at_a": length * ca.DM(CORNERS[5]), "at_b": length * ca.DM(ways[4] / 2)}
    m.joint("hinge_5", "revolute", ground, rods[4], axis_a=np.cross(ways[4], ways[5]), **places, coordinates="joint")
    m.output("energy", sum(b.kinetic_energy + gravity * b.mass * b.position[1] for b in rods))
    return KnownSystem(
        m,
        span=(0.0, 10.0),
        index=3,
        conserved=("energy",),
        reference=Reference(10.0, REFERENCE, 9, "two angles and one constraint, order 8 at a tolerance of 1e-12"),
        source=(
            "M. González, D. Dopico, U. Lugrís, J. Cuadrado, A benchmarking system for MBS simulation software, "
            "Multibody System Dynamics 16 (2006) 179-190, problem A04"
        ),
    )


REFERENCE: dict[str, object] = {
    "hinge_0.angle": -0.0002690488833,
    "hinge_1.angle": 0.0002689765155,
    "hinge_4.angle": -0.0002690488833,
    "hinge_0.angle_dot": -0.032462011741,
}
