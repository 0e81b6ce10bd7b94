"""Derivatives of runs in which frictions and stops of joints act beside hard contacts."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError, SolverError


def ball(m, mass, place, velocity, radius=0.1):
    b = m.body("ball", mass=mass, inertia=[0.4 * mass * radius**2] * 3, position=place, velocity=velocity,
               orientation="quaternion", rotation=[1, 0, 0, 0], angular_velocity=[0, 0, 0])  # fmt: skip
    b.shape("sphere", size=radius)
    return b


def cart(static=None, push=0.0):
    """A cart with a dry axle that a ball hits at t = 0.8 / 3, or that a growing force pulls."""
    m = dd.Model("cart")
    m.gravity([0, 0, 0])
    level = m.parameter("level", 2.0)
    c = m.body("cart", mass=2.0, inertia=[1, 1, 1])
    m.joint("rail", "prismatic", dd.ground, c, axis_a=[1, 0, 0], coordinates="joint", start=0.0, rate=0.0)
    c.shape("box", size=[0.2, 0.2, 0.2])
    q = m["rail.displacement"]
    m.generalised_force(q, m.friction("axle", m.rate(q), kinetic=level, static=static) + push * m.time)
    m.contact(ball(m, 1.0, [-1, 0, 0], [3, 0, 0]), c, friction=0.0, restitution=0.5)
    return m


@pytest.mark.parametrize("end", [1.0, pytest.param(2.0, marks=pytest.mark.wide)])
def test_a_cart_that_a_ball_hits_slides_and_comes_to_rest(end):
    # Behind the impact it has half the ball's speed v and loses level / 2 a second, up to where it rests.
    sens = dd.sensitivities(cart(), end, wrt=["level", "ball.velocity[0]"])
    since, hit = end - 0.8 / 3, 0.8 / 3**2
    slides = end == 1.0
    by_level = -(since**2) / 4 if slides else -(1.5**2) / 2**2
    by_speed = 0.5 * since + 1.5 * hit - since * hit if slides else 2 * 1.5 * 0.5 / 2
    assert sens.d("rail.displacement", "level") == pytest.approx(by_level, rel=1e-5)
    assert sens.d("rail.displacement", "ball.velocity[0]") == pytest.approx(by_speed, rel=1e-5)


@pytest.mark.wide
def test_a_door_with_a_rubbing_hinge_that_bounces_off_its_stop():
    def door(rub=0.3, far=0.6):
        m = dd.Model("door")
        m.gravity([0, 0, 0])
        rubbing, limit = m.parameter("rubbing", rub), m.parameter("limit", far)
        d = m.body("door", mass=3.0, inertia=[0.2, 0.1, 0.25])
        m.joint("hinge", "revolute", dd.ground, d, axis_a=[0, 0, 1], at_b=[-0.5, 0, 0], coordinates="joint", start=0.0,
                rate=0.0)  # fmt: skip
        d.shape("box", size=[1, 0.05, 2])
        q = m["hinge.angle"]
        m.generalised_force(q, m.friction("rub", m.rate(q), kinetic=rubbing))
        m.unilateral("stop", limit - q, restitution=0.4)
        m.contact(ball(m, 0.5, [0.8, -1, 0], [0, 4, 0]), d, friction=0.0, restitution=0.3)
        return m

    def end(**changed):
        return dd.simulate(door(**changed), 1.2, rtol=1e-8)["hinge.angle"][-1]

    sens = dd.sensitivities(door(), 1.2, wrt=["rubbing", "limit"])
    h = 1e-4
    by_rubbing = (end(rub=0.3 + h) - end(rub=0.3 - h)) / (2 * h)
    by_limit = (end(far=0.6 + h) - end(far=0.6 - h)) / (2 * h)
    assert sens.d("hinge.angle", "rubbing") == pytest.approx(by_rubbing, rel=1e-5)
    assert sens.d("hinge.angle", "limit") == pytest.approx(by_limit, rel=1e-5)


def test_a_friction_that_falls_from_its_static_level_is_refused_by_name():
    with pytest.raises(SolverError) as error:
        dd.sensitivities(cart(static=3.0, push=20.0), 0.2, wrt="level")
    text = str(error.value)
    assert "The run has no derivative through the moment at which axle begins to slip." in text
    assert "its force falls to 0.667 of its static level" in text
    assert "Try: m.friction without static= for axle, or an earlier end" in text
    # Before, and where static and kinetic levels are one, it has.
    assert dd.sensitivities(cart(static=3.0, push=20.0), 0.1, wrt="level").d("rail.displacement", "level") == 0
    sens = dd.sensitivities(cart(push=20.0), 0.2, wrt="level")
    # 2 a = 20 t - level from t = level / 20 on: x = (20 t - level)³ / (6 · 20² · 2).
    assert sens.d("rail.displacement", "level") == pytest.approx(-3 * 2.0**2 / (6 * 20**2 * 2), rel=1e-3)


def test_events_of_the_model_are_still_refused_by_name():
    m = cart()
    m.event("there", m["rail.displacement"] - 0.1)
    with pytest.raises(InputError, match="the model has there"):
        dd.sensitivities(m, 1.0)


def test_stick_and_slip_of_a_friction_are_located():
    tr = dd.simulate(cart(), 2.0)
    assert [event.name for event in tr.events] == ["axle.slips", "ball_cart.closes", "axle.sticks"]
    assert tr.events[-1].time == pytest.approx(0.8 / 3 + 1.5, abs=1e-5)
    assert np.all(np.diff(tr.time) >= 0)
