"""Classics of rolling and spinning against closed forms: bowling ball, spool, brick, Euler's disk, tippe top."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

G = 9.81
UPRIGHT = [1.0, 0.0, 0.0, 0.0]


def weighty():
    m = dd.Model("spinning")
    m.gravity([0, 0, -G])
    return m


@pytest.mark.wide
def test_a_bowling_ball_with_side_spin_ends_its_hook_rolling():
    # About the points of the lane angular momentum stays: v = (5 v₀ + 2 ω₀ × R ẑ) / 7.
    radius, mass, speed, spin = 0.108, 6.0, 8.0, -30.0
    m = weighty()
    b = m.body("ball", mass=mass, inertia=[0.4 * mass * radius**2] * 3, position=[0, 0, radius], velocity=[speed, 0, 0],
               rotation=UPRIGHT, angular_velocity=[spin, 0, 0])  # fmt: skip
    b.shape("sphere", size=radius)
    m.contact(b, dd.ground, friction=0.1)
    tr = dd.simulate(m, 4.0)
    assert tr["ball.velocity"][-1, :2] == pytest.approx([5 / 7 * speed, -2 / 7 * spin * radius], rel=1e-6)
    # While it slips, the direction of slip stays, so that the path is a parabola.
    slip = np.hypot(speed, spin * radius)
    until = 2 * slip / (7 * 0.1 * G)
    (stick,) = [event for event in tr.events if event.name == "ball_ground.sticks"]
    assert stick.time == pytest.approx(until, rel=1e-5)


def test_a_brick_that_is_pushed_across_a_conveyor_slides_along_one_line_of_it():
    # Against the belt it slides at (-1, 1) m/s, loses μ g t of √2, and goes with the belt from then on.
    m = weighty()
    b = m.body("brick", mass=1.0, inertia=[0.01] * 3, position=[0, 0, 0.05], velocity=[0, 1.0, 0], rotation=UPRIGHT,
               angular_velocity=[0, 0, 0])  # fmt: skip
    b.shape("box", size=[0.1, 0.1, 0.1])
    m.contact(b, dd.ground, friction=0.4, surface_velocity=[1.0, 0, 0])
    tr = dd.simulate(m, 1.0)
    until = np.sqrt(2) / (0.4 * G)
    assert tr["brick.position"][-1, :2] == pytest.approx([until / 2 + 1 - until, until / 2], abs=1e-4)


def test_a_spool_comes_towards_the_hand_that_pulls_its_thread_from_below():
    # F (R - r) R = (I + m R²) a, for a thread that leaves the axle of radius r below.
    radius, axle, pull, inertia = 0.1, 0.04, 0.5, 0.004
    m = dd.Model("spool")
    m.gravity([0, -G])
    b = m.body("spool", mass=1.0, inertia=inertia, orientation="planar", position=[0, radius], velocity=[0, 0],
               rotation=0.0, angular_velocity=0.0)  # fmt: skip
    b.shape("sphere", size=radius)
    b.apply_force([pull, 0], frame="world")
    b.apply_torque(pull * axle)
    m.contact(b, dd.ground, friction=0.5)
    wanted = 0.5 * pull * radius * (radius - axle) / (inertia + radius**2)
    assert dd.simulate(m, 1.0)["spool.position"][-1, 0] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.wide
def test_eulers_disk_turns_on_its_edge_about_a_centre_that_rests():
    # A thin disk at an angle α to the ground goes round at Ω² = 4 g / (a sin α) (H. K. Moffatt, Nature 404, 2000).
    radius, tilt = 0.1, 0.3
    around = np.sqrt(4 * G / (radius * np.sin(tilt)))
    axis, low = np.array([np.sin(tilt), 0, np.cos(tilt)]), np.array([np.cos(tilt), 0, -np.sin(tilt)])
    turn = np.column_stack([low, np.cross(axis, low), axis])
    m = weighty()
    b = m.body("disk", mass=1.0, inertia=np.array([0.25, 0.25, 0.5]) * radius**2,
               position=[0, 0, radius * np.sin(tilt)], velocity=[0, 0, 0], rotation=turn,
               angular_velocity=turn.T @ (-around * np.sin(tilt) * low))  # fmt: skip
    b.shape("ellipsoid", size=[2 * radius, 2 * radius, 2e-5])
    m.contact(b, dd.ground, friction=2.0)
    tr = dd.simulate(m, 0.3, rtol=1e-6)
    assert tr["disk.position"][:, 2] == pytest.approx(np.full(len(tr.time), radius * np.sin(tilt)), rel=2e-3)
    assert np.abs(tr["disk.position"][:, :2]).max() < 1e-3 * radius


@pytest.mark.wide
def test_a_tippe_top_turns_over_and_keeps_jelletts_integral():
    # A ball whose centre of mass lies below its own: spinning fast on a rough plane it rises and turns upside down, and
    # the angular momentum along the arm of the contact is conserved (J. H. Jellett, A Treatise on the Theory of
    # Friction, 1872).
    radius, offset, mass, tilt = 0.02, 0.004, 0.01, 0.1
    inertia = np.diag([0.4 * mass * radius**2] * 3)
    turn = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    m = weighty()
    b = m.body("top", mass=mass, inertia=inertia, position=[0, 0, radius] - offset * turn[:, 2], velocity=[0, 0, 0],
               rotation=turn, angular_velocity=turn.T @ [0, 0, 250.0])  # fmt: skip
    b.shape("sphere", size=radius, at=[0, 0, offset])
    m.contact(b, dd.ground, friction=0.3)
    tr = dd.simulate(m, 2.0, rtol=1e-5)
    height = tr["top.position"][:, 2] / radius
    assert height[0] == pytest.approx(1 - 0.2 * np.cos(tilt), rel=1e-9)
    assert height[-1] > 1.19

    def jellett(k):
        w, x, y, z = tr["top.quaternion"][k] / np.linalg.norm(tr["top.quaternion"][k])
        rotation = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip
        arm = offset * rotation[:, 2] - [0, 0, radius]
        return float(rotation @ inertia @ tr["top.angular_velocity"][k] @ arm)

    values = np.array([jellett(k) for k in np.linspace(0, len(tr.time) - 1, 9).astype(int)])
    assert values == pytest.approx(np.full(9, values[0]), rel=1e-3)
    energy = tr.stored_energy()
    assert np.max(np.diff(energy)) <= 1e-5 * energy[0]
