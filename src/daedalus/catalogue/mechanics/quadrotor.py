"""A quadrotor: 13 states, 4 inputs (the rotor thrusts), attitude as a unit quaternion, scalar first.

    p' = v                                m v' = R(q) (0, 0, Σ u_i) - (0, 0, m g)
    q' = ½ q ⊗ (0, ω)                     J ω' = τ - ω × J ω
    τ = (l (u_2 - u_4), l (u_3 - u_1), k (u_1 - u_2 + u_3 - u_4))

Position and velocity are in the world frame (z up), the angular velocity in the body frame. The rotors sit in a plus:
1 on the body's +x axis, 2 on +y, 3 on -x, 4 on -y; 1 and 3 turn one way, 2 and 4 the other. The equations keep |q|
whatever the inputs are.

Mass, moments of inertia and arm are those of T. Luukkonen, Modelling and control of quadcopter, Aalto University
(2011); the ratio of drag torque to thrust is a usual one for propellers of this size.

Reference: rotation matrix and angular momentum in the world frame instead of quaternion and angular velocity, an
independent form, integrated by extrapolation with 40 digits.

Problem: from hovering to hovering one metre along each axis in one second, with thrusts between 0 and 2.5 N, for the
least ∫ |thrust - hover|² dt with 60 held thrusts; all thirteen states are fixed at both ends, twelve are independent.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.errors import InputError
from daedalus.geometry.quaternions import quaternion_rate, rotation_from_quaternion
from daedalus.model.model import Model


def build(form: str = "ode") -> KnownSystem:
    """Ten seconds of flight with constant, slightly unequal thrusts and a small spin at the start.

    form: "ode", the equations above with the invariant |q|² = 1, or "dae" with it as a row, as in document 001. Its 14
    rows for 13 unknowns become square with a multiplier, q' = ½ q ⊗ (0, ω) + λ q, which stays zero: the others keep it.
    "plain" has the 13 equations alone: starts off |q| = 1 and derivatives by them have a meaning there.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("quadrotor")
    >>> k.model.freeze().sizes["x"], k.inputs["thrust"].shape
    (13, (4,))
    >>> catalogue.load("quadrotor", form="dae").index
    2
    """
    if form not in ("ode", "dae", "plain"):
        raise InputError(f"The quadrotor has no form {form!r}.", remedy='form="ode", form="dae" or form="plain"')
    m = Model("quadrotor")
    position = m.state("position", 3, start=[0.0, 0.0, 0.0], unit="m")
    velocity = m.state("velocity", 3, start=[0.0, 0.0, 0.0], unit="m/s")
    quaternion = m.state("quaternion", 4, start=[1.0, 0.0, 0.0, 0.0])
    angular_velocity = m.state("angular_velocity", 3, start=[0.2, -0.1, 0.1], unit="rad/s")
    thrust = m.input("thrust", 4, unit="N")
    mass = m.parameter("mass", 0.468, unit="kg")
    inertia = m.parameter("inertia", [4.856e-3, 4.856e-3, 8.801e-3], unit="kg*m^2")
    arm = m.parameter("arm", 0.225, unit="m")
    torque_factor = m.parameter("torque_factor", 0.0245, unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")

    # Forces act along the body's z axis: the third column of the rotation.
    up = rotation_from_quaternion(quaternion, normalise=False)[:, 2]
    torque = ca.vertcat(
        arm * (thrust[1] - thrust[3]),
        arm * (thrust[2] - thrust[0]),
        torque_factor * (thrust[0] - thrust[1] + thrust[2] - thrust[3]),
    )
    momentum = inertia * angular_velocity
    m.equation(m.der(position), velocity, name="kinematics")
    m.equation(m.der(velocity), up * (ca.sum1(thrust) / mass) - ca.vertcat(0, 0, gravity), name="Newton")
    rate = quaternion_rate(quaternion, angular_velocity)
    if form == "dae":
        rate = rate + m.algebraic("stretch") * quaternion
        m.equation(ca.sumsqr(quaternion), 1, name="unit length")
    elif form == "ode":
        m.invariant("unit length", ca.sumsqr(quaternion), 1)
    m.equation(m.der(quaternion), rate, name="attitude")
    m.equation(m.der(angular_velocity), (torque - ca.cross(angular_velocity, momentum)) / inertia, name="Euler")

    _draw(m, position, rotation_from_quaternion(quaternion), arm, thrust)
    m.output("quaternion_norm", ca.sqrt(ca.sumsqr(quaternion)))
    m.output("up", up)
    m.output(
        "energy",
        0.5 * mass * ca.sumsqr(velocity) + 0.5 * momentum.T @ angular_velocity + mass * gravity * position[2],
        unit="J",
    )
    return KnownSystem(
        m,
        span=(0.0, 10.0),
        inputs={"thrust": np.array([1.20, 1.15, 1.205, 1.155])},
        index=2 if form == "dae" else 0,
        conserved=("quaternion_norm",),
        reference=Reference(10.0, REFERENCE, 15, "rotation-matrix form, extrapolation with 40 digits"),
        control=flight,
        optimum=1.2787645,
        source="T. Luukkonen, Modelling and control of quadcopter, Aalto University (2011), with a unit quaternion",
    )


def _draw(m: Model, position: ca.SX, rotation: ca.SX, arm: ca.SX, thrust: ca.SX) -> None:
    """Hub, two beams and four rotors with their thrusts; the first rotor is orange."""
    m.draw("box", position, rotation=rotation, size=[0.12, 0.12, 0.05], colour="#444b52", name="hub")
    for k, (x, y) in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
        rotor = position + rotation @ ca.vertcat(x * arm, y * arm, 0)
        m.draw("rod", position, to=rotor, radius=0.012, colour="#8a949e", name=f"beam {k + 1}")
        colour = "#d55e00" if k == 0 else "#0072b2"
        m.draw("cylinder", rotor, rotation=rotation, radius=0.12, length=0.012, colour=colour, opacity=0.7,
               name=f"rotor {k + 1}")  # fmt: skip
        m.draw("arrow", rotor, vector=thrust[k] * rotation[:, 2], scale=0.25, name=f"thrust {k + 1}")
    m.draw("trace", position, name="flight")


@known_problem(duration=1.0)
def flight(ocp: Problem, m: Model) -> None:
    """From hovering to hovering."""
    rest = {"velocity": np.zeros(3), "quaternion": [1.0, 0.0, 0.0, 0.0], "angular_velocity": np.zeros(3)}
    ocp.start({"position": [0.0, 0.0, 0.0], **rest})
    ocp.finish({"position": [1.0, 1.0, 1.0], **rest})
    ocp.bound("thrust", 0.0, 2.5)
    ocp.minimise(running=ca.sumsqr(m["thrust"] - m["mass"] * m["gravity"] / 4))


REFERENCE = {
    "position": [-89.19621420580526, 47.78143975034614, -33.892226530780746],
    "velocity": [-24.306044192968326, 8.989518820006557, -6.963450887641335],
    "quaternion": [-0.124695318238298, -0.13185943614261705, 0.09236531894400123, 0.9790468908923482],
    "angular_velocity": [0.4443505352542812, 0.39471042256676486, 2.8837745710714717],
}
