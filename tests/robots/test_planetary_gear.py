"""A planetary gear of bodies: three planets roll between sun and ring, so that two of six meshes repeat the others."""

import numpy as np
import pytest

import daedalus as dd

SUN, PLANET = 0.3, 0.2
CARRIER, RING = SUN + PLANET, SUN + 2 * PLANET
TORQUE = 2.0


def planetary(coordinates):
    """The ring rests, a torque turns the sun."""
    m = dd.Model("planetary gear")
    sun, carrier = m.body("sun", 1.0, [0.1, 0.1, 0.05]), m.body("carrier", 2.0, [0.1, 0.1, 0.2])
    for name, body in (("sun_shaft", sun), ("carrier_shaft", carrier)):
        m.joint(name, "revolute", dd.ground, body, axis_a=[0, 0, 1], coordinates=coordinates)
    for k in range(3):
        place = CARRIER * np.array([np.cos(2 * np.pi * k / 3), np.sin(2 * np.pi * k / 3), 0.0])
        planet = m.body(f"planet{k}", 0.5, [0.01, 0.01, 0.02], position=place)
        m.joint(f"pin{k}", "revolute", carrier, planet, at_a=place, axis_a=[0, 0, 1], coordinates=coordinates)
    return m


def test_speeds_and_inertia_are_those_of_the_gear():
    m = planetary("joint")
    sun, carrier = m["sun_shaft.angle"], m["carrier_shaft.angle"]
    for k in range(3):
        planet = carrier + m[f"pin{k}.angle"]
        m.constraint(f"at_sun{k}", SUN * sun - (CARRIER * carrier - PLANET * planet))
        m.constraint(f"at_ring{k}", CARRIER * carrier + PLANET * planet)
    m.generalised_force(sun, TORQUE)
    tr = dd.simulate(m, 1.0)
    # Willis: the sun turns 1 + ring / sun times as fast as the carrier, a planet -carrier / radius times.
    speed = 1 / (1 + RING / SUN)
    spin = -CARRIER / PLANET * speed
    inertia = 0.05 + (0.2 + 3 * 0.5 * CARRIER**2) * speed**2 + 3 * 0.02 * spin**2
    assert tr["sun_shaft.angle"][-1] == pytest.approx(0.5 * TORQUE / inertia, rel=1e-9)
    assert tr["carrier_shaft.angle"][-1] == pytest.approx(speed * tr["sun_shaft.angle"][-1], rel=1e-12)
    assert any("4 of 6 are independent" in str(note) for note in tr.notes)
