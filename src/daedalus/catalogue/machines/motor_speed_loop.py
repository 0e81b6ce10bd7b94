"""A DC motor whose speed a PI controller holds, limited by the battery voltage.

L i' = u - R i - K ω, J ω' = K i - d ω, u = PI(setpoint - ω) between -24 and 24 V, with anti-windup.
"""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import electrical, machines, rotational, signals
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A start from rest to 100 rad/s.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("motor_speed_loop").index
    0
    """
    m = Model("motor_speed_loop")
    motor = m.add(machines.DCMotor("motor", resistance=1.0, inductance=1e-3, constant=0.1, inertia=1e-3, damping=1e-3))
    load, gauge = m.add(rotational.Inertia("load", inertia=1e-3)), m.add(rotational.SpeedSensor("gauge"))
    bounds = {"lower": -24.0, "upper": 24.0, "tracking": 0.1}
    units = {"input_unit": "rad/s", "output_unit": "V"}
    pid = m.add(signals.PID("pid", proportional=0.5, integral=5.0, **bounds, **units))
    drive = m.add(electrical.VoltageSource("drive", voltage=pid.output))
    ground = m.add(electrical.Ground("ground"))
    m.connect(m.parameter("setpoint", 100.0, unit="rad/s"), pid.setpoint)
    m.connect(gauge.output, pid.measurement)
    m.connect(motor.shaft, load.shaft, gauge.shaft)
    m.connect(drive.plus, motor.plus)
    m.connect(drive.minus, motor.minus, ground.pin)
    return KnownSystem(
        m,
        span=(0.0, 0.5),
        start={"motor.current": 0.0, "motor.angle": 0.0, "motor.speed": 0.0, "pid.integral_part": 0.0},
        reference=Reference(0.5, REFERENCE, 9, "two methods at 1e-12 agree"),
        source="formula sheet on modelling and simulation, chapter on actuators",
    )


REFERENCE = {
    "motor.current": 0.9485652127564332,
    "motor.angle": 45.70137397329652,
    "motor.speed": 100.17715167731967,
    "pid.integral_part": 11.05557583590435,
}
