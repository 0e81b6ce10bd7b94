"""Motions of textbooks with contacts, each against its closed form or an own integration of its equations."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd

G = 9.81
REST = {"rotation": [1.0, 0.0, 0.0, 0.0], "angular_velocity": [0.0, 0.0, 0.0]}


def ball(m, name="ball", radius=0.1, mass=1.0, **start):
    start = {"velocity": [0.0, 0.0, 0.0], **REST, **start}
    body = m.body(name, mass=mass, inertia=dd.inertia.sphere(mass, radius), **start)
    body.shape("sphere", size=radius)
    return body


def flat(m, name, place, velocity, sides, mass=1.0, **start):
    inertia = mass * (sides[0] ** 2 + sides[1] ** 2) / 12
    start = {"rotation": 0.0, "angular_velocity": 0.0, **start}
    body = m.body(name, mass=mass, inertia=inertia, orientation="planar", position=list(place), velocity=list(velocity),
                  **start)  # fmt: skip
    body.shape("box", size=list(sides))
    return body


def weighty(*gravity):
    m = dd.Model("m")
    m.gravity(list(gravity))
    return m


def on_a_sphere(friction, tilt=0.2):
    """A ball at rest near the top of a sphere that stands still."""
    m = weighty(0, 0, -G)
    m.ground.shape("sphere", size=1.0)
    b = ball(m, position=[1.1 * np.sin(tilt), 0, 1.1 * np.cos(tilt)])
    m.contact(b, dd.ground, friction=friction, name="c")
    return m, tilt


@pytest.mark.parametrize("rtol", [1e-4, pytest.param(1e-6, marks=pytest.mark.wide)])
def test_a_smooth_ball_leaves_a_sphere_at_two_thirds_of_its_height(rtol):
    m, tilt = on_a_sphere(0.0)
    first = dd.simulate(m, 0.9, rtol=rtol).events[0]
    assert first.name == "c.opens"
    assert first.before["ball.position"][2] / 1.1 == pytest.approx(2 / 3 * np.cos(tilt), abs=3 * rtol)


@pytest.mark.wide
def test_a_rolling_ball_leaves_a_sphere_at_ten_seventeenths_of_its_height():
    # Before it leaves it slips, however large the friction: its force needs a normal force.
    m, tilt = on_a_sphere(20.0)
    names = [(event.name, event.before["ball.position"][2] / 1.1) for event in dd.simulate(m, 1.2, rtol=1e-5).events]
    assert (names[0][0], names[-1][0]) == ("c.slips", "c.opens")
    assert names[-1][1] == pytest.approx(10 / 17 * np.cos(tilt), abs=2e-3)


def housner(width, height, tilt, span):
    """The angle of a rocking block at the end: it turns about one edge, then about the other (G. W. Housner, 1963)."""
    radius, slender = np.hypot(width, height) / 2, np.arctan(width / height)

    def falls(t, y):
        return [y[1], -G / (4 / 3 * radius) * np.sin(slender - y[0])]

    def lands(t, y):
        return y[0]

    lands.terminal, lands.direction = True, -1
    first = solve_ivp(falls, (0, span), [tilt, 0.0], events=lands, rtol=1e-10, atol=1e-12)
    kept = 1 - 1.5 * np.sin(slender) ** 2
    second = solve_ivp(falls, (first.t[-1], span), [0.0, -kept * first.y[1, -1]], rtol=1e-10, atol=1e-12)
    return first.t[-1], second.y[0, -1]


@pytest.mark.parametrize(("friction", "rtol"), [(0.5, 1e-4), pytest.param(5.0, 1e-6, marks=pytest.mark.wide)])
def test_a_rocking_block_goes_over_to_its_other_edge(friction, rtol):
    width, height, tilt, span = 0.2, 0.8, 0.1, 0.6
    radius, slender = np.hypot(width, height) / 2, np.arctan(width / height)
    place = np.array([width / 2, 0]) + radius * np.array([-np.sin(slender - tilt), np.cos(slender - tilt)])
    m = weighty(0, -G)
    m.contact(flat(m, "b", place, [0, 0], [width, height], rotation=-tilt), dd.ground, friction=friction)
    tr = dd.simulate(m, span, rtol=rtol)
    when, wanted = housner(width, height, tilt, span)
    assert tr["b.angle"][-1] == pytest.approx(wanted, abs=10 * rtol)
    (impact,) = [t for t, later in pairwise(tr.time) if t == later]
    assert impact == pytest.approx(when, abs=10 * rtol)
    # Corners at one place, of which one carries the load, have one law, which is solved to rounding.
    assert next(r for r in tr.records if type(r).__name__ == "ContactsStepped").residual < 1e-7


@pytest.mark.parametrize(("friction", "along", "spin"), [(0.2, 3.0, 0.0), (0.5, 1.0, -20.0), (0.1, 2.0, 30.0)])
def test_a_ball_that_bounces_with_spin_slides_or_grips(friction, along, spin):
    radius, fall, restitution = 0.1, 2.0, 0.8
    m = weighty(0, 0, 0)
    b = ball(m, position=[0, 0, 0.15], velocity=[along, 0, -fall], angular_velocity=[0, spin, 0])
    m.contact(b, dd.ground, friction=friction, restitution=restitution)
    end = dd.simulate(m, 0.1).end
    slip = along - radius * spin
    push = -np.sign(slip) * min(friction * (1 + restitution) * fall, 2 / 7 * abs(slip))
    assert end["ball.velocity"] == pytest.approx([along + push, 0, restitution * fall], abs=1e-9)
    assert end["ball.angular_velocity"][1] == pytest.approx(spin - push * radius / (0.4 * radius**2), abs=1e-9)


@pytest.mark.parametrize("friction", [0.171, 0.169])
def test_a_ball_rolls_down_where_friction_is_two_sevenths_of_the_slope(friction):
    angle = np.arctan(3.5 * 0.17)
    m = weighty(G * np.sin(angle), 0, -G * np.cos(angle))
    m.contact(ball(m, position=[0, 0, 0.1]), dd.ground, friction=friction)
    end = dd.simulate(m, 1.0).end
    pull, turn = G * (np.sin(angle) - friction * np.cos(angle)), 25 * friction * G * np.cos(angle)
    if friction > 0.17:
        pull, turn = 5 / 7 * G * np.sin(angle), 50 / 7 * G * np.sin(angle)
    assert (end["ball.velocity"][0], end["ball.angular_velocity"][1]) == pytest.approx((pull, turn), rel=1e-9)


@pytest.mark.wide
@pytest.mark.parametrize("spin", [-60.0, 60.0])
def test_draw_and_follow_shots(spin):
    # The struck ball takes the speed, the cue ball keeps its spin: 2/7 of it becomes speed again.
    radius, speed = 0.03, 2.0
    m = weighty(0, 0, -G)
    cue = ball(m, "cue", radius, 0.17, position=[0, 0, radius], velocity=[speed, 0, 0], angular_velocity=[0, spin, 0])
    struck = ball(m, "struck", radius, 0.17, position=[2 * radius + 1e-9, 0, radius])
    m.contact(cue, struck, friction=0.0, restitution=1.0)
    for one in (cue, struck):
        m.contact(one, dd.ground, friction=0.2)
    end = dd.simulate(m, 1.2).end
    found = end["cue.velocity"][0], end["struck.velocity"][0]
    assert found == pytest.approx((2 / 7 * radius * spin, 5 / 7 * speed), abs=1e-6)


@pytest.mark.wide
def test_a_block_slides_on_a_plank_that_slides():
    friction, speed, masses = 0.3, 3.0, (1.0, 3.0)
    m = weighty(0, -G)
    plank = flat(m, "plank", [0, 0.05], [0, 0], [4, 0.1], mass=masses[1])
    block = flat(m, "block", [-1.5, 0.2], [speed, 0], [0.2, 0.2], mass=masses[0])
    m.contact(plank, dd.ground, friction=0.0)
    m.contact(block, plank, friction=friction)
    end = dd.simulate(m, 1.0).end
    way = speed**2 / (2 * friction * G * (1 + masses[0] / masses[1]))
    assert end["block.velocity"][0] == pytest.approx(speed / 4, abs=1e-6)
    assert end["block.position"][0] - end["plank.position"][0] == pytest.approx(-1.5 + way, abs=1e-6)


def test_a_ladder_slides_down_with_friction_at_both_ends():
    friction, start, span = 0.2, 0.9, 0.25

    def slides(t, y):
        angle, rate = y
        c, s = np.cos(angle), np.sin(angle)
        rows = [[-s / 2, friction, -1], [c / 2, -1, -friction],
                [1 / 12, (c - friction * s) / 2, -(friction * c + s) / 2]]  # fmt: skip
        return [rate, np.linalg.solve(rows, [c / 2 * rate**2, s / 2 * rate**2 - G, 0.0])[0]]

    m = weighty(0, -G)
    m.ground.shape("plane")
    m.ground.shape("plane", rotation=-np.pi / 2)
    b = m.body("bar", mass=1.0, inertia=1 / 12, orientation="planar", position=[np.cos(start) / 2, np.sin(start) / 2],
               velocity=[0, 0], rotation=np.pi - start, angular_velocity=0.0)  # fmt: skip
    b.shape("capsule", size=[1e-7, 1.0])
    m.contact(b, dd.ground, friction=friction)
    wanted = solve_ivp(slides, (0, span), [start, 0.0], rtol=1e-10, atol=1e-12).y[0, -1]
    assert np.pi - dd.simulate(m, span).end["bar.angle"] == pytest.approx(wanted, abs=3e-4)


def test_balls_of_falling_masses_pass_their_speed_on():
    masses, restitution = [1.0, 0.5, 0.25], 0.9
    m = weighty(0, 0, 0)
    balls = [
        ball(m, f"b{k}", 0.05, mass, position=[0.2 * k, 0, 0], velocity=[float(k == 0), 0, 0])
        for k, mass in enumerate(masses)
    ]
    for one, two in pairwise(balls):
        m.contact(one, two, restitution=restitution, friction=0.3)
    speeds = [1.0, 0.0, 0.0]
    for k in range(2):
        apart = restitution * (speeds[k] - speeds[k + 1])
        whole = masses[k] * speeds[k] + masses[k + 1] * speeds[k + 1]
        speeds[k] = (whole - masses[k + 1] * apart) / (masses[k] + masses[k + 1])
        speeds[k + 1] = speeds[k] + apart
    end = dd.simulate(m, 0.6).end
    assert [end[f"b{k}.velocity"][0] for k in range(3)] == pytest.approx(speeds, abs=1e-9)


def test_a_ball_in_a_groove_rolls_on_its_two_lines():
    # The lines are R cos 45° from its centre: v = v0 (1 - J / (J + m R² / 2)). Friction across carries a part of the
    # load, as much as it can: forces are those of least norm.
    friction, angle, radius = 0.3, np.pi / 4, 0.1
    m = weighty(0, 0, -G)
    for side in (angle, -angle):
        m.ground.shape("plane", rotation=dd.rot_y(side))
    m.contact(ball(m, position=[0, 0, radius * np.sqrt(2)], velocity=[0, 1.0, 0]), dd.ground, friction=friction)
    tr = dd.simulate(m, 0.6)
    assert tr["ball.velocity"][-1, 1] == pytest.approx(1 - 0.4 / 0.9, abs=1e-6)
    assert tr["ball_ground.normal"][-1] == pytest.approx(G / (np.cos(angle) * (1 + friction)), rel=1e-3)


def test_a_rocking_block_loses_what_housner_says_and_its_impact_is_told():
    # G. W. Housner, Bull. Seism. Soc. Am. 53, 1963: the rate behind an impact is 1 - 3/2 sin² α of that before.
    half, height, tilt = 0.1, 0.5, 0.08
    slender, reach = np.arctan(half / height), np.hypot(half, height)
    m = dd.Model("block")
    m.gravity([0, -9.81])
    turn = np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]])
    b = m.body("b", mass=1.0, inertia=reach**2 / 3, orientation="planar", velocity=[0, 0], rotation=tilt,
               position=np.array([-half, 0]) + turn @ [half, height], angular_velocity=0.0)  # fmt: skip
    b.shape("box", size=[2 * half, 2 * height])
    m.contact(b, dd.ground, friction=5.0, restitution=0.0)
    tr = dd.simulate(m, 0.4)
    (impact,) = (e for e in tr.events if e.name == "b_ground.closes")
    fallen = reach * (np.cos(slender - tilt) - np.cos(slender))
    before = np.sqrt(2 * 9.81 * fallen / (4 / 3 * reach**2))
    assert impact.before["b.angular_velocity"] == pytest.approx(-before, rel=1e-4)
    assert impact.after["b.angular_velocity"] == pytest.approx(-before * (1 - 1.5 * np.sin(slender) ** 2), rel=1e-4)


@pytest.mark.parametrize(("options", "close"), [({}, 1e-5), pytest.param({"step": 2e-4}, 5e-3, marks=pytest.mark.wide)])
def test_a_ball_on_a_vibrating_table_keeps_its_orbit(options, close):
    # Of one period T, where A ω cos φ = (1 - e) / (1 + e) g T / 2 at impacts (P. J. Holmes, J. Sound Vib. 84, 1982).
    high, rate, restitution, radius = 0.0025, 60.0, 0.6, 0.02
    period = 2 * np.pi / rate
    phase = np.arccos((1 - restitution) / (1 + restitution) * G * period / 2 / (high * rate))
    arrives, hit = -G * period / 2, phase / rate
    place, speed = high * np.sin(phase) - arrives * hit - 0.5 * G * hit**2, arrives + G * hit
    m = dd.Model("table")
    m.gravity([0, -G])
    table = flat(m, "table", (0, 0), (0, high * rate), (1.0, 0.1))
    m.constraint("lift", table.position[1] - high * ca.sin(rate * m.time))
    m.constraint("across", table.position[0])
    m.constraint("turn", m["table.angle"])
    b = m.body("ball", mass=1.0, inertia=0.5 * radius**2, orientation="planar", velocity=[0, speed],
               position=[0, 0.05 + radius + place], rotation=0.0, angular_velocity=0.0)  # fmt: skip
    b.shape("sphere", size=radius)
    m.contact(b, table, friction=0.3, restitution=restitution)
    tr = dd.simulate(m, 5 * period, **options)
    assert tr["ball.velocity"][-1, 1] == pytest.approx(speed, rel=close)
