"""Parts at mechanisms: a shaft drives a coordinate, a cylinder pushes a body, a wheel rolls on the ground."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

C = dd.components


def test_a_motor_drives_a_coordinate():
    m = dd.Model("pendulum")
    q = m.coordinate("q", start=0.3, rate=0.0)
    m.kinetic_energy(0.5 * 2.0 * m.rate(q) ** 2)
    m.potential_energy(-9.81 * ca.cos(q))
    push, rotor = (
        m.add(C.rotational.TorqueSource("push", torque=1.0)),
        m.add(C.rotational.Inertia("rotor", inertia=0.5)),
    )
    m.connect(push.shaft, rotor.shaft, m.port("hinge", "rotational", of=q))
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    plain = dd.Model("plain")
    p = plain.coordinate("p", start=0.3, rate=0.0)
    plain.kinetic_energy(0.5 * 2.5 * plain.rate(p) ** 2)
    plain.potential_energy(-9.81 * ca.cos(p))
    plain.generalised_force(p, 1.0)
    assert tr["q"][-1] == pytest.approx(dd.simulate(plain, 1.0, rtol=1e-9)["p"][-1], abs=1e-8)
    np.testing.assert_allclose(tr["rotor.angle"], tr["q"])
    assert abs(tr.energy_balance().error) < 1e-7


def test_a_cylinder_pushes_a_body_along_a_line():
    m = dd.Model("pushed")
    body = m.body("body", mass=10.0, orientation=None, position=[0.5, 0.0, 0.0], velocity=[0.0, 0.0, 0.0])
    h = C.hydraulic
    high, low = m.add(h.PressureSource("high", pressure=1e5)), m.add(h.PressureSource("low", pressure=0.0))
    cylinder = m.add(h.Cylinder("cylinder", area_a=1e-3, stroke=1.0))
    lines = [m.add(h.Resistance(f"line{k}", resistance=1e6)) for k in (1, 2)]
    m.connect(high.a, lines[0].a)
    m.connect(lines[0].b, cylinder.a)
    m.connect(cylinder.b, lines[1].a)
    m.connect(lines[1].b, low.a)
    m.connect(cylinder.flange, m.port("rod", "translational", of=body.position[0]))
    tr = dd.simulate(m, 0.1, start={"cylinder.pressure_a": 1e5, "cylinder.pressure_b": 0.0})
    assert tr["body.velocity"][-1, 0] == pytest.approx(100.0 / 10.0 * 0.1, rel=5e-2)
    np.testing.assert_allclose(tr["cylinder.position"], tr["body.position"][:, 0], atol=1e-9)
    assert abs(tr.energy_balance().error) < 1e-4 * abs(tr.energy_balance().supplied)


def test_a_wheel_on_the_ground_drives_a_car():
    m = dd.Model("car")
    t = C.translational
    push, rim = m.add(C.rotational.TorqueSource("push", torque=50.0)), m.add(C.rotational.Inertia("rim", inertia=0.5))
    wheel, car = m.add(t.Wheel("wheel", radius=0.3, stiffness=1e4)), m.add(t.Mass("car", mass=200.0))
    m.connect(push.shaft, rim.shaft, wheel.shaft)
    m.connect(wheel.flange, car.flange)
    tr = dd.simulate(m, 5.0)
    assert tr["car.velocity"][-1] == pytest.approx(5 * 50.0 / 0.3 / (200.0 + 0.5 / 0.09), rel=1e-2)
    balance = tr.energy_balance()
    assert balance.lost > 0
    assert abs(balance.error) < 1e-4 * balance.supplied


def test_a_motor_and_a_rack_lift_a_load_from_equilibrium():
    m = dd.Model("held")
    t = C.translational
    load, spring = m.add(t.Mass("load", mass=2.0, gravity=9.80665)), m.add(t.Spring("spring", stiffness=100.0))
    damper, wall = m.add(t.Damper("damper", damping=1.0)), m.add(t.Ground("wall"))
    m.connect(load.flange, spring.flange_a, damper.flange_a)
    m.connect(wall.flange, spring.flange_b, damper.flange_b)
    rest = dd.equilibrium(m)
    assert float(rest["load.position"]) == pytest.approx(-2 * 9.80665 / 100)
    tr = dd.simulate(m, 1.0, start={"load.position": float(rest["load.position"]), "load.velocity": 0.0})
    assert float(abs(tr["load.velocity"]).max()) < 1e-9


def test_losses_go_to_thermal_parts():
    m = dd.Model("warm")
    e, h = C.electrical, C.thermal
    source, r = m.add(e.VoltageSource("source", voltage=10.0)), m.add(e.Resistor("r", resistance=5.0, heat=True))
    ground, core = m.add(e.Ground("ground")), m.add(h.Node("core", capacity=100.0))
    m.connect(source.plus, r.plus)
    m.connect(source.minus, r.minus, ground.pin)
    m.connect(r.heat, core.heat)
    tr = dd.simulate(m, 10.0, start={"core.temperature": 300.0})
    assert tr["core.temperature"][-1] == pytest.approx(300.0 + 20.0 * 10.0 / 100.0)
    balance = tr.energy_balance()
    assert balance.lost == pytest.approx(0.0, abs=1e-9)
    assert balance.supplied == pytest.approx(200.0)
