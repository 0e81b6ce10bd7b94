"""A tank that empties through a valve: √level falls linearly with time (Torricelli).

level(t) = (√level(0) - C_d a √(2 g) t / (2 A))², exact but for a straight line below a pressure of 1 Pa.
"""

from __future__ import annotations

from daedalus.catalogue import KnownSystem, Reference
from daedalus.components import hydraulic
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Half a minute, from 2 m on.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("emptying_tank").index
    0
    """
    m = Model("emptying_tank")
    tank = m.add(hydraulic.Tank("tank", area=1.0, density=1000.0))
    valve = m.add(hydraulic.Valve("valve", discharge=0.6, area=0.01, density=1000.0))
    air = m.add(hydraulic.PressureSource("air", pressure=0.0))
    m.connect(tank.outlet, valve.a)
    m.connect(valve.b, air.a)
    return KnownSystem(
        m,
        span=(0.0, 30.0),
        start={"tank.level": 2.0},
        reference=Reference(30.0, REFERENCE, 9, "two methods at 1e-12 agree"),
        source="formula sheet on modelling and simulation, chapter on actuators",
    )


REFERENCE = {"tank.level": 1.0315071676252665}
