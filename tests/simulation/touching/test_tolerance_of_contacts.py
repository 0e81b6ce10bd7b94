"""The tolerance controls the error of motions in contact: references of SciPy at 1e-12, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd

G = 9.81
FEET = [(0.1 * np.cos(a), 0.1 * np.sin(a)) for a in (0.0, 2.1, 4.2)]
MASS, TURN, HIGH, FRICTION = 1.0, 0.02, 0.05, 0.2


def tripod():
    m = dd.Model("tripod")
    m.gravity([0, 0, -G])
    b = m.body("b", mass=MASS, inertia=[0.01, 0.01, TURN], position=[0, 0, HIGH], velocity=[2.0, 0, 0],
               rotation=np.eye(3), angular_velocity=[0, 0, 8.0])  # fmt: skip
    for x, y in FEET:
        b.shape("sphere", size=0.02, at=[x, y, -0.03])
    m.contact(b, dd.ground, friction=FRICTION)
    return m


def tripod_by_hand(t, y):
    """x, y, angle and their rates: the loads of three feet follow from the equilibrium about both axes."""
    angle, speed, spin = y[2], y[3:5], y[5]
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    arms = [turn @ foot for foot in FEET]
    ways = [speed + spin * np.array([-r[1], r[0]]) for r in arms]
    pushes = [np.array([*(-FRICTION * u / np.linalg.norm(u)), 1.0]) for u in ways]
    moments = [np.cross([*r, -HIGH], push) for r, push in zip(arms, pushes)]
    loads = np.linalg.solve(np.array([[1, 1, 1], *np.array(moments).T[:2]]), [MASS * G, 0, 0])
    force = sum(n * push for n, push in zip(loads, pushes))
    torque = sum(n * m[2] for n, m in zip(loads, moments))
    return [*speed, spin, *(force[:2] / MASS), torque / TURN]


def test_the_error_of_a_tripod_that_slides_and_turns_follows_the_tolerance():
    end = solve_ivp(tripod_by_hand, (0, 0.6), [0, 0, 0, 2, 0, 8], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    for rtol in (1e-4, 1e-6):
        tr = dd.simulate(tripod(), 0.6, rtol=rtol)
        assert tr["b.position"][-1, :2] == pytest.approx(end[:2], abs=20 * rtol)
        assert tr["b.velocity"][-1, :2] == pytest.approx(end[3:5], abs=20 * rtol)
        assert tr["b.angular_velocity"][-1, 2] == pytest.approx(end[5], abs=100 * rtol)


def rocking():
    """An ellipsoid that rolls and turns on a rough plane."""
    m = dd.Model("ellipsoid")
    m.gravity([0, 0, -G])
    b = m.body("b", mass=1.0, inertia=[0.02, 0.03, 0.04], position=[0, 0, 0.1], velocity=[0.5, 0, 0],
               rotation=np.eye(3), angular_velocity=[0.3, 2.0, 1.0])  # fmt: skip
    b.shape("ellipsoid", size=[0.4, 0.3, 0.2])
    m.contact(b, dd.ground, friction=0.9)
    return m


@pytest.mark.wide
def test_the_error_of_an_ellipsoid_that_rolls_follows_the_tolerance():
    names = ("b.position", "b.velocity", "b.angular_velocity")

    def end(rtol):
        tr = dd.simulate(rocking(), 1.0, rtol=rtol)
        return np.concatenate([tr[name][-1] for name in names])

    best = end(1e-7)
    errors = [float(np.abs(end(rtol) - best).max()) for rtol in (1e-4, 1e-5, 1e-6)]
    assert all(error < 5 * rtol for error, rtol in zip(errors, (1e-4, 1e-5, 1e-6))), errors
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


@pytest.mark.parametrize("rtol", [1e-4, 1e-7])
def test_a_ball_that_bounces_in_drag_follows_the_tolerance(rtol):
    # Its bounces by SciPy at 1e-12.
    m = dd.Model("drag")
    m.gravity([0, -G])
    b = m.body("b", mass=1.0, inertia=0.004, orientation="planar", position=[0, 1.1], velocity=[1.0, 0], rotation=0.0,
               angular_velocity=0.0)  # fmt: skip
    b.shape("sphere", size=0.1)
    b.apply_force([-0.5 * b.velocity[0] * 2, -0.5 * b.velocity[1] * 3], frame="world")
    m.contact(b, dd.ground, friction=0.0, restitution=0.8)
    tr = dd.simulate(m, 1.4, rtol=rtol)

    def low(t, y):
        return y[0] - 0.1

    low.terminal, low.direction = True, -1
    t, y = 0.0, np.array([1.1, 0.0])
    while t < 1.4:
        part = solve_ivp(lambda _, y: [y[1], -G - 1.5 * y[1]], (t, 1.4), y, rtol=1e-12, atol=1e-13, events=low)
        t, y = part.t[-1], part.y[:, -1].copy()
        if t < 1.4:
            y[1] *= -0.8
    assert tr["b.position"][-1, 1] == pytest.approx(y[0], abs=20 * rtol)
    assert tr["b.position"][-1, 0] == pytest.approx(1 - np.exp(-1.4), abs=20 * rtol)
