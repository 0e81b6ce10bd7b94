"""Problems of index 0 and 1 with known solutions, for the Rosenbrock methods of the core."""

from __future__ import annotations

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus.model.system import System


def orbit() -> System:
    """Kepler's problem and x' = x cos t, as known_orbit solves it; the first two equations are mixed."""
    m = dd.Model("orbit")
    q, v, e = m.state("q", 2, start=0.0), m.state("v", 2, start=0.0), m.state("e", start=1.0)
    away = (q[0] ** 2 + q[1] ** 2) ** -1.5
    dq = m.der(q)
    m.equation(2 * dq[0] + dq[1], 2 * v[0] + v[1])
    m.equation(dq[0] - dq[1], v[0] - v[1])
    m.equation(m.der(v), -away * q)
    m.equation(m.der(e), e * ca.cos(m.time))
    return m.freeze()


def index_1() -> System:
    """x' = x z and a nonlinear constraint; x = exp(sin t), z = cos t."""
    m = dd.Model("index_1")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    known_x, known_z = ca.exp(ca.sin(m.time)), ca.cos(m.time)
    m.equation(m.der(x), x * z)
    m.equation(ca.exp(z / 4) * (2 + x), ca.exp(known_z / 4) * (2 + known_x))
    return m.freeze()


def index_1_exact(t: np.ndarray) -> np.ndarray:
    x, z = np.exp(np.sin(t)), np.cos(t)
    return np.stack([x, z, x * z], axis=-1)


def driven() -> System:
    """x' = u x and z + z³ = u x + (u x)³: x = exp(∫u), z = u x."""
    m = dd.Model("driven")
    x, z, u = m.state("x", start=1.0), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), u * x)
    m.equation(z + z**3, u * x + (u * x) ** 3)
    return m.freeze()


# A linear table for `driven`, and its solution.
TABLE_TIMES = np.array([0.0, 0.7, 1.5, 2.5])
TABLE_VALUES = np.array([0.5, -1.0, 0.25, 1.5])


def driven_exact(t: np.ndarray) -> np.ndarray:
    u = np.interp(t, TABLE_TIMES, TABLE_VALUES)
    area = np.zeros_like(u)
    for k in range(len(TABLE_TIMES) - 1):
        begin, end = TABLE_TIMES[k], TABLE_TIMES[k + 1]
        upto = np.clip(t, begin, end)
        area += 0.5 * (upto - begin) * (TABLE_VALUES[k] + np.interp(upto, TABLE_TIMES, TABLE_VALUES))
    x = np.exp(area)
    return np.stack([x, u * x], axis=-1)


def stiff_tracking() -> System:
    """Prothero and Robinson: x' = -rate (x - sin t) + cos t, x = sin t whatever the rate."""
    m = dd.Model("stiff_tracking")
    x, rate = m.state("x", start=0.0), m.parameter("rate", 1.0)
    m.equation(m.der(x), -rate * (x - ca.sin(m.time)) + ca.cos(m.time))
    return m.freeze()


def bouncing() -> System:
    """A ball whose force is an algebraic variable."""
    m = dd.Model("bouncing")
    h, v, force = m.state("h", start=1.0), m.state("v", start=0.0), m.algebraic("force")
    m.equation(m.der(h), v)
    m.equation(m.der(v), force)
    m.equation(force, -9.81)
    return m.freeze()
