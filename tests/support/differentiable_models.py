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


def diode_circuit():
    """A capacitor behind a diode with a resistance of its own: two algebraic equations without formulas."""
    m = dd.Model("diode circuit")
    v, charge = m.state("v", start=0.5), m.state("charge", start=0.1)
    i, drop = m.algebraic("i", start=0.1), m.algebraic("drop", start=0.1)
    resistance, capacity = m.parameter("resistance", 2.0), m.parameter("capacity", 0.7)
    leak, u = m.parameter("leak", 0.3), m.input("u")
    m.equation(capacity * m.der(v), u - v / resistance - i)
    m.equation(m.der(charge), i - charge)
    m.equation(i, leak * (ca.exp(drop) - 1))
    m.equation(v, drop + 0.5 * i + 0.05 * i**3)
    m.output("power", v * i)
    return m


def leaking_tank(drain=False):
    """x' = -k z with z + z³ = x; `drain` adds an event whose guard and reset depend on z and time."""
    m = dd.Model("leaking tank")
    x, y, z = m.state("x", start=1.0), m.state("y", start=0.0), m.algebraic("z", start=0.6)
    k, level = m.parameter("k", 1.5), m.parameter("level", 0.3)
    m.equation(m.der(x), -k * z)
    m.equation(m.der(y), z**2)
    m.equation(z + z**3, x)
    if drain:
        m.event("low", z - level - 0.05 * m.time, direction=-1, reset={"x": x + level + 0.5 * z, "y": 0.5 * y})
    return m


def leaking_tank_as_ode():
    """The same in z itself: (1 + 3z²) z' = -k z."""
    m = dd.Model("leaking tank as ODE")
    z, y, k = m.state("z", start=TANK_LEVEL), m.state("y", start=0.0), m.parameter("k", 1.5)
    m.equation(m.der(z), -k * z / (1 + 3 * z**2))
    m.equation(m.der(y), z**2)
    return m


# z + z³ = 1
TANK_LEVEL = 0.6823278038280193


def damped_pendulum(cartesian):
    """A pendulum with a damping force f + f³ = speed, without a formula: by position (index 3) or by angle."""
    m = dd.Model("damped pendulum")
    length, c = m.parameter("length", 1.0), m.parameter("c", 0.4)
    f = m.algebraic("f", start=0.0)
    if cartesian:
        q = m.coordinate("q", 2, start=position(ANGLE, 1.0), rate=[0.0, 0.0])
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(9.81 * q[1])
        m.constraint("rod", (ca.sumsqr(q) - length**2) / 2)
        across = ca.vertcat(-q[1], q[0])
        m.equation(f + f**3, ca.dot(across, m.rate(q)) / length)
        m.generalised_force(q, -c * f * across / length)
        return m
    angle, speed = m.state("angle", start=ANGLE), m.state("speed", start=0.0)
    m.equation(m.der(angle), speed)
    m.equation(m.der(speed), -9.81 / length * ca.sin(angle) - c * f / length)
    m.equation(f + f**3, speed * length)
    m.output("q", length * ca.vertcat(ca.sin(angle), -ca.cos(angle)))
    return m
