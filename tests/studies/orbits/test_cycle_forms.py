"""Coefficients of normal forms at special orbits, against models whose normal form is written into them."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def test_a_fold_of_cycles_has_the_coefficient_of_its_radius():
    """r' = r (mu + r² - r⁴): at r² = 1/2 half of the second derivative by r is -√2; rotation depends on r too."""
    for coupled in (0.0, 0.3):
        m = dd.Model("fold of cycles")
        mu, x, y = m.parameter("mu", 0.1), m.state("x", start=1.0), m.state("y", start=0.0)
        r2 = x**2 + y**2
        grows, turns = mu + r2 - r2**2, 1 + coupled * r2
        m.equation([m.der(x), m.der(y)], [grows * x - turns * y, grows * y + turns * x])
        br = dd.branch(dd.periodic(m, period=6.0), "mu", (0.1, -0.5))
        (fold,) = [point for point in br.points if point.kind == "fold of cycles"]
        assert fold.parameter == pytest.approx(-0.25, abs=1e-8)
        # The critical motion lies across the flow, so that its amplitude is the radius; the mesh resolves it to 1e-4.
        assert abs(fold.coefficient) == pytest.approx(np.sqrt(2), rel=1e-3)


def half_turned(k: float):
    """ξ' = mu ξ - ξ³ + k s ξ, s' = -s + ξ², η' = -η, turned by half of the angle of the drive: c = k - 1."""
    m = dd.Model("half turns")
    mu, x, s = m.parameter("mu", -0.3), m.state("x", 2, start=[1.0, 0.0]), m.state("s", start=0.0)
    t = m.time
    c, d = ca.cos(t / 2), ca.sin(t / 2)
    y = [x[0] - ca.cos(t), x[1] - ca.sin(t)]
    xi, eta = c * y[0] + d * y[1], -d * y[0] + c * y[1]
    rate, other = mu * xi - xi**3 + k * s * xi, -eta
    # y = ξ (cos, sin)(t/2) + η (-sin, cos)(t/2); its frame turns with 1/2.
    m.equation(m.der(x[0]), -ca.sin(t) + rate * c - other * d + 0.5 * (-xi * d - eta * c))
    m.equation(m.der(x[1]), ca.cos(t) + rate * d + other * c + 0.5 * (xi * c - eta * d))
    m.equation(m.der(s), -s + xi**2)
    return m


@pytest.mark.parametrize("k", [0.0, 0.4, 1.5])
def test_a_period_doubling_has_the_coefficient_that_was_written(k):
    br = dd.branch(dd.periodic(half_turned(k), period=2 * np.pi), "mu", (-0.3, 0.2))
    (point,) = br.points
    assert point.kind == "period doubling"
    assert point.parameter == pytest.approx(0.0, abs=1e-8)
    assert point.coefficient == pytest.approx(k - 1, abs=1e-4)  # the mesh resolves the orbit to 1e-5


def test_a_torus_has_the_coefficient_that_was_written():
    """ξ' = (mu + 0.3 i) ξ + (k s - 0.7 + 0.5 i) |ξ|² ξ around a driven circle; x = √2 Re ξ̃ doubles the coefficient."""
    m = dd.Model("torus")
    mu, x = m.parameter("mu", -0.3), m.state("x", 2, start=[1.0, 0.0])
    s = m.state("s", start=0.0)
    a, b = x[0] - ca.cos(m.time), x[1] - ca.sin(m.time)
    size = a**2 + b**2
    m.equation(m.der(x[0]), -ca.sin(m.time) + (mu + 0.2 * s) * a - 0.3 * b + size * (-0.7 * a - 0.5 * b))
    m.equation(m.der(x[1]), ca.cos(m.time) + (mu + 0.2 * s) * b + 0.3 * a + size * (-0.7 * b + 0.5 * a))
    m.equation(m.der(s), -s + size)
    br = dd.branch(dd.periodic(m, period=2 * np.pi), "mu", (-0.3, 0.2))
    (point,) = br.points
    assert point.kind == "torus"
    assert point.coefficient == pytest.approx(2 * (-0.7 + 0.2), abs=1e-4)


def test_the_first_period_doubling_of_roessler_is_supercritical():
    m = dd.Model("Roessler")
    c = m.parameter("c", 2.5)
    x, y, z = (m.state(name, start=value) for name, value in (("x", 2.0), ("y", -3.0), ("z", 0.2)))
    m.equation([m.der(x), m.der(y), m.der(z)], [-y - z, x + 0.2 * y, 0.2 + z * (x - c)])
    br = dd.branch(dd.periodic(m, start=dd.simulate(m, 200.0).end, period=5.8), "c", (2.5, 3.0))
    (point,) = br.points
    assert point.kind == "period doubling"
    assert point.coefficient < 0
