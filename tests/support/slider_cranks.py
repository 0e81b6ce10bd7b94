"""Slider cranks written with positions or velocities constrained; with equal rods they have dead centres."""

import casadi as ca
import numpy as np

import daedalus as dd

MASSES = np.array([2.0, 0.5, 1.0])


def slider_crank(rod=1.0, index=3, speed=3.0):
    """Crank and rod; where they are equal and stand upright, a second motion begins, with the slider at rest."""
    m = dd.Model("slider crank")
    start = np.array([0.3, -np.arcsin(np.sin(0.3) / rod)])
    turn = -speed * np.cos(start[0]) / (rod * np.cos(start[1]))
    slide = [np.cos(start[0]) + rod * np.cos(start[1]), -speed * np.sin(start[0]) - turn * rod * np.sin(start[1])]
    q = m.state("q", 3, start=[*start, slide[0]])
    v = m.state("v", 3, start=[speed, turn, slide[1]])
    force = m.algebraic("force", 2)
    closure = ca.vertcat(ca.sin(q[0]) + rod * ca.sin(q[1]), q[2] - ca.cos(q[0]) - rod * ca.cos(q[1]))
    directions = ca.jacobian(closure, q)
    m.equation(m.der(q), v)
    m.equation(ca.DM(MASSES) * m.der(v), -directions.T @ force, name="motion")
    m.equation(closure if index == 3 else directions @ v, name="closure")
    return m


def slider_crank_with_coordinates(rod=1.0):
    """The same by its energy, for methods of mechanics."""
    m = dd.Model("slider crank")
    angle = -np.arcsin(np.sin(0.3) / rod)
    turn = -3.0 * np.cos(0.3) / (rod * np.cos(angle))
    rate = [3.0, turn, -3.0 * np.sin(0.3) - turn * rod * np.sin(angle)]
    q = m.coordinate("q", 3, start=[0.3, angle, np.cos(0.3) + rod * np.cos(angle)], rate=rate)
    m.kinetic_energy(0.5 * ca.dot(ca.DM(MASSES), m.rate(q) ** 2))
    m.constraint("height", ca.sin(q[0]) + rod * ca.sin(q[1]))
    m.constraint("reach", q[2] - ca.cos(q[0]) - rod * ca.cos(q[1]))
    return m


def parallelogram():
    """Two equal cranks and a coupler as long as the ground: both lie on the line of the ground at dead centres."""
    m = dd.Model("parallelogram")
    q = m.coordinate("q", 3, start=[0.5, 0.0, 0.5], rate=[3.0, 0.0, 3.0])
    m.kinetic_energy(0.5 * ca.dot(ca.DM([1.0, 0.7, 1.3]), m.rate(q) ** 2))
    m.constraint("x", ca.cos(q[0]) + 2 * ca.cos(q[1]) - 2 - ca.cos(q[2]))
    m.constraint("y", ca.sin(q[0]) + 2 * ca.sin(q[1]) - ca.sin(q[2]))
    return m


def pointed_groove(scale=1.0):
    """A mass in the groove x² = y³ on its way into the point of it; no smooth motion leads out of that."""
    m = dd.Model("pointed groove")
    q = m.coordinate("q", 2, start=[scale**1.5, scale], rate=[-1.5 * scale**0.5, -1.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("groove", q[0] ** 2 - q[1] ** 3)
    return m


def time_to_the_point():
    """The length of the groove from y = 1 on, by the speed of the mass, which stays."""
    return (13**1.5 - 8) / 27 / np.hypot(1.5, 1.0)


def angle_at(t):
    """The crank of equal rods on its own branch at a time, by quadrature: b = -a, s = 2 cos a, and energy stays."""
    from scipy.integrate import quad
    from scipy.optimize import brentq

    def speed(a):
        inertia = lambda a: MASSES[0] + MASSES[1] + 4 * MASSES[2] * np.sin(a) ** 2  # noqa: E731
        return 3.0 * np.sqrt(inertia(0.3) / inertia(a))

    return brentq(lambda a: quad(lambda b: 1 / speed(b), 0.3, a, limit=200)[0] - t, 0.3, 0.3 + 3.5 * t, xtol=1e-12)
