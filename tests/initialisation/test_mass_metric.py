"""Positions and velocities of mechanics move least in the norm of the mass matrix."""

import casadi as ca
import numpy as np
import pytest
from started_models import energy_pendulum

import daedalus as dd


def test_a_velocity_changes_by_an_impulse_of_the_rod():
    masses = np.array([1.0, 25.0])
    p, v = np.array([0.6, -0.8]), np.array([1.0, 1.0])
    s = dd.initialise(energy_pendulum(p, v, masses), free=["q_dot"])
    # v + M⁻¹ Gᵀ μ with G v = 0.
    slopes = 2 * p
    impulse = -(slopes @ v) / (slopes @ (slopes / masses))
    np.testing.assert_allclose(s["q_dot"], v + slopes / masses * impulse, atol=1e-10)


def test_a_frozen_system_finds_its_masses_too():
    masses = (1.0, 25.0)
    model = energy_pendulum([0.6, -0.8], [1.0, 1.0], masses)
    one = dd.initialise(model, free=["q_dot"])
    two = dd.initialise(energy_pendulum([0.6, -0.8], [1.0, 1.0], masses).freeze(), free=["q_dot"])
    np.testing.assert_allclose(two["q_dot"], one["q_dot"], atol=1e-10)


def test_heavy_bodies_stay_and_light_ones_move():
    m = dd.Model("two on a rod")
    q = m.coordinate("q", 2, start=[0.0, 1.2], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * 99.0 * m.rate(q)[0] ** 2 + 0.5 * m.rate(q)[1] ** 2)
    m.constraint("rod", q[1] - q[0] - 1.0)
    s = dd.initialise(m, free=["q"])
    np.testing.assert_allclose(s["q"], [0.002, 1.002], atol=1e-10)


def test_nominal_values_count_where_there_are_no_masses():
    m = dd.Model("plain")
    x = m.state("x", 2, start=[0.0, 1.2], nominal=[0.1, 1.0])
    z = m.algebraic("z", nominal=1.0)
    m.equation(m.der(x), ca.vertcat(z, -z))
    m.equation(x[1] - x[0], 1.0, name="sum")
    s = dd.initialise(m, free=["x"])
    # Sizes 0.1 and 1.2: the change of 0.2 is shared as their squares.
    share = np.array([0.1**2, 1.2**2]) / (0.1**2 + 1.2**2)
    np.testing.assert_allclose(s["x"], [0.2 * share[0], 1.2 - 0.2 * share[1]], atol=1e-10)
    assert s["z"] == pytest.approx(0.0)


def test_bodies_move_in_the_norm_of_their_masses():
    m = dd.Model("two bodies on a rod")
    heavy = m.body("heavy", mass=99.0, orientation=None, position=[0.0, 0.0, 0.0])
    light = m.body("light", mass=1.0, orientation=None, position=[1.2, 0.0, 0.0])
    m.constraint("rod", ca.sumsqr(light.position - heavy.position) - 1.0)
    s = dd.initialise(m, free=["heavy.position", "light.position"])
    np.testing.assert_allclose(s["heavy.position"], [0.002, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(s["light.position"], [1.002, 0.0, 0.0], atol=1e-9)


def test_a_closed_loop_keeps_the_norm():
    m = dd.Model("driven")
    q, u = m.coordinate("q", 2, start=[0.0, 1.2], rate=[0.0, 0.0]), m.input("u")
    m.kinetic_energy(0.5 * 99.0 * m.rate(q)[0] ** 2 + 0.5 * m.rate(q)[1] ** 2)
    m.generalised_force(q[0], u)
    m.constraint("rod", q[1] - q[0] - 1.0)
    s = dd.initialise(m, free=["q"], inputs={"u": -50.0 * q[0]})
    np.testing.assert_allclose(s["q"], [0.002, 1.002], atol=1e-10)
    assert s["q_ddot"][0] == pytest.approx(-50.0 * 0.002 / 100.0, rel=1e-6)
