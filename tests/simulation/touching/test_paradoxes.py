"""Painlevé's paradox, and contacts that contradict a drive, told by name in the plane and in space."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.ending import time_text

G, TILT = 9.81, np.pi / 3


def model(space, weight=True):
    m = dd.Model("m")
    gravity = [0, 0, -G] if space else [0, -G]
    m.gravity(gravity if weight else [0] * len(gravity))
    return m


def rod(space, friction, direction, heading=0.7):
    """A uniform rod at 60 degrees on one end that slides along it, in space in a vertical plane of any heading."""
    m = model(space)
    c, s = np.cos(TILT), np.sin(TILT)
    if space:
        turn = np.array([[np.cos(heading), -np.sin(heading), 0], [np.sin(heading), np.cos(heading), 0], [0, 0, 1]])
        tilted = turn @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
        b = m.body("rod", mass=1.0, inertia=[1e-4, 4 / 12, 4 / 12], position=[0, 0, s], rotation=tilted,
                   velocity=5.0 * direction * turn[:, 0], angular_velocity=[0, 0, 0])  # fmt: skip
    else:
        b = m.body("rod", mass=1.0, inertia=4 / 12, orientation="planar", position=[0, s], rotation=TILT,
                   velocity=[5.0 * direction, 0], angular_velocity=0.0)  # fmt: skip
    b.shape("sphere", size=1e-6, at=[-1.0] + [0.0] * (2 if space else 1))
    m.contact(b, dd.ground, friction=friction)
    return m


@pytest.mark.parametrize(("space", "options"), [(False, {}), (True, {}), (True, {"step": 1e-4})])
@pytest.mark.parametrize(("friction", "direction", "paradox"), [(1.2, -1, False), (2.0, -1, True), (2.0, 1, False)])
def test_painleves_paradox_is_named(space, friction, direction, paradox, options):
    # W_nn - μ W_nd is (1 + 3 cos² - 3 μ sin cos) / m, negative from μ = 1.347 on.
    tr = dd.simulate(rod(space, friction, direction), 0.005, **options)
    found = [record for record in tr.records if type(record).__name__ == "PainleveParadox"]
    assert bool(found) == paradox
    if paradox:
        c, s = np.cos(TILT), np.sin(TILT)
        assert found[0].share == pytest.approx((1 + 3 * c * c - 3 * friction * s * c) / (1 + 3 * c * c), rel=1e-3)
        assert found[0].contact == "rod_ground"


def driven(space, block):
    """A box that a constraint drives at 1 m/s, on a box before a wall or against the floor."""
    m = model(space, weight=not block)

    def box(name, along, rate):
        place, speed = (np.zeros(3 if space else 2) for _ in range(2))
        axis = 0 if block else len(place) - 1
        place[axis], speed[axis] = along, rate
        turned = {"inertia": [0.01] * 3, "rotation": [1, 0, 0, 0], "angular_velocity": [0, 0, 0]} if space else {
            "inertia": 0.01, "orientation": "planar", "rotation": 0.0, "angular_velocity": 0.0}  # fmt: skip
        b = m.body(name, mass=1.0, position=place, velocity=speed, **turned)
        b.shape("box", size=[0.2] * len(place))
        return b

    c = box("c", -0.3 if block else 0.3, 1 if block else -1)
    m.constraint("drive", (c.position[0] + 0.3 if block else 0.3 - c.position[2 if space else 1]) - m.time)
    if block:
        box("a", 0, 0)
        m.ground.shape("plane", at=[0.3, 0, 0] if space else [0.3, 0],
                       rotation=dd.rot_y(-np.pi / 2) if space else np.pi / 2)  # fmt: skip
        m.contact("all", friction=0.3)
    else:
        m.contact(c, dd.ground, friction=0.3)
    return m


@pytest.mark.parametrize(("block", "names", "when"), [(True, "a_ground, c_a", 0.3), (False, "c_ground", 0.2)])
@pytest.mark.parametrize("options", [{}, {"step": 0.01}])
@pytest.mark.parametrize("space", [False, True])
def test_contacts_that_contradict_a_drive_are_named(space, block, names, when, options):
    tr = dd.simulate(driven(space, block), 1.0, **options)
    assert not tr.success
    assert tr.stop.what == f"no motion obeys both the contacts and the joints at {time_text(tr.time[-1])}"
    assert tr.stop.facts[0] == f"{names} against drive"
    assert tr.time[-1] == pytest.approx(when, abs=0.011)
    # The same drive pushes a block along as long as there is no wall.
    assert dd.simulate(driven(space, block), 0.9 * when, **options).success
