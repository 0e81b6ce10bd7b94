"""Fast bodies and thin ones: none passes another, however fast it moves or turns, and flights take few steps."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_of_methods import WentFar


def flat(m, name, place, velocity=(0.0, 0.0), mass=1.0, **start):
    start = {"rotation": 0.0, "angular_velocity": 0.0, **start}
    return m.body(name, mass=mass, inertia=mass / 3, orientation="planar", position=list(place),
                  velocity=list(velocity), **start)  # fmt: skip


def shot(speed, radius, thick, far, own_body):
    """A ball on its way to a wall, of the ground or of a heavy body."""
    m = dd.Model("shot")
    m.gravity([0.0, 0.0])
    ball = flat(m, "ball", (0, 0), (speed, 0))
    ball.shape("sphere", size=radius)
    wall = flat(m, "wall", (far, 0), mass=1e9) if own_body else None
    if wall is None:
        m.ground.shape("box", size=[thick, 2.0], at=[far, 0.0])
    else:
        wall.shape("box", size=[thick, 2.0])
    m.contact(ball, wall or dd.ground, friction=0.2, restitution=0.5)
    return m


@pytest.mark.parametrize("seed", [1, 2, pytest.param(3, marks=pytest.mark.wide)])
@pytest.mark.parametrize("own_body", [True, False])
def test_a_shot_ball_bounces_off_a_thin_wall(seed, own_body):
    draw = np.random.default_rng(seed)
    for _ in range(4):
        speed, radius, thick = 10 ** draw.uniform(0, 4), *10 ** draw.uniform(-3, -1, 2)
        far = draw.uniform(2, 20)
        tr = dd.simulate(shot(speed, radius, thick, far, own_body), far / speed * 1.2)
        assert tr["ball.velocity"][-1, 0] == pytest.approx(-0.5 * speed, rel=1e-6)
        assert tr.events[0].time == pytest.approx((far - radius - thick / 2) / speed, rel=1e-6)
        # The way is thousands of times as long as both are thick.
        assert tr.work.steps < 200


@pytest.mark.parametrize("seed", [4, 5, pytest.param(6, marks=pytest.mark.wide)])
@pytest.mark.parametrize("own_body", [True, False])
def test_a_bat_that_swings_hits_a_ball(seed, own_body):
    # Along its arc an end goes many times as far in a step as bat and ball are thick.
    draw = np.random.default_rng(seed)
    for _ in range(4):
        rate, start, thin = 10 ** draw.uniform(0, 2), draw.uniform(-2.5, -0.3), 10 ** draw.uniform(-3, -1.5)
        place, radius, mass, e = draw.uniform(0.5, 0.95), 0.02, draw.uniform(0.1, 1), draw.uniform(0, 1)
        m = dd.Model("bat")
        m.gravity([0.0, 0.0])
        bat = flat(m, "bat", (0, 0), rotation=start, angular_velocity=rate)
        bat.shape("capsule", size=[thin, 2.0])
        if own_body:
            ball = flat(m, "ball", (place, 0), mass=mass)
            ball.shape("sphere", size=radius)
        else:
            m.ground.shape("sphere", size=radius, at=[place, 0])
        m.contact(bat, "ball" if own_body else dd.ground, friction=0.0, restitution=e)
        meets = -start - np.arcsin((radius + thin) / place)
        tr = dd.simulate(m, (meets + 0.2) / rate)
        assert tr.events[0].time == pytest.approx(meets / rate, rel=1e-5)
        # The bat is free: a smooth impact at an arm along it, J = 1 / 3.
        arm = np.sqrt(place**2 - (radius + thin) ** 2)
        impulse = (1 + e) * rate * arm / (1 + 3 * arm**2 + (1 / mass if own_body else 0.0))
        assert tr["bat.angular_velocity"][-1] == pytest.approx(rate - 3 * arm * impulse, abs=1e-5 * rate)


@pytest.mark.parametrize("kind", ["joint", "body"])
def test_a_bar_on_a_hinge_bounces_off_a_post(kind):
    draw = np.random.default_rng(7)
    for _ in range(2):
        start, rate, place, e = draw.uniform(-2.5, -0.4), 10 ** draw.uniform(0, 2), draw.uniform(0.5, 1.8), 0.5
        m = dd.Model("bar")
        m.gravity([0.0, 0.0])
        across = np.array([-np.sin(start), np.cos(start)])
        body = {"position": [across[1], -across[0]], "velocity": list(rate * across), "rotation": start,
                "angular_velocity": rate}  # fmt: skip
        bar = m.body("bar", mass=1.0, inertia=1 / 3, orientation="planar", **(body if kind == "body" else {}))
        joint = {"coordinates": "joint", "start": start, "rate": rate} if kind == "joint" else {}
        m.joint("hinge", "revolute", dd.ground, bar, at_a=[0, 0], at_b=[-1.0, 0], **joint)
        bar.shape("capsule", size=[0.01, 2.0])
        m.ground.shape("sphere", size=0.02, at=[place, 0])
        m.contact(bar, dd.ground, friction=0.1, restitution=e)
        tr = dd.simulate(m, (0.1 - start) / rate)
        assert tr["bar.angular_velocity"][-1] == pytest.approx(-e * rate, rel=1e-4)


def test_equal_steps_that_may_pass_a_wall_say_so_and_both_remedies_see_it():
    far, speed, thick, radius = 3.0, 500.0, 0.01, 0.02
    m = shot(speed, radius, thick, far, own_body=False)

    def told(**options):
        tr = dd.simulate(m, 1.2 * far / speed, **options)
        return tr["ball.velocity"][-1, 0] < 0, [record for record in tr.records if isinstance(record, WentFar)]

    _, (record,) = told(step=1e-3)
    assert record.way == pytest.approx(speed * 1e-3, rel=0.1)  # the span is a whole number of steps
    assert record.thick == pytest.approx(radius + thick / 2)
    assert told(step=record.step) == (True, [])
    assert told(method="event_driven") == (True, [])
    # A floor has one side.
    floor = dd.Model("floor")
    floor.gravity([0.0, -9.81])
    ball = flat(floor, "ball", (0, 0.5), (0, -500.0))
    ball.shape("sphere", size=radius)
    floor.contact(ball, dd.ground)
    tr = dd.simulate(floor, 0.01, step=1e-3)
    assert tr["ball.position"][-1, 1] == pytest.approx(radius, abs=1e-6)
    assert WentFar not in map(type, tr.records)
