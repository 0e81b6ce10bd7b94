"""A house with a controlled heater: air, furniture and walls store heat, which leaves to the cold outside."""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import signals, thermal
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Six hours from a cold start.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("heated_house").index
    0
    """
    m = Model("heated_house")
    air, walls = m.add(thermal.Node("air", capacity=2e6)), m.add(thermal.Node("walls", capacity=2e7))
    inner = m.add(thermal.Convection("inner", coefficient=8.0, area=100.0))
    outer = m.add(thermal.Convection("outer", coefficient=2.0, area=100.0))
    windows = m.add(thermal.Conduction("windows", conductance=40.0))
    outside = m.add(thermal.TemperatureSource("outside", temperature=268.15))
    gauge = m.add(thermal.TemperatureSensor("gauge"))
    bounds = {"lower": 0.0, "upper": 1e4, "tracking": 600.0}
    units = {"input_unit": "K", "output_unit": "W"}
    control = m.add(signals.PID("control", proportional=1000.0, integral=0.1, **bounds, **units))
    heater = m.add(thermal.HeatSource("heater", heat=control.output))
    m.connect(m.parameter("setpoint", 293.15, unit="K"), control.setpoint)
    m.connect(gauge.output, control.measurement)
    m.connect(air.heat, inner.heat_a, windows.heat_a, heater.heat, gauge.heat)
    m.connect(inner.heat_b, walls.heat, outer.heat_a)
    m.connect(outer.heat_b, windows.heat_b, outside.heat)
    return KnownSystem(
        m,
        span=(0.0, 21600.0),
        start={"air.temperature": 281.15, "walls.temperature": 278.15, "control.integral_part": 0.0},
        reference=Reference(21600.0, REFERENCE, 9, "two methods at 1e-12 agree"),
        source="textbook model of a house",
    )


REFERENCE = {
    "air.temperature": 292.2367452362571,
    "walls.temperature": 283.03172669676246,
    "control.integral_part": 7728.509876908526,
}
