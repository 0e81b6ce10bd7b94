"""Ports joined to each other: what is shared, what balances, what is left of thousands of equations."""

import math
import pickle

import casadi as ca
import numpy as np
import pytest
from benchmarks.parts import calls_of

import daedalus as dd
from daedalus import catalogue

C = dd.components


def circuit():
    """A voltage source charges a capacitor through a resistor: time constant 1 s."""
    m = dd.Model("RC")
    source = m.add(C.electrical.VoltageSource("source", voltage=1.0))
    r = m.add(C.electrical.Resistor("r", resistance=2.0))
    c = m.add(C.electrical.Capacitor("c", capacitance=0.5))
    ground = m.add(C.electrical.Ground("ground"))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, c.plus)
    m.connect(source.minus, c.minus, ground.pin)
    return m


def test_a_circuit_is_one_differential_equation():
    m = circuit()
    system = m.freeze()
    assert system.sizes["x"] == 1
    assert system.sizes["z"] == 0
    tr = dd.simulate(m, 3.0, rtol=1e-9)
    exact = 1 - np.exp(-tr.time)
    np.testing.assert_allclose(tr["c.voltage"], exact, atol=1e-8)
    np.testing.assert_allclose(tr["r.voltage"], 1 - exact, atol=1e-8)
    np.testing.assert_allclose(tr["r.current"], (1 - exact) / 2, atol=1e-8)
    np.testing.assert_allclose(tr["source.current"], -(1 - exact) / 2, atol=1e-8)
    np.testing.assert_allclose(tr["c.plus.voltage"], exact, atol=1e-8)
    assert np.all(tr["ground.pin.voltage"] == 0)
    assert np.all(tr["source.voltage"] == 1)


def test_start_values_and_parameters_by_name():
    m = circuit()
    tr = dd.simulate(m, 1.0, start={"c.voltage": 5.0}, parameters={"source.voltage": 0.0, "r.resistance": 4.0})
    assert tr["c.voltage"][-1] == pytest.approx(5 * math.exp(-0.5), rel=1e-5)


def test_states_of_parts_are_free():
    s = dd.initialise(circuit())
    assert "c.voltage" in s
    assert s["c.voltage"] == 0.0


def test_rigidly_joined_inertias_are_one():
    m = dd.Model("flywheels")
    parts = [m.add(C.rotational.Inertia(f"i{k}", inertia=float(k))) for k in (1, 2, 3)]
    push = m.add(C.rotational.TorqueSource("push", torque=12.0))
    m.connect(push.shaft, *(part.shaft for part in parts))
    assert m.freeze().sizes["x"] == 2
    tr = dd.simulate(m, 1.0, start={"i2.speed": 1.0, "i3.angle": 0.5})
    assert tr["i1.speed"][-1] == pytest.approx(3.0)
    assert tr["i3.angle"][-1] == pytest.approx(2.5)
    assert tr["i3.torque"][-1] == pytest.approx(6.0)


def test_parallel_capacitors_and_series_inductors():
    m = dd.Model("doubles")
    e = C.electrical
    source, ground = m.add(e.VoltageSource("source", voltage=1.0)), m.add(e.Ground("ground"))
    r = m.add(e.Resistor("r", resistance=1.0))
    a, b = m.add(e.Inductor("a", inductance=0.25)), m.add(e.Inductor("b", inductance=0.75))
    c, d = m.add(e.Capacitor("c", capacitance=0.4)), m.add(e.Capacitor("d", capacitance=0.6))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, a.plus)
    m.connect(a.minus, b.plus)
    m.connect(b.minus, c.plus, d.plus)
    m.connect(source.minus, c.minus, d.minus, ground.pin)
    assert m.freeze().sizes["x"] == 2
    tr = dd.simulate(m, 2.0, start={"d.voltage": 0.5}, rtol=1e-9)
    one = dd.Model("one of each")
    v, i = one.state("v", start=0.5), one.state("i", start=0.0)
    one.equation(one.der(v), i)
    one.equation(one.der(i), 1 - i - v)
    assert tr["c.voltage"][-1] == pytest.approx(dd.simulate(one, 2.0, rtol=1e-9)["v"][-1], abs=1e-8)


