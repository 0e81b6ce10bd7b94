"""A geared motor winds up a rope with a load: (J_m + n² J) ω' = T - n T_e with n the speed ratio of the gear."""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import electrical, machines, translational
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A load of 20 kg for a second.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("motor_lift").index
    2
    """
    m = Model("motor_lift")
    motor = m.add(
        machines.GearedMotor("motor", resistance=0.5, inductance=2e-3, constant=0.05, inertia=2e-4, reduction=40.0)
    )
    winch = m.add(translational.Rack("winch", radius=0.05))
    load = m.add(translational.Mass("load", mass=20.0, gravity=9.80665))
    battery, ground = m.add(electrical.VoltageSource("battery", voltage=24.0)), m.add(electrical.Ground("ground"))
    m.connect(battery.plus, motor.plus)
    m.connect(battery.minus, motor.minus, ground.pin)
    m.connect(motor.shaft, winch.shaft)
    m.connect(winch.flange, load.flange)
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        index=2,
        start={"motor.motor.current": 0.0, "load.position": 0.0, "load.velocity": 0.0},
        reference=Reference(1.0, REFERENCE, 9, "two methods at 1e-12 agree"),
        source="formula sheet on modelling and simulation, chapter on actuators",
    )


REFERENCE = {
    "motor.motor.current": 4.903325002230483,
    "load.position": 0.5135480060166797,
    "load.velocity": 0.5387084374747846,
}
