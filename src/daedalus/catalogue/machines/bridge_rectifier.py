"""Four diodes charge a capacitor and a load from an alternating voltage."""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import electrical
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Two periods of 50 Hz.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("bridge_rectifier").index
    1
    """
    m = Model("bridge_rectifier")
    source = m.add(electrical.VoltageSource("source", voltage=12.0 * ca.sin(100.0 * ca.pi * m.time)))
    line = m.add(electrical.Resistor("line", resistance=1.0))
    diodes = [
        m.add(electrical.Diode(f"d{k}", saturation_current=1e-9, thermal_voltage=0.05, conductance=1e-9))
        for k in (1, 2, 3, 4)
    ]
    smooth = m.add(electrical.Capacitor("smooth", capacitance=1e-3))
    load, ground = m.add(electrical.Resistor("load", resistance=100.0)), m.add(electrical.Ground("ground"))
    m.connect(source.plus, line.plus)
    m.connect(line.minus, diodes[0].plus, diodes[1].minus)
    m.connect(source.minus, diodes[2].plus, diodes[3].minus)
    m.connect(diodes[0].minus, diodes[2].minus, smooth.plus, load.plus)
    m.connect(diodes[1].plus, diodes[3].plus, smooth.minus, load.minus, ground.pin)
    return KnownSystem(
        m,
        span=(0.0, 0.04),
        index=1,
        start={"smooth.voltage": 0.0},
        reference=Reference(0.04, REFERENCE, 7, "two methods at 1e-12 agree"),
        source="U. Tietze, C. Schenk, Electronic Circuits, chapter on power supplies; numbers chosen here",
        stiff=True,
    )


REFERENCE = {"smooth.voltage": 9.278920562189734}