def test_floating_capacitors_in_parallel_keep_their_equal_voltage():
    m = dd.Model("floating")
    e = C.electrical
    source, ground = m.add(e.VoltageSource("source", voltage=1.0)), m.add(e.Ground("ground"))
    r, s = m.add(e.Resistor("r", resistance=1.0)), m.add(e.Resistor("s", resistance=1.0))
    c, d = m.add(e.Capacitor("c", capacitance=0.25)), m.add(e.Capacitor("d", capacitance=0.25))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, c.plus, d.plus)
    m.connect(c.minus, d.minus, s.plus)
    m.connect(s.minus, source.minus, ground.pin)
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    assert tr["d.voltage"][-1] == pytest.approx(1 - math.exp(-1), abs=1e-8)


def test_a_gear_couples_two_shafts():
    m = dd.Model("gear")
    r = C.rotational
    a, b = m.add(r.Inertia("a", inertia=1.0)), m.add(r.Inertia("b", inertia=0.25))
    gear, push = m.add(r.Gear("gear", speed_ratio=2.0)), m.add(r.TorqueSource("push", torque=3.0))
    m.connect(push.shaft, a.shaft, gear.shaft_a)
    m.connect(gear.shaft_b, b.shaft)
    tr = dd.simulate(m, 1.0, start={"b.speed": 4.0})
    assert tr["a.speed"][0] == pytest.approx(2.0)
    assert tr["a.speed"][-1] == pytest.approx(2.0 + 3.0 / (1.0 + 4 * 0.25))
    assert tr["b.torque"][-1] == pytest.approx(0.25 * 3.0)


def test_unjoined_ports_are_free():
    m = dd.Model("free")
    m.add(C.rotational.Inertia("wheel", inertia=1.0))
    tr = dd.simulate(m, 2.0, start={"wheel.speed": 3.0})
    assert tr["wheel.angle"][-1] == pytest.approx(6.0)
    assert np.all(tr["wheel.torque"] == 0)


def tube():
    """A restriction of one's own, in ten lines."""
    part = dd.Model("tube")
    a, b = part.port("a", "hydraulic"), part.port("b", "hydraulic")
    r = part.parameter("resistance", 1e8)
    part.equation(a.flow, (a.pressure - b.pressure) / r, name="law")
    part.equation(a.flow + b.flow, 0, name="through")
    part.lost((a.pressure - b.pressure) * a.flow)
    return part


def test_a_part_of_ones_own():
    m = dd.Model("tank")
    tank = m.add(C.hydraulic.Tank("tank", area=1.0, density=1000.0, gravity=10.0))
    pipe, air = m.add(tube), m.add(C.hydraulic.PressureSource("air", pressure=0.0))
    m.connect(tank.outlet, pipe.a)
    m.connect(pipe.b, air.a)
    tr = dd.simulate(m, 1e4, start={"tank.level": 1.0})
    assert tr["tank.level"][-1] == pytest.approx(math.exp(-1), rel=1e-5)
    assert abs(tr.energy_balance().error) < 1e-5 * 5000


def test_parts_inside_parts_and_their_names():
    joint = dd.Model("joint")
    shaft = joint.port("shaft", "rotational")
    motor = joint.add(C.rotational.TorqueSource("motor", torque=2.0))
    rotor = joint.add(C.rotational.Inertia("rotor", inertia=0.5))
    joint.connect(motor.shaft, rotor.shaft, shaft)
    robot = dd.Model("robot")
    one, two = robot.add(joint, name="one"), robot.add(joint, name="two")
    arm = robot.add(C.rotational.Inertia("arm", inertia=1.0))
    robot.connect(one.shaft, arm.shaft)
    assert two.rotor.inertia.name() == "two.rotor.inertia"
    m = dd.Model("cell")
    inner = m.add(robot)
    tr = dd.simulate(m, 1.0, start={"robot.two.rotor.speed": 1.0})
    assert tr["robot.arm.speed"][-1] == pytest.approx(2.0 / 1.5)
    assert tr["robot.two.rotor.speed"][-1] == pytest.approx(5.0)
    assert tr["robot.one.shaft.torque"][-1] == pytest.approx(-2.0 / 1.5)
    assert float(dd.simulate(m, 1.0, parameters={"robot.arm.inertia": 1.5})["robot.arm.speed"][-1]) == pytest.approx(1)
    assert inner.one.motor.torque.name() == "robot.one.motor.torque"


