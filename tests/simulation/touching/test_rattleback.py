"""A rattleback: an ellipsoid whose axes of inertia are turned against those of its shape reverses its spin.

Numbers of T. R. Kane, D. A. Levinson, Int. J. Non-Linear Mechanics 17, 1982: half axes of 20, 3 and 2 cm, the centre of
mass 1 cm below that of the ellipsoid. The other way to the same motion: rolling as a constraint between velocities.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

HALF, BELOW, SPIN, TILT = np.array([0.2, 0.03, 0.02]), 0.01, -5.0, np.deg2rad(0.5)
INERTIA = [[2e-4, -2e-5, 0.0], [-2e-5, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]]


def lowest(up):
    """The point of the ellipsoid that touches the ground, from the centre of mass, for the vertical in the body."""
    stretched = HALF * up
    return np.array([0, 0, BELOW]) - HALF * stretched / np.linalg.norm(stretched)


def stone(m):
    m.gravity([0.0, 0.0, -9.81])
    turn = np.array(dd.rot_y(TILT))
    arm, spin = turn @ lowest(turn.T @ [0, 0, 1]), np.array([0, 0, SPIN])
    return m.body("stone", mass=1.0, inertia=INERTIA, position=[0, 0, -arm[2]], velocity=-np.cross(spin, arm),
                  rotation=turn, angular_velocity=turn.T @ spin)  # fmt: skip


def rolling():
    m = dd.Model("rolls")
    b = stone(m)
    stretched = ca.DM(HALF) * (b.rotation.T @ ca.DM([0, 0, 1]))
    arm = b.rotation @ (ca.DM([0, 0, BELOW]) - ca.DM(HALF) * stretched / ca.norm_2(stretched))
    m.velocity_constraint("rolls", b.velocity + ca.cross(b.rotation @ b.angular_velocity, arm))
    return m


def touching(**law):
    m = dd.Model("touches")
    b = stone(m)
    b.shape("ellipsoid", size=2 * HALF, at=[0, 0, BELOW])
    m.contact(b, dd.ground, **law)
    return m


def test_contact_that_does_not_slip_is_rolling_to_second_order():
    end = dd.simulate(rolling(), 0.05, rtol=1e-9).end
    m, errors = touching(friction=2.0), []
    for step in (1e-3, 5e-4):
        tr = dd.simulate(m, 0.05, rtol=0.5, max_step=step)
        errors.append(np.abs(tr.end["stone.angular_velocity"] - end["stone.angular_velocity"]).max())
    assert errors[1] < 2e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)


@pytest.mark.wide
def test_the_spin_reverses():
    tr = dd.simulate(touching(friction=2.0), 3.6, rtol=1e-3)
    spin = [dd.rotation_from_quaternion(q)[2] @ w for q, w in zip(tr["stone.quaternion"], tr["stone.angular_velocity"])]
    assert spin[0] == pytest.approx(SPIN)
    assert spin[-1] > 0.5


def test_a_compliant_ellipsoid_sinks_in_by_its_weight():
    m = touching(friction=0.0, stiffness=1e4, damping=30.0)
    tr = dd.simulate(m, 0.02)
    assert tr.success
    assert tr["stone_ground.normal"].max() < 2 * 9.81 * 3


@pytest.mark.parametrize("gap", [0.03, -0.001])
def test_a_ball_and_an_ellipsoid_meet_where_their_normals_do(gap):
    # On a line along a normal of the ellipsoid the distance is known.
    half = np.array([0.3, 0.2, 0.1])
    foot = half * np.array([0.6, 0.48, 0.64])
    normal = foot / half**2 / np.linalg.norm(foot / half**2)
    m = dd.Model("pair")
    still = {"rotation": [1, 0, 0, 0], "angular_velocity": [0, 0, 0]}
    a = m.body("a", mass=1e6, inertia=np.eye(3) * 1e6, position=[0, 0, 0], velocity=[0, 0, 0], **still)
    a.shape("ellipsoid", size=2 * half)
    b = m.body("b", mass=1.0, inertia=np.eye(3), position=foot + (0.05 + gap) * normal, velocity=-normal, **still)
    b.shape("sphere", size=0.05)
    m.contact(b, a, friction=0.0, restitution=0.0, name="hit")
    tr = dd.simulate(m, 0.1)
    if gap > 0:
        assert tr.events[0].name == "hit.closes"
        assert tr.events[0].time == pytest.approx(gap, abs=1e-6)
    assert tr["b.velocity"][-1] == pytest.approx(np.zeros(3), abs=1e-3)
    impulse = tr["hit.impulse"][-1]
    assert impulse / np.linalg.norm(impulse) == pytest.approx(normal, abs=1e-6)


def test_an_ellipsoid_beside_a_box_is_refused():
    m = touching()
    other = m.body("box", mass=1.0, inertia=[1, 1, 1], position=[1, 0, 0.1], velocity=[0, 0, 0], rotation=[1, 0, 0, 0],
                   angular_velocity=[0, 0, 0])  # fmt: skip
    other.shape("box", size=[0.2, 0.2, 0.2])
    m.contact(other, "stone")
    with pytest.raises(dd.InputError, match="the distance of an ellipsoid is implemented to planes and spheres only"):
        dd.simulate(m, 0.1)
