"""A mass on a rigid cable in space: Cartesian coordinates, one constraint, index 3.

    T = ½ m p'ᵀp',   V = m g p_3,   c = ½ (pᵀp − L²) = 0,       m p'' + m g e_3 = u + p λ

λ = −z of the slides named below: −λ L is the pull of the cable. Without a force the energy and the angular momentum
about the vertical are conserved.

Reference: the two angles of a spherical pendulum, an independent form without constraint.

Problem: a crane's load, from rest at one side to rest a quarter turn further in two seconds, for the least ∫ |u|² dt
with 60 held forces; all states are fixed at both ends, although four of six are independent.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue.known_system import KnownSystem, Problem, known_problem
from daedalus.catalogue.reference import Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """A kilogram on a metre of cable, thrown sideways.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("pendulum_3d")
    >>> k.index, k.start["position"]
    (3, array([ 0.6,  0. , -0.8]))
    >>> round(k.model.mechanics().accelerations()["cable"], 4)
    -8.848
    """
    m = Model("pendulum_3d")
    position = m.coordinate("position", 3, start=[0.6, 0.0, -0.8], rate=[0.0, 1.0, 0.0], unit="m")
    force = m.input("force", 3, unit="N")
    mass = m.parameter("mass", 1.0, unit="kg")
    length = m.parameter("length", 1.0, unit="m")
    gravity = m.parameter("gravity", 9.81, unit="m/s^2")

    velocity = m.rate(position)
    kinetic, potential = 0.5 * mass * ca.sumsqr(velocity), mass * gravity * position[2]
    m.kinetic_energy(kinetic)
    m.potential_energy(potential)
    m.generalised_force(position, force)
    pull = m.constraint("cable", 0.5 * (ca.sumsqr(position) - length**2))

    m.output("tension", -pull * length, unit="N")
    m.output("energy", kinetic + potential, unit="J")
    m.output("spin", mass * (position[0] * velocity[1] - position[1] * velocity[0]), unit="kg*m^2/s")
    return KnownSystem(
        m,
        span=(0.0, 5.0),
        inputs={"force": np.zeros(3)},
        index=3,
        conserved=("energy", "spin"),
        reference=Reference(5.0, REFERENCE, 11, "spherical angles, order 8 at a tolerance of 1e-13"),
        control=carried_over,
        optimum=8.4569864,
        source="Numerical Optimal Control with DAEs, lecture 10: DAE models (2016), 3D pendulum",
    )


@known_problem(duration=2.0)
def carried_over(ocp: Problem, m: Model) -> None:
    """A quarter turn about the vertical, from rest to rest."""
    ocp.start(position=[0.6, 0.0, -0.8], position_dot=[0.0, 0.0, 0.0])
    ocp.finish(position=[0.0, 0.6, -0.8], position_dot=[0.0, 0.0, 0.0])
    ocp.minimise(running=ca.sumsqr(m["force"]))


REFERENCE: dict[str, object] = {
    "position": [-0.3328936957192933, -0.43447753111744963, -0.8369056471935389],
}
