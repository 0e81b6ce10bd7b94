"""Four systems that switch, with known times: bouncing ball, rectifier, stick-slip, pendulum at a stop."""

import casadi as ca
import numpy as np
import pytest
from scipy.special import ellipk

import daedalus as dd

METHODS = ["tsit5", "dop853", "radau5", "bdf", "rodas5p"]
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


@pytest.mark.parametrize("method", METHODS)
def test_the_ball_bounces_at_the_times_of_the_closed_form(method):
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    tr = dd.simulate(m, 3.0, method=method, **TIGHT)
    first = np.sqrt(2 / 9.81)
    exact = first + 2 * first * np.array([sum(0.8**j for j in range(1, k + 1)) for k in range(20)])
    times = [e.time for e in tr.events]
    assert len(times) == np.count_nonzero(exact < 3.0)
    assert np.allclose(times, exact[: len(times)], atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_the_ball_comes_to_rest_in_finite_time(method):
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.5 * v})
    tr = dd.simulate(m, 3.0, method=method, **TIGHT)
    assert tr.status == "chattering"
    assert tr.time[-1] == pytest.approx(3 * np.sqrt(2 / 9.81), abs=1e-6)


@pytest.mark.parametrize("method", ["radau5", "bdf", "rodas5p"])
def test_the_diode_of_a_rectifier_turns_on_and_off(method):
    """Without load the capacitor charges to the peak: on from 0 while sin t > v, with v' = (sin t - v)/τ, then off."""
    tau = 0.5
    m = dd.Model("rectifier")
    v, s = m.state("v", start=0.0), m.algebraic("s", start=0.1)
    current, drop = ca.if_else(s > 0, s, 0), ca.if_else(s > 0, 0, s)
    m.equation(m.der(v), current)
    m.equation(ca.sin(m.time), drop + tau * current + v)
    tr = dd.simulate(m, (0.1, 5.0), start={"v": 0.0}, method=method, **TIGHT)

    def charging(t):
        """The solution with v(0.1) = 0."""
        steady = (np.sin(t) - tau * np.cos(t)) / (1 + tau**2)
        begin = (np.sin(0.1) - tau * np.cos(0.1)) / (1 + tau**2)
        return steady - begin * np.exp(-(t - 0.1) / tau)

    from scipy.optimize import brentq

    off = brentq(lambda t: np.sin(t) - charging(t), 1.0, 3.0, xtol=1e-14)
    assert np.min(np.abs(tr.time - off)) < 1e-7
    assert np.allclose(tr["v"][tr.time > off + 1e-6], charging(off), atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_on_a_belt_sticks_and_slips(method):
    """Sticking until the spring reaches static friction, slipping until the block has the speed of the belt again."""
    static, kinetic, belt = 1.0, 0.6, 0.2
    m = dd.Model("stick-slip")
    x, v, slips = m.state("x", start=0.0), m.state("v", start=belt), m.state("slips", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), ca.if_else(slips > 0.5, kinetic - x, 0))
    m.equation(m.der(slips), 0)
    m.event("slip", x - static, direction=1, reset={"slips": 1.0})
    m.event("stick", v - belt, direction=1, reset={"slips": 0.0, "v": belt})
    tr = dd.simulate(m, 40.0, method=method, **TIGHT)
    drop = static - kinetic
    slipping = 2 * np.pi - 2 * np.arctan(drop / belt)
    sticking = 2 * drop / belt
    exact, kind = [static / belt], ["slip"]
    while exact[-1] + (slipping if kind[-1] == "slip" else sticking) < 40.0:
        exact.append(exact[-1] + (slipping if kind[-1] == "slip" else sticking))
        kind.append("stick" if kind[-1] == "slip" else "slip")
    assert [e.name for e in tr.events] == kind
    assert np.allclose([e.time for e in tr.events], exact, atol=2e-7)


@pytest.mark.parametrize("method", METHODS)
def test_a_pendulum_hits_a_stop(method):
    """A stop in the middle: a quarter period, then half periods of the amplitude that restitution leaves."""
    restitution, amplitude, g = 0.7, 1.2, 9.81
    m = dd.Model("pendulum")
    angle, rate = m.state("angle", start=amplitude), m.state("rate", start=0.0)
    m.equation(m.der(angle), rate)
    m.equation(m.der(rate), -g * ca.sin(angle))
    m.event("stop", angle, direction=-1, reset={"rate": -restitution * rate})
    tr = dd.simulate(m, 4.0, method=method, **TIGHT)
    exact = [ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(g)]
    while exact[-1] < 4.0:
        amplitude = np.arccos(1 - restitution**2 * (1 - np.cos(amplitude)))
        exact.append(exact[-1] + 2 * ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(g))
    times = [e.time for e in tr.events]
    assert len(times) == len(exact) - 1
    assert np.allclose(times, exact[:-1], atol=2e-8)


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_pendulum_in_cartesian_coordinates_hits_the_same_stop(method):
    """The same with the rod as a constraint: velocities behind the impact are those of the rod."""
    restitution, amplitude, g = 0.7, 1.2, 9.81
    m = dd.Model("rod")
    q = m.coordinate("q", 2, start=[np.sin(amplitude), -np.cos(amplitude)], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(g * q[1])
    m.constraint("length", ca.sumsqr(q) - 1)
    m.event("stop", q[0], direction=-1, reset={"q_dot": -restitution * m.rate(q)})
    tr = dd.simulate(m, 2.0, method=method, **TIGHT)
    exact = [ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(g)]
    for _ in range(3):
        amplitude = np.arccos(1 - restitution**2 * (1 - np.cos(amplitude)))
        exact.append(exact[-1] + 2 * ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(g))
    times = [e.time for e in tr.events]
    expected = [t for t in exact if t < 2.0]
    assert len(times) == len(expected)
    assert np.allclose(times, expected, atol=1e-6)