def test_an_inner_port_can_be_joined_from_outside():
    box = dd.Model("box")
    a, b = (box.add(C.rotational.Inertia(name, inertia=1.0)) for name in "ab")
    box.connect(a.shaft, b.shaft)
    m = dd.Model("m")
    inside, push = m.add(box), m.add(C.rotational.TorqueSource("push", torque=2.0))
    m.connect(push.shaft, inside.b.shaft)
    assert dd.simulate(m, 1.0)["box.a.speed"][-1] == pytest.approx(1.0)


def test_signals_and_two_parts_that_feed_each_other():
    tank = dd.Model("tank")
    h, q = tank.state("h", start=1.0), tank.input("q")
    tank.equation(tank.der(h), q - h)
    m = dd.Model("two")
    left, right = m.include("left", tank), m.include("right", tank)
    m.connect(left.h, right.q)
    m.connect(0.5 * right.h, left.q)
    tr = dd.simulate(m, 1.0, start={"left.h": 2.0}, rtol=1e-9)
    matrix = np.array([[-1.0, 0.5], [1.0, -1.0]])
    w, v = np.linalg.eig(matrix)
    exact = (v * np.exp(w)) @ np.linalg.solve(v, [2.0, 1.0])
    np.testing.assert_allclose([tr["left.h"][-1], tr["right.h"][-1]], exact.real, rtol=1e-7)


def test_keywords_take_expressions_of_the_model():
    m = dd.Model("driven")
    u = m.input("u")
    source = m.add(C.electrical.VoltageSource("source", voltage=u + ca.sin(m.time)))
    r, c = m.add(C.electrical.Resistor("r", resistance=1.0)), m.add(C.electrical.Capacitor("c", capacitance=1.0))
    ground = m.add(C.electrical.Ground("ground"))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, c.plus)
    m.connect(source.minus, c.minus, ground.pin)
    tr = dd.simulate(m, 1.0, inputs={"u": 2.0}, rtol=1e-9)
    exact = 2 * (1 - math.exp(-1)) + 0.5 * (math.sin(1) - math.cos(1) + math.exp(-1))
    assert tr["c.voltage"][-1] == pytest.approx(exact, abs=1e-8)
    assert tr["source.voltage"][-1] == pytest.approx(2 + math.sin(1))


def test_models_with_parts_are_copied_and_pickled():
    m = circuit()
    value = dd.simulate(m, 1.0)["c.voltage"][-1]
    for other in (m.copy(), pickle.loads(pickle.dumps(m))):
        assert dd.simulate(other, 1.0)["c.voltage"][-1] == value
        assert abs(dd.simulate(other, 1.0).energy_balance().error) < 1e-6
    system = m.freeze()
    assert pickle.loads(pickle.dumps(system)) == system


def test_feedback_by_expressions_of_the_parts():
    m = dd.Model("braked")
    u = m.input("u")
    wheel = m.add(C.rotational.Inertia("wheel", inertia=1.0))
    drive = m.add(C.rotational.TorqueSource("drive", torque=u))
    m.connect(wheel.shaft, drive.shaft)
    tr = dd.simulate(m, 1.0, start={"wheel.speed": 1.0}, inputs={"u": -wheel.speed})
    assert tr["wheel.speed"][-1] == pytest.approx(math.exp(-1), rel=1e-5)


