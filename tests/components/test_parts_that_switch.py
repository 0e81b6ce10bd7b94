"""Parts that switch at a node without capacitance: all of them change at one instant, and the run goes on."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

C = dd.components.electrical


def converter(snubber=None):
    """A buck converter of 50 kHz; its switch and diode meet at the choke."""
    m = dd.Model("converter")
    source, ground = m.add(C.VoltageSource("source", voltage=24.0)), m.add(C.Ground("ground"))
    switch = m.add(C.Switch("switch", on_resistance=0.05, off_conductance=1e-6))
    diode = m.add(C.Diode("diode", on_resistance=0.05, off_conductance=1e-6))
    choke, load = m.add(C.Inductor("choke", inductance=1e-4)), m.add(C.Resistor("load", resistance=5.0))
    smooth = m.add(C.Capacitor("smooth", capacitance=1e-5))
    m.connect(ca.sin(2 * ca.pi * m.time / 2e-5) > np.cos(0.4 * np.pi), switch.closed)
    m.connect(source.plus, switch.plus)
    m.connect(switch.minus, diode.minus, choke.plus)
    m.connect(choke.minus, smooth.plus, load.plus)
    m.connect(source.minus, diode.plus, smooth.minus, load.minus, ground.pin)
    if snubber:
        small = m.add(C.Capacitor("snubber", capacitance=snubber))
        m.connect(small.plus, diode.minus)
        m.connect(small.minus, ground.pin)
    return m


def test_a_transistor_hands_its_current_to_a_diode():
    """A MOSFET that closes at a node without capacitance: the choke's current goes on through the diode and decays."""
    m = dd.Model("chopper")
    source, ground = m.add(C.VoltageSource("source", voltage=5.0)), m.add(C.Ground("ground"))
    gate = m.add(C.VoltageSource("gate", voltage=ca.if_else(m.time < 1e-3, 5.0, 0.0)))
    mosfet, diode = m.add(C.Mosfet("mosfet", gain=1.0)), m.add(C.Diode("diode", on_resistance=0.01))
    choke = m.add(C.Inductor("choke", inductance=1e-3))
    m.connect(source.plus, choke.plus, diode.minus)
    m.connect(choke.minus, mosfet.drain, diode.plus)
    m.connect(gate.plus, mosfet.gate)
    m.connect(mosfet.source, source.minus, gate.minus, ground.pin)
    tr = dd.simulate(m, 2e-3, start={"choke.current": 0.0}, rtol=1e-8)
    assert tr.success, tr.stop_reason
    peak = float(tr.at(1e-3)["choke.current"])
    assert tr["choke.current"][-1] == pytest.approx(peak * np.exp(-0.01), rel=1e-5)
    balance = tr.energy_balance()
    assert abs(balance.error) < 1e-5 * balance.supplied


def line_into(valve):
    """Water that flows through a line into a valve, from 1 bar."""
    H = dd.components.hydraulic
    m = dd.Model("pipe")
    supply, line = m.add(H.PressureSource("supply", pressure=1e5)), m.add(H.Line("line", length=10.0, area=1e-4))
    drain = m.add(H.PressureSource("drain", pressure=0.0))
    valve = m.add(valve)
    m.connect(supply.a, line.a)
    m.connect(line.b, valve.a)
    m.connect(valve.b, drain.a)
    return m, valve


def test_a_valve_closes_in_front_of_a_line():
    """The inertance of the line lifts the pressure; in the end a millionth of the flow is left."""
    m, valve = line_into(dd.components.hydraulic.Valve("valve", area=1e-5))
    m.connect(1.0 - m.time, valve.opening)
    tr = dd.simulate(m, 2.0)
    assert tr.success, tr.stop_reason
    most = 0.61 * 1e-5 * np.sqrt(2 * 1e5 / 870.0)
    assert tr["line.flow"][-1] == pytest.approx(1e-6 * most, rel=1e-3)
    # While it closes the pressure makes up for the inertance of the line: Δp = ρ l / A · dq/dt.
    inside = tr.at(0.5)
    blow = 870.0 * 10.0 / 1e-4 * -float(inside["line.flow_dot"])
    assert float(inside["valve.pressure_drop"]) == pytest.approx(1e5 + blow, rel=1e-6)
    balance = tr.energy_balance()
    assert abs(balance.error) < 1e-4 * balance.supplied


def test_a_relief_valve_in_front_of_a_line_stays_closed():
    m, _ = line_into(dd.components.hydraulic.ReliefValve("relief", pressure=2e5))
    tr = dd.simulate(m, 1.0)
    assert tr.success, tr.stop_reason
    assert tr["line.flow"][-1] == pytest.approx(1e-8 * 1e-6 * 1e5, rel=1e-4)


def test_a_diode_is_never_quite_open():
    with pytest.raises(dd.ModelError) as caught:
        C.Diode("d", on_resistance=0.01, off_conductance=0.0)
    assert str(caught.value) == (
        "Diode 'd' is an open circuit below its threshold.\n"
        "  off_conductance=0.0, conductance=0.0\n"
        "  Because an inductor in series would have no voltage then: the index would change with the diode.\n"
        "  Try: off_conductance=1e-9"
    )
    C.Diode("d", on_resistance=0.01, off_conductance=0.0, conductance=1e-9)


def test_a_switch_and_a_diode_change_at_once():
    start = {"choke.current": 1.8, "smooth.voltage": 9.0}
    tr = dd.simulate(converter(), 8e-5, start=start, rtol=1e-8)
    assert tr.success, tr.stop_reason
    # A snubber of a picofarad is hardly there.
    other = dd.simulate(converter(1e-12), 8e-5, start={**start, "snubber.voltage": 0.0}, rtol=1e-8)
    for name in start:
        assert tr[name][-1] == pytest.approx(float(other[name][-1]), rel=1e-4)
    # The diode carries the choke's current as soon as the switch is open.
    behind = tr.at(9.1e-6)
    assert float(behind["diode.current"]) == pytest.approx(float(behind["choke.current"]), rel=1e-4)
    balance = tr.energy_balance()
    assert abs(balance.error) < 1e-5 * balance.supplied
