"""The energy balance of models written by energies and bodies, against closed forms and against what must cancel."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def oscillator():
    m = dd.Model("oscillator")
    x = m.coordinate("x", start=1.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    m.potential_energy(0.5 * 4.0 * x**2)
    return m, x


def test_dissipation_loses_what_is_no_longer_stored():
    m, x = oscillator()
    m.dissipation(0.5 * 0.2 * m.rate(x) ** 2)
    tr = dd.simulate(m, 5.0, rtol=1e-9)
    balance = tr.energy_balance()
    energy = tr.stored_energy()
    assert energy[0] == pytest.approx(2.0)
    assert balance.lost == pytest.approx(energy[0] - energy[-1], rel=1e-7)
    assert balance.supplied == 0.0
    assert abs(balance.error) < 1e-7


def test_a_force_supplies_its_work():
    m, x = oscillator()
    u = m.input("u")
    m.generalised_force(x, u)
    tr = dd.simulate(m, 3.0, inputs={"u": 1.5}, rtol=1e-9)
    assert tr.energy_balance().supplied == pytest.approx(1.5 * (tr["x"][-1] - tr["x"][0]), rel=1e-8)
    assert "force on x" in tr.energy_balance().by_part


def test_a_turning_wire_supplies_twice_what_its_bead_stores():
    # r = r0 cosh(w t); T = (r'² + w² r²) / 2, and the motor's torque 2 r r' w gives w² (r² − r0²) in all.
    m = dd.Model("bead")
    r, w = m.coordinate("r", start=0.1, rate=0.0), m.parameter("w", 2.0)
    m.kinetic_energy(0.5 * (m.rate(r) ** 2 + (w * r) ** 2))
    balance = dd.simulate(m, 1.0, rtol=1e-10).energy_balance()
    assert balance.supplied == pytest.approx(4.0 * (0.01 * np.cosh(2.0) ** 2 - 0.01), rel=1e-8)
    assert abs(balance.error) < 1e-9


def test_moving_supports_and_moving_springs_supply():
    m = dd.Model("pendulum on a shaken hook")
    p = m.coordinate("p", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1] + 0.3 * (p[0] - ca.sin(m.time)) ** 2)
    hook = ca.vertcat(0.3 * ca.sin(2 * m.time) - 0.6 * m.time, 0)
    m.constraint("rod", ca.sumsqr(p - hook) - 1)
    balance = dd.simulate(m, 2.0, rtol=1e-9).energy_balance()
    assert abs(balance.supplied) > 0.1
    assert {"rod", "moving frame"} <= set(balance.by_part)
    assert abs(balance.error) < 1e-7


def test_signals_in_a_potential_supply():
    m, x = oscillator()
    k = m.input("k")
    m.potential_energy(0.5 * k * x**2)
    balance = dd.simulate(m, 2.0, inputs={"k": lambda t: 1 + np.sin(t)}, rtol=1e-9).energy_balance()
    assert abs(balance.by_part["potential energy by signals"]["supplied"]) > 1e-3
    assert abs(balance.error) < 1e-8


def test_friction_and_impacts_lose():
    m = dd.Model("sliding block")
    x = m.coordinate("x", start=0.0, rate=2.0)
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    m.generalised_force(x, m.friction("floor", m.rate(x), kinetic=1.0))
    assert dd.simulate(m, 3.0).energy_balance().lost == pytest.approx(2.0, abs=1e-9)
    b = dd.Model("ball")
    h = b.coordinate("h", start=1.0, rate=0.0)
    b.kinetic_energy(0.5 * b.rate(h) ** 2)
    b.potential_energy(9.81 * h)
    b.unilateral("table", h, restitution=0.5)
    assert dd.simulate(b, 3.0).energy_balance().lost == pytest.approx(9.81, abs=1e-7)


def body(**options):
    m = dd.Model("thrown box")
    m.gravity([0, 0, -9.81])
    b = m.body("b", mass=2.0, inertia=dd.inertia.box(2.0, [0.1, 0.2, 0.3]), orientation="quaternion",
               position=[0, 0, 0], velocity=[1, 0, 0], angular_velocity=[1, 2, 3], **options)  # fmt: skip
    return m, b


def test_bodies_keep_their_energy_in_free_fall_and_take_that_of_forces():
    m, _ = body()
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    assert np.ptp(tr.stored_energy()) < 1e-7
    m, b = body()
    force = m.input("F", 3)
    b.apply_force(force)
    tr = dd.simulate(m, 1.0, inputs={"F": [1.0, 0.5, 15.0]}, rtol=1e-9)
    work = np.dot([1.0, 0.5, 15.0], tr["b.position"][-1])
    assert tr.energy_balance().supplied == pytest.approx(work, rel=1e-8)
    assert abs(tr.energy_balance().error) < 1e-7


def test_results_that_were_saved_have_the_balance(tmp_path):
    m, x = oscillator()
    m.dissipation(0.1 * m.rate(x) ** 2)
    tr = dd.simulate(m, 2.0)
    tr.save(tmp_path / "run.nc")
    assert dd.load(tmp_path / "run.nc").energy_balance().lost == pytest.approx(tr.energy_balance().lost, rel=1e-12)


def test_a_model_of_equations_says_what_is_missing():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    with pytest.raises(dd.InputError, match=r"has no energy balance[\s\S]*m\.stored"):
        dd.simulate(m, 1.0).energy_balance()


def test_passivity_of_bodies_by_their_energy():
    m, b = body()
    force, torque = m.input("F", 3), m.input("T", 3)
    b.apply_force(force)
    b.apply_torque(torque, frame="body")
    found = dd.passivity(m, ["F", "T"], ["b.velocity", "b.angular_velocity"])
    assert found.passive is None  # of its weight: falling without end gives energy without end
    assert found.lossless
    assert found.bounded is False
    assert found.sentence.startswith("Cyclo-passive from F, T to b.velocity, b.angular_velocity")
    assert "No storage bounded from below was found: T + V has no lower bound" in found.sentence
    assert not dd.passivity(m, ["F", "T"], ["b.position", "b.angular_velocity"]).passive
    arm = dd.Model("arm")
    arm.gravity([0, -9.81])
    a = arm.body("a", mass=1.0, inertia=0.1, orientation="planar", position=[0.5, 0])
    arm.joint("j", "revolute", dd.ground, a, at_b=[-0.5, 0])
    u = arm.input("u")
    a.apply_torque(u - 0.3 * a.angular_velocity)
    held = dd.passivity(arm, "u", "a.angular_velocity")
    assert (held.passive, held.lossless, held.bounded) == (True, False, True)


def test_energy_over_time_tells_which_methods_keep_it():
    m, _ = oscillator()
    found = dd.energy_over_time(m, ["euler", "implicit_euler", "gauss1", "rk4"], 10.0, step=0.05)
    # |R(iωh)|² a step: (1 + (ωh)²)^n for Euler, its inverse for the implicit one, 1 for the midpoint rule.
    growth = (1 + (2 * 0.05) ** 2) ** 200
    assert found.energy["euler"][-1] == pytest.approx(2 * growth, rel=1e-6)
    assert found.energy["implicit_euler"][-1] == pytest.approx(2 / growth, rel=1e-6)
    assert found.change("gauss1") < 1e-12
    assert 1e-9 < found.change("rk4") < 1e-4
    lines = found.plot().axes[0].lines
    assert [line.get_label() for line in lines] == ["euler", "implicit_euler", "gauss1", "rk4"]
