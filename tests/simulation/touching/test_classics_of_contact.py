"""Textbook motions of bodies that touch, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

G = 9.81


def planar(m, name, mass, inertia, position, velocity=(0.0, 0.0), angle=0.0, spin=0.0):
    return m.body(name, mass=mass, inertia=inertia, orientation="planar", position=list(position),
                  velocity=list(velocity), rotation=angle, angular_velocity=spin)  # fmt: skip


def weighty(name, gravity=(0.0, -G)):
    m = dd.Model(name)
    m.gravity(list(gravity))
    return m


@pytest.mark.wide
def test_a_smooth_ladder_leaves_the_wall_at_two_thirds_of_its_height():
    half, thin, steep = 1.0, 0.05, 1.1
    m = weighty("ladder")
    m.ground.shape("plane")
    m.ground.shape("plane", rotation=-np.pi / 2)
    place = (thin + half * np.cos(steep), thin + half * np.sin(steep))
    # The bar leans against the wall x = 0 with its upper end.
    bar = planar(m, "bar", 1.0, half**2 / 3, place, angle=np.pi - steep)
    bar.shape("capsule", size=[thin, 2 * half])
    m.contact(bar, dd.ground, friction=0.0)
    tr = dd.simulate(m, 1.5, rtol=1e-7)
    wall = next(e for e in tr.events if e.name == "bar_ground.opens")
    assert (float(wall.before["bar.position"][1]) - thin) / half == pytest.approx(2 / 3 * np.sin(steep), rel=1e-4)


def test_a_box_put_on_a_conveyor_takes_up_its_speed():
    m = weighty("belt")
    b = planar(m, "b", 1.0, 0.1, (0, 0.1))
    b.shape("box", size=[0.6, 0.2])
    m.contact(b, dd.ground, friction=0.4, surface_velocity=[1.5, 0.0])
    tr = dd.simulate(m, 0.5)
    slides = 1.5 / (0.4 * G)
    assert tr.events[0].name == "b_ground.sticks"
    assert tr.events[0].time == pytest.approx(slides, abs=1e-6)
    assert tr["b.position"][-1, 0] == pytest.approx(1.5 * (0.5 - slides / 2), abs=1e-6)


@pytest.mark.parametrize(("kind", "share"), [("capsule", 1 / 2), ("sphere", 2 / 5)])
@pytest.mark.parametrize("rough", [True, False])
def test_round_bodies_roll_or_slide_down_a_slope(kind, share, rough):
    slope, radius = 0.5, 0.1
    least = np.tan(slope) * share / (1 + share)
    friction = least * (1.1 if rough else 0.8)
    m = weighty("slope", (G * np.sin(slope), 0, -G * np.cos(slope)))
    inertia = share * radius**2
    b = m.body("b", mass=1.0, inertia=[inertia] * 3, position=[0, 0, radius], velocity=[0, 0, 0], rotation=np.eye(3),
               angular_velocity=[0, 0, 0])  # fmt: skip
    if kind == "capsule":
        b.shape("capsule", size=[radius, 0.4], rotation=dd.rot_x(np.pi / 2))
    else:
        b.shape("sphere", size=radius)
    m.contact(b, dd.ground, friction=friction)
    tr = dd.simulate(m, 0.25)
    rolls = G * np.sin(slope) / (1 + share)
    slides = G * (np.sin(slope) - friction * np.cos(slope))
    assert tr["b.velocity"][-1, 0] == pytest.approx(0.25 * (rolls if rough else slides), rel=1e-6)
    spin = rolls / radius if rough else friction * G * np.cos(slope) / (share * radius)
    assert np.linalg.norm(tr["b.angular_velocity"][-1]) == pytest.approx(0.25 * spin, rel=1e-6)


def test_a_sphere_rolls_down_a_groove_on_two_lines():
    slope, half, radius = 0.3, np.pi / 4, 0.1
    m = weighty("groove", (G * np.sin(slope), 0, -G * np.cos(slope)))
    m.ground.shape("plane", rotation=dd.rot_x(half))
    m.ground.shape("plane", rotation=dd.rot_x(-half))
    b = m.body("b", mass=1.0, inertia=[0.4 * radius**2] * 3, position=[0, 0, radius / np.cos(half)],
               velocity=[0, 0, 0], rotation=np.eye(3), angular_velocity=[0, 0, 0])  # fmt: skip
    b.shape("sphere", size=radius)
    m.contact(b, dd.ground, friction=0.6)
    tr = dd.simulate(m, 1.0)
    # It turns about the line through both points, radius · cos(half) below its centre.
    assert tr["b.velocity"][-1, 0] == pytest.approx(G * np.sin(slope) / (1 + 0.4 / np.cos(half) ** 2), rel=1e-6)


def test_smooth_balls_of_a_billiard_part_at_right_angles():
    m = weighty("billiard", (0.0, 0.0))
    one, two = (planar(m, name, 1.0, 0.004, place, velocity)
                for name, place, velocity in (("one", (0, 0), (2.0, 0)), ("two", (1.0, 0.1), (0, 0))))  # fmt: skip
    for ball in (one, two):
        ball.shape("sphere", size=0.1)
    m.contact(one, two, friction=0.0, restitution=1.0)
    tr = dd.simulate(m, 1.0)
    v, w = tr["one.velocity"][-1], tr["two.velocity"][-1]
    assert v @ w == pytest.approx(0.0, abs=1e-9)
    assert v @ v + w @ w == pytest.approx(4.0, rel=1e-9)
    assert w[1] / w[0] == pytest.approx(-(-0.1 / np.sqrt(0.03)), rel=1e-6)


def test_a_block_slides_down_a_wedge_that_gives_way():
    slope, small, large = 0.4, 1.0, 3.0
    m = weighty("wedge")
    wedge = planar(m, "wedge", large, 10.0, (0, 1.0))
    wedge.shape("box", size=[4.0, 0.2], at=[0, -0.9])
    wedge.shape("plane", rotation=slope)
    normal = np.array([-np.sin(slope), np.cos(slope)])
    block = planar(m, "block", small, 0.01, np.array([0, 1.0]) + 0.1 * normal, angle=slope)
    block.shape("box", size=[0.2, 0.2])
    m.contact(wedge, dd.ground, friction=0.0)
    m.contact(block, wedge, friction=0.0)
    tr = dd.simulate(m, 0.3)
    pushed = small * G * np.sin(slope) * np.cos(slope) / (large + small * np.sin(slope) ** 2)
    assert tr["wedge.velocity"][-1, 0] == pytest.approx(pushed * 0.3, rel=1e-5)
    assert tr["block.velocity"][-1, 0] == pytest.approx(-large / small * pushed * 0.3, rel=1e-5)


@pytest.mark.parametrize("rough", [1.15, 0.85])
def test_three_logs_stay_in_a_pile_above_a_friction_of_two_less_the_root_of_three(rough):
    m = weighty("logs")
    radius = 0.1
    for name, place in (("left", (-radius, radius)), ("right", (radius, radius)),
                        ("top", (0.0, radius + np.sqrt(3) * radius))):  # fmt: skip
        planar(m, name, 1.0, 0.5 * radius**2, place).shape("sphere", size=radius)
    friction = rough * (2 - np.sqrt(3))
    m.contact("left", "top", friction=friction)
    m.contact("right", "top", friction=friction)
    for name in ("left", "right"):
        m.contact(name, dd.ground, friction=0.5)
    tr = dd.simulate(m, 0.5, rtol=1e-5)
    fallen = radius + np.sqrt(3) * radius - float(tr["top.position"][-1, 1])
    assert fallen < 1e-6 if rough > 1 else fallen > 0.02


@pytest.mark.parametrize("rtol", [1e-4, 1e-7])
def test_a_compliant_ball_bounces_as_a_mass_on_a_spring(rtol):
    stiff, damping = 2e3, 4.0
    m = weighty("spring", (0.0, 0.0))
    b = planar(m, "b", 0.5, 0.01, (0.0, 0.2), (0.3, -1.0))
    b.shape("sphere", size=0.1)
    m.contact(b, dd.ground, friction=0.0, stiffness=stiff, damping=damping)
    tr = dd.simulate(m, 0.2, rtol=rtol, atol=1e-3 * rtol)
    # It lets go where k d + c d' = 0, d = v/ω exp(-a t) sin(ω t).
    a = damping / (2 * 0.5)
    omega = np.sqrt(stiff / 0.5 - a**2)
    t = (np.pi - np.arctan2(damping * omega, stiff - damping * a)) / omega
    speed = -np.exp(-a * t) * (np.cos(omega * t) - a / omega * np.sin(omega * t))
    assert tr["b.velocity"][-1, 1] == pytest.approx(speed, abs=30 * rtol)
    assert tr["b.velocity"][-1, 0] == pytest.approx(0.3, abs=rtol)


def test_a_compliant_box_rests_at_the_depth_of_its_weight_and_slides_like_a_hard_one():
    m = weighty("compliant box")
    b = planar(m, "b", 2.0, 0.1, (0, 0.1 - 2.0 * G / (2 * 1e5)), (3.0, 0))
    b.shape("box", size=[0.8, 0.2])
    m.contact(b, dd.ground, friction=0.3, stiffness=1e5, damping=1e3)
    tr = dd.simulate(m, 1.5)
    assert tr["b.position"][-1, 1] == pytest.approx(0.1 - 2.0 * G / (2 * 1e5), abs=1e-6)
    assert float(tr["b_ground.normal"][-1]) == pytest.approx(2.0 * G, rel=1e-5)
    assert tr["b.position"][-1, 0] == pytest.approx(3.0**2 / (2 * 0.3 * G), rel=2e-3)
