"""Every part of a derivation on models that no formula was tuned for: each step is checked and written."""

import casadi as ca
import pytest

import daedalus as dd
from daedalus import catalogue


def spring_pendulum():
    m = dd.Model("spring pendulum")
    r, theta = m.coordinate("r", start=1.2, rate=0.0), m.coordinate("theta", start=0.4, rate=0.0)
    mass, k, rest, g = (m.parameter(n, v) for n, v in (("m", 1.0), ("k", 40.0), ("l", 1.0), ("g", 9.81)))
    m.kinetic_energy(0.5 * mass * (m.rate(r) ** 2 + r**2 * m.rate(theta) ** 2))
    m.potential_energy(0.5 * k * (r - rest) ** 2 - mass * g * r * ca.cos(theta))
    m.dissipation(0.05 * m.rate(r) ** 2)
    return m


def masses_over_a_pulley():
    m = dd.Model("masses over a pulley")
    x = m.coordinate("x", 2, start=[0.0, 1.0], rate=[0.0, 0.0])
    a, b, J, r, g = (m.parameter(n, v) for n, v in (("m_1", 1.0), ("m_2", 2.0), ("J", 0.1), ("r", 0.1), ("g", 9.81)))
    v = m.rate(x)
    m.kinetic_energy(0.5 * (a + J / r**2) * v[0] ** 2 + 0.5 * b * v[1] ** 2)
    m.potential_energy(-g * (a * x[0] + b * x[1]))
    m.constraint("rope", x[0] + x[1] - 1.0)
    return m


def geared_load():
    R, m = dd.components.rotational, dd.Model("geared load")
    source = m.add(R.TorqueSource("source", torque=m.input("torque")))
    rotor, gear = m.add(R.Inertia("rotor", inertia=0.1)), m.add(R.Gear("gear", reduction=5.0))
    load, wall = m.add(R.Inertia("load", inertia=2.0)), m.add(R.Ground("wall"))
    brake = m.add(R.Damper("brake", damping=0.3))
    m.connect(source.shaft, rotor.shaft, gear.shaft_a)
    m.connect(gear.shaft_b, load.shaft, brake.shaft_a)
    m.connect(brake.shaft_b, wall.shaft)
    return m


def hanging_body():
    m = dd.Model("hanging body")
    m.gravity([0, -9.81])
    body = m.body("b", mass=2.0, inertia=0.3, orientation="planar", position=[0.5, 0])
    m.joint("pin", "revolute", dd.ground, body, at_b=[-0.5, 0])
    return m


def enzyme():
    m = dd.Model("enzyme")
    a, b, z = m.state("a", start=1.0), m.state("b", start=0.0), m.algebraic("z")
    m.equation(m.der(a), -a + m.input("q"))
    m.equation(m.der(b), a - 0.5 * z)
    m.equation(z * (2.0 + b), b)
    return m


MODELS = [spring_pendulum, masses_over_a_pulley, geared_load, hanging_body, enzyme]


@pytest.mark.parametrize("part", [None, "reduce", "start", "linearise", "first_order"])
@pytest.mark.parametrize("make", MODELS)
def test_every_step_is_checked_and_written(make, part):
    d = dd.derive(make(), part)
    assert d.check < 1e-9, [(step.kind, step.check) for step in d]
    assert all(step.text for step in d)
    latex = d.to_latex()
    assert latex.count(r"\begin{aligned}") == latex.count(r"\end{aligned}")


@pytest.mark.parametrize("name", ["four_bar", "cstr", "robertson", "slider_crank", "gyroscope", "rolling_disc"])
@pytest.mark.wide
def test_systems_of_the_catalogue_are_derived_with_every_step_checked(name):
    for part in (None, "start", "linearise"):
        d = dd.derive(catalogue.load(name).model, part)
        assert d.check < 1e-9, [(step.kind, step.check) for step in d]
