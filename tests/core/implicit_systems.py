"""Implicit systems with known solutions: rows (x, z, x') as functions of time, with the models that they solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from known_orbit import orbit_exact

import daedalus as dd


@dataclass(frozen=True)
class Known:
    """A model, its exact rows, and for a higher index the indices and levels that the core scales by."""

    model: dd.Model
    exact: Callable[[np.ndarray], np.ndarray]
    states: int
    index: tuple[int, ...] = ()
    level: tuple[int, ...] = ()


def orbit(algebraic: bool, eccentricity: float = 0.3) -> Known:
    """Kepler's problem; the attraction as an expression, or as the algebraic unknown of z² r⁶ = 1 (index 1)."""
    m = dd.Model("orbit")
    q, v = m.state("q", 2), m.state("v", 2)
    square = ca.sumsqr(q)
    pull = m.algebraic("pull") if algebraic else square**-1.5
    m.equation(m.der(q), v)
    m.equation(m.der(v), -pull * q)
    if algebraic:
        m.equation(pull**2 * square**3, 1.0)

    def exact(t):
        x = np.atleast_2d(orbit_exact(np.asarray(t, float), eccentricity))[:, :4]
        attraction = (x[:, :1] ** 2 + x[:, 1:2] ** 2) ** -1.5
        z = attraction if algebraic else attraction[:, :0]
        return np.hstack([x, z, x[:, 2:], -attraction * x[:, :2]])

    return Known(m, exact, 4)


def cubic_in_the_rate() -> Known:
    """x'³ + x' (2 + x - sin t) = cos³ t + 2 cos t: not linear in x', solution sin t."""
    m = dd.Model("cubic")
    x = m.state("x")
    t, rate = m.time, m.der(x)
    m.equation(rate**3 + rate * (2 + x - ca.sin(t)), ca.cos(t) ** 3 + 2 * ca.cos(t))
    return Known(m, lambda t: np.stack([np.sin(t), np.cos(t)], -1), 1)


def singular_rate_matrix() -> Known:
    """x1' + x2' in both equations: index 1, yet no derivative follows from the equations alone."""
    m = dd.Model("singular")
    x, y = m.state("x"), m.state("y")
    t = m.time
    forcing = ca.exp(-t) * -1 - ca.sin(t)
    m.equation(m.der(x) + m.der(y) + x, forcing + ca.exp(-t))
    m.equation(m.der(x) + m.der(y) + y**3, forcing + ca.cos(t) ** 3)

    def exact(t):
        return np.stack([np.exp(-t), np.cos(t), -np.exp(-t), -np.sin(t)], -1)

    return Known(m, exact, 2)


def index_two() -> Known:
    """A test problem of Hairer, Lubich and Roche: solution e^t, e^-2t, and e^2t for z."""
    m = dd.Model("index 2")
    x, y, z = m.state("x"), m.state("y"), m.algebraic("z")
    m.equation(m.der(x), x * y**2 * z**2)
    m.equation(m.der(y), x**2 * y**2 - 3 * y**2 * z)
    m.equation(x**2 * y, 1.0)

    def exact(t):
        return np.stack([np.exp(t), np.exp(-2 * t), np.exp(2 * t), np.exp(t), -2 * np.exp(-2 * t)], -1)

    return Known(m, exact, 2, (1, 1, 2), (1, 1, 0))


def index_three() -> Known:
    """Another of theirs: positions e^2t, e^-t, velocities e^2t, e^-t, multiplier e^t."""
    m = dd.Model("index 3")
    y1, y2, z1, z2 = (m.state(name) for name in ("y1", "y2", "z1", "z2"))
    force = m.algebraic("u")
    m.equation(m.der(y1), 2 * y1 * y2 * z1 * z2)
    m.equation(m.der(y2), -y1 * y2 * z2**2)
    m.equation(m.der(z1), (y1 * y2 + z1 * z2) * force)
    m.equation(m.der(z2), -y1 * y2**2 * z2**2 * force)
    m.equation(y1 * y2**2, 1.0)

    def exact(t):
        up, down = np.exp(2 * t), np.exp(-t)
        return np.stack([up, down, up, down, np.exp(t), 2 * up, -down, 2 * up, -down], -1)

    return Known(m, exact, 4, (1, 1, 2, 2, 3), (1, 1, 2, 2, 0))
