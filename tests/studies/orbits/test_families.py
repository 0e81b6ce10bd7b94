"""Orbits that come in families, and orbits of sampled models, whose clocks say how long a period is."""

import casadi as ca
import numpy as np
import pytest
from scipy.special import ellipk

import daedalus as dd


def kepler(speed):
    m = dd.Model("planet")
    q, v = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, speed])
    m.equation(m.der(q), v)
    m.equation(m.der(v), -q / ca.sumsqr(q) ** 1.5)
    return m


@pytest.mark.parametrize("speed", [0.8, 1.0, 1.2])
def test_a_planet(speed):
    orbit = dd.periodic(kepler(speed))
    axis = 1 / (2 - speed**2)
    assert abs(orbit.period / (2 * np.pi * axis**1.5) - 1) < 1e-7
    assert orbit.neutral
    assert not orbit.stable
    assert "neutral, one of a family" in str(orbit)


def test_a_pendulum_with_a_rod_swings_with_its_own_amplitude():
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", (ca.sumsqr(p) - 1) / 2)
    orbit = dd.periodic(m)
    assert abs(orbit.period / (4 * ellipk(0.5) / 9.81**0.5) - 1) < 1e-7
    assert orbit.neutral
    assert repr(orbit).endswith("neutral, one of a family)")


def test_a_pair_of_springs_keeps_its_mode():
    m = dd.Model("two masses")
    x = m.state("x", 2, start=[0.3, 0.3], rate=[0.0, 0.0])
    m.equation(m.der(m.der(x)), ca.vertcat(-x[0] + (x[1] - x[0]), -x[1] + (x[0] - x[1])))
    orbit = dd.periodic(m)
    assert abs(orbit.period - 2 * np.pi) < 1e-6
    assert orbit.neutral


def relay(period):
    m = dd.Model("sampled relay")
    x, u = m.state("x", start=0.0), m.discrete("u")
    m.equation(m.der(x), u - x)
    m.every(period, {"u": ca.if_else(x < 0.5, 1.0, 0.0)})
    return m


@pytest.mark.parametrize("period", [0.11, 0.3, 0.5])
def test_a_sampled_relay_repeats_after_two_ticks(period):
    orbit = dd.periodic(relay(period))
    assert orbit.period == pytest.approx(2 * period, rel=1e-12)
    assert orbit.multipliers[0].real == pytest.approx(np.exp(-2 * period), rel=1e-6)
    assert orbit.stable


def logistic(growth):
    m = dd.Model("logistic map")
    u, x = m.discrete("u", start=0.3), m.state("x", start=0.0)
    m.equation(m.der(x), u - x)
    m.every(1.0, {"u": growth * u * (1 - u)})
    return m


def test_a_cycle_of_four():
    orbit = dd.periodic(logistic(3.5))
    assert orbit.period == 4.0
    u = 0.3
    for _ in range(4000):
        u = 3.5 * u * (1 - u)
    product = 1.0
    for _ in range(4):
        product, u = product * 3.5 * (1 - 2 * u), 3.5 * u * (1 - u)
    assert min(abs(orbit.multipliers - product)) < 1e-6


def test_clocks_of_two_rates():
    m = dd.Model("two clocks")
    x, u, w = m.state("x", start=0.0), m.discrete("u"), m.discrete("w", start=1.0)
    m.equation(m.der(x), u * w - x)
    m.every(0.1, {"u": 1 - u})
    m.every(0.15, {"w": 1.5 - w})
    assert dd.periodic(m).period == pytest.approx(0.6, rel=1e-12)


def test_a_sampled_motion_that_does_not_repeat():
    with pytest.raises(dd.SolverError) as error:
        dd.periodic(logistic(3.9))
    assert "its clocks tick together every 1 s; followed until t = 1024" in str(error.value)
    assert "Try: period= with a multiple of 1, and start= near the orbit" in str(error.value)


def test_time_in_the_equations_still_needs_a_period():
    m = relay(0.5)
    m.output("wave", 0.0)
    y = m.state("y", start=0.0)
    m.equation(m.der(y), ca.sin(m.time) - y)
    with pytest.raises(dd.InputError, match="A driven model needs a period"):
        dd.periodic(m)
