"""Impacts of many bodies at once pass on pair by pair, in located steps and in equal ones alike."""

from itertools import combinations, pairwise

import numpy as np
import pytest

import daedalus as dd

G = 9.81


def disc(m, name, radius, place, velocity=(0.0, 0.0), mass=1.0):
    b = m.body(name, mass=mass, inertia=0.5 * mass * radius**2, orientation="planar", position=[*place],
               velocity=[*velocity], rotation=0.0, angular_velocity=0.0)  # fmt: skip
    b.shape("sphere", size=radius)
    return b


@pytest.mark.parametrize(("count", "moving", "gap"), [(5, 1, 0.0), (13, 1, 0.0), (20, 3, 1e-4), (30, 2, 0.0)])
def test_newtons_cradle_in_equal_steps_lets_as_many_go_as_came(count, moving, gap):
    m = dd.Model("cradle")
    m.gravity([0.0, 0.0])
    balls = [
        disc(m, f"b{k}", 0.05, (0.1 * k + gap * k - 0.01 * (k < moving), 0.0), (float(k < moving), 0.0))
        for k in range(count)
    ]
    for one, two in pairwise(balls):
        m.contact(one, two, friction=0.0, restitution=1.0)
    tr = dd.simulate(m, 0.1, method="time_stepping")
    speeds = [tr[f"b{k}.velocity"][-1, 0] for k in range(count)]
    assert speeds == pytest.approx([0.0] * (count - moving) + [1.0] * moving, abs=1e-7)


def test_a_rack_of_fifteen_breaks_with_all_of_its_momentum_and_the_same_on_both_sides():
    m = dd.Model("rack")
    m.gravity([0.0, 0.0])
    radius, mass = 0.03, 0.17
    balls = [disc(m, "cue", radius, (-0.2, 0.0), (3.0, 0.0), mass)]
    places = [(row, side - 0.5 * row) for row in range(5) for side in range(row + 1)]
    for row, side in places:
        place = (np.sqrt(3) * radius * row, 2 * radius * side)
        balls.append(disc(m, f"b{len(balls)}", radius, place, mass=mass))
    for one, two in combinations(balls, 2):
        m.contact(one, two, friction=0.1, restitution=0.95)
    tr = dd.simulate(m, 0.12)
    momentum = mass * sum(tr[f"{ball.name}.velocity"] for ball in balls)
    assert momentum == pytest.approx(np.tile([3.0 * mass, 0.0], (len(tr.time), 1)), abs=1e-12)
    energy = tr.stored_energy()
    assert np.diff(energy).max() <= 1e-9 * energy[0]
    assert energy[-1] == pytest.approx(0.79 * energy[0], rel=0.01)
    ends = {place: tr[f"b{k}.velocity"][-1] for k, place in enumerate(places, 1)}
    for (row, side), velocity in ends.items():
        assert velocity == pytest.approx(ends[row, -side] * (1, -1), abs=3e-8)  # 1e-8 of 3 m/s


def test_boxes_on_a_smooth_table_pass_a_push_through_twenty_of_them():
    m = dd.Model("boxes")
    m.gravity([0.0, -G])
    boxes = []
    for k in range(20):
        b = m.body(f"b{k}", mass=1.0, inertia=1 / 600, orientation="planar", position=[0.1 * k - 0.05 * (k == 0), 0.05],
                   velocity=[2.0 * (k == 0), 0.0], rotation=0.0, angular_velocity=0.0)  # fmt: skip
        b.shape("box", size=[0.1, 0.1])
        m.contact(b, dd.ground, friction=0.0)
        boxes.append(b)
    for one, two in pairwise(boxes):
        m.contact(one, two, friction=0.0, restitution=1.0)
    tr = dd.simulate(m, 0.1)
    speeds = [tr[f"b{k}.velocity"][-1, 0] for k in range(20)]
    assert speeds == pytest.approx([0.0] * 19 + [2.0], abs=1e-6)


def test_a_row_that_loses_a_little_takes_as_many_impacts_as_it_needs():
    """Of 30 balls with a restitution of 0.9, against impacts written out, the fastest pair first."""
    m = dd.Model("row")
    m.gravity([0.0, 0.0])
    count, e = 30, 0.9
    balls = [disc(m, f"b{k}", 0.05, (0.1 * k - 0.01 * (k == 0), 0.0), (float(k == 0), 0.0)) for k in range(count)]
    for one, two in pairwise(balls):
        m.contact(one, two, friction=0.0, restitution=e)
    tr = dd.simulate(m, 0.0101)
    v = np.zeros(count)
    v[0] = 1.0
    for _ in range(5000):
        closing = v[:-1] - v[1:]
        k = int(np.argmax(closing))
        if closing[k] < 1e-6:
            break
        v[k], v[k + 1] = v[k] - 0.5 * (1 + e) * closing[k], v[k + 1] + 0.5 * (1 + e) * closing[k]
    ours = np.array([tr[f"b{k}.velocity"][-1, 0] for k in range(count)])
    assert ours.sum() == pytest.approx(1.0, abs=1e-12)
    assert ours == pytest.approx(v, abs=2e-4)  # where balls come to rest on each other, order counts
    assert ours[-1] == pytest.approx(v[-1], abs=1e-12)
