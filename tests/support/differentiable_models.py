"""Small models whose sensitivities are known by another way."""

import casadi as ca
import numpy as np

import daedalus as dd

ANGLE, SPEED, LENGTH = 0.5, 0.3, 1.3


def pendulum_by_angle():
    """A pendulum in its angle, with the position of its end as outputs."""
    m = dd.Model("pendulum by angle")
    angle, speed = m.state("angle", start=ANGLE), m.state("speed", start=SPEED)
    length, gravity = m.parameter("length", LENGTH), m.parameter("gravity", 9.81)
    m.equation(m.der(angle), speed)
    m.equation(m.der(speed), -gravity / length * ca.sin(angle))
    m.output("q", ca.vertcat(length * ca.sin(angle), -length * ca.cos(angle)))
    return m


def pendulum_by_position():
    """The same pendulum in Cartesian coordinates with its rod as a constraint: index 3."""
    m = dd.Model("pendulum by position")
    length, gravity, mass = m.parameter("length", LENGTH), m.parameter("gravity", 9.81), m.parameter("mass", 2.0)
    q = m.coordinate("q", 2, start=position(ANGLE, LENGTH), rate=velocity(ANGLE, SPEED, LENGTH))
    m.kinetic_energy(0.5 * mass * ca.sumsqr(m.rate(q)))
    m.potential_energy(mass * gravity * q[1])
    m.constraint("rod", (ca.sumsqr(q) - length**2) / 2)
    return m


def position(angle, length):
    return length * np.array([np.sin(angle), -np.cos(angle)])


def velocity(angle, speed, length):
    return length * speed * np.array([np.cos(angle), np.sin(angle)])


def ball():
    """A bouncing ball: after each bounce the speed is e times smaller."""
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.2)
    e, g = m.parameter("e", 0.8), m.parameter("g", 9.81)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -g)
    m.event("bounce", h, direction=-1, reset={"v": -e * v})
    return m


def ball_at(h, v, e, g, end):
    """The exact state of the ball."""
    t = 0.0
    while True:
        flight = (v + np.sqrt(v * v + 2 * g * h)) / g
        if t + flight > end:
            rest = end - t
            return np.array([h + v * rest - g * rest**2 / 2, v - g * rest])
        t, v, h = t + flight, -e * (v - g * flight), 0.0


def central_differences(function, point, step=1e-6):
    """The Jacobian of a function of a vector, (values, point)."""
    columns = []
    for k in range(len(point)):
        change = np.zeros(len(point))
        change[k] = step * max(1.0, abs(point[k]))
        columns.append((function(point + change) - function(point - change)) / (2 * change[k]))
    return np.stack(columns, axis=-1)


def linear():
    """x' = A x + B u with one parameter in A; everything is known through the matrix exponential."""
    m = dd.Model("linear")
    x, u, a = m.state("x", 2, start=[1.0, -0.5]), m.input("u", 2), m.parameter("a", 0.7)
    m.equation(m.der(x), [-x[0] + a * x[1] + u[0], -2 * x[1] + 0.5 * u[1]])
    m.output("sum", x[0] + 3 * x[1] + u[0])
    return m
