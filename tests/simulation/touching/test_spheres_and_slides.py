"""A ball on a turntable, throw at billiards, a ladder about to slip, a plate that slides and spins: closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

G = 9.81
STILL = {"rotation": [1, 0, 0, 0], "angular_velocity": [0, 0, 0]}


def test_a_ball_on_a_turntable_goes_round_at_two_sevenths_of_its_rate():
    # At constant speed along a circle, wherever it starts (J. Walker, Am. J. Phys. 70, 2002, with its references).
    rate, radius = 3.0, 0.1
    m = dd.Model("turntable")
    table = m.body("table", mass=1e7, inertia=[1e8] * 3, position=[0, 0, -0.1], velocity=[0, 0, 0],
                   rotation=[1, 0, 0, 0], angular_velocity=[0, 0, rate])  # fmt: skip
    table.shape("box", size=[20, 20, 0.2])
    along = np.array([0.0, 0.6 - rate, 0]) / radius  # of the ball against the table, rolling
    ball = m.body("ball", mass=1.0, inertia=[0.4 * radius**2] * 3, position=[1, 0, radius], velocity=[0, 0.6, 0],
                  rotation=[1, 0, 0, 0], angular_velocity=[-along[1], along[0], 0])  # fmt: skip
    ball.shape("sphere", size=radius)
    m.force([0, 0, -G], at=ball.position)
    m.contact(ball, table, friction=0.9)
    tr = dd.simulate(m, 0.2, rtol=1e-4)
    v = tr["ball.velocity"]
    turn = np.unwrap(np.arctan2(v[:, 1], v[:, 0]))
    assert (turn[-1] - turn[0]) / (tr.time[-1] * rate) == pytest.approx(2 / 7, rel=1e-4)
    assert np.linalg.norm(v[:, :2], axis=1) == pytest.approx(0.6, rel=1e-4)


@pytest.mark.parametrize("restitution", [1.0, 0.9])
@pytest.mark.parametrize("friction", [0.03, 0.3])
@pytest.mark.parametrize("cut", [0.2, 1.0])
def test_a_struck_ball_is_thrown_by_friction_up_to_a_seventh_of_the_speed(cut, friction, restitution):
    # R. E. Wallace and M. C. Schroeder, Am. J. Phys. 56, 1988: the balls slide on each other, or stop sliding.
    radius = 0.028
    m = dd.Model("throw")
    m.gravity([0, 0, 0])
    way = np.array([np.cos(cut), np.sin(cut), 0])
    for name, place, velocity in (("cue", -1e-3 * way, way), ("object", [2 * radius, 0, 0], [0, 0, 0])):
        b = m.body(name, mass=0.17, inertia=[0.4 * 0.17 * radius**2] * 3, position=place, velocity=velocity, **STILL)
        b.shape("sphere", size=radius)
    m.contact("all", friction=friction, restitution=restitution)
    tr = dd.simulate(m, 0.01)
    (hit,) = tr.events
    line = hit.after["object.position"] - hit.after["cue.position"]
    line /= np.linalg.norm(line)
    v = tr["object.velocity"][-1]
    speed = v @ line
    assert speed == pytest.approx((1 + restitution) / 2 * (way @ line), rel=1e-9)
    slip = np.linalg.norm(way - (way @ line) * line)
    assert np.linalg.norm(v - speed * line) == pytest.approx(min(friction * speed, slip / 7), rel=1e-7)


@pytest.mark.parametrize("options", [{}, {"step": 5e-3}])
@pytest.mark.parametrize("above", [True, False])
def test_a_ladder_stays_above_the_angle_at_which_both_ends_slip(above, options):
    # tan = (1 - μ²) / 2μ for a uniform one with the same friction at the wall and the floor.
    friction, length = 0.4, 2.0
    angle = np.arctan((1 - friction**2) / (2 * friction)) + (0.01 if above else -0.01)
    m = dd.Model("ladder")
    m.gravity([0, -G])
    b = m.body("ladder", mass=5.0, inertia=5 * length**2 / 12, orientation="planar", velocity=[0, 0],
               position=[length / 2 * np.cos(angle), length / 2 * np.sin(angle)], rotation=-angle,
               angular_velocity=0.0)  # fmt: skip
    for end in (1, -1):
        b.shape("sphere", size=1e-6, at=[end * length / 2, 0])
    m.ground.shape("plane")
    m.ground.shape("plane", rotation=-np.pi / 2)
    m.contact(b, dd.ground, friction=friction)
    turned = dd.simulate(m, 0.2, **options)["ladder.angle"][-1] + angle
    assert abs(turned) < 1e-6 if above else turned > 1e-3


@pytest.mark.parametrize("ratio", [0.3, 3.0])
def test_a_plate_that_slides_and_spins_ends_both_at_once(ratio):
    # Friction couples both motions (Z. Farkas et al., Phys. Rev. Lett. 90, 248302, 2003): on four feet, too.
    radius, foot = 0.1, 1e-3
    m = dd.Model("plate")
    m.gravity([0, 0, -G])
    b = m.body("plate", mass=0.2, inertia=[5e-4, 5e-4, 1e-3], position=[0, 0, foot], velocity=[0.5, 0, 0],
               rotation=[1, 0, 0, 0], angular_velocity=[0, 0, 0.5 / radius / ratio])  # fmt: skip
    for k in range(4):
        b.shape("sphere", size=foot, at=[radius * np.cos(k * np.pi / 2), radius * np.sin(k * np.pi / 2), 0])
    m.contact(b, dd.ground, friction=0.3)
    tr = dd.simulate(m, 0.5)
    slides = np.linalg.norm(tr["plate.velocity"][:, :2], axis=1)
    spins = radius * np.abs(tr["plate.angular_velocity"][:, 2])
    ends = [tr.time[np.argmax(speed < 1e-6)] for speed in (slides, spins)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)
    assert ends[0] > 0.1
    # Alone, sliding would end earlier and spinning, too.
    alone = max(0.5 / (0.3 * G), 0.5 / ratio * 1e-3 / (0.2 * radius**2) / (0.3 * G))
    assert ends[0] > alone
