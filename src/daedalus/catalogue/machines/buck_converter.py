"""A switch that opens and closes 50 000 times a second steps a voltage down; a diode carries the current between.

The switch is closed where sin(2 π t / period) > cos(π duty): a share `duty` of every period. The snubber keeps
the voltage behind it a state, so that both switches change one after the other.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import electrical
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Four periods.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("buck_converter").index
    1
    """
    m = Model("buck_converter")
    period, duty = m.parameter("period", 2e-5, unit="s"), m.parameter("duty", 0.4)
    source, ground = m.add(electrical.VoltageSource("source", voltage=24.0)), m.add(electrical.Ground("ground"))
    switch = m.add(electrical.Switch("switch", on_resistance=0.05, off_conductance=1e-6))
    diode = m.add(electrical.Diode("diode", on_resistance=0.05, off_conductance=1e-6))
    snubber = m.add(electrical.Capacitor("snubber", capacitance=1e-9))
    choke = m.add(electrical.Inductor("choke", inductance=1e-4))
    smooth = m.add(electrical.Capacitor("smooth", capacitance=1e-5))
    load = m.add(electrical.Resistor("load", resistance=5.0))
    wave = ca.sin(2 * ca.pi * m.time / period)
    m.connect(wave - ca.cos(ca.pi * duty) > 0, switch.closed)
    m.connect(source.plus, switch.plus)
    m.connect(switch.minus, diode.minus, snubber.plus, choke.plus)
    m.connect(choke.minus, smooth.plus, load.plus)
    m.connect(source.minus, diode.plus, snubber.minus, smooth.minus, load.minus, ground.pin)
    return KnownSystem(
        m,
        span=(0.0, 8e-5),
        start={"choke.current": 1.8, "smooth.voltage": 9.0, "snubber.voltage": 0.0},
        reference=Reference(8e-5, REFERENCE, 7, "two methods at 1e-12 agree"),
        source="R. W. Erickson, D. Maksimović, Fundamentals of Power Electronics (2001), chapter 2; own numbers",
        index=1,
        stiff=True,
    )


REFERENCE = {
    "choke.current": 1.379350294556707,
    "smooth.voltage": 10.108111145150895,
    "snubber.voltage": -0.06896656570652389,
}
