"""Two point masses on two rods in a plane, by their energies in the angles from the hanging vertical.

    T = ½ m1 ‖p1'‖² + ½ m2 ‖p2'‖²,  V = g (m1 y1 + m2 y2),  p1 = l1 (sin a, −cos a),  p2 = p1 + l2 (sin b, −cos b)

With c = cos(a − b), s = sin(a − b) this is

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
    angle = m.coordinate("angle", 2, start=[1.5, -0.5], rate=[0.0, 0.0], unit="rad")
    mass = m.parameter("mass", [1.0, 0.5], unit="kg")
    length = m.parameter("length", [1.0, 0.8], unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")

    elbow = ca.vertcat(length[0] * ca.sin(angle[0]), -length[0] * ca.cos(angle[0]))
    tip = elbow + ca.vertcat(length[1] * ca.sin(angle[1]), -length[1] * ca.cos(angle[1]))
    kinetic = 0.5 * mass[0] * ca.sumsqr(m.der(elbow)) + 0.5 * mass[1] * ca.sumsqr(m.der(tip))
    potential = gravity * (mass[0] * elbow[1] + mass[1] * tip[1])
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)

    m.draw("rod", [0, 0], to=elbow, name="upper rod")
    m.draw("rod", elbow, to=tip, name="lower rod")
    m.draw("point", elbow, name="elbow")
    m.draw("point", tip, name="tip")
    m.draw("trace", tip, name="tip path")
    m.output("elbow", elbow, unit="m")
    m.output("tip", tip, unit="m")
    m.output("energy", kinetic + potential, unit="J")
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
