"""Two point masses on two rods in a plane, as M(q) q'' = h(q, q') in the angles from the hanging vertical.

With q = (a, b), c = cos(a - b), s = sin(a - b):

    [ (m1 + m2) l1²  m2 l1 l2 c ] [ a'' ]   [ -m2 l1 l2 s b'² - (m1 + m2) g l1 sin a ]
    [ m2 l1 l2 c     m2 l2²     ] [ b'' ] = [  m2 l1 l2 s a'² - m2 g l2 sin b        ]

The energy is conserved.

Reference: both masses in Cartesian coordinates with the two rod forces as unknowns, an independent derivation,
integrated by extrapolation with 40 digits.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Two rods of one metre and of 0.8 m, let go from rest far from the vertical.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("double_pendulum")
    >>> k.start["angle"], k.conserved
    (array([ 1.5, -0.5]), ('energy',))
    """
    m = Model("double_pendulum")
    angle = m.state("angle", 2, start=[1.5, -0.5], rate=[0.0, 0.0], unit="rad")
    mass = m.parameter("mass", [1.0, 0.5], unit="kg")
    length = m.parameter("length", [1.0, 0.8], unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")

    rate = m.der(angle)
    acceleration = m.der(rate)
    total, gap = mass[0] + mass[1], angle[0] - angle[1]
    lever = mass[1] * length[0] * length[1]
    weight = gravity * ca.vertcat(total, mass[1]) * length
    matrix = ca.blockcat(
        [[total * length[0] ** 2, lever * ca.cos(gap)], [lever * ca.cos(gap), mass[1] * length[1] ** 2]]
    )
    swirl = lever * ca.sin(gap) * ca.vertcat(-(rate[1] ** 2), rate[0] ** 2)
    m.equation(matrix @ acceleration, swirl - weight * ca.sin(angle), name="Lagrange")

    elbow = ca.vertcat(length[0] * ca.sin(angle[0]), -length[0] * ca.cos(angle[0]))
    tip = elbow + ca.vertcat(length[1] * ca.sin(angle[1]), -length[1] * ca.cos(angle[1]))
    m.draw("rod", [0, 0], to=elbow, name="upper rod")
    m.draw("rod", elbow, to=tip, name="lower rod")
    m.draw("point", elbow, name="elbow")
    m.draw("point", tip, name="tip")
    m.draw("trace", tip, name="tip path")
    m.output("elbow", elbow)
    m.output("tip", tip)
    m.output("energy", 0.5 * rate.T @ matrix @ rate - weight.T @ ca.cos(angle))
    return KnownSystem(
        m,
        span=(0.0, 5.0),
        conserved=("energy",),
        reference=Reference(5.0, REFERENCE, 15, "Cartesian form, extrapolation with 40 digits"),
        source="L. D. Landau, E. M. Lifshitz, Mechanics, 3rd ed. (1976), §5, problem 1",
    )


REFERENCE = {
    "angle": [-1.334761248241983, 7.316981263634533],
    "angle_dot": [-0.7292429924826754, 1.3368609830845002],
}
