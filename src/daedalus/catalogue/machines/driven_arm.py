"""A planar arm of three links, written by energies, with a geared motor at each joint.

The arm is door 2, the motors are parts; ports of the arm lie at its joint angles: `m.port(..., of=q[k])`.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem, Value
from daedalus.catalogue.reference import Reference
from daedalus.components import electrical, machines
from daedalus.model.model import Model


def build() -> KnownSystem:
    """All motors at 6 V for half a second, from the arm hanging down.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("driven_arm").index
    0
    """
    m = Model("driven_arm")
    q = m.coordinate("q", 3, start=[-1.5, 0.1, 0.1], rate=[0.0, 0.0, 0.0], unit="rad")
    length, mass = 0.4, 2.0
    along, speeds, kinetic, height = (ca.SX(0) for _ in range(4))
    x, y = ca.SX(0), ca.SX(0)
    for k in range(3):
        along, speeds = along + q[k], speeds + m.rate(q[k])
        middle = ca.vertcat(x + 0.5 * length * ca.cos(along), y + 0.5 * length * ca.sin(along))
        x, y = x + length * ca.cos(along), y + length * ca.sin(along)
        kinetic += 0.5 * mass * ca.sumsqr(m.der(middle)) + 0.5 * mass * length**2 / 12 * speeds**2
        height += mass * 9.80665 * middle[1]
    m.kinetic_energy(kinetic)
    m.potential_energy(height)
    battery, ground = m.add(electrical.VoltageSource("battery", voltage=6.0)), m.add(electrical.Ground("ground"))
    m.connect(battery.minus, ground.pin)
    start: dict[str, Value] = {"q": np.array([-1.5, 0.1, 0.1]), "q_dot": np.zeros(3)}
    for k in range(3):
        motor = m.add(
            machines.DCMotor(f"motor{k}", resistance=0.5, inductance=1e-3, constant=1.0, inertia=0.05, damping=0.1)
        )
        m.connect(battery.plus, motor.plus)
        m.connect(motor.minus, ground.pin)
        m.connect(motor.shaft, m.port(f"joint{k}", "rotational", of=q[k]))
        start[f"motor{k}.current"] = 0.0
    return KnownSystem(
        m,
        span=(0.0, 0.5),
        start=start,
        reference=Reference(0.5, REFERENCE, 9, "two methods at 1e-12 agree"),
        source="M. W. Spong, S. Hutchinson, M. Vidyasagar, Robot Modeling and Control (2006), chapter 7; own numbers",
    )


REFERENCE = {
    "q": [-1.4841288002006907, 0.5613509987532112, 1.7653372996932988],
    "q_dot": [1.0264145615478735, 1.106354347447295, 3.696597386639974],
    "motor0.current": 9.959574520569811,
    "motor1.current": 9.798544930914169,
    "motor2.current": 4.624185073007008,
}
