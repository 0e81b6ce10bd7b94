"""A quarter of a car over a bump: tyre, wheel, suspension, body."""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import translational
from daedalus.model.model import Model


def build() -> KnownSystem:
    """One bump of 5 cm at 10 Hz.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("quarter_car").index
    0
    """
    m = Model("quarter_car")
    bump = ca.if_else(m.time < 0.1, 0.05 * 10 * ca.pi * ca.sin(20 * ca.pi * m.time), 0)
    road = m.add(translational.VelocitySource("road", velocity=bump))
    tyre = m.add(translational.Spring("tyre", stiffness=1.6e5))
    wheel, body = m.add(translational.Mass("wheel", mass=40.0)), m.add(translational.Mass("body", mass=300.0))
    spring = m.add(translational.Spring("spring", stiffness=1.6e4))
    damper = m.add(translational.Damper("damper", damping=1.0e3))
    m.connect(road.flange, tyre.flange_a)
    m.connect(tyre.flange_b, wheel.flange, spring.flange_a, damper.flange_a)
    m.connect(spring.flange_b, damper.flange_b, body.flange)
    states = ("road.position", "wheel.position", "wheel.velocity", "body.position", "body.velocity")
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        start=dict.fromkeys(states, 0.0),
        reference=Reference(1.0, REFERENCE, 9, "two methods at 1e-12 agree"),
        source="textbook model of a suspension",
    )


REFERENCE = {
    "wheel.position": 0.00039417286353210084,
    "body.position": 0.0029406391617726006,
    "body.velocity": 0.022496190288229058,
    "wheel.velocity": 0.000988259585199,
}
