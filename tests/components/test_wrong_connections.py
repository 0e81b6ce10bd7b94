"""Wrong connections and wrong parts: every error tells what is wrong, the facts, why, and what to try."""

import numpy as np
import pytest

import daedalus as dd

C = dd.components
E, R = C.electrical, C.rotational


def ports_of_different_domains():
    m = dd.Model("m")
    a = m.add(E.Resistor("a", resistance=1.0))
    b = m.add(R.Inertia("b", inertia=1.0))
    m.connect(a.plus, b.shaft)


def a_port_to_itself():
    m = dd.Model("m")
    a = m.add(E.Resistor("a", resistance=1.0))
    m.connect(a.plus, a.plus)


def one_port_alone():
    m = dd.Model("m")
    a = m.add(E.Resistor("a", resistance=1.0))
    m.connect(a.plus)


def a_port_of_another_model():
    m = dd.Model("m")
    n = dd.Model("n")
    a = m.add(E.Resistor("a", resistance=1.0))
    b = n.add(E.Ground("g"))
    m.connect(a.plus, b.pin)


def a_part_instead_of_a_port():
    m = dd.Model("m")
    a = m.add(E.Resistor("a", resistance=1.0))
    b = m.add(E.Ground("g"))
    m.connect(a, b.pin)


def a_port_and_a_signal():
    m = dd.Model("m")
    a = m.add(E.Resistor("a", resistance=1.0))
    b = m.add(C.signals.Gain("g", gain=1.0))
    m.connect(a.plus, b.input)


def two_sources_for_one_input():
    m = dd.Model("m")
    b = m.add(C.signals.Gain("g", gain=1.0))
    u = m.input("u")
    v = m.input("v")
    m.connect(u, b.input)
    m.connect(v, b.input)


def an_input_without_source():
    m = dd.Model("m")
    m.add(C.signals.Lag("g", time_constant=1.0))
    dd.simulate(m, 1.0)


def a_loop_without_ground():
    m = dd.Model("m")
    s = m.add(E.VoltageSource("s", voltage=1.0))
    a = m.add(E.Resistor("a", resistance=1.0))
    c = m.add(E.Capacitor("c", capacitance=1.0))
    m.connect(s.plus, a.plus)
    m.connect(a.minus, c.plus)
    m.connect(c.minus, s.minus)
    dd.simulate(m, 1.0)


def a_network_without_ground():
    m = dd.Model("m")
    s = m.add(E.VoltageSource("s", voltage=1.0))
    a = m.add(E.Resistor("a", resistance=1.0))
    c = m.add(E.Resistor("c", resistance=1.0))
    l = m.add(E.Inductor("l", inductance=1.0))
    m.connect(s.plus, a.plus)
    m.connect(a.minus, c.plus, l.plus)
    m.connect(c.minus, s.minus, l.minus)
    dd.simulate(m, 1.0)


def voltage_sources_in_parallel():
    m = dd.Model("m")
    s = m.add(E.VoltageSource("s", voltage=1.0))
    z = m.add(E.VoltageSource("z", voltage=2.0))
    g = m.add(E.Ground("g"))
    c = m.add(E.Capacitor("c", capacitance=1.0))
    a = m.add(E.Resistor("a", resistance=1.0))
    m.connect(s.plus, z.plus, a.plus)
    m.connect(a.minus, c.plus)
    m.connect(s.minus, z.minus, c.minus, g.pin)
    dd.simulate(m, 1.0)


def current_sources_in_series():
    m = dd.Model("m")
    s = m.add(E.CurrentSource("s", current=1.0))
    z = m.add(E.CurrentSource("z", current=2.0))
    g = m.add(E.Ground("g"))
    c = m.add(E.Capacitor("c", capacitance=1.0))
    m.connect(s.plus, z.minus)
    m.connect(s.minus, c.plus)
    m.connect(z.plus, c.minus, g.pin)
    dd.simulate(m, 1.0)


def a_source_shorted():
    m = dd.Model("m")
    s = m.add(E.VoltageSource("s", voltage=1.0))
    g = m.add(E.Ground("g"))
    c = m.add(E.Capacitor("c", capacitance=1.0))
    m.connect(s.plus, s.minus, g.pin, c.plus, c.minus)
    dd.simulate(m, 1.0)


