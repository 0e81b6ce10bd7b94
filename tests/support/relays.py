"""Random systems with relays, which slide along one or two surfaces and leave them."""

import casadi as ca
import numpy as np

import daedalus as dd


def relays(seed: int, width: float = 0.0) -> dd.Model:
    """Relays on surfaces that move and bend; with a width each is smooth."""
    draw = np.random.default_rng(seed)
    n, count = int(draw.integers(2, 5)), int(draw.integers(1, 4))
    A = 0.6 * draw.standard_normal((n, n)) - 0.3 * np.eye(n)
    m = dd.Model("relays")
    x = m.state("x", n, start=0.7 * draw.standard_normal(n))
    k, w = m.parameter("k", float(draw.uniform(0.8, 2))), float(draw.uniform(1, 4))
    rhs = ca.mtimes(ca.DM(A), x) + ca.DM(draw.standard_normal(n)) * 0.5 * ca.sin(w * m.time)
    rhs += 0.3 * ca.DM(draw.standard_normal(n))
    for r in range(count):
        b, c = draw.standard_normal(n), draw.standard_normal(n)
        b = b * np.sign(b @ c) if draw.uniform() < 0.8 else b
        g = ca.dot(ca.DM(c), x) - 0.2 * k * ca.sin(m.time + r)
        g += 0.1 * draw.uniform() * ca.sumsqr(x) * float(draw.uniform() < 0.4)
        on = 0.5 + 0.5 * ca.tanh(g / width) if width else ca.if_else(g > 0, 1.0, 0.0)
        above, below = (1.0 + 0.2 * x[0], -0.7) if draw.integers(3) == 2 else (1.0, -1.0)
        rhs = rhs - k * ca.DM(b) * (below + (above - below) * on)
    m.equation(m.der(x), rhs)
    return m
