"""Bodies that touch, slide, roll and tip, against closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import daedalus as dd

G = 9.81
REST = {"rotation": [1.0, 0.0, 0.0, 0.0], "angular_velocity": [0.0, 0.0, 0.0]}


def ball(m, name="ball", radius=0.1, mass=1.0, **start):
    body = m.body(
        name, mass=mass, inertia=dd.inertia.sphere(mass, radius), **{"velocity": [0.0, 0.0, 0.0], **REST, **start}
    )
    body.shape("sphere", size=radius)
    return body


def box(m, name, sides, mass=1.0, **start):
    body = m.body(
        name, mass=mass, inertia=dd.inertia.box(mass, *sides), **{"velocity": [0.0, 0.0, 0.0], **REST, **start}
    )
    body.shape("box", size=sides)
    return body


def weighty(name):
    m = dd.Model(name)
    m.gravity([0.0, 0.0, -G])
    return m


@pytest.mark.parametrize("direction", [[1.0, 0.0], [0.6, -0.8]])
def test_a_sliding_block_stops_where_its_energy_is_spent(direction):
    m = weighty("block")
    b = box(
        m, "block", [0.4, 0.3, 0.2], mass=2.0, position=[0, 0, 0.1], velocity=[3 * direction[0], 3 * direction[1], 0]
    )
    m.contact(b, dd.ground, friction=0.3)
    tr = dd.simulate(m, 2.0)
    way = 9.0 / (2 * 0.3 * G)
    assert tr["block.position"][-1] == pytest.approx([way * direction[0], way * direction[1], 0.1], abs=2e-6)
    assert tr["block.velocity"][-1] == pytest.approx([0, 0, 0], abs=1e-9)
    assert tr["block_ground.force"][0] == pytest.approx(
        [-0.3 * 2 * G * direction[0], -0.3 * 2 * G * direction[1], 2 * G], rel=1e-6, abs=1e-6
    )
    # What friction took is what the motion had.
    balance = tr.energy_balance()
    assert balance.lost == pytest.approx(9.0, rel=1e-5)
    assert balance.error == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("beyond", [-1e-3, 0.0, 1e-3, 0.2])
def test_a_block_on_an_incline_slides_beyond_the_critical_angle(beyond):
    friction = 0.5
    angle = np.arctan(friction) + beyond
    turn = dd.rot_y(angle)
    m = weighty("incline")
    m.ground.shape("plane", rotation=turn)
    b = box(m, "block", [0.2, 0.2, 0.1], position=turn @ [0, 0, 0.05], rotation=turn)
    m.contact(b, dd.ground, friction=friction)
    tr = dd.simulate(m, 1.0)
    down = turn.T @ tr["block.position"][-1]
    pull = max(0.0, G * (np.sin(angle) - friction * np.cos(angle)))
    assert down == pytest.approx([pull / 2, 0.0, 0.05], abs=1e-6)


def test_a_sphere_slides_and_then_rolls_with_five_sevenths_of_its_speed():
    m = weighty("ball")
    m.contact(ball(m, position=[0, 0, 0.1], velocity=[1.0, 0, 0]), dd.ground, friction=0.2)
    tr = dd.simulate(m, 1.0)
    assert tr["ball.velocity"][-1] == pytest.approx([5 / 7, 0, 0], abs=1e-6)
    assert tr["ball.angular_velocity"][-1] == pytest.approx([0, 50 / 7, 0], abs=1e-5)
    rolls = 2 / 7 / (0.2 * G)
    assert tr.at(0.9 * rolls)["ball_ground.force"][0] == pytest.approx(-0.2 * G, rel=1e-6)
    assert tr.at(1.1 * rolls)["ball_ground.force"][0] == pytest.approx(0.0, abs=1e-6)


def test_a_ball_with_backspin_comes_back():
    m = weighty("ball")
    m.contact(
        ball(m, position=[0, 0, 0.1], velocity=[1.0, 0, 0], angular_velocity=[0, -40.0, 0]), dd.ground, friction=0.3
    )
    tr = dd.simulate(m, 2.0)
    assert tr["ball.velocity"][-1, 0] == pytest.approx((5 * 1.0 - 2 * 40 * 0.1) / 7, abs=1e-6)


@pytest.mark.parametrize(("push", "tips"), [(0.95, False), (1.05, True)])
def test_a_box_tips_where_the_push_is_above_its_middle(push, tips):
    # A force at the top edge tips about the far edge at F h = m g w / 2.
    width, height = 0.2, 0.4
    m = dd.Model("box")
    m.gravity([0, -G])
    b = m.body("box", mass=1.0, inertia=(width**2 + height**2) / 12, orientation="planar", position=[0, height / 2],
               velocity=[0, 0], rotation=0.0, angular_velocity=0.0)  # fmt: skip
    b.shape("box", size=[width, height])
    b.apply_force([push * G * width / 2 / height, 0.0], at=[0.0, height / 2], frame="world")
    m.contact(b, dd.ground, friction=1.0)
    tr = dd.simulate(m, 0.3)
    assert (abs(tr["box.angle"][-1]) > 1e-4) == tips
    if not tips:
        assert tr["box.angle"][-1] == pytest.approx(0.0, abs=1e-8)


def test_a_bar_leaves_the_wall_at_two_thirds_of_its_height():
    length, angle = 1.0, np.pi / 3
    m = dd.Model("bar")
    m.gravity([0, -G])
    m.ground.shape("plane")
    m.ground.shape("plane", rotation=-np.pi / 2)
    place = [length / 2 * np.cos(angle), length / 2 * np.sin(angle)]
    b = m.body("bar", mass=1.0, inertia=length**2 / 12, orientation="planar", position=place, velocity=[0, 0],
               rotation=np.pi - angle, angular_velocity=0.0)  # fmt: skip
    b.shape("capsule", size=[1e-6, length])
    m.contact(b, dd.ground, friction=0.0)
    tr = dd.simulate(m, 0.5)
    left = tr["bar_ground.force"][:, 0]
    first = int(np.flatnonzero(left <= 1e-9)[0])
    assert tr["bar.position"][first, 1] == pytest.approx(2 / 3 * place[1], abs=2e-3)


@pytest.fixture(scope="module")
def bounces():
    m = weighty("ball")
    m.contact(ball(m, position=[0, 0, 1.1]), dd.ground, restitution=0.5)
    return dd.simulate(m, 2.0)


def test_a_ball_bounces_and_comes_to_rest(bounces):
    tr = bounces
    fall = np.sqrt(2 / G)
    assert tr.at(1.5 * fall)["ball.position"][2] == pytest.approx(0.1 + 0.25, abs=1e-6)
    assert tr["ball.position"][-1] == pytest.approx([0, 0, 0.1], abs=1e-6)
    assert tr["ball_ground.force"][-1] == pytest.approx([0, 0, G], rel=1e-6)
    # Momentum: what impacts and forces gave is what gravity took.
    assert tr["ball_ground.impulse"][-1, 2] < 2.0 * G


@pytest.mark.parametrize("count", [5, 16])
def test_newtons_cradle_of_spheres(count):
    m = dd.Model("cradle")
    balls = [
        ball(m, f"b{k}", 0.05, position=[0.1 * k - 0.5 * (k == 0), 0, 0], velocity=[float(k == 0), 0, 0])
        for k in range(count)
    ]
    for one, two in pairwise(balls):
        m.contact(one, two, restitution=1.0, friction=0.0)
    tr = dd.simulate(m, 1.0)
    assert [tr[f"b{k}.velocity"][-1, 0] for k in range(count)] == pytest.approx([0.0] * (count - 1) + [1.0], abs=1e-9)


@pytest.mark.parametrize("count", [4, pytest.param(10, marks=pytest.mark.wide)])
def test_a_tower_of_boxes_stands(count):
    m = weighty("tower")
    for k in range(count):
        box(m, f"b{k}", [0.2, 0.2, 0.1], position=[0, 0, 0.05 + 0.1 * k])
    m.contact("all", friction=0.5)
    tr = dd.simulate(m, 100.0)
    assert tr.success
    assert tr[f"b{count - 1}.position"][-1] == pytest.approx([0, 0, 0.1 * count - 0.05], abs=1e-6)
    assert tr["b0.contact.force"][-1] == pytest.approx([0, 0, G], abs=1e-6)


def test_a_conveyor_takes_a_box_along():
    m = weighty("belt")
    b = box(m, "box", [0.2, 0.2, 0.1], position=[0, 0, 0.05])
    m.contact(b, dd.ground, friction=0.4, surface_velocity=[2.0, 0.0, 0.0])
    tr = dd.simulate(m, 1.0)
    when = 2.0 / (0.4 * G)
    assert tr["box.velocity"][-1] == pytest.approx([2.0, 0, 0], abs=1e-6)
    assert tr["box.position"][-1, 0] == pytest.approx(2.0 * (1.0 - when) + 1.0 * when, abs=1e-5)


def test_rolling_friction_stops_a_rolling_ball():
    # J_contact ω' = -r m g: a = r g R / (7/5 R²) along the floor.
    radius, arm, speed = 0.1, 0.002, 0.7
    m = weighty("ball")
    b = ball(m, radius=radius, position=[0, 0, radius], velocity=[speed, 0, 0], angular_velocity=[0, speed / radius, 0])
    m.contact(b, dd.ground, friction=0.5, rolling_friction=arm)
    tr = dd.simulate(m, 1.0)
    pull = arm * G / (1.4 * radius)
    assert tr["ball.velocity"][-1, 0] == pytest.approx(speed - pull * 1.0, abs=1e-5)


def test_spinning_friction_stops_a_ball_that_turns_on_the_spot():
    m = weighty("ball")
    b = ball(m, position=[0, 0, 0.1], angular_velocity=[0, 0, 10.0])
    m.contact(b, dd.ground, friction=0.5, spinning_friction=0.003)
    tr = dd.simulate(m, 0.5)
    assert tr["ball.angular_velocity"][-1, 2] == pytest.approx(10.0 - 0.003 * G / (0.4 * 0.01) * 0.5, abs=1e-4)


def test_repeated_runs_are_equal_bit_by_bit():
    m = weighty("ball")
    m.contact(ball(m, position=[0, 0, 0.3], velocity=[1.0, 0.2, 0]), dd.ground, restitution=0.4, friction=0.3)
    one, two = (dd.simulate(m, 0.5) for _ in range(2))
    assert np.array_equal(one["ball.position"], two["ball.position"])
    assert np.array_equal(one["ball_ground.force"], two["ball_ground.force"])


def test_joints_hold_while_bodies_touch():
    # A pendulum that swings against a wall: its rod stays as long as it is.
    m = dd.Model("pendulum")
    m.gravity([0, -G])
    m.ground.shape("plane", at=[0.0, 0.0], rotation=-np.pi / 2)
    b = m.body("bob", mass=1.0, inertia=0.4 * 0.01, orientation="planar", position=[0.8, -0.6], velocity=[0, 0],
               rotation=0.0, angular_velocity=0.0)  # fmt: skip
    b.shape("sphere", size=0.1)
    m.joint("rod", "distance", dd.ground, b, length=1.0)
    m.contact(b, dd.ground, friction=0.0, restitution=0.5)
    tr = dd.simulate(m, 2.0)
    assert np.linalg.norm(tr["bob.position"], axis=1) == pytest.approx(1.0, abs=1e-6)
    assert tr["bob.position"][:, 0].min() >= 0.1 - 1e-6


def test_impacts_are_losses_in_the_ledger(bounces):
    balance = bounces.energy_balance()
    assert (balance.stored, balance.lost) == pytest.approx((-G, G), rel=1e-6)
    assert balance.error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.wide
def test_a_row_of_dominoes_falls_in_order():
    m = weighty("dominoes")
    for k in range(5):
        box(
            m,
            f"d{k}",
            [0.01, 0.03, 0.06],
            mass=0.01,
            position=[0.03 * k, 0, 0.03],
            angular_velocity=[0, 9.0 * (k == 0), 0],
        )
    m.contact("all", friction=0.3)
    tr = dd.simulate(m, 0.6, step=1e-3)
    falls = [tr.time[np.argmax(tr[f"d{k}.position"][:, 2] < 0.025)] for k in range(5)]
    assert np.all(np.diff(falls) > 0)
    assert falls[0] > 0


def test_a_rimless_wheel_walks_down_a_slope():
    # T. McGeer, Int. J. Robotics Research 9, 1990: each foot that lands leaves the share c of the speed, and gravity
    # gives the rest back between two feet.
    spokes, slope, length, inertia = 12, 0.15, 1.0, 0.1
    half = np.pi / spokes
    m = dd.Model("walker")
    m.gravity([G * np.sin(slope), -G * np.cos(slope)])
    speed = 2.13  # near the one that it settles at: from afar it takes more feet than need be seen
    b = m.body("wheel", mass=1.0, inertia=inertia, orientation="planar", position=[0, length * np.cos(half)],
               velocity=[speed * np.cos(half), speed * np.sin(half)], rotation=0.0,
               angular_velocity=-speed)  # fmt: skip
    for k in range(spokes):
        angle = -np.pi / 2 + half + 2 * half * k
        b.shape("sphere", size=1e-6, at=[length * np.cos(angle), length * np.sin(angle)])
    m.contact(b, dd.ground, friction=1.0)
    tr = dd.simulate(m, 2.0, rtol=1e-5)
    c = (inertia + np.cos(2 * half) * length**2) / (inertia + length**2)
    gained = 4 * G * length * np.sin(half) * np.sin(slope) / (inertia + length**2)
    wanted = np.sqrt(c**2 / (1 - c**2) * gained)
    after = [-w for t, later, w in zip(tr.time, tr.time[1:], tr["wheel.angular_velocity"][1:]) if t == later]
    assert max(after) == pytest.approx(wanted, rel=2e-3)
    assert tr["wheel.position"][-1, 0] > 2.0
