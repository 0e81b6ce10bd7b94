"""Problems of index 0 and 1 with known solutions, for the Rosenbrock methods of the core."""

from __future__ import annotations

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus.model.system.system import System


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


def transistor_amplifier() -> System:
    """Eight voltages; the capacitances stand in a singular matrix and the voltage of the source changes with time.

    P. Rentrop, M. Roche, G. Steinebach, 1989; Test Set for Initial Value Problem Solvers, release 2.4.
    """
    m = dd.Model("transistor_amplifier")
    y = m.state("y", 8, start=[0.0, 3.0, 3.0, 6.0, 3.0, 3.0, 6.0, 0.0])
    capacity = 1e-6 * np.arange(1, 6)
    source, supply, R0, R = 0.1 * ca.sin(200 * np.pi * m.time), 6.0, 1000.0, 9000.0

    def through(voltage: ca.SX) -> ca.SX:
        return 1e-6 * (ca.exp(voltage / 0.026) - 1)

    first, second, d = through(y[1] - y[2]), through(y[4] - y[5]), m.der(y)
    m.equation(capacity[0] * (d[1] - d[0]), (y[0] - source) / R0)
    m.equation(capacity[0] * (d[0] - d[1]), (2 * y[1] - supply) / R + 0.01 * first)
    m.equation(-capacity[1] * d[2], y[2] / R - first)
    m.equation(capacity[2] * (d[4] - d[3]), (y[3] - supply) / R + 0.99 * first)
    m.equation(capacity[2] * (d[3] - d[4]), (2 * y[4] - supply) / R + 0.01 * second)
    m.equation(-capacity[3] * d[5], y[5] / R - second)
    m.equation(capacity[4] * (d[7] - d[6]), (y[6] - supply) / R + 0.99 * second)
    m.equation(capacity[4] * (d[6] - d[7]), y[7] / R)
    return m.freeze()


AMPLIFIER_END = np.array(
    [
        -0.5562145012262709e-2,
        0.3006522471903042e1,
        0.2849958788608128e1,
        0.2926422536206241e1,
        0.2704617865010554e1,
        0.2761837778393145e1,
        0.4770927631616772e1,
        0.1236995868091548e1,
    ]
)


def bouncing() -> System:
    """A ball whose force is an algebraic variable."""
    m = dd.Model("bouncing")
    h, v, force = m.state("h", start=1.0), m.state("v", start=0.0), m.algebraic("force")
    m.equation(m.der(h), v)
    m.equation(m.der(v), force)
    m.equation(force, -9.81)
    return m.freeze()
