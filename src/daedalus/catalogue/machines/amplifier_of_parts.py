"""The transistor amplifier of the catalogue, built from components: it has the published equations.

The transistors carry g(v) = β (exp(v/UF) - 1) from base to emitter, α g(v) of it through the collector; the output `y`
has the eight node voltages in the published order.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.catalogue.electronics.transistor_amplifier import REFERENCE
from daedalus.components import electrical
from daedalus.model.model import Model


def published_transistor() -> Model:
    """A transistor after the published law, without its reverse part."""
    part = Model("transistor")
    base, collector, emitter = (part.port(name, "electrical") for name in ("base", "collector", "emitter"))
    share = part.parameter("alpha", 0.99)
    flow = 1e-6 * (ca.exp((base.voltage - emitter.voltage) / 0.026) - 1)
    part.equation(base.current, (1 - share) * flow, name="base")
    part.equation(collector.current, share * flow, name="collector")
    part.equation(base.current + collector.current + emitter.current, 0, name="emitter")
    part.lost(base.voltage * base.current + collector.voltage * collector.current + emitter.voltage * emitter.current)
    return part


def build() -> KnownSystem:
    """Twenty periods of the signal.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("amplifier_of_parts").model.freeze().sizes["x"]
    5
    """
    m = Model("amplifier_of_parts")
    signal = m.add(electrical.VoltageSource("signal", voltage=0.1 * ca.sin(200 * np.pi * m.time)))
    supply, ground = m.add(electrical.VoltageSource("supply", voltage=6.0)), m.add(electrical.Ground("ground"))
    r = [m.add(electrical.Resistor(f"r{k}", resistance=1e3 if k == 0 else 9e3)) for k in range(10)]
    c = [m.add(electrical.Capacitor(f"c{k}", capacitance=k * 1e-6)) for k in range(1, 6)]
    one, two = (m.add(published_transistor(), name=name) for name in ("first", "second"))
    m.connect(signal.plus, r[0].plus)
    m.connect(r[0].minus, c[0].plus)  # y1
    m.connect(c[0].minus, r[1].plus, r[2].minus, one.base)  # y2
    m.connect(one.emitter, r[3].plus, c[1].plus)  # y3
    m.connect(one.collector, r[4].minus, c[2].plus)  # y4
    m.connect(c[2].minus, r[5].plus, r[6].minus, two.base)  # y5
    m.connect(two.emitter, r[7].plus, c[3].plus)  # y6
    m.connect(two.collector, r[8].minus, c[4].plus)  # y7
    m.connect(c[4].minus, r[9].plus)  # y8
    m.connect(supply.plus, r[2].plus, r[4].plus, r[6].plus, r[8].plus)
    m.connect(signal.minus, supply.minus, ground.pin, *(r[k].minus for k in (1, 3, 5, 7, 9)), c[1].minus, c[3].minus)
    nodes = (c[0].plus, c[0].minus, c[1].plus, c[2].plus, c[2].minus, c[3].plus, c[4].plus, c[4].minus)
    m.output("y", ca.vertcat(*(node.voltage for node in nodes)), unit="V")
    return KnownSystem(
        m,
        span=(0.0, 0.2),
        index=1,
        start={"c1.voltage": -3.0, "c2.voltage": 3.0, "c3.voltage": 3.0, "c4.voltage": 3.0, "c5.voltage": 6.0},
        reference=Reference(0.2, {"y": REFERENCE}, 13, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="P. Rentrop, M. Roche, G. Steinebach (1989); E. Hairer, G. Wanner, Solving Ordinary Differential "
        "Equations II, VI.1",
        stiff=True,
    )
