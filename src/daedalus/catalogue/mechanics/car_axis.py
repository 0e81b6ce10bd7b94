"""The car axis: a bar on two springs over a bumpy road, with the left wheel on a moving line; index 3.

p = (x_l, y_l, x_r, y_r) are the ends of the bar, K = ε² M / 2 the mass of each, and the right spring stands on a road
that goes up and down, (x_b, y_b) = (√(L² − y_b²), h sin ω t):

    T = ½ K p'ᵀp',    V = ½ (L_l − L_0)² + ½ (L_r − L_0)² + K (y_l + y_r)
    x_l x_b + y_l y_b = 0,    (x_l − x_r)² + (y_l − y_r)² − L² = 0

with the springs' lengths L_l = ‖(x_l, y_l)‖ and L_r = ‖(x_r − x_b, y_r − y_b)‖. The constraint contains the time.

Reference: for the left end F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4 (2008), Car
Axis; for the right end a run of order 8 on the differentiated constraints, which has 12 digits of the left end.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """The problem of the test set, without units.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("car_axis")
    >>> k.reference["position"][:2]
    array([0.04934558, 0.49698946])
    """
    m = Model("car_axis")
    position = m.coordinate("position", 4, start=[0.0, 0.5, 1.0, 0.5], rate=[-0.5, 0.0, -0.5, 0.0])
    bar = m.parameter("L", 1.0)
    rest = m.parameter("L_0", 0.5)
    epsilon = m.parameter("epsilon", 0.01)
    mass = m.parameter("M", 10.0)
    height = m.parameter("h", 0.1)
    speed = m.parameter("omega", 10.0)

    weight = epsilon**2 * mass / 2
    left, right = position[:2], position[2:]
    bump = height * ca.sin(speed * m.time)
    road = ca.vertcat(ca.sqrt(bar**2 - bump**2), bump)
    m.kinetic_energy(0.5 * weight * ca.sumsqr(m.rate(position)))
    for spring in (left, right - road):
        m.potential_energy(0.5 * (ca.norm_2(spring) - rest) ** 2)
    m.potential_energy(weight * (left[1] + right[1]))
    m.constraint("line", left.T @ road)
    m.constraint("bar", ca.sumsqr(left - right) - bar**2)
    m.draw("rod", left, to=right, name="axle")
    m.draw("spring", [0, 0], to=left, name="left spring")
    m.draw("spring", road, to=right, name="right spring")
    m.draw("line", through=[[0, 0], road], name="road")
    return KnownSystem(
        m,
        span=(0.0, 3.0),
        index=3,
        reference=Reference(3.0, REFERENCE, 11, "Test Set for Initial Value Problem Solvers"),
        source="F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers (2008), Car Axis",
    )


REFERENCE: dict[str, object] = {
    "position": [0.04934557842754028, 0.49698946023017115, 1.04174252488547, 0.3739110272653],
}
