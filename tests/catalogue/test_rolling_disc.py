"""The rolling disc: a consistent start, energy without rate, rolling in a circle, and the meaning of no slip."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.points.motion_samples import MovingModel

NOTHING = np.zeros(0)


def test_the_start_obeys_the_constraints():
    known = catalogue.load("rolling_disc")
    moving = MovingModel(known.model)
    assert moving.violation(0.0, moving.start(), NOTHING) < 1e-14
    assert known.model.mechanics().accelerations().redundant == ()


def test_the_energy_has_no_rate():
    moving = MovingModel(catalogue.load("rolling_disc").model)
    system = moving.system
    x, p = system.symbol("x"), system.symbol("p")
    slope = ca.Function("slope", [x, p], [ca.jacobian(system.outputs["energy"], x)])
    random = np.random.default_rng(4)
    for _ in range(5):
        state = moving.sample(random, 0.1, 0.0, NOTHING)
        rate, gradient = moving.derivative(0.0, state, NOTHING), slope(state, moving.parameters).full().ravel()
        assert abs(gradient @ rate) <= 1e-11 * (np.abs(gradient) @ np.abs(rate))


def test_it_rolls_in_a_circle_at_the_rate_of_the_closed_form():
    """A W² sin θ cos θ − (C + m r²) W s sin θ − m g r cos θ = 0, divided by m r²."""
    known = catalogue.load("rolling_disc")
    radius, gravity = known.parameters["radius"], known.parameters["gravity"]
    lean, spin = 1.1, -9.0
    sine, cosine = np.sin(lean), np.cos(lean)
    turn = brentq(lambda w: 0.25 * w**2 * sine * cosine - 1.5 * w * spin * sine - gravity / radius * cosine, 0.0, 5.0)
    # The centre goes round a vertical axis at the distance −r s / W, to the left of its velocity.
    wide = -radius * spin / turn
    start = {
        "disc.position": [0.0, -wide, radius * sine],
        "disc.velocity": [-radius * spin, 0.0, 0.0],
        "disc.quaternion": [np.cos(lean / 2), np.sin(lean / 2), 0.0, 0.0],
        "disc.angular_velocity": [0.0, turn * sine, spin],
    }
    tr = dd.simulate(known.model, 2.0, start=start, rtol=1e-10, atol=1e-12)
    angle = turn * tr.time
    circle = np.stack([wide * np.sin(angle), -wide * np.cos(angle), 0 * angle + radius * sine], axis=1)
    assert tr["disc.position"] == pytest.approx(circle, abs=1e-7)
    assert tr["axle"][:, 2] == pytest.approx(0 * angle + cosine, abs=1e-8)


def test_the_plane_pushes_and_holds():
    """At the start the reaction on the disc is its weight and what bends its path; it does no work."""
    known = catalogue.load("rolling_disc")
    found = known.model.mechanics().accelerations()
    up = np.array([0.0, 0.0, known.parameters["gravity"]])
    push = known.parameters["mass"] * (found["disc.velocity_dot"] + up)
    assert np.asarray(found["contact"]) == pytest.approx(push, rel=1e-12)
    assert push[2] > 0