def two_speeds_for_one_shaft():
    m = dd.Model("m")
    s = m.add(R.SpeedSource("s", speed=1.0))
    z = m.add(R.SpeedSource("z", speed=2.0))
    i = m.add(R.Inertia("i", inertia=1.0))
    m.connect(s.shaft, z.shaft, i.shaft)
    dd.simulate(m, 1.0)


def two_grounds_at_one_node():
    m = dd.Model("m")
    g = m.add(E.Ground("g"))
    h = m.add(E.Ground("h"))
    c = m.add(E.Capacitor("c", capacitance=1.0))
    a = m.add(E.Resistor("a", resistance=1.0))
    m.connect(c.plus, a.plus)
    m.connect(c.minus, a.minus, g.pin, h.pin)
    dd.simulate(m, 1.0)


def a_name_twice():
    m = dd.Model("m")
    m.add(E.Ground("g"))
    m.add(E.Ground("g"))


def an_unknown_port():
    m = dd.Model("m")
    a = m.add(E.Resistor("a", resistance=1.0))
    return a.plsu


def an_unknown_keyword():
    E.Resistor("a", resistence=1.0)


def a_keyword_left_out():
    E.Resistor("a")


def a_value_out_of_range():
    E.Resistor("a", resistance=-1.0)


def a_symbol_of_another_model():
    m = dd.Model("m")
    n = dd.Model("n")
    u = n.input("u")
    m.add(E.VoltageSource("s", voltage=u))


def something_else_than_a_part():
    dd.Model("m").add(3)


def an_unknown_domain():
    dd.Model("m").port("x", "magnetic")


def inputs_alone():
    m = dd.Model("m")
    a = m.add(C.signals.Gain("a", gain=1.0))
    b = m.add(C.signals.Gain("b", gain=1.0))
    m.connect(a.input, b.input)


def a_quantity_of_another_domain():
    m = dd.Model("m")
    a = m.add(E.Resistor("a", resistance=1.0))
    return a.plus.torque


def no_name():
    E.Resistor()


def values_without_keywords():
    E.Resistor("a", 100.0)


def a_kind_instead_of_a_part():
    dd.Model("m").add(E.Resistor)


def nothing_for_a_keyword():
    E.Resistor("a", resistance=None)


def a_truth_for_a_number():
    E.Resistor("a", resistance=True)


def a_number_of_numpy_out_of_range():
    E.Resistor("a", resistance=np.float32(-2.0))


def a_quantity_out_of_range():
    dd.Model("m").add(E.Resistor("a", resistance=[-2.0]))


def a_gear_that_makes_power():
    R.Gear("a", reduction=2.0, efficiency=1.5)


def bounds_that_are_crossed():
    C.signals.PID("a", proportional=1.0, lower=1.0, upper=-1.0)


def a_value_set_at_a_handle():
    a = dd.Model("m").add(E.Resistor("a", resistance=1.0))
    a.resistance = 5.0


def a_model_in_itself():
    m = dd.Model("m")
    m.add(m)


def a_part_named_like_a_state():
    m = dd.Model("m")
    m.state("a")
    m.add(E.Resistor("a", resistance=1.0))


def a_parameter_named_like_a_part():
    m = dd.Model("m")
    m.add(E.Resistor("a", resistance=1.0))
    m.parameter("a", 1.0)


def an_input_named_like_a_port():
    m = dd.Model("m")
    m.port("a", "electrical")
    m.input("a")


def an_output_named_like_a_speed():
    m = dd.Model("m")
    a = m.add(R.Inertia("a", inertia=1.0))
    m.output("a.speed", a.angle)


def a_default_that_is_no_number():
    dd.Model("valve").signal_input("opening", default="open")


def a_speed_source_held_by_a_ground():
    m = dd.Model("m")
    a, b = m.add(R.SpeedSource("a", speed=1.0)), m.add(R.Ground("b"))
    m.connect(a.shaft, b.shaft)
    m.freeze()


def an_amplifier_that_shorts_a_source():
    m = dd.Model("m")
    amplifier, source = m.add(E.OpAmp("amplifier")), m.add(E.VoltageSource("source", voltage=1.0))
    r, ground = m.add(E.Resistor("r", resistance=1.0)), m.add(E.Ground("ground"))
    m.connect(amplifier.plus, source.plus, r.plus)
    m.connect(source.minus, ground.pin, amplifier.minus, r.minus)
    m.freeze()


