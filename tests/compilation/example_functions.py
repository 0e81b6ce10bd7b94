"""Functions to compile: a quadrotor, and graphs as long as one likes."""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np

_numbers = itertools.count(1)


def fresh_number() -> float:
    """A constant that no function of this process has met, so that its code cannot be found in memory."""
    return 1.0 + next(_numbers) / 1024


def quadrotor() -> ca.Function:
    """Thirteen states (position, velocity, unit quaternion, rates), four rotor forces: (x, u) -> x'."""
    x, u = ca.SX.sym("x", 13), ca.SX.sym("u", 4)
    v, q, w = x[3:6], x[6:10], x[10:13]
    mass, arm, drag, inertia = 0.8, 0.17, 0.02, ca.DM([7e-3, 7e-3, 12e-3])
    up = ca.vertcat(2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1]), 1 - 2 * (q[1] ** 2 + q[2] ** 2))
    acceleration = up * ca.sum1(u) / mass - ca.vertcat(0, 0, 9.81)
    torque = ca.vertcat(arm * (u[1] - u[3]), arm * (u[2] - u[0]), drag * (u[0] - u[1] + u[2] - u[3]))
    turning = (torque - ca.cross(w, inertia * w)) / inertia
    q_dot = 0.5 * ca.vertcat(
        -q[1] * w[0] - q[2] * w[1] - q[3] * w[2],
        q[0] * w[0] + q[2] * w[2] - q[3] * w[1],
        q[0] * w[1] - q[1] * w[2] + q[3] * w[0],
        q[0] * w[2] + q[1] * w[1] - q[2] * w[0],
    )
    return ca.Function("quadrotor", [x, u], [ca.vertcat(v, acceleration, q_dot, turning)])


def long_function(instructions: int, factor: float | None = None) -> ca.Function:
    """Values that follow from random ones of the last 50 by random formulas, with at least so many instructions."""
    rng = np.random.default_rng(instructions)
    unary, binary = (ca.sin, ca.cos, ca.tanh, ca.atan, ca.erf, ca.fabs), (ca.plus, ca.minus, ca.fmin, ca.hypot, ca.fmax)
    x = ca.SX.sym("x", 50)
    y = ca.vertsplit(x)
    for step in range(instructions // 3 + 50):
        a, b = (y[k] for k in rng.integers(len(y) - 50, len(y), 2))
        turned = unary[rng.integers(len(unary))](a) * ((factor or fresh_number()) if step % 50 == 0 else 0.7)
        y.append(binary[rng.integers(len(binary))](turned, 0.3 * b))
    return ca.Function("long", [x], [ca.vertcat(*y[-50:]), ca.sum1(ca.vertcat(*y[-50:]))])


def start() -> np.ndarray:
    """Fifty ordinary numbers."""
    return np.random.default_rng(3).normal(size=50)
