"""A delta robot: a nacelle on three long arms, each moved by a short arm on a motor; index 3.

With the short arms at the angles α_k below the horizontal, their tips are at

    r_k = R_z(2π k/3) (d + l cos α_k, 0, −l sin α_k),     k = 0, 1, 2

    T = ½ m p'ᵀp' + ½ J Σ α_k'²,    V = m g p_3 − ½ Σ M g l sin α_k,    c_k = ‖p − r_k‖² − L² = 0

The slides named below print + ½ Σ M g l sin α_k, which would be a short arm that gains height while its tip goes down,
and m g p_3 inside the sum of the Lagrangian. The long arms have no mass. While the torques are constant,
T + V − Σ torque_k α_k is conserved.

Reference: the position of the nacelle as the only coordinates, with α_k(p) in closed form.

Problem: pick and place, from rest to rest in half a second with torques of at most 1.4 N m, for the least
∫ |torque|² dt with 60 held torques; all twelve states are fixed at both ends, although six are independent.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Let go from rest with unequal arms, while the motors nearly carry the weight.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("delta_robot")
    >>> k.model.freeze().sizes["z"], k.inputs["torque"]
    (3, array([-1.4, -1.3, -1.2]))
    """
    m = Model("delta_robot")
    arms = np.array([0.3, 0.5, 0.4])
    position = m.coordinate("position", 3, start=nacelle(arms), rate=[0.0, 0.0, 0.0], unit="m")
    angle = m.coordinate("angle", 3, start=arms, rate=[0.0, 0.0, 0.0], unit="rad")
    torque = m.input("torque", 3, unit="N*m")
    mass = m.parameter("mass", 0.5, unit="kg")
    arm_mass = m.parameter("arm_mass", 0.4, unit="kg")
    inertia = m.parameter("inertia", 0.012, unit="kg*m^2")
    long = m.parameter("long_arm", LONG, unit="m")
    short = m.parameter("short_arm", SHORT, unit="m")
    distance = m.parameter("distance", DISTANCE, unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")

    kinetic = 0.5 * mass * ca.sumsqr(m.rate(position)) + 0.5 * inertia * ca.sumsqr(m.rate(angle))
    potential = mass * gravity * position[2] - 0.5 * arm_mass * gravity * short * ca.sum1(ca.sin(angle))
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.generalised_force(angle, torque)
    gaps, tips = [], []
    for k in range(3):
        c, s = np.cos(2 * np.pi * k / 3), np.sin(2 * np.pi * k / 3)
        out = distance + short * ca.cos(angle[k])
        tip = ca.vertcat(c * out, s * out, -short * ca.sin(angle[k]))
        gaps.append(ca.sumsqr(position - tip) - long**2)
        tips.append((ca.vertcat(c * distance, s * distance, 0), tip))
    m.constraint("arm", ca.vertcat(*gaps))
    for k, (motor, tip) in enumerate(tips):
        m.draw("rod", motor, to=tip, radius=0.014, colour="#d55e00", name=f"short arm {k + 1}")
        m.draw("rod", tip, to=position, radius=0.008, colour="#8a949e", name=f"long arm {k + 1}")
        m.draw("sphere", motor, radius=0.03, colour="#444b52", name=f"motor {k + 1}")
    m.draw("cylinder", position, radius=0.05, length=0.02, colour="#0072b2", name="nacelle")

    m.output("energy", kinetic + potential - torque.T @ angle, unit="J")
    return KnownSystem(
        m,
        span=(0.0, 0.5),
        inputs={"torque": np.array([-1.4, -1.3, -1.2])},
        index=3,
        conserved=("energy",),
        reference=Reference(0.5, REFERENCE, 12, "coordinates of the nacelle alone, order 8 at a tolerance of 1e-13"),
        control=pick_and_place,
        optimum=2.04499215,
        source="Numerical Optimal Control with DAEs, lecture 10: DAE models (2016), delta robot, potential corrected",
    )


@known_problem(duration=0.5)
def pick_and_place(ocp: Problem, m: Model) -> None:
    """From one pose to another, at rest in both."""
    pick, place = np.array([0.3, 0.5, 0.4]), np.array([0.6, 0.2, 0.3])
    rest = {"position_dot": np.zeros(3), "angle_dot": np.zeros(3)}
    ocp.start({"position": nacelle(pick), "angle": pick, **rest})
    ocp.finish({"position": nacelle(place), "angle": place, **rest})
    ocp.bound("torque", -1.4, 1.4)
    ocp.minimise(running=ca.sumsqr(m["torque"]))


# A usual table robot, in metres.
LONG, SHORT, DISTANCE = 0.6, 0.3, 0.1


def nacelle(angles: np.ndarray) -> np.ndarray:
    """Where three spheres of radius L about the tips of the short arms meet below them."""
    turns = 2 * np.pi * np.arange(3) / 3
    out = DISTANCE + SHORT * np.cos(angles)
    tips = np.stack([np.cos(turns) * out, np.sin(turns) * out, -SHORT * np.sin(angles)], axis=1)
    # The foot point: the centre of the circle through the three tips; then straight down from their plane.
    one, two = tips[1] - tips[0], tips[2] - tips[0]
    normal = np.cross(one, two)
    foot = np.cross((one @ one) * two - (two @ two) * one, normal) / (2 * normal @ normal)
    drop = np.sqrt(LONG**2 - foot @ foot) * normal / np.linalg.norm(normal)
    return tips[0] + foot - drop


REFERENCE: dict[str, object] = {
    "position": [0.01962447659598564, 0.040482088063711855, -0.3776356635401212],
    "angle": [-0.33124321323642514, -0.35298761837272186, -0.08751254600398628],
}
