"""A heavy symmetric top on its tip: attitude as a unit quaternion, scalar first, as an ODE.

    q' = ½ q ⊗ (0, ω),     J ω' + ω × J ω = l e_3 × Rᵀ (0, 0, −m g)

J is the inertia about the tip in the body frame and l the distance from there to the centre of mass along the body's z
axis. Energy, the angular momentum about the vertical and that about the axle are conserved, and |q|. With the turn rate
W about the vertical at the lean θ a spin s makes it precess steadily where (A − C) W² cos θ − C s W + m g l = 0.

Reference: rotation matrix and angular momentum in the world frame instead of quaternion and angular velocity, an
independent form, integrated by extrapolation with extended precision.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.geometry.quaternions import quaternion_rate, rotation_from_quaternion
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A top that leans by about half a radian, spins fast and is let go without precession: it nods as it goes round.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("gyroscope")
    >>> k.conserved
    ('energy', 'vertical_momentum', 'axle_momentum', 'quaternion_norm')
    """
    m = Model("gyroscope")
    # Half a radian about y: (cos 1/4, 0, sin 1/4, 0).
    lean = [0.96891242171064478, 0.0, 0.24740395925452293, 0.0]
    quaternion = m.state("quaternion", 4, start=lean)
    spin = m.state("angular_velocity", 3, start=[0.0, 0.0, 150.0], unit="rad/s")
    inertia = m.parameter("inertia", [0.012, 0.012, 0.003], unit="kg*m^2")
    mass = m.parameter("mass", 0.5, unit="kg")
    arm = m.parameter("arm", 0.1, unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")

    rotation = rotation_from_quaternion(quaternion, normalise=False)
    momentum = inertia * spin
    weight = rotation.T @ ca.vertcat(0, 0, -mass * gravity)
    torque = arm * ca.vertcat(-weight[1], weight[0], 0)
    m.equation(m.der(quaternion), quaternion_rate(quaternion, spin), name="attitude")
    m.equation(inertia * m.der(spin), torque - ca.cross(spin, momentum), name="Euler")

    axle, up = rotation[:, 2], rotation[2, :].T
    m.draw("rod", [0, 0, 0], to=1.6 * arm * axle, radius=0.004, name="axle")
    m.draw("cylinder", arm * axle, rotation=rotation, radius=0.08, length=0.015, colour="#0072b2", name="wheel")
    m.draw("box", arm * axle, rotation=rotation, size=[0.15, 0.012, 0.017], colour="#e69f00", name="spoke")
    m.draw("trace", 1.6 * arm * axle, name="tip")
    m.output("axle", axle)
    m.output("energy", 0.5 * momentum.T @ spin + mass * gravity * arm * up[2], unit="J")
    m.output("vertical_momentum", up.T @ momentum, unit="kg*m^2/s")
    m.output("axle_momentum", momentum[2], unit="kg*m^2/s")
    m.output("quaternion_norm", ca.sqrt(ca.sumsqr(quaternion)))
    return KnownSystem(
        m,
        span=(0.0, 1.0),
        conserved=("energy", "vertical_momentum", "axle_momentum", "quaternion_norm"),
        reference=Reference(1.0, REFERENCE, 13, "rotation-matrix form, extrapolation in extended precision"),
        source="H. Goldstein, Classical Mechanics, 2nd ed. (1980), §5.7",
    )


REFERENCE: dict[str, object] = {
    "quaternion": [0.9163793163797781, -0.25727409329679457, 0.027047272435047346, -0.3054953919185479],
    "angular_velocity": [0.6203088342358382, -0.7411200498317453, 150.0],
}
