"""A quadrotor with slightly unequal rotor thrusts: 13 states, 4 inputs, 10 s of tumbling flight.

States: position, velocity (world), quaternion (scalar first, body to world), angular velocity (body).
"""

from typing import Any

from benchmarks.problem import Problem, Rhs

# The numbers of the catalogue's quadrotor: mass, inertia about x, y, z, arm length, thrust-to-torque factor, gravity
PARAMETERS = (0.468, 4.856e-3, 4.856e-3, 8.801e-3, 0.225, 0.0245, 9.81)


def equations(m: Any) -> Rhs:
    def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
        mass, jx, jy, jz, arm, torque_factor, gravity = p[0], p[1], p[2], p[3], p[4], p[5], p[6]
        a, b, c, d = x[6], x[7], x[8], x[9]
        wx, wy, wz = x[10], x[11], x[12]
        lift = (u[0] + u[1] + u[2] + u[3]) / mass
        # position
        out[0], out[1], out[2] = x[3], x[4], x[5]
        # velocity: the third column of the rotation matrix times the lift, and gravity
        out[3] = 2 * (b * d + a * c) * lift
        out[4] = 2 * (c * d - a * b) * lift
        out[5] = (a * a - b * b - c * c + d * d) * lift - gravity
        # quaternion: half the product of q and (0, w)
        out[6] = 0.5 * (-b * wx - c * wy - d * wz)
        out[7] = 0.5 * (a * wx + c * wz - d * wy)
        out[8] = 0.5 * (a * wy + d * wx - b * wz)
        out[9] = 0.5 * (a * wz + b * wy - c * wx)
        # angular velocity: Euler's equations, rotors in '+' configuration
        out[10] = (arm * (u[1] - u[3]) + (jy - jz) * wy * wz) / jx
        out[11] = (arm * (u[2] - u[0]) + (jz - jx) * wz * wx) / jy
        out[12] = (torque_factor * (u[0] - u[1] + u[2] - u[3]) + (jx - jy) * wx * wy) / jz

    return rhs


PROBLEM = Problem(
    name="quadrotor",
    title="quadrotor, 13 states, 10 s",
    equations=equations,
    start=(0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0.2, -0.1, 0.1),
    inputs=(1.20, 1.15, 1.205, 1.155),
    parameters=PARAMETERS,
    end=10.0,
    reference=(
        -89.19621420580526,
        47.78143975034614,
        -33.892226530780746,
        -24.306044192968326,
        8.989518820006557,
        -6.963450887641335,
        -0.12469531823829802,
        -0.13185943614261705,
        0.09236531894400123,
        0.9790468908923482,
        0.4443505352542812,
        0.39471042256676486,
        2.8837745710714717,
    ),
    source="T. Luukkonen, Modelling and control of quadcopter, Aalto University (2011); attitude by a unit quaternion",
)
