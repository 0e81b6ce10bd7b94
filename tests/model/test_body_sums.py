"""Momentum, angular momentum and König's kinetic energy of bodies and systems, and their rates."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def two_bodies():
    """Two free bodies in space, joined by nothing, with gravity and a torque on one."""
    m = dd.Model("pair")
    m.gravity([0.0, 0.0, -9.81])
    box = dd.inertia.box(2.0, 1.0, 2.0, 3.0)
    a = m.body("a", 2.0, box, position=[1, 0, 0], velocity=[0, 1, 0], rotation=np.eye(3), angular_velocity=[1, 2, 3])
    m.body("b", 3.0, dd.inertia.sphere(3.0, 0.5), position=[0, 2, 1], velocity=[1, 0, 2], rotation=dd.rot_x(0.3),
           angular_velocity=[0.5, -1, 0])  # fmt: skip
    a.apply_torque([0.1, 0.2, 0.3], frame="world")
    return m


@pytest.mark.document("002", "angular momentum h = M ω and T = dh/dt", "`dd.angular_momentum`, `m.angular_momentum`")
def test_the_angular_momentum_of_one_body_and_its_rate():
    """Document 002: h = M ω, and T = dh/dt."""
    M, spin = dd.inertia.tensor(1.0, 2.0, 3.0, xy=0.1), np.array([1.0, -2.0, 0.5])
    assert dd.angular_momentum(M, spin) == pytest.approx(M @ spin)
    torque = np.array([0.3, 0.2, -0.1])
    change = dd.newton_euler(2.0, M, [0, 0, 0], torque, spin).angular
    assert dd.angular_momentum_rate(M, spin, change) == pytest.approx(torque)


def test_the_rates_are_the_forces_and_their_moments():
    m = two_bodies()
    for name, value in (
        ("momentum", m.momentum()),
        ("spin", m.angular_momentum()),
        ("about", m.angular_momentum([0, 0, 0])),
    ):
        m.output(name, value)
        m.output(name + "_rate", m.der(value))
    tr = dd.simulate(m, 0.7, rtol=1e-10, atol=1e-12)
    weight = np.array([0.0, 0.0, -9.81 * 5.0])
    assert tr["momentum_rate"][-1] == pytest.approx(weight)
    assert tr["spin_rate"][-1] == pytest.approx([0.1, 0.2, 0.3], abs=1e-8)
    centre = (2.0 * tr["a.position"][-1] + 3.0 * tr["b.position"][-1]) / 5.0
    assert tr["about_rate"][-1] == pytest.approx(np.cross(centre, weight) + np.array([0.1, 0.2, 0.3]), abs=1e-7)
    assert tr["spin"][-1] - tr["spin"][0] == pytest.approx(0.7 * np.array([0.1, 0.2, 0.3]), abs=1e-8)


@pytest.mark.document(
    "002",
    "kinetic energy of a body, and of a system by König",
    "`dd.kinetic_energy`, `m.kinetic_energies`",
)
def test_koenig():
    m = two_bodies()
    parts = m.kinetic_energies()
    plain = m.bodies["a"].kinetic_energy + m.bodies["b"].kinetic_energy
    m.output("of_centre", parts.of_centre)
    m.output("gap", parts.total - plain)
    tr = dd.simulate(m, 0.1)
    assert tr["gap"] == pytest.approx(0.0, abs=1e-12)
    velocity = (2.0 * np.array([0, 1, 0]) + 3.0 * np.array([1, 0, 2])) / 5.0
    assert tr["of_centre"][0] == pytest.approx(2.5 * velocity @ velocity)
    # ½ Σ m v² + ½ ωᵀ J ω, by numbers.
    box, ball = dd.inertia.box(2.0, 1.0, 2.0, 3.0), dd.inertia.sphere(3.0, 0.5)
    spins = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 0.0])
    turning = sum(0.5 * w @ J @ w for w, J in zip(spins, (box, ball)))
    m.output("all", parts.total)
    assert dd.simulate(m, 0.1)["all"][0] == pytest.approx(0.5 * 2.0 * 1.0 + 0.5 * 3.0 * 5.0 + turning)


def test_the_plane_and_refusals():
    m = dd.Model("plane")
    disc = m.body(
        "disc", 2.0, 0.5, orientation="planar", position=[1, 0], velocity=[0, 3], rotation=0.0, angular_velocity=4.0
    )
    m.output("h", disc.angular_momentum([0.0, 0.0]))
    assert dd.simulate(m, 0.1)["h"][0] == pytest.approx(2.0 + 6.0)
    with pytest.raises(dd.ModelError, match="The momenta of these bodies cannot be added"):
        dd.Model("empty").momentum()
    assert isinstance(m.momentum(), ca.SX)
