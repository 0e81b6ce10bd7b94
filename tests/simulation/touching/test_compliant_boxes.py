"""Compliant boxes and capsules in the plane: where they rest, what energy they keep, and how they become hard."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

G, SIDES = 9.81, (0.2, 0.1)
MOMENT = (SIDES[0] ** 2 + SIDES[1] ** 2) / 12


def bodies(starts, kind="box", stiffness=1e4, damping=20.0, friction=0.4, **start):
    """Bodies of 1 kg above a compliant table, one for each place and angle."""
    m = dd.Model("compliant")
    m.gravity([0, -G])
    m.ground.shape("box", size=[2.0, 0.2], at=[0, -0.1])
    given = {"velocity": [0.0, 0.0], "angular_velocity": 0.0} | start
    for k, (place, angle) in enumerate(starts):
        b = m.body(f"b{k}", mass=1.0, inertia=MOMENT, orientation="planar", position=place, rotation=angle, **given)
        b.shape(kind, size=SIDES if kind == "box" else [SIDES[1] / 2, SIDES[0]])
    m.contact("all", friction=friction, stiffness=stiffness, damping=damping)
    return m


def energy(tr, t, count):
    at = tr.at(t)
    return sum(
        0.5 * np.sum(at[f"b{k}.velocity"] ** 2)
        + 0.5 * MOMENT * float(at[f"b{k}.angular_velocity"]) ** 2
        + G * at[f"b{k}.position"][1]
        for k in range(count)
    )


@pytest.mark.parametrize("kind", ["box", pytest.param("capsule", marks=pytest.mark.wide)])
def test_it_rests_at_the_depth_of_its_weight(kind):
    tr = dd.simulate(bodies([([0, 0.05], 0.0)], kind), 2.0)
    assert 0.05 - tr["b0.position"][-1, 1] == pytest.approx(G / 1e4, rel=3e-3)
    assert float(tr["b0.contact.normal"][-1]) == pytest.approx(G, rel=1e-3)


@pytest.mark.wide
def test_a_tower_sinks_by_what_each_face_carries():
    tr = dd.simulate(bodies([([0, 0.05 + 0.1 * k], 0.0) for k in range(3)]), 3.0)
    sunk = [0.05 + 0.1 * k - tr[f"b{k}.position"][-1, 1] for k in range(3)]
    assert sunk == pytest.approx([3 * G / 1e4, 5 * G / 1e4, 6 * G / 1e4], rel=3e-3)


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["box", "capsule"])
def test_without_damping_two_that_tumble_keep_their_energy_to_the_tolerance(kind):
    missing = []
    for rtol in (1e-4, 1e-7):
        m = bodies([([0, 0.2], 0.4), ([0.03, 0.45], -0.7)], kind, damping=0.0, friction=0.0)
        tr = dd.simulate(m, 1.0, rtol=rtol, atol=1e-3 * rtol)
        whole = energy(tr, 0.0, 2)
        times = [t for t in np.linspace(0, 1, 100) if not any(tr.at(t)[f"b{k}.contact.normal"] for k in range(2))]
        assert 50 < len(times) < 95
        missing.append(max(abs(energy(tr, t, 2) - whole) for t in times) / whole)
    assert missing[0] < 1e-3
    assert missing[1] < 1e-5


@pytest.mark.wide
def test_damping_and_friction_never_give_energy():
    m = bodies([([0, 0.2], 0.4), ([0.03, 0.45], -0.7)], damping=5.0)
    tr = dd.simulate(m, 1.5, rtol=1e-6)
    times = [t for t in np.linspace(0, 1.5, 200) if not any(tr.at(t)[f"b{k}.contact.normal"] for k in range(2))]
    found = np.array([energy(tr, t, 2) for t in times])
    assert len(found) > 30
    assert np.max(np.diff(found)) < 1e-6 * found[0]
    assert found[-1] < 0.8 * found[0]


@pytest.mark.wide
def test_stiff_boxes_rest_where_hard_ones_do():
    hard = 0.05
    depths = []
    for stiffness in (1e3, 1e4, 1e5):
        tr = dd.simulate(bodies([([0, 0.15], 0.3)], stiffness=stiffness, damping=2 * stiffness**0.5), 1.5)
        depths.append(hard - tr["b0.position"][-1, 1])
    assert np.array(depths) == pytest.approx(G / np.array([1e3, 1e4, 1e5]), rel=3e-3)


def test_a_box_slides_as_far_as_coulomb_lets_it():
    tr = dd.simulate(bodies([([-0.5, 0.05 - G / 1e4], 0.0)], friction=0.3, damping=50.0, velocity=[1.0, 0.0]), 0.6)
    assert tr["b0.position"][-1, 0] + 0.5 == pytest.approx(1 / (2 * 0.3 * G), rel=3e-3)


def test_a_pair_with_a_compliant_law_is_left_out_of_the_hard_ones():
    m = dd.Model("both")
    m.gravity([0, 0])
    for k in range(2):
        b = m.body(f"b{k}", mass=1.0, position=[0.25 * k, 1.0], velocity=[0.5 - k, 0.0], orientation=None)
        b.shape("sphere", size=0.1)
    m.contact("b0", "b1", stiffness=1e4, friction=0.0)
    m.contact("all", friction=0.0, restitution=0.0)
    tr = dd.simulate(m, 0.4, rtol=1e-6)
    assert [tr[f"b{k}.velocity"][-1, 0] for k in range(2)] == pytest.approx([-0.5, 0.5], abs=1e-3)
