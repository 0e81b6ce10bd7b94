"""`m.friction` and `m.unilateral` beside hard contacts: carts, doors and stops that bodies hit."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

G = 9.81


def ball(m, mass, place, velocity, radius=0.1):
    b = m.body("ball", mass=mass, inertia=[0.4 * mass * radius**2] * 3, position=place, velocity=velocity,
               orientation="quaternion", rotation=[1, 0, 0, 0], angular_velocity=[0, 0, 0])  # fmt: skip
    b.shape("sphere", size=radius)
    return b


def cart(friction=2.0, bounce=0.5):
    m = dd.Model("cart")
    m.gravity([0, 0, 0])
    c = m.body("cart", mass=2.0, inertia=[1, 1, 1])
    m.joint("rail", "prismatic", dd.ground, c, axis_a=[1, 0, 0], coordinates="joint", start=0.0, rate=0.0)
    c.shape("box", size=[0.2, 0.2, 0.2])
    q = m["rail.displacement"]
    m.generalised_force(q, m.friction("axle", m.rate(q), kinetic=friction))
    m.contact(ball(m, 1.0, [-1, 0, 0], [3, 0, 0]), c, friction=0.0, restitution=bounce)
    return m


def test_a_cart_that_a_ball_hits_rolls_until_its_axle_stops_it():
    tr = dd.simulate(cart(), 2.0)
    assert tr["ball.velocity"][-1, 0] == pytest.approx(3 - 2 * 1.5, abs=1e-6)
    assert tr["rail.displacement"][-1] == pytest.approx(1.5**2 / 2, abs=1e-6)
    assert [e.name for e in tr.events] == ["axle.slips", "ball_cart.closes", "axle.sticks"]
    assert tr.events[-1].time == pytest.approx(0.8 / 3 + 1.5, abs=1e-3)
    assert tr.at(1.0)["axle"] == pytest.approx(-2.0, abs=1e-9)
    assert tr.at(1.9)["axle"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.wide
def test_equal_steps_come_to_the_same():
    tr = dd.simulate(cart(), 2.0, step=1e-3)
    assert tr["rail.displacement"][-1] == pytest.approx(1.5**2 / 2, abs=5e-3)


@pytest.mark.wide
def test_a_door_with_a_rubbing_hinge_bounces_off_its_stop():
    rubbing, limit, bounce = 0.3, 0.6, 0.4
    m = dd.Model("door")
    m.gravity([0, 0, 0])
    d = m.body("door", mass=3.0, inertia=[0.2, 0.1, 0.25])
    m.joint("hinge", "revolute", dd.ground, d, axis_a=[0, 0, 1], at_b=[-0.5, 0, 0], coordinates="joint", start=0.0,
            rate=0.0)  # fmt: skip
    d.shape("box", size=[1, 0.05, 2])
    q = m["hinge.angle"]
    m.generalised_force(q, m.friction("rubbing", m.rate(q), kinetic=rubbing))
    m.unilateral("stop", limit - q, restitution=bounce)
    m.contact(ball(m, 0.5, [0.8, -1, 0], [0, 4, 0]), d, friction=0.0, restitution=0.3)
    tr = dd.simulate(m, 1.5)
    inertia = 0.25 + 3 * 0.5**2
    first = 1.3 * 4 / (1 / 0.5 + 0.8**2 / inertia) * 0.8 / inertia
    struck = np.sqrt(first**2 - 2 * rubbing / inertia * limit)
    when = (1 - 0.125) / 4 + (first - struck) * inertia / rubbing
    (stop,) = (e for e in tr.events if e.name == "stop.closes")
    assert stop.time == pytest.approx(when, abs=1e-4)
    since = 1.5 - when
    assert tr["hinge.angle"][-1] == pytest.approx(
        limit - bounce * struck * since + rubbing / inertia * since**2 / 2, abs=1e-4
    )


@pytest.mark.wide
@pytest.mark.parametrize("options", [{}, {"step": 1e-3}])
def test_a_ball_on_a_ball_rests_on_a_catch(options):
    m = dd.Model("shaft")
    m.gravity([0, -G])
    for k in range(2):
        b = m.body(f"b{k}", mass=1.0, orientation=None, position=[0, 0.2 + 0.3 * k], velocity=[0, 0])
        b.shape("sphere", size=0.1)
    m.contact("all", friction=0.0, restitution=0.0)
    m.unilateral("catch", m["b0.position"][1] - 0.15, restitution=0.5)
    rub = m.friction("rub", m["b1.velocity"][1], kinetic=3.0, static=4.0)
    m.bodies["b1"].apply_force(ca.vertcat(0, rub))
    tr = dd.simulate(m, 1.0, **options)
    assert tr["b0.position"][-1, 1] == pytest.approx(0.15, abs=1e-6)
    assert tr["b1.position"][-1, 1] == pytest.approx(0.35, abs=1e-6)
    assert tr["catch"][-1] + tr["rub"][-1] == pytest.approx(2 * G, abs=1e-6)
    assert abs(tr["rub"][-1]) <= 4.0 + 1e-9


@pytest.mark.wide
def test_joints_of_a_robot_file_keep_their_dry_friction_beside_contacts():
    m = dd.read_mjcf(
        '<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="slider" pos="0 0 .5">'
        '<joint name="lift" type="slide" axis="0 0 1" frictionloss="2"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/></body></worldbody></mujoco>'
    )
    m.bodies["slider"].shape("sphere", size=0.1)
    m.contact("slider", dd.ground, friction=0.5, restitution=0.0)
    tr = dd.simulate(m, 1.0)
    landing = next(e for e in tr.events if e.name == "slider_ground.closes")
    assert landing.time == pytest.approx(np.sqrt(2 * 0.4 / (G - 2.0)), abs=1e-4)
    assert tr["slider.position"][-1, 2] == pytest.approx(0.1, abs=1e-7)


@pytest.mark.parametrize("unit", [1.0, 180 / np.pi, pytest.param(1e6, marks=pytest.mark.wide), 1e-6])
def test_the_unit_of_a_gap_changes_nothing(unit):
    # An angle in radians, degrees, micro- and megaradians: what counts as closed is a length of the door's edge.
    inertia, limit = 0.25 + 3 * 0.5**2, 0.6
    m = dd.Model("door")
    m.gravity([0, 0, 0])
    d = m.body("door", mass=3.0, inertia=[0.2, 0.1, 0.25])
    m.joint("hinge", "revolute", dd.ground, d, axis_a=[0, 0, 1], at_b=[-0.5, 0, 0], coordinates="joint", start=0.0,
            rate=0.0)  # fmt: skip
    d.shape("box", size=[1, 0.05, 2])
    m.unilateral("stop", unit * (limit - m["hinge.angle"]), restitution=0.4)
    m.contact(ball(m, 0.5, [0.8, -1, 0], [0, 4, 0]), d, friction=0.0, restitution=0.3)
    tr = dd.simulate(m, 0.8)
    first = 1.3 * 4 / (1 / 0.5 + 0.8**2 / inertia) * 0.8 / inertia
    assert [event.name for event in tr.events] == ["ball_door.closes", "stop.closes", "stop.opens"]
    when = (1 - 0.125) / 4 + limit / first
    assert tr.events[1].time == pytest.approx(when, abs=1e-6)
    assert tr["hinge.angle"][-1] == pytest.approx(limit - 0.4 * first * (0.8 - when), abs=1e-6)
