"""A pendulum on a cart, pushed by a force: M(q) q'' = h(q, q') + (force, 0) with q = (position, angle).

The angle is measured from the upright, so that the bob (mass M) is at (x + L sin θ, L cos θ) and

    T = ½ (m + M) x'² + M L x' θ' cos θ + ½ M L² θ'²,    V = M g L cos θ,

    [ m + M      M L cos θ ] [ x'' ]   [ M L θ'² sin θ + force ]
    [ M L cos θ  M L²      ] [ θ'' ] = [ M g L sin θ           ]

The slides named below print T with -sin θ instead of cos θ, which belongs to an angle from the horizontal, beside this
V, which belongs to an angle from the upright; here both mean the same angle. While the force is constant,
T + V - force x is conserved.

Reference: bob and cart in Cartesian coordinates with the rod force as unknown, an independent derivation, integrated
by extrapolation with 40 digits.

Problem: swing up from hanging and stop one metre further after two seconds, with a bob of 0.3 kg and at most 20 N, for
the least ∫ force² dt. After M. Kelly, An introduction to trajectory optimization, SIAM Review 59 (2017), 849-904, whose
motion costs 59.03 with 60 held forces (58.81 with a force that moves freely); one that first swings the bob beyond the
upright costs 58.22 (57.94).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A cart of 1 kg with a bob of 0.2 kg that falls from near the upright while the cart is pushed.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("cart_pendulum")
    >>> k.inputs, list(k.start)
    ({'force': 0.5}, ['position', 'position_dot', 'angle', 'angle_dot'])
    """
    m = Model("cart_pendulum")
    position = m.coordinate("position", start=0.0, rate=0.0, unit="m")
    angle = m.coordinate("angle", start=0.5, rate=0.0, unit="rad")
    force = m.input("force", unit="N")
    cart_mass = m.parameter("cart_mass", 1.0, unit="kg")
    bob_mass = m.parameter("bob_mass", 0.2, unit="kg")
    length = m.parameter("length", 0.5, unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")

    velocity, rate = m.der(position), m.der(angle)
    coupling = bob_mass * length * ca.cos(angle)
    kinetic = (
        0.5 * (cart_mass + bob_mass) * velocity**2 + coupling * velocity * rate + 0.5 * bob_mass * (length * rate) ** 2
    )
    potential = bob_mass * gravity * length * ca.cos(angle)
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.generalised_force(position, force)
    energy = kinetic + potential
    bob = ca.vertcat(position + length * ca.sin(angle), length * ca.cos(angle))
    m.draw("box", [position, 0], size=[0.24, 0.1, 0.12], name="cart")
    m.draw("rod", [position, 0], to=bob, radius=0.01, name="pole")
    m.draw("sphere", bob, radius=0.045, name="bob")
    m.draw("arrow", [position, 0], vector=[force, 0], name="force")
    m.output("bob", bob, unit="m")
    m.output("energy", energy, unit="J")
    m.output("energy_less_work", energy - force * position, unit="J")
    return KnownSystem(
        m,
        span=(0.0, 4.0),
        inputs={"force": 0.5},
        conserved=("energy_less_work",),
        reference=Reference(4.0, REFERENCE, 15, "Cartesian form, extrapolation with 40 digits"),
        control=swing_up,
        optimum=58.218704,
        source="S. Gros, Numerical Optimal Control with DAEs, lecture slides (2016), pendulum on a cart, corrected",
    )


@known_problem(duration=2.0, parameters={"bob_mass": 0.3})
def swing_up(ocp: Problem, m: Model) -> None:
    """From hanging at rest to upright at rest."""
    ocp.start(position=0.0, angle=np.pi, position_dot=0.0, angle_dot=0.0)
    ocp.finish(position=1.0, angle=0.0, position_dot=0.0, angle_dot=0.0)
    ocp.bound("force", -20.0, 20.0)
    ocp.minimise(running=m["force"] ** 2)


REFERENCE = {
    "position": 3.4298869973986115,
    "position_dot": 1.843021252177547,
    "angle": 5.536488099578123,
    "angle_dot": -2.883431922955846,
}
