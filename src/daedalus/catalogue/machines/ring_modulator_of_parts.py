"""The ring modulator of the catalogue, built from components: it has the published equations.

Two transformers with halved secondaries stand at the signal and at the load; between their four ends lie the diodes in
a ring, and the middle of the second secondary rests on the carrier and on Rp, Cp. The output `y` has the seven voltages
and eight currents in the published order.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem, Value
from daedalus.catalogue.reference import Reference
from daedalus.components import electrical
from daedalus.model.model import Model

# Usual sizes, those of the published equations in this catalogue.
CURRENT, VOLTAGE = {"current": 1e-3}, {"voltage": 0.1}


def build(parasitic: float = 2e-12) -> KnownSystem:
    """A fiftieth of the published run; `parasitic` is Cs in farad.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("ring_modulator_of_parts").model.freeze().sizes["x"]
    15
    """
    m = Model("ring_modulator_of_parts")
    ground = m.add(electrical.Ground("ground"))
    voltages: list[Any] = []
    signal = m.add(electrical.VoltageSource("signal", voltage=0.5 * ca.sin(2000 * np.pi * m.time)))
    carrier = m.add(electrical.VoltageSource("carrier", voltage=2 * ca.sin(20000 * np.pi * m.time)))
    m.connect(signal.minus, ground.pin)
    middle = _resonator(m, "p", 1e-8, 50.0, None, ground, voltages)
    m.connect(carrier.minus, middle)
    one = _resonator(m, "one", 1.6e-8, 25e3, 4.45, ground, voltages)
    two = _resonator(m, "two", 1.6e-8, 25e3, 4.45, ground, voltages)
    feed = _branch(m, "feed", 86.3, 0.002, signal.plus, one)
    load = _branch(m, "load", 636.3, 0.002, ground.pin, two)
    ends, halves = [], []
    for side, node, tap in (("one", one, ground.pin), ("two", two, carrier.plus)):
        for half, way in (("a", 1.0), ("b", -1.0)):
            end, current, voltage = _half(m, f"{side}_{half}", way, node, tap, ground, parasitic)
            ends.append(end)
            halves.append((current, way * voltage))
    for k, (start, end) in enumerate(((0, 2), (1, 3), (2, 1), (3, 0)), 1):
        diode = m.add(electrical.Diode(f"d{k}", saturation_current=40.67286402e-9, thermal_voltage=1 / 17.7493332))
        m.connect(ends[start], diode.plus)
        m.connect(ends[end], diode.minus)
    currents = [-m["one_l.current"], -m["two_l.current"], *(current for current, _ in halves), feed, load]
    shown = [voltages[1], voltages[2], *(voltage for _, voltage in halves), voltages[0], *currents]
    m.output("y", ca.vertcat(*shown))
    rest: dict[str, Value] = {v.name: 0.0 for v in m.variables.values() if v.kind == "state"}
    return KnownSystem(
        m,
        span=(0.0, 2e-5),
        start=rest,
        reference=Reference(2e-5, {"y": REFERENCE}, 7, "the published equations, two methods at 1e-11")
        if parasitic == 2e-12
        else None,
        source="E. H. Horneber, Analyse nichtlinearer RLCÜ-Netzwerke (1976); Test Set for IVP Solvers",
        index=1 if parasitic else 2,
        stiff=True,
    )


def _resonator(m: Model, name: str, capacitance: float, resistance: float, inductance: float | None, ground: Any,
               voltages: list[Any]) -> Any:  # fmt: skip
    """A capacitor, a resistor and perhaps a coil against ground; the port at their top."""
    c = m.add(electrical.Capacitor(f"{name}_c", capacitance=capacitance), nominal=VOLTAGE)
    parts = [c, m.add(electrical.Resistor(f"{name}_r", resistance=resistance))]
    if inductance is not None:
        parts.append(m.add(electrical.Inductor(f"{name}_l", inductance=inductance), nominal=CURRENT))
    m.connect(*(part.plus for part in parts))
    m.connect(ground.pin, *(part.minus for part in parts))
    voltages.append(c.voltage)
    return c.plus


def _branch(m: Model, name: str, resistance: float, inductance: float, start: Any, end: Any) -> Any:
    """A resistor and a coil in a row; the current through them."""
    r = m.add(electrical.Resistor(f"{name}_r", resistance=resistance))
    coil = m.add(electrical.Inductor(f"{name}_l", inductance=inductance), nominal=CURRENT)
    m.connect(start, r.plus)
    m.connect(r.minus, coil.plus)
    m.connect(coil.minus, end)
    return coil.current


def _half(m: Model, name: str, way: float, node: Any, tap: Any, ground: Any, parasitic: float) -> tuple[Any, Any, Any]:
    """Half a secondary with its coil, resistor and parasitic capacitor: its end, its current, its voltage."""
    transformer = m.add(electrical.Transformer(f"{name}_t", ratio=0.5 * way))
    m.connect(node, transformer.primary_plus)
    m.connect(ground.pin, transformer.primary_minus)
    m.connect(tap, transformer.secondary_minus)
    c = m.add(electrical.Capacitor(f"{name}_c", capacitance=parasitic), nominal=VOLTAGE)
    current = _branch(m, name, 17.3, 5e-4, transformer.secondary_plus, c.plus)
    m.connect(tap, c.minus)
    return c.plus, current, c.voltage


REFERENCE = [
    0.04066615221725828,
    -0.021825989715755875,
    0.3352254720866465,
    -0.30329739404529504,
    -0.3345433132094917,
    0.30397955292246537,
    -0.5917847915105234,
    -6.52711704945632e-08,
    2.1546718469262775e-08,
    -0.006062008050785627,
    -0.006210601754006081,
    0.006210595701221271,
    0.006062014103570436,
    0.0001211269236553944,
    2.169523809001832e-05,
]
