"""The index of a model of parts: that of the equations as joined is the one by hand, whatever was eliminated."""

import numpy as np
import pytest
from random_networks import network

import daedalus as dd
from daedalus.model.assembly.joined_model import joined_model


def on_a_source(part, source):
    """A part of two poles on a source."""
    C, m = dd.components.electrical, dd.Model("on a source")
    s, p, ground = m.add(source), m.add(part), m.add(C.Ground("ground"))
    m.connect(s.plus, p.plus)
    m.connect(s.minus, p.minus, ground.pin)
    return m


def gear(sources):
    C, m = dd.components.rotational, dd.Model("gear")
    a, b, g = (
        m.add(C.Inertia("a", inertia=1.0)),
        m.add(C.Inertia("b", inertia=2.0)),
        m.add(C.Gear("g", speed_ratio=3.0)),
    )
    torques = [m.add(C.TorqueSource(f"t{k}", torque=1.0)).shaft for k in range(sources)]
    m.connect(a.shaft, g.shaft_a)
    m.connect(b.shaft, g.shaft_b, *torques)
    return m


def by_hand_capacitor():
    m = dd.Model("capacitor by hand")
    voltage, current = m.state("voltage"), m.algebraic("current")
    m.equation(2.0 * m.der(voltage), current)
    m.equation(voltage, 5.0)
    return m


def by_hand_gear():
    m = dd.Model("gear by hand")
    a, b, torque = m.state("a"), m.state("b"), m.algebraic("torque")
    m.equation(m.der(m.der(a)), -3.0 * torque)
    m.equation(2.0 * m.der(m.der(b)), torque)
    m.equation(b, 3.0 * a)
    return m


def test_what_joining_eliminates_does_not_change_the_index_as_joined():
    C = dd.components.electrical
    capacitor = on_a_source(C.Capacitor("c", capacitance=2.0), C.VoltageSource("s", voltage=5.0))
    inductor = on_a_source(C.Inductor("l", inductance=2.0), C.CurrentSource("s", current=5.0))
    resistor = on_a_source(C.Resistor("r", resistance=2.0), C.VoltageSource("s", voltage=5.0))
    by_hand = dd.analyse(by_hand_capacitor()).index
    assert [dd.analyse(m).joined_index for m in (capacitor, inductor, resistor)] == [by_hand, by_hand, 1] == [2, 2, 1]
    found = [dd.analyse(gear(k)) for k in (0, 1)]
    assert [r.joined_index for r in found] == [dd.analyse(by_hand_gear()).index] * 2 == [3, 3]
    assert [r.index for r in found] == [2, 3]


def test_the_report_states_both_with_names():
    C = dd.components.electrical
    text = " ".join(
        str(dd.analyse(on_a_source(C.Capacitor("c", capacitance=2.0), C.VoltageSource("s", voltage=5.0)))).split()
    )
    assert "as joined: 13 equations of index 2, s.voltage, c.voltage, ground.zero, equal at s.plus, c.plus, …" in text
    assert "index 1 is left, in c.current" in text
    assert dd.analyse(by_hand_gear()).joined is None


@pytest.mark.parametrize("seed", range(5))
def test_random_networks_against_ranks(seed):
    """The pencil of all equations as joined, by numbers, has the index that their structure tells."""
    m = network(seed)
    lin = dd.linearise(joined_model(m))
    assert dd.pencil(lin.E, lin.A).index == dd.analyse(m).joined_index


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 60))
def test_more_random_networks_against_ranks(seed):
    m = network(seed)
    lin = dd.linearise(joined_model(m))
    found = dd.pencil(lin.E, lin.A)
    assert np.isfinite(found.finite).all()
    assert found.index == dd.analyse(m).joined_index
