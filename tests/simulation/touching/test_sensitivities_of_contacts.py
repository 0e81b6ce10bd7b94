"""Derivatives of runs whose bodies touch: closed forms, and differences of runs."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError, SolverError

G = 9.81


def flat(m, position, velocity=(0.0, 0.0), mass=2.0, **more):
    return m.body("b", mass=mass, inertia=0.1, orientation="planar", position=list(position), velocity=list(velocity),
                  **{"rotation": 0.0, "angular_velocity": 0.0, **more})  # fmt: skip


def block():
    m = dd.Model("block")
    m.gravity([0, -G])
    mu = m.parameter("mu", 0.3)
    b = flat(m, (0, 0.1), (3.0, 0))
    b.shape("box", size=[0.4, 0.2])
    m.contact(b, dd.ground, friction=mu)
    return m


def test_the_stopping_distance_of_a_block():
    sens = dd.sensitivities(block(), 1.1, wrt=["b.velocity[0]", "b.position", "mu"])
    v, mu = 3.0, 0.3
    assert sens.d("b.position[0]", "mu") == pytest.approx(-(v**2) / (2 * mu**2 * G), rel=1e-5)
    assert sens.d("b.position[0]", "b.velocity[0]") == pytest.approx(v / (mu * G), rel=1e-5)
    # What would lift it off the floor does not.
    assert sens.d("b.position", "b.position") == pytest.approx(np.diag([1.0, 0.0]), abs=1e-6)
    assert sens.d("b.velocity", "mu") == pytest.approx(np.zeros(2), abs=1e-5)
    # On the way, while it slides: x = v t - μ g t² / 2.
    assert sens.at(0.5).d("b.position[0]", "mu") == pytest.approx(-G * 0.5**2 / 2, rel=1e-5)


def test_the_bounce_of_a_ball():
    m = dd.Model("ball")
    g, e = m.parameter("g", G), m.parameter("e", 0.7)
    m.gravity([0, -g])
    b = flat(m, (0, 1.1), (1.0, 0))
    b.shape("sphere", size=0.1)
    m.contact(b, dd.ground, friction=0.0, restitution=e)
    sens = dd.sensitivities(m, 1.0, wrt=["b.position[1]", "e", "g"])
    fall = np.sqrt(2 / G)
    rest = 1.0 - fall
    assert sens.d("b.position[1]", "e") == pytest.approx(G * fall * rest, rel=1e-5)
    assert sens.d("b.position[1]", "b.position[1]") == pytest.approx(0.7 * (rest / fall - 1) + rest / fall, rel=1e-5)
    # y = 0.1 + e √(2g) r - g r² / 2 with r = 1 - √(2/g)
    slope = 0.7 * (rest / np.sqrt(2 * G) + np.sqrt(2 * G) * fall / (2 * G)) - rest**2 / 2 - G * rest * fall / (2 * G)
    assert sens.d("b.position[1]", "g") == pytest.approx(slope, rel=1e-5)


def test_a_sphere_that_slides_and_then_rolls():
    m = dd.Model("sphere")
    m.gravity([0, 0, -G])
    mu = m.parameter("mu", 0.3)
    b = m.body("b", mass=2.0, inertia=[0.008] * 3, position=[0, 0, 0.1], velocity=[2.0, 0, 0], rotation=np.eye(3),
               angular_velocity=[0, 0, 0])  # fmt: skip
    b.shape("sphere", size=0.1)
    m.contact(b, dd.ground, friction=mu)
    sens = dd.sensitivities(m, 1.0, wrt=["b.velocity[0]", "mu"])
    rolls = 2 * 2.0 / (7 * 0.3 * G)
    assert sens.d("b.velocity[0]", "b.velocity[0]") == pytest.approx(5 / 7, rel=1e-5)
    assert sens.d("b.position[0]", "b.velocity[0]") == pytest.approx(2 / 7 * rolls + 5 / 7, rel=1e-5)
    assert sens.d("b.position[0]", "mu") == pytest.approx(-G * rolls**2 / 2, rel=1e-4)


@pytest.mark.wide
def test_a_rod_on_a_hinge_that_hits_the_floor_with_friction():
    def rod(hinge=0.4, mu=0.4):
        m = dd.Model("rod")
        m.gravity([0, 0, -G])
        high, rough = m.parameter("high", hinge), m.parameter("mu", mu)
        a = m.body("a", mass=1.0, inertia=[0.02, 0.02, 0.002])
        m.joint("hip", "revolute", dd.ground, a, axis_a=[0, 1, 0], at_a=[0, 0, high], at_b=[0, 0, -0.25],
                coordinates="joint", start=np.pi / 2, rate=0.0)  # fmt: skip
        a.shape("sphere", size=0.05, at=[0, 0, 0.25])
        m.contact(a, dd.ground, friction=rough, restitution=0.5)
        return m

    sens = dd.sensitivities(rod(), 0.6, wrt=["hip.angle", "high", "mu"])

    def end(**changed):
        return dd.simulate(rod(**changed), 0.6, rtol=1e-8)["hip.angle"][-1]

    step = 1e-5
    for name, own, value in (("high", "hinge", 0.4), ("mu", "mu", 0.4)):
        slope = (end(**{own: value + step}) - end(**{own: value - step})) / (2 * step)
        assert sens.d("hip.angle", name) == pytest.approx(slope, rel=1e-3, abs=1e-3)


def test_points_that_touch_together_have_no_derivative_by_what_parts_them():
    m = dd.Model("flat fall")
    m.gravity([0, -G])
    b = flat(m, (0, 0.5))
    b.shape("box", size=[0.4, 0.2])
    m.contact(b, dd.ground, friction=0.3)
    # By the height both corners come down together.
    sens = dd.sensitivities(m, 1.0, wrt="b.position[1]")
    assert sens.d("b.position[1]", "b.position[1]") == pytest.approx(0.0, abs=1e-5)
    with pytest.raises(SolverError, match="several points of b_ground touch or come to rest together"):
        dd.sensitivities(m, 1.0, wrt="b.angle")


def test_what_is_not_differentiated_is_told():
    m = block()
    with pytest.raises(InputError, match="order=2 is not supported for hard contacts"):
        dd.sensitivities(m, 1.0, order=2)
    with pytest.raises(InputError, match="Derivatives with hard contacts need variable steps"):
        dd.sensitivities(m, 1.0, step=0.01)
    sens = dd.sensitivities(m, 0.1, wrt="mu")
    with pytest.raises(InputError, match=r"b_ground.normal is not a state"):
        sens.d("b_ground.normal", "mu")
    with pytest.raises(InputError, match="was not varied"):
        sens.d("b.position", "b.angle")
    with pytest.raises(InputError, match="is outside the run"):
        sens.at(5.0)
    late = block()
    late.event("there", late["b.position"][0] - 1.0)
    with pytest.raises(InputError, match="events of its own has no derivatives"):
        dd.sensitivities(late, 1.0)
