"""Newton–Euler: how forces and torques accelerate a rigid body, in the body frame about the centre of mass.

[m I  0; 0  M] [a; α] + [0; ω × M ω] = [F; T]                  a: acceleration of the centre of mass
[m I  0; 0  M] [v'; ω'] + [m ω × v; ω × M ω] = [F; T]          v': rate of the velocity's body coordinates
"""

from __future__ import annotations

from typing import NamedTuple

from daedalus.geometry.array_or_symbol import (
    ArrayOrSymbol,
    Given,
    added,
    apply,
    build_matrix,
    build_vector,
    components,
    cross,
    dot,
    entries,
    read_matrix,
    read_scalar,
    read_vector,
    scaled,
    solve,
)
from daedalus.geometry.frames import ZERO


class BodyAccelerations(NamedTuple):
    """What `newton_euler` returns: the two accelerations of a body.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> dd.newton_euler(2.0, np.eye(3), force=[0, 0, 4.0], torque=[0, 0, 0]).linear
    array([0., 0., 2.])
    """

    linear: ArrayOrSymbol
    """of the centre of mass, m/s²; with a velocity given, the rate of its body coordinates"""
    angular: ArrayOrSymbol
    """rad/s²"""


def newton_euler(
    mass: Given,
    inertia: Given,
    force: Given,
    torque: Given,
    angular_velocity: Given = ZERO,
    velocity: Given = ZERO,
) -> BodyAccelerations:
    """The accelerations of a rigid body: linear = F/m − ω × v, angular = M⁻¹ (T − ω × M ω).

    All vectors are in the body frame.

    Parameters
    ----------
    mass: kg.
    inertia: M about the centre of mass; (..., 3, 3) numbers or a 3×3 symbol, kg m²; `dd.inertia.check` checks it.
    force, torque: resultant force, and torque about the centre of mass; (..., 3) numbers or 3×1 symbols.
    angular_velocity: ω, rad/s.
    velocity: of the centre of mass in body coordinates, m/s. Without it the result is the acceleration a; with it, the
        rate v' = a − ω × v of the body coordinates, which a simulation in body coordinates integrates.

    Example
    -------
    >>> import daedalus as dd
    >>> M = dd.inertia.tensor(1.0, 2.0, 3.0)
    >>> dd.newton_euler(2.0, M, force=[4.0, 0, 0], torque=[0, 0, 0], angular_velocity=[1.0, 1.0, 0]).angular
    array([ 0.        ,  0.        , -0.33333333])
    """
    m, tensor = read_scalar(mass, "mass"), read_matrix(inertia, 3, 3, "inertia")
    spin, speed = read_vector(angular_velocity, 3, "angular velocity"), read_vector(velocity, 3, "velocity")
    push, turn = read_vector(force, 3, "force"), read_vector(torque, 3, "torque")
    linear = added(scaled(1 / m, push), scaled(-1.0, cross(spin, speed)))
    return BodyAccelerations(linear, solve(tensor, added(turn, scaled(-1.0, cross(spin, apply(tensor, spin))))))


def newton_euler_matrices(
    mass: Given, inertia: Given, angular_velocity: Given, velocity: Given = ZERO
) -> tuple[ArrayOrSymbol, ArrayOrSymbol]:
    """The compact form: the 6×6 mass matrix and the 6-vector bias of mass_matrix · (a, α) + bias = (F, T).

    Parameters are those of `newton_euler`; without a velocity (a, α) are the accelerations, with it the rates of the
    body coordinates of velocity and angular velocity.

    Example
    -------
    >>> import daedalus as dd
    >>> mass_matrix, bias = dd.newton_euler_matrices(2.0, dd.inertia.tensor(1.0, 2.0, 3.0), [1.0, 1.0, 0.0])
    >>> mass_matrix.diagonal(), bias
    (array([2., 2., 2., 1., 2., 3.]), array([0., 0., 0., 0., 0., 1.]))
    """
    m, tensor = read_scalar(mass, "mass"), read_matrix(inertia, 3, 3, "inertia")
    spin, speed = read_vector(angular_velocity, 3, "angular velocity"), read_vector(velocity, 3, "velocity")
    upper = [[m if i == j else 0.0 for j in range(6)] for i in range(3)]
    lower = [[0.0, 0.0, 0.0, *row] for row in entries(tensor)]
    bias = [*components(scaled(m, cross(spin, speed))), *components(cross(spin, apply(tensor, spin)))]
    return build_matrix([*upper, *lower]), build_vector(bias)


def kinetic_energy(mass: Given, inertia: Given, velocity: Given, angular_velocity: Given) -> ArrayOrSymbol:
    """The kinetic energy ½ m vᵀv + ½ ωᵀ M ω of a rigid body, in J.

    Parameters
    ----------
    mass: kg.
    inertia: about the centre of mass; (..., 3, 3) numbers or a 3×3 symbol, kg m².
    velocity: of the centre of mass, m/s, in any frame.
    angular_velocity: rad/s, in the frame of the inertia.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> float(dd.kinetic_energy(2.0, np.eye(3), [1.0, 0, 0], [0, 0, 2.0]))
    3.0
    """
    m, tensor = read_scalar(mass, "mass"), read_matrix(inertia, 3, 3, "inertia")
    speed, spin = read_vector(velocity, 3, "velocity"), read_vector(angular_velocity, 3, "angular velocity")
    return (m * dot(speed, speed) + dot(spin, apply(tensor, spin))) / 2


def angular_momentum(inertia: Given, angular_velocity: Given) -> ArrayOrSymbol:
    """The angular momentum h = M ω of a rigid body about its centre of mass, in the frame of the inertia, N m s.

    Parameters
    ----------
    inertia: M about the centre of mass; (..., 3, 3) numbers or a 3×3 symbol, kg m².
    angular_velocity: ω, rad/s, in the same frame.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.angular_momentum(dd.inertia.tensor(1.0, 2.0, 3.0), [1.0, 1.0, 0.0])
    array([1., 2., 0.])
    """
    return apply(read_matrix(inertia, 3, 3, "inertia"), read_vector(angular_velocity, 3, "angular velocity"))


def angular_momentum_rate(inertia: Given, angular_velocity: Given, angular_acceleration: Given = ZERO) -> ArrayOrSymbol:
    """d/dt (M ω) = M ω' + ω × M ω in body coordinates: the torque about the centre of mass (Euler), N m.

    Parameters
    ----------
    inertia: M about the centre of mass in the body frame, kg m².
    angular_velocity, angular_acceleration: ω and ω' in the body frame, rad/s and rad/s².

    Example
    -------
    >>> import daedalus as dd
    >>> dd.angular_momentum_rate(dd.inertia.tensor(1.0, 2.0, 3.0), [1.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    tensor, spin = read_matrix(inertia, 3, 3, "inertia"), read_vector(angular_velocity, 3, "angular velocity")
    change = read_vector(angular_acceleration, 3, "angular acceleration")
    return added(apply(tensor, change), cross(spin, apply(tensor, spin)))