def test_power_and_energy():
    tr = dd.simulate(circuit(), 1.0, rtol=1e-9)
    power = tr.power()
    assert power["supplied"].dims == ("component", "time")
    total = power.sum("component")
    np.testing.assert_allclose(total["supplied"], total["stored"] + total["lost"], atol=1e-12)
    balance = tr.energy_balance()
    stored = 0.25 * (1 - math.exp(-1)) ** 2
    assert balance.stored == pytest.approx(stored, abs=1e-8)
    assert float(balance.components["stored"].sel(component="c")) == pytest.approx(stored, abs=1e-8)
    assert balance.supplied == pytest.approx(0.5 * (1 - math.exp(-1)), abs=1e-8)
    assert abs(balance.error) < 1e-8


def test_the_ledger_counts_whole_parts_and_the_parts_inside():
    m = dd.Model("drive")
    motor = m.add(
        C.machines.GearedMotor("motor", resistance=1.0, inductance=1e-3, constant=0.05, inertia=1e-4, reduction=10.0)
    )
    battery, ground = m.add(C.electrical.VoltageSource("battery", voltage=12.0)), m.add(C.electrical.Ground("ground"))
    m.connect(battery.plus, motor.plus)
    m.connect(battery.minus, motor.minus, ground.pin)
    tr = dd.simulate(m, 0.5)
    assert list(tr.power()["component"].values) == ["motor", "battery", "ground"]
    assert "motor.gear" in tr.power(depth=2)["component"].values
    whole, parts = tr.energy_balance(), tr.energy_balance(depth=None)
    assert whole.lost == pytest.approx(parts.lost)
    assert abs(whole.error) < 1e-5 * whole.supplied


def test_feedback_by_symbols_that_joining_took_away():
    m = dd.Model("fed back")
    u = m.input("u")
    source = m.add(C.electrical.VoltageSource("source", voltage=u))
    r, c = m.add(C.electrical.Resistor("r", resistance=1.0)), m.add(C.electrical.Capacitor("c", capacitance=1.0))
    ground = m.add(C.electrical.Ground("ground"))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, c.plus)
    m.connect(source.minus, c.minus, ground.pin)
    tr = dd.simulate(m, 1.0, start={"c.voltage": 1.0}, inputs={"u": 0.5 * c.plus.voltage})
    assert tr["c.voltage"][-1] == pytest.approx(math.exp(-0.5), rel=1e-5)
    with pytest.raises(dd.InputError, match="follows from other variables"):
        dd.simulate(m, 1.0, start={"r.current": 1.0}, inputs={"u": 0.0})
    at_rest = dd.simulate(m, 1.0, start="equilibrium", inputs={"u": 2.0})
    np.testing.assert_allclose(at_rest["c.voltage"], 2.0)
    with pytest.raises(dd.InputError, match="start='rest' is not valid"):
        dd.simulate(m, 1.0, start="rest", inputs={"u": 2.0})


def test_a_circuit_without_anything_that_moves():
    m = dd.Model("lamp")
    battery, lamp = (
        m.add(C.electrical.VoltageSource("battery", voltage=12.0)),
        m.add(C.electrical.Resistor("lamp", resistance=6.0)),
    )
    ground = m.add(C.electrical.Ground("ground"))
    m.connect(battery.plus, lamp.plus)
    m.connect(battery.minus, lamp.minus, ground.pin)
    tr = dd.simulate(m, 1.0)
    assert tr["lamp.current"][-1] == pytest.approx(2.0)
    assert tr.energy_balance().lost == pytest.approx(24.0)


def test_the_tree_lists_parts_parameters_and_joints():
    assert str(circuit()) == (
        "RC\n"
        "├─ source: electrical.VoltageSource  (voltage 1 V)\n"
        "├─ r: electrical.Resistor  (resistance 2 ohm)\n"
        "├─ c: electrical.Capacitor  (capacitance 0.5 F)\n"
        "└─ ground: electrical.Ground\n"
        "joined:\n"
        "  source.plus – r.plus\n"
        "  source.minus – c.minus – ground.pin\n"
        "  r.minus – c.plus"
    )


def test_balances_are_drawn():
    balance = dd.simulate(circuit(), 1.0).energy_balance()
    assert balance.plot() is not None
    assert balance.plot("areas") is not None


