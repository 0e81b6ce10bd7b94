"""Parts that switch at a node without capacitance: all of them change at one instant, and the run goes on."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import SwitchedTogether

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


def test_a_switch_and_a_diode_change_at_once():
    start = {"choke.current": 1.8, "smooth.voltage": 9.0}
    tr = dd.simulate(converter(), 8e-5, start=start, rtol=1e-8)
    assert tr.success, tr.stop_reason
    assert sum(isinstance(record, SwitchedTogether) for record in tr.records) == 4
    # A snubber of a picofarad is hardly there.
    other = dd.simulate(converter(1e-12), 8e-5, start={**start, "snubber.voltage": 0.0}, rtol=1e-8)
    for name in start:
        assert tr[name][-1] == pytest.approx(float(other[name][-1]), rel=1e-4)
    # The diode carries the choke's current as soon as the switch is open.
    behind = tr.at(9.1e-6)
    assert float(behind["diode.current"]) == pytest.approx(float(behind["choke.current"]), rel=1e-4)
    balance = tr.energy_balance()
    assert abs(balance.error) < 1e-5 * balance.supplied
