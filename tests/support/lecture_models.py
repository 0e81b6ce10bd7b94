"""The models whose derivations the lectures print, written in their letters."""

import casadi as ca
import numpy as np

import daedalus as dd


def parameters(m, names, value=1.0):
    return [m.parameter(name, value) for name in names.split()]


def cart_pendulum():
    """The slide's own energies: the angle from the upright in both (its T has −sin for cos)."""
    m = dd.Model("cart pendulum")
    x, theta = m.coordinate("x", start=0.0, rate=0.0), m.coordinate("theta", start=0.5, rate=0.0)
    mass, bob, length, g = parameters(m, "m M L g")
    place = ca.vertcat(x + length * ca.sin(theta), length * ca.cos(theta))
    m.kinetic_energy(0.5 * mass * m.rate(x) ** 2 + 0.5 * bob * ca.sumsqr(m.der(place)))
    m.potential_energy(bob * g * place[1])
    return m


def pendulum_3d():
    m = dd.Model("3D pendulum")
    p = m.coordinate("p", 3, start=[0.6, 0.0, -0.8], rate=[0.0, 0.5, 0.0])
    mass, g, length = parameters(m, "m g L")
    u = m.input("u", 3)
    m.kinetic_energy(0.5 * mass * ca.sumsqr(m.rate(p)))
    m.potential_energy(mass * g * p[2])
    m.constraint("z", 0.5 * (ca.sumsqr(p) - length**2))
    m.generalised_force(p, u)
    return m


def delta_robot():
    m = dd.Model("delta robot")
    p = m.coordinate("p", 3, start=[0.0, 0.0, -0.4], rate=[0.0, 0.0, 0.0])
    alpha = m.coordinate("alpha", 3, start=[0.3, 0.3, 0.3], rate=[0.0, 0.0, 0.0])
    mass, arm, inertia, long, short, d, g = parameters(m, "m M J L l d g")
    m.kinetic_energy(0.5 * mass * ca.sumsqr(m.rate(p)) + 0.5 * inertia * ca.sumsqr(m.rate(alpha)))
    m.potential_energy(mass * g * p[2] - 0.5 * arm * g * short * ca.sum1(ca.sin(alpha)))
    gaps = []
    for k in range(3):
        turn = 2 * np.pi * k / 3
        out = d + short * ca.cos(alpha[k])
        tip = ca.vertcat(np.cos(turn) * out, np.sin(turn) * out, -short * ca.sin(alpha[k]))
        gaps.append(ca.sumsqr(p - tip) - long**2)
    m.constraint("z", ca.vertcat(*gaps))
    return m


def double_pendulum():
    m = dd.Model("double pendulum")
    q = m.coordinate("q", 2, start=[0.3, 0.2], rate=[0.0, 0.0])
    m1, m2, one, two, g = parameters(m, "m_1 m_2 l_1 l_2 g")
    first = one * ca.vertcat(ca.sin(q[0]), -ca.cos(q[0]))
    second = first + two * ca.vertcat(ca.sin(q[1]), -ca.cos(q[1]))
    m.kinetic_energy(0.5 * m1 * ca.sumsqr(m.der(first)) + 0.5 * m2 * ca.sumsqr(m.der(second)))
    m.potential_energy(g * (m1 * first[1] + m2 * second[1]))
    return m


def quadrotor():
    m = dd.Model("quadrotor")
    mass, jx, jy, jz, arm, g, drag = parameters(m, "m J_x J_y J_z l g k")
    m.gravity(ca.vertcat(0, 0, -g))
    body = m.body("b", mass=mass, inertia=ca.diag(ca.vertcat(jx, jy, jz)), orientation="quaternion")
    f = m.input("f", 4)
    body.apply_force(ca.vertcat(0, 0, ca.sum1(f)), frame="body")
    body.apply_torque(
        ca.vertcat(arm * (f[1] - f[3]), arm * (f[2] - f[0]), drag * (f[0] - f[1] + f[2] - f[3])), frame="body"
    )
    return m


def series_rlc():
    c, m = dd.components.electrical, dd.Model("RLC")
    u = m.input("u")
    r, coil = m.add(c.Resistor("r", resistance=1.0)), m.add(c.Inductor("l", inductance=0.1))
    plates, source = m.add(c.Capacitor("c", capacitance=0.01)), m.add(c.VoltageSource("v", voltage=u))
    ground = m.add(c.Ground("ground"))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, coil.plus)
    m.connect(coil.minus, plates.plus)
    m.connect(plates.minus, source.minus, ground.pin)
    return m


def dc_motor():
    c, m = dd.components, dd.Model("DC motor")
    u = m.input("u")
    motor = m.add(c.machines.DCMotor("motor", resistance=1.0, inductance=1e-3, constant=0.05, inertia=1e-4))
    load = m.add(c.rotational.Inertia("load", inertia=2e-3))
    source, ground = m.add(c.electrical.VoltageSource("source", voltage=u)), m.add(c.electrical.Ground("ground"))
    m.connect(motor.shaft, load.shaft)
    m.connect(source.plus, motor.plus)
    m.connect(source.minus, motor.minus, ground.pin)
    return m
