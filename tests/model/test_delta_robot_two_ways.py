"""The delta robot of the catalogue, written by energies, and the same robot as bodies and joints move alike."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def by_bodies(known, lower_mass=1.0):
    """A point mass for the nacelle, three planar rods in upright planes as bodies in space, massless long arms.

    The catalogue's arm turns about the motor with the inertia J; about its centre, half way out, J − M (l/2)² is left.
    """
    p = known.parameters
    m = dd.Model("bodies")
    m.gravity([0, 0, -p["gravity"]])
    nacelle = m.body("nacelle", lower_mass * p["mass"], orientation=None)
    torque, half = m.input("torque", 3), p["short_arm"] / 2
    about_centre = p["inertia"] - p["arm_mass"] * half**2
    for k in range(3):
        out = dd.rot_z(2 * np.pi * k / 3)
        arm = m.body(f"arm{k}", p["arm_mass"], [about_centre / 2, about_centre, about_centre])
        # The angle grows as the arm sinks: a turn about the y axis of its own plane.
        m.joint(
            f"motor{k}", "revolute", dd.ground, arm, at_a=out @ [p["distance"], 0, 0], at_b=[-half, 0, 0],
            axis_a=out @ [0, 1, 0], axis_b=[0, 1, 0],
        )  # fmt: skip
        m.joint(f"long{k}", "distance", arm, nacelle, at_a=[half, 0, 0], length=p["long_arm"])
        arm.apply_torque([0, torque[k], 0])
    return m


def carried_over(known):
    """Positions and quaternions of the bodies in the coordinates of the catalogue's model."""
    p, angle = known.parameters, known.model["angle"]
    carried = {"nacelle.position": known.model["position"]}
    for k in range(3):
        turn, half = 2 * np.pi * k / 3, angle[k] / 2
        out = p["distance"] + p["short_arm"] / 2 * ca.cos(angle[k])
        down = p["short_arm"] / 2 * ca.sin(angle[k])
        carried[f"arm{k}.position"] = ca.vertcat(np.cos(turn) * out, np.sin(turn) * out, -down)
        # R_z(turn) R_y(angle) as a quaternion.
        c, s = np.cos(turn / 2), np.sin(turn / 2)
        carried[f"arm{k}.quaternion"] = ca.vertcat(
            c * ca.cos(half), -s * ca.sin(half), c * ca.sin(half), s * ca.cos(half)
        )
    return carried


def test_energies_and_joints_agree():
    known = catalogue.load("delta_robot")
    found = dd.same(known.model, by_bodies(known), map=carried_over(known), spread=0.05)
    assert found.difference < 1e-9, str(found)
    assert found.violation < 1e-9
    assert found


def test_a_heavier_nacelle_is_noticed():
    known = catalogue.load("delta_robot")
    assert not dd.same(known.model, by_bodies(known, 1.01), map=carried_over(known), spread=0.05)


def test_energies_and_multipliers_by_hand_agree():
    """Newton's equations of nacelle and arms with the pulls of the long arms, the constraints differentiated twice."""
    known = catalogue.load("delta_robot")
    p = known.parameters
    m = dd.Model("hand")
    position, angle = m.state("position", 3), m.state("angle", 3)
    torque, pull = m.input("torque", 3), m.algebraic("pull", 3)
    force = ca.SX(ca.DM([0, 0, -p["mass"] * p["gravity"]]))
    for k in range(3):
        turn = ca.DM(dd.rot_z(2 * np.pi * k / 3))
        arm = p["short_arm"] * (turn @ ca.vertcat(ca.cos(angle[k]), 0, -ca.sin(angle[k])))
        gap = position - p["distance"] * turn[:, 0] - arm
        force += pull[k] * gap
        # The moment about the motor's axis of −pull gap at the tip and of the weight half way out.
        down = p["arm_mass"] * p["gravity"] * p["short_arm"] / 2 * ca.cos(angle[k])
        lever = ca.dot(turn[:, 1], ca.cross(arm, -pull[k] * gap))
        m.equation(p["inertia"] * m.der(m.der(angle[k])), torque[k] + down + lever)
        m.equation(m.der(m.der(ca.sumsqr(gap))), 0)
    m.equation(p["mass"] * m.der(m.der(position)), force)
    found = dd.same(known.model, m, spread=0.05)
    assert found.difference == pytest.approx(0, abs=1e-9), str(found)
