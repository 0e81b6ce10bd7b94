"""Compliant boxes and capsules in space: where they rest, what energy and momentum they keep, how they tip."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd

G, STIFFNESS = 9.81, 1e4


def turn(axis, angle):
    unit = np.array(axis, float) / np.linalg.norm(axis)
    return [np.cos(angle / 2), *(np.sin(angle / 2) * unit)]


def inertia(sides):
    a, b, c = np.array(sides) ** 2
    return np.array([b + c, a + c, a + b]) / 12


def bodies(starts, friction=0.4, damping=20.0, gravity=G, floor=True):
    """Bodies of 1 kg: kind, size, place, quaternion, velocity, angular velocity."""
    m = dd.Model("compliant")
    m.gravity([0, 0, -gravity])
    m.ground.shape("box", size=[2, 2, 0.2], at=[0, 0, -0.1 if floor else -5])
    for k, (kind, size, place, q, v, w) in enumerate(starts):
        sides = size if kind == "box" else [2 * size[0], 2 * size[0], size[1] + 2 * size[0]]
        b = m.body(f"b{k}", mass=1.0, inertia=inertia(sides), position=place, rotation=q, velocity=v,
                   angular_velocity=w)  # fmt: skip
        b.shape(kind, size=size)
    m.contact("all", friction=friction, stiffness=STIFFNESS, damping=damping)
    return m


def energy(row, sides):
    w = row["b0.angular_velocity"]
    return 0.5 * row["b0.velocity"] @ row["b0.velocity"] + 0.5 * inertia(sides) @ (w * w) + G * row["b0.position"][2]


STILL, UPRIGHT = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]


@pytest.mark.wide
def test_without_damping_a_box_that_tumbles_on_another_keeps_its_energy_to_the_tolerance():
    sides = [0.2, 0.3, 0.1]
    m = bodies([("box", sides, [0, 0, 0.25], turn([1, 2, 3], 0.7), [0.3, 0.2, 0], [1, 2, 3])], 0.0, 0.0)
    missing = []
    for rtol in (1e-4, 1e-7):
        tr = dd.simulate(m, 1.0, rtol=rtol, atol=1e-3 * rtol)
        rows = [tr.at(t) for t in np.linspace(0, 1, 80)]
        found = np.array([energy(row, sides) for row in rows if abs(row["b0.contact.normal"]) < 1e-9])
        assert 50 < len(found) < 79
        missing.append(float(np.max(np.abs(found / found[0] - 1))))
    assert missing[0] < 2e-3
    assert missing[1] < 2e-6


@pytest.mark.wide
def test_two_boxes_that_meet_in_flight_keep_momentum_and_angular_momentum():
    sides = [0.2, 0.2, 0.2]
    starts = [
        ("box", sides, [0, 0, 0], turn([1, 2, 3], 0.7), [1, 0, 0], [1, 2, 3]),
        ("box", sides, [0.35, 0.02, 0.03], turn([1, -2, 1], 0.4), [-1, 0, 0], [1, -2, 3]),
    ]
    m = bodies(starts, friction=0.3, damping=5.0, gravity=0.0, floor=False)
    tr = dd.simulate(m, 0.4, rtol=1e-7)
    assert max(tr["b0.contact.normal"]) > 10

    def momenta(row):
        spin = np.zeros(3)
        for b in m.bodies.values():
            p, v, q, w = (
                row[f"{b.name}.{word}"] for word in ("position", "velocity", "quaternion", "angular_velocity")
            )
            own = inertia(sides) * w
            spin += np.cross(p, v) + own + 2 * np.cross(q[1:], np.cross(q[1:], own) + q[0] * own)
        return np.concatenate([row["b0.velocity"] + row["b1.velocity"], spin])

    first, last = (momenta(tr.at(t)) for t in (0.0, 0.4))
    assert last == pytest.approx(first, abs=1e-5)


@pytest.mark.wide
def test_a_tower_sinks_by_what_each_face_carries():
    m = bodies([("box", [0.2, 0.2, 0.1], [0, 0, 0.05 + 0.1 * k], UPRIGHT, STILL, STILL) for k in range(3)],
               damping=50.0)  # fmt: skip
    tr = dd.simulate(m, 3.0)
    sunk = [0.05 + 0.1 * k - tr[f"b{k}.position"][-1, 2] for k in range(3)]
    assert sunk == pytest.approx([3 * G / STIFFNESS, 5 * G / STIFFNESS, 6 * G / STIFFNESS], rel=5e-3)


@pytest.mark.wide
def test_a_box_on_its_edge_tips_onto_a_face():
    tr = dd.simulate(bodies([("box", [0.2] * 3, [0, 0, 0.14], turn([1, 0, 0], np.pi / 4 + 0.02), STILL, STILL)]), 1.0)
    assert tr["b0.position"][-1, 2] == pytest.approx(0.1 - G / STIFFNESS, abs=5e-5)
    assert abs(tr["b0.quaternion"][-1, :2]) == pytest.approx([0.5**0.5] * 2, abs=2e-3)


@pytest.mark.wide
def test_a_capsule_rests_on_a_box():
    start = ("capsule", [0.05, 0.3], [0.1, 0, 0.05], turn([0, 1, 0], np.pi / 2), STILL, STILL)
    tr = dd.simulate(bodies([start], damping=50.0), 1.0)
    assert tr["b0.position"][-1, 2] == pytest.approx(0.05 - G / STIFFNESS, abs=2e-5)


@pytest.mark.wide
def test_a_box_rests_across_a_capsule():
    m = dd.Model("rail")
    m.gravity([0, 0, -G])
    m.ground.shape("capsule", size=[0.05, 0.6], rotation=turn([0, 1, 0], np.pi / 2))
    sides = [0.1, 0.3, 0.05]
    b = m.body("b", mass=1.0, inertia=inertia(sides), position=[0, 0, 0.075], rotation=UPRIGHT, velocity=STILL,
               angular_velocity=STILL)  # fmt: skip
    b.shape("box", size=sides)
    m.contact(b, dd.ground, friction=0.5, stiffness=STIFFNESS, damping=50.0)
    tr = dd.simulate(m, 0.5)
    assert tr["b.position"][-1, 2] == pytest.approx(0.075 - G / STIFFNESS, abs=2e-5)
    assert tr["b_ground.normal"][-1] == pytest.approx(G, rel=1e-2)