def test_five_hundred_parts_come_to_a_small_core():
    m = dd.Model("many")
    source, ground = m.add(C.electrical.VoltageSource("source", voltage=1.0)), m.add(C.electrical.Ground("ground"))
    m.connect(source.minus, ground.pin)
    node = source.plus
    for k in range(249):
        r = m.add(C.electrical.Resistor(f"r{k}", resistance=1.0))
        c = m.add(C.electrical.Capacitor(f"c{k}", capacitance=1.0))
        m.connect(node, r.plus)
        m.connect(r.minus, c.plus)
        m.connect(c.minus, ground.pin)
        node = c.plus
    system = m.freeze()
    assert len(m.variables) > 3000
    assert system.sizes["x"] == 249
    assert system.sizes["z"] == 0


def calls_for_a_ladder(cells):
    """How many functions are entered to build a ladder of parts and to join it."""
    return calls_of(lambda: catalogue.load("rlc_ladder", cells=cells).model.freeze())


@pytest.mark.wide
def test_the_work_of_joining_is_linear_in_the_parts():
    calls_for_a_ladder(3)
    small, middle, large = (calls_for_a_ladder(cells) for cells in (25, 50, 100))
    assert large - middle == pytest.approx(2 * (middle - small), rel=0.02)


def signal_chain(blocks):
    """Build a chain of blocks, each fed by the one before, and join it."""
    m = dd.Model("chain")
    signal = m.parameter("wanted", 1.0)
    for k in range(blocks):
        block = m.add(C.signals.Lag(f"lag{k}", time_constant=1.0))
        m.connect(signal, block.input)
        signal = block.output
    return m.freeze()


@pytest.mark.wide
def test_the_work_of_joining_signals_is_linear_in_the_blocks():
    signal_chain(3)
    small, middle, large = (calls_of(lambda n=n: signal_chain(n)) for n in (25, 50, 100))
    assert large - middle == pytest.approx(2 * (middle - small), rel=0.02)


def test_equal_parts_are_read_once():
    """Which equations are signed sums is found for a kind of part, not for each of them; driven ones are read alone."""
    m = dd.Model("many")
    u = m.input("u")
    resistors = [m.add(C.electrical.Resistor(f"r{k}", resistance=1.0)) for k in range(3)]
    m.add(C.electrical.Resistor("driven", resistance=1 + u**2))
    sums = m.written.assembly.sums
    assert len(resistors) == len(sums)
    assert sums["r0"] is sums["r1"] is sums["r2"]


def test_usual_sizes_of_the_variables_of_a_part():
    m = dd.Model("coil")
    coil = m.add(C.electrical.Inductor("coil", inductance=1e-3), nominal={"current": 1e-3})
    m.add(C.machines.GearedMotor("motor", resistance=1.0, inductance=1e-3, constant=0.05, inertia=1e-4, reduction=20),
          nominal={"motor.current": 10.0})  # fmt: skip
    assert m.variables["coil.current"].nominal == (1e-3,)
    assert m.variables["motor.motor.current"].nominal == (10.0,)
    assert coil.current.is_symbolic()
    with pytest.raises(dd.ModelError) as caught:
        m.add(C.electrical.Inductor("other", inductance=1e-3), nominal={"curent": 1e-3})
    assert str(caught.value) == (
        "The part other has no variable 'curent' to give a size.\n"
        "  it has plus.voltage, plus.current, minus.voltage, minus.current, voltage, current\n"
        "  Because nominal= says how large the variables of a part usually are.\n"
        "  Try: 'current' or 'plus.current' or 'minus.current'"
    )


def test_what_may_be_zero_in_a_part_has_a_usual_size():
    """Derivatives are checked with changes of that size: one m³/s of leakage a pascal would be none."""
    m = dd.Model("pump")
    m.add(C.hydraulic.Pump("pump", displacement=1e-5))
    assert m.variables["pump.leakage"].nominal == (1e-12,)
    assert m.parameter("leak", 0.0, nominal=1e-9).is_symbolic()
    assert m.variables["leak"].nominal == (1e-9,)
