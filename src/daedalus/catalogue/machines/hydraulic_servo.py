"""A servo valve and a cylinder move a mass to the position that a controller asks for."""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import hydraulic, signals, translational
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A step of 0.1 m.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("hydraulic_servo").index
    0
    """
    m = Model("hydraulic_servo")
    supply, air = (m.add(hydraulic.PressureSource(name, pressure=p)) for name, p in (("supply", 1e7), ("air", 0.0)))
    valve = m.add(hydraulic.ServoValve("valve", area=1e-5))
    cylinder = m.add(
        hydraulic.Cylinder("cylinder", area_a=1e-3, stroke=1.0, dead_volume=1e-4, bulk_modulus=1e9, damping=2e3)
    )
    mass, gauge = m.add(translational.Mass("mass", mass=100.0)), m.add(translational.PositionSensor("gauge"))
    control = m.add(signals.PID("control", proportional=4.0, input_unit="m"))
    m.connect(supply.a, valve.supply)
    m.connect(air.a, valve.tank)
    m.connect(valve.a, cylinder.a)
    m.connect(valve.b, cylinder.b)
    m.connect(cylinder.flange, mass.flange, gauge.flange)
    m.connect(m.parameter("setpoint", 0.6, unit="m"), control.setpoint)
    m.connect(gauge.output, control.measurement)
    m.connect(control.output, valve.opening)
    return KnownSystem(
        m,
        span=(0.0, 0.2),
        start={"mass.position": 0.5, "mass.velocity": 0.0, "cylinder.pressure_a": 5e6, "cylinder.pressure_b": 5e6},
        reference=Reference(0.2, REFERENCE, 9, "two methods at 1e-12 agree"),
        source="H. E. Merritt, Hydraulic Control Systems (1967), valve-controlled piston",
        stiff=True,
    )


REFERENCE = {
    "mass.position": 0.5399188722924068,
    "mass.velocity": 0.15497619893833206,
    "cylinder.pressure_a": 5125155.516693822,
    "cylinder.pressure_b": 4877841.187002389,
}