def an_equation_beside_the_parts():
    m = dd.Model("m")
    a, b = m.add(R.Inertia("a", inertia=1.0)), m.add(R.Damper("b", damping=1.0))
    ground = m.add(R.Ground("ground"))
    m.connect(a.shaft, b.shaft_a)
    m.connect(b.shaft_b, ground.shaft)
    m.equation(a.speed, 1.0, name="wish")
    m.freeze()


TEXTS = [
    (
        an_equation_beside_the_parts,
        "The model's own wish and its parts determine the same quantity: b.\n"
        '  1 unknown, 2 equations are left after joining\n'
        '  determined twice among: b\n'
        '  Because an extra equation determines what already follows from the components.\n'
        "  Try: without that equation, or with an unknown of the model's own in it"
    ),
    (
        a_speed_source_held_by_a_ground,
        'The parts a, b determine the same quantity.\n'
        '  1 unknown, 1 equation are left after joining\n'
        '  undetermined: a.shaft.torque\n'
        '  determined twice among: a, b\n'
        '  Because two parts fix what joined ports share, or two fix what balances.\n'
        '  Try: one source or ground less, or a spring, damper, resistance or inertia between them'
    ),
    (
        an_amplifier_that_shorts_a_source,
        'Ideal sources are in conflict: source, amplifier.\n'
        '  joined so, the parts ask for - source.voltage = 0\n'
        '  Because each of them fixes the same quantity.\n'
        '  Try: a resistance, spring or other part between them, or one source less'
    ),
    (
        a_model_in_itself,
        "The model 'm' cannot be a part of itself.\n"
        '  it is to be added to itself\n'
        '  Because a part must be complete before it is added.\n'
        '  Try: m.include("copy", m) for a copy of the model inside itself'
    ),
    (
        a_part_named_like_a_state,
        "The name 'a' is taken.\n"
        "  it is already a state of the model 'm'\n"
        '  Because every name in a model is unique.\n'
        '  Try: another name for the part'
    ),
    (
        a_parameter_named_like_a_part,
        "The name 'a' is taken.\n"
        "  it is already a part of the model 'm'\n"
        '  Because every name in a model is unique.\n'
        '  Try: another name for the parameter'
    ),
    (
        an_input_named_like_a_port,
        "The name 'a' is taken.\n"
        "  it is already a port of the model 'm'\n"
        '  Because every name in a model is unique.\n'
        '  Try: another name for the input'
    ),
    (
        a_default_that_is_no_number,
        'The value of opening is not a number.\n'
        "  got 'open'\n"
        '  Because text and expressions are not numbers.\n'
        '  Try: a finite number'
    ),
    (
        an_output_named_like_a_speed,
        "The name 'a.speed' is taken.\n"
        "  it is already a further name of the model 'm'\n"
        '  Because every name in a model is unique.\n'
        '  Try: another name for the output'
    ),
    (
        no_name,
        'Resistor takes a name, and everything else by keyword.\n'
        '  got Resistor()\n'
        '  Because values, results and errors use names.\n'
        '  Try: electrical.Resistor("part", resistance=...)'
    ),
    (
        values_without_keywords,
        'Resistor takes a name, and everything else by keyword.\n'
        "  got Resistor('a', 100.0)\n"
        '  Because values, results and errors use names.\n'
        '  Try: electrical.Resistor("part", resistance=...)'
    ),
    (
        a_kind_instead_of_a_part,
        'Resistor takes a name, and everything else by keyword.\n'
        '  got Resistor()\n'
        '  Because values, results and errors use names.\n'
        '  Try: electrical.Resistor("part", resistance=...)'
    ),
    (
        nothing_for_a_keyword,
        "Resistor 'a' has no resistance.\n"
        "  electrical.Resistor('a', resistance=..., heat=..., noise_temperature=...)\n"
        '  Because resistance= has no default.\n'
        '  Try: resistance=1.0 in ohm'
    ),
    (
        a_truth_for_a_number,
        'The resistance of a is True.\n'
        "  electrical.Resistor('a', resistance=True)\n"
        '  Because it is a number in every such part.\n'
        '  Try: resistance=1.0'
    ),
    (
        a_number_of_numpy_out_of_range,
        'The resistance of a is -2.\n'
        "  electrical.Resistor('a', resistance=-2)\n"
        '  Because it is positive in every such part.\n'
        '  Try: resistance=1.0'
    ),
    (
        a_quantity_out_of_range,
        'The resistance of a is -2.\n'
        "  electrical.Resistor('a', resistance=-2)\n"
        '  Because it is positive in every such part.\n'
        '  Try: resistance=1.0'
    ),
    (
        a_gear_that_makes_power,
        'The efficiency of a is 1.5.\n'
        "  rotational.Gear('a', efficiency=1.5)\n"
        '  Because it is a share in every such part.\n'
        '  Try: efficiency=1.0'
    ),
    (
        bounds_that_are_crossed,
        'The bounds of a are crossed.\n'
        '  lower 1, upper -1\n'
        '  Because no value is between them.\n'
        '  Try: lower=-1, upper=1'
    ),
    (
        a_value_set_at_a_handle,
        'a.resistance cannot be set.\n'
        '  a handle is read-only\n'
        '  Because values are passed to dd.simulate and other functions; the model keeps its own.\n'
        '  Try: parameters={"a.resistance": ...} or start={"a.resistance": ...} of dd.simulate'
    ),
    (
        ports_of_different_domains,
        'Ports of different domains cannot be connected: electrical, rotational.\n'
        '  a.plus is electrical, b.shaft is rotational\n'
        '  Because connected ports share one quantity, and these have different ones.\n'
        '  Try: C.machines.DCMotor("motor", ...) between them'
    ),
    (
        a_port_to_itself,
        'The port a.plus is connected to itself.\n'
        '  got a.plus, a.plus\n'
        '  Because a connection is between different ports.\n'
        '  Try: each port once'
    ),
    (
        one_port_alone,
        'connect takes at least two ports.\n'
        '  got a.plus alone\n'
        '  Because an unconnected port is free already.\n'
        '  Try: m.connect(a.plus, other.port)'
    ),
    (
        a_port_of_another_model,
        'The port g.pin belongs to another model.\n'
        "  it is a port of 'n', and 'm' joins it\n"
        '  Because a model connects its own ports and those of the components added to it.\n'
        '  Try: part = m.add(n), and then m.connect(part.g.pin, ...)'
    ),
    (
        a_part_instead_of_a_port,
        'a is a part, not a port.\n'
        '  its ports are plus, minus\n'
        '  Because connections are made between ports.\n'
        '  Try: m.connect(a.plus, ...)'
    ),
    (
        a_port_and_a_signal,
        'A port and a signal cannot be connected.\n'
        '  a.plus is an electrical port\n'
        '  Because a port has two quantities, a signal is one.\n'
        '  Try: m.connect(port, port), or a.plus.voltage as the signal'
    ),
    (
        two_sources_for_one_input,
        'The input g.input has a source already.\n'
        '  it gets u, and now v\n'
        '  Because two sources would give one input two values.\n'
        '  Try: C.signals.Sum(...) to add signals up'
    ),
    (
        an_input_without_source,
        'The signal input g.input has no source.\n'
        '  it is not connected\n'
        '  Because the equations of the part need its value.\n'
        '  Try: m.connect(controller.output, g.input), or u = m.input("u") and m.connect(u, g.input)'
    ),
    (
        a_loop_without_ground,
        'The electrical network of a, c has no reference.\n'
        '  every voltage in it may be shifted by the same amount: a.minus, c.plus\n'
        '  Because only differences of it enter the equations of the parts.\n'
        '  Try: ground = m.add(C.electrical.Ground("ground")) and m.connect(..., ground.pin)'
    ),
    (
        a_network_without_ground,
        'The electrical network of s, c, l, a has no reference.\n'
        '  every voltage in it may be shifted by the same amount: s.minus, c.minus, l.minus, a.minus, c.plus, l.plus\n'
        '  Because only differences of it enter the equations of the parts.\n'
        '  Try: ground = m.add(C.electrical.Ground("ground")) and m.connect(..., ground.pin)'
    ),
    (
        voltage_sources_in_parallel,
        'Ideal sources are in conflict: z, s.\n'
        '  joined so, the parts ask for - z.voltage + s.voltage = 0\n'
        '  Because each of them fixes the same quantity.\n'
        '  Try: a resistance, spring or other part between them, or one source less'
    ),
    (
        current_sources_in_series,
        'Ideal sources are in conflict: z, s.\n'
        '  joined so, the parts ask for z.current - s.current = 0\n'
        '  Because each of them fixes the same quantity.\n'
        '  Try: a resistance, spring or other part between them, or one source less'
    ),
    (
        a_source_shorted,
        'Ideal sources are in conflict: s.\n'
        '  joined so, the parts ask for - s.voltage = 0\n'
        '  Because the source is connected to itself, so its value must be zero.\n'
        '  Try: a resistance, spring or other part between them, or one source less'
    ),
    (
        two_speeds_for_one_shaft,
        'The parts s, z determine the same quantity.\n'
        '  3 unknowns, 3 equations are left after joining\n'
        '  undetermined: z.shaft.torque\n'
        '  determined twice among: s, z\n'
        '  Because two parts fix what joined ports share, or two fix what balances.\n'
        '  Try: one source or ground less, or a spring, damper, resistance or inertia between them'
    ),
    (
        two_grounds_at_one_node,
        'The parts g, h determine the same quantity.\n'
        '  2 unknowns, 1 equation are left after joining\n'
        '  undetermined: g.pin.current\n'
        '  determined twice among: g, h\n'
        '  Because two parts fix what joined ports share, or two fix what balances.\n'
        '  Try: one source or ground less, or a spring, damper, resistance or inertia between them'
    ),
    (
        a_name_twice,
        "The name 'g' is taken.\n"
        "  it is already a part of the model 'm', electrical.Ground\n"
        '  Because every name in a model is unique.\n'
        "  Try: another name, such as 'g_2'"
    ),
    (
        an_unknown_port,
        "The part a, electrical.Resistor, has no 'plsu'.\n"
        '  it has plus, minus, resistance, voltage, current\n'
        '  Because a part has its ports, variables, parameters and inner parts.\n'
        "  Try: 'plus'"
    ),
    (
        an_unknown_keyword,
        "Resistor 'a' takes no 'resistence'.\n"
        '  it takes resistance, heat, noise_temperature\n'
        '  Because each kind of part has its own keywords, in SI units.\n'
        "  Try: 'resistance'"
    ),
    (
        a_keyword_left_out,
        "Resistor 'a' has no resistance.\n"
        "  electrical.Resistor('a', resistance=..., heat=..., noise_temperature=...)\n"
        '  Because resistance= has no default.\n'
        '  Try: resistance=1.0 in ohm'
    ),
    (
        a_value_out_of_range,
        'The resistance of a is -1.\n'
        "  electrical.Resistor('a', resistance=-1)\n"
        '  Because it is positive in every such part.\n'
        '  Try: resistance=1.0'
    ),
    (
        a_symbol_of_another_model,
        'voltage= of s contains a symbol of another model.\n'
        "  u belongs to the model 'n', not to 'm'\n"
        '  Because each model has its own symbols.\n'
        '  Try: m.include("part", other) and then m["part.u"]'
    ),
    (
        something_else_than_a_part,
        'add takes a part.\n'
        '  got int\n'
        '  Because a part is one of dd.components, or a Model with ports.\n'
        '  Try: m.add(dd.components.electrical.Ground("ground"))'
    ),
    (
        an_unknown_domain,
        "'magnetic' is not a port domain.\n"
        '  there are electrical, rotational, translational, hydraulic, thermal\n'
        '  Because the domain determines which quantity connected ports share and which one balances.\n'
        "  Try: one of the names above"
    ),
    (
        inputs_alone,
        'A connection of signals needs a source.\n'
        '  a.input, b.input are inputs of parts\n'
        '  Because an input takes a signal from an output, a variable or an expression.\n'
        '  Try: m.connect(controller.output, a.input)'
    ),
    (
        a_quantity_of_another_domain,
        "The port a.plus has no quantity 'torque'.\n"
        '  it is electrical: voltage, current\n'
        '  Because a port has the quantities of its domain.\n'
        "  Try: one of the names above"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "text"), TEXTS, ids=[wrong.__name__ for wrong, _ in TEXTS])
def test_text(wrong, text):
    with pytest.raises(dd.ModelError) as caught:
        wrong()
    assert str(caught.value) == text
