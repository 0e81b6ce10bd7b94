"""Piles of bodies that fall, bounce and slide: what holds for every motion with contacts."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

G = 9.81


def pile(seed, count, restitution):
    draw = np.random.default_rng(seed)
    m = dd.Model("pile")
    m.gravity([0.0, 0.0, -G])
    for k in range(count):
        q = draw.normal(size=4)
        b = m.body(f"b{k}", mass=1.0, inertia=dd.inertia.box(1.0, 0.2, 0.2, 0.2),
                   position=[*draw.uniform(-0.05, 0.05, 2), 0.25 + 0.4 * k], velocity=draw.uniform(-0.5, 0.5, 3),
                   rotation=q / np.linalg.norm(q), angular_velocity=draw.normal(size=3))  # fmt: skip
        kind, size = [("box", [0.2, 0.15, 0.1]), ("sphere", 0.1), ("capsule", [0.06, 0.12])][k % 3]
        b.shape(kind, size=size)
    m.contact("all", friction=0.4, restitution=restitution)
    return m


@pytest.mark.parametrize(("seed", "restitution", "options"), [
    pytest.param(1, 0.0, {"step": 2e-3}, marks=pytest.mark.wide), (2, 0.5, {"step": 2e-3}), (3, 0.3, {"rtol": 1e-4}),
    pytest.param(5, 0.3, {"rtol": 1e-6}, marks=pytest.mark.wide),
])  # fmt: skip
def test_random_piles_keep_their_balances(seed, restitution, options):
    m = pile(seed, 3, restitution)
    tr = dd.simulate(m, 0.6, **options)
    assert tr.success
    steps = np.diff(tr.time)
    # Equal steps keep it to rounding. Steps with a tolerance are extrapolated, the forces of their halves are not:
    # these obey the law of Coulomb exactly, and their sum the balance as closely as velocities are known.
    close = 1e-9 if "step" in options else 50 * options["rtol"]
    for k in range(3):
        # Momentum: gravity, forces of contacts over the steps, and impacts.
        force, impulse = tr[f"b{k}.contact.force"], tr[f"b{k}.contact.impulse"]
        given = np.sum(force[:-1] * steps[:, None], axis=0) + impulse[-1] + [0, 0, -G * 0.6]
        change = tr[f"b{k}.velocity"][-1] - tr[f"b{k}.velocity"][0]
        assert change == pytest.approx(given, abs=close)
        # Coulomb: |tangential| <= μ N for the sum over all contacts of a body.
        assert np.all(np.linalg.norm(force, axis=1) <= np.sqrt(1 + 0.4**2) * tr[f"b{k}.contact.normal"] + 1e-6)
    energy = tr.stored_energy()
    assert np.max(np.diff(energy)) <= 1e-6 * energy[0]
    record = next(r for r in tr.records if type(r).__name__ == "ContactsStepped")
    # Equal steps go in by what they move at the speed of the fall; located ones hardly.
    assert record.depth <= (options["step"] * np.sqrt(2 * G * 1.2) if "step" in options else 1e-3 * 0.1)


def test_a_frictional_impact_never_gains_energy():
    # Kane's and Levinson's kind: a bar that strikes with one end, obliquely and spinning, with e = 1 and much friction.
    for angle in (0.3, 0.8, 1.2):
        m = dd.Model("bar")
        b = m.body("bar", mass=1.0, inertia=1 / 12, orientation="planar", position=[0, 0.6], velocity=[-2.0, -1.0],
                   rotation=angle, angular_velocity=-3.0)  # fmt: skip
        b.shape("capsule", size=[0.01, 1.0])
        m.contact(b, dd.ground, friction=0.9, restitution=1.0)
        tr = dd.simulate(m, 0.5)
        energy = tr.stored_energy()
        assert np.max(np.diff(energy)) <= 1e-6 * energy[0]
        assert np.any(tr["bar_ground.impulse"][-1] != 0)


def tumbling_slabs(seed, count, friction, restitution):
    draw = np.random.default_rng(seed)
    m = dd.Model("slabs")
    m.gravity([0.0, 0.0, -G])
    for k in range(count):
        q = draw.normal(size=4)
        # Inertias are equal: steps of spinning bodies with others change the energy between contacts, by their order.
        b = m.body(f"b{k}", mass=1.0, inertia=dd.inertia.box(1.0, 0.2, 0.2, 0.2),
                   position=[*draw.uniform(-0.1, 0.1, 2), 0.25 + 0.3 * k], velocity=draw.uniform(-2, 2, 3),
                   rotation=q / np.linalg.norm(q), angular_velocity=10 * draw.normal(size=3))  # fmt: skip
        b.shape("box", size=[0.3, 0.15, 0.05])
    m.contact("all", friction=friction, restitution=restitution)
    return m


@pytest.mark.parametrize(("seed", "friction", "restitution"), [
    (2, 0.5, 1.0), (5, 0.0, 1.0), pytest.param(1, 0.8, 0.9, marks=pytest.mark.wide),
    pytest.param(4, 2.0, 1.0, marks=pytest.mark.wide),
])  # fmt: skip
def test_equal_steps_of_spinning_bodies_that_bounce_give_no_energy(seed, friction, restitution):
    # With the whole restitution these gain up to 4 % in a step: normals turn, and friction throws back.
    tr = dd.simulate(tumbling_slabs(seed, 4, friction, restitution), 0.6, step=2e-3)
    energy = tr.stored_energy()
    record = next(r for r in tr.records if type(r).__name__ == "ContactsStepped")
    # Smooth impacts at one place keep their restitution, as do most that take more than friction throws back.
    assert record.lessened > 0 or not friction or restitution < 1
    # What has gone in is lifted out again.
    assert np.max(np.diff(energy)) <= 1e-9 * energy[0] + G * record.depth
    assert G * record.depth < 1e-3 * energy[0]


@pytest.mark.parametrize(("options", "close"), [({}, 1e-7), ({"step": 1e-3}, 1e-2)])
@pytest.mark.parametrize("restitution", [1.0, 0.8])
def test_what_bounces_on_a_conveyor_keeps_its_restitution(restitution, options, close):
    # The belt throws the ball forwards, so that its energy grows: v_x = μ (1 + e) v, v_y = e v.
    radius, high, friction, end = 0.1, 0.5, 0.3, 0.4
    m = dd.Model("belt")
    m.gravity([0, -G])
    b = m.body("b", mass=1.0, inertia=0.4 * radius**2, orientation="planar", position=[0, radius + high],
               velocity=[0, 0], rotation=0.0, angular_velocity=0.0)  # fmt: skip
    b.shape("sphere", size=radius)
    m.contact(b, dd.ground, friction=friction, restitution=restitution, surface_velocity=[10.0, 0.0])
    tr = dd.simulate(m, end, **options)
    speed = np.sqrt(2 * G * high)
    wanted = [friction * (1 + restitution) * speed, restitution * speed - G * (end - speed / G)]
    assert tr["b.velocity"][-1] == pytest.approx(wanted, abs=close)


def test_an_impact_that_would_give_energy_returns_as_much_as_keeps_it():
    # A bar with e = 1 that friction throws off its end: neither the whole restitution, which gives energy, nor half.
    found = []
    for restitution in (1.0, 0.999):
        m = dd.Model("bar")
        m.gravity([0, 0])
        b = m.body("bar", mass=1.0, inertia=1 / 12, orientation="planar", position=[0.0, 0.5 * np.sin(0.8) + 0.02],
                   velocity=[0.5, -1.0], rotation=0.8, angular_velocity=0.0)  # fmt: skip
        b.shape("capsule", size=[0.01, 1.0])
        m.contact(b, dd.ground, friction=1.0, restitution=restitution)
        tr = dd.simulate(m, 0.05)
        energy = tr.stored_energy()
        (record,) = [r for r in tr.records if type(r).__name__ == "ContactsStepped"]
        found.append((record.lessened, energy[-1] / energy[0], tr["bar.angular_velocity"][-1]))
    assert [lessened for lessened, _, _ in found] == [1, 1]
    assert [share for _, share, _ in found] == pytest.approx([1.0, 1.0], abs=1e-8)
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-6)
