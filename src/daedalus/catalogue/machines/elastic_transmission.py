"""A motor and a load on a shaft that twists: the angles θ_m and θ_L.

Without damping θ_e = θ_L - θ_m swings with ω² = K / J_e, J_e = J_m J_L / (J_m + J_L); seen from the motor the
anti-resonance is at √(K / J_L).
"""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import machines, rotational
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A torque step on the motor side.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("elastic_transmission").index
    0
    """
    m = Model("elastic_transmission")
    motor = m.add(rotational.Inertia("motor", inertia=0.02))
    shaft = m.add(machines.ElasticTransmission("shaft", stiffness=50.0, damping=0.05))
    load, push = m.add(rotational.Inertia("load", inertia=0.1)), m.add(rotational.TorqueSource("push", torque=1.0))
    m.connect(push.shaft, motor.shaft, shaft.shaft_a)
    m.connect(shaft.shaft_b, load.shaft)
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        start={"motor.angle": 0.0, "motor.speed": 0.0, "load.angle": 0.0, "load.speed": 0.0},
        reference=Reference(1.0, REFERENCE, 10, "two methods at 1e-12 agree"),
        source="formula sheet on modelling and simulation, chapter on actuators",
    )


REFERENCE = {
    "motor.angle": 4.18133321027875,
    "motor.speed": 8.167852880671902,
    "load.angle": 4.163733357944248,
    "load.speed": 8.366429423865616,
}
