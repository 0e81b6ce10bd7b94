"""Periodic orbits against closed forms, published periods and multipliers."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def van_der_pol(mu):
    m = dd.Model("van der Pol")
    x, y = m.state("x", start=2.0), m.state("y", start=0.0)
    m.equation([m.der(x), m.der(y)], [y, m.parameter("mu", mu) * (1 - x**2) * y - x])
    return m


@pytest.mark.parametrize(
    ("mu", "period"), [(1.0, 6.6632868593), (0.1, 6.28711127229), (5.0, 11.612230668), (10.0, 19.078369567)]
)
def test_van_der_pol(mu, period):
    """Periods: Andersen and Geer, SIAM J. Appl. Math. 42 (1982), for 1; the others by SciPy's DOP853 at rtol 3e-14."""
    orbit = dd.periodic(van_der_pol(mu))
    assert orbit.period == pytest.approx(period, rel=1e-8)
    assert orbit.stable
    assert orbit.multipliers[0] == pytest.approx(1.0, abs=1e-5)
    if mu > 1:
        return
    # Liouville: the product of the multipliers is exp ∫ trace.
    x = orbit.at(np.linspace(0, orbit.period, 4001))["x"]
    divergence = np.trapezoid(mu * (1 - x**2), dx=orbit.period / 4000)
    assert np.log(abs(np.prod(orbit.multipliers))) == pytest.approx(divergence, abs=2e-2 * abs(divergence))


def test_unstable_orbit_of_the_hopf_normal_form():
    """r' = -r + r³: the circle is unstable; its multiplier is exp(2 · 2π/ω)."""
    m = dd.Model("normal form")
    x = m.state("x", 2, start=[0.9, 0.1])
    grow = ca.dot(x, x) - 1
    m.equation(m.der(x), ca.vertcat(grow * x[0] - 3 * x[1], grow * x[1] + 3 * x[0]))
    orbit = dd.periodic(m, start={"x": [1.001, 0.0]}, period=2.0)
    assert orbit.period == pytest.approx(2 * np.pi / 3, rel=1e-9)
    assert not orbit.stable
    assert abs(orbit.multipliers[0]) == pytest.approx(np.exp(4 * np.pi / 3), rel=1e-6)


def test_driven_linear_oscillator():
    m = dd.Model("driven")
    q = m.state("q", start=0.0, rate=0.0)
    m.equation(m.der(m.der(q)), -4 * q - 0.4 * m.der(q) + ca.cos(3 * m.time))
    orbit = dd.periodic(m, period=2 * np.pi / 3)
    response = 1 / (4 - 9 + 0.4j * 3)
    times = np.linspace(0, 10, 41)
    assert np.allclose(orbit.at(times)["q"], (response * np.exp(3j * times)).real, atol=1e-8)
    poles = np.roots([1, 0.4, 4])
    assert np.allclose(sorted(np.abs(orbit.multipliers)), sorted(np.abs(np.exp(poles * orbit.period))), rtol=1e-6)


def test_a_driven_motion_is_found_from_afar():
    """Van der Pol's oscillator locked to a weak drive: Newton's method fails at first, and the motion settles."""
    m = dd.Model("locked")
    x = m.state("x", start=1.5, rate=0.0)
    m.equation(m.der(m.der(x)), 0.3 * (1 - x**2) * m.der(x) - x + 0.25 * ca.cos(m.time))
    orbit = dd.periodic(m, period=2 * np.pi)
    assert orbit.stable
    tr = dd.simulate(m, 60 * 2 * np.pi, rtol=1e-9)
    assert tr["x"][-1] == pytest.approx(orbit["x"][0], abs=1e-5)


def test_subharmonic_by_twice_the_period():
    """Duffing's oscillator in a double well, driven so that it repeats with twice the period of the drive."""
    m = dd.Model("Duffing")
    q = m.state("q", start=1.0, rate=0.0)
    m.equation(m.der(m.der(q)), q - q**3 - 0.3 * m.der(q) + 0.28 * ca.cos(1.2 * m.time))
    settled = dd.simulate(m, 200 * 2 * np.pi / 1.2, rtol=1e-9).end
    start = {name: float(settled[name]) for name in ("q", "q_dot")}
    orbit = dd.periodic(m, start=start, period=2 * 2 * np.pi / 1.2)
    assert orbit.stable
    half = orbit.at(orbit.period / 2)
    assert abs(float(half["q"]) - float(orbit["q"][0])) > 1e-3


def test_constrained_pendulum_swings():
    """Index 3; the period of a swing of 1 rad is 4 K(sin² 0.5)/√g: 2.1407..."""
    from scipy.special import ellipk

    m = dd.Model("pendulum")
    r, pull = m.state("r", 2, start=[np.sin(1.0), -np.cos(1.0)], rate=0.0), m.algebraic("pull")
    m.equation(m.der(m.der(r)), ca.vertcat(0, -9.81) - pull * r)
    m.equation(r.T @ r, 1.0)
    orbit = dd.periodic(m, period=2.1)
    depth = -orbit.at(np.linspace(0.0, orbit.period, 20001))["r"][:, 1]  # rows of steps may miss the lowest point
    assert np.max(depth) == pytest.approx(1.0, abs=1e-6)
    amplitude = np.arccos(np.min(depth))
    assert orbit.period == pytest.approx(4 * ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(9.81), rel=1e-6)


def test_bouncing_ball_on_a_shaking_table():
    """Events in the orbit: a ball that bounces once in a period, v = e v + (1 + e) table speed at the impact."""
    m = dd.Model("ball on a table")
    h, v = m.state("h", start=0.15), m.state("v", start=2.4)
    e, amplitude, omega = 0.5, 0.08, 2 * np.pi / 0.5
    table, speed = amplitude * ca.sin(omega * m.time), amplitude * omega * ca.cos(omega * m.time)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("bounce", h - table, direction=-1, reset={"v": -e * v + (1 + e) * speed})
    settled = dd.simulate(m, 0.5 * 60 + 0.2, rtol=1e-10).end
    start = {name: float(settled[name]) for name in ("h", "v")}
    orbit = dd.periodic(m, start=start, period=0.5, begin=0.2)
    assert orbit.stable
    assert len([event for event in orbit.trajectory.events if event.name == "bounce"]) == 1
    # Between impacts the flight takes a period: the speed after an impact is g T/2.
    after = orbit.trajectory.events[0].after["v"]
    assert float(after) == pytest.approx(9.81 * 0.5 / 2, rel=1e-7)


def test_orbit_of_a_clocked_system():
    """x' = -x + on, on for 0.4 of every 1: the start follows from two exponentials."""
    m = dd.Model("clocked")
    x, on = m.state("x", start=0.2), m.discrete("on", start=1)
    m.equation(m.der(x), -x + on)
    m.every(1.0, {"on": 1}, name="rise")
    m.every(1.0, {"on": 0}, offset=0.4, name="fall")
    orbit = dd.periodic(m, period=1.0)
    expected = (1 - np.exp(-0.4)) * np.exp(-0.6) / (1 - np.exp(-1.0))
    assert float(orbit["x"][0]) == pytest.approx(expected, rel=1e-9)
    assert orbit.multipliers.real == pytest.approx([np.exp(-1.0)], rel=1e-6)
    with pytest.raises(dd.InputError, match="in states alone"):
        dd.lyapunov(m, 10.0)


def test_wrong_uses():
    m = dd.Model("driven")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), -x + ca.cos(2 * m.time))
    with pytest.raises(dd.InputError, match="A driven model needs a period"):
        dd.periodic(m)
    with pytest.raises(dd.InputError, match="is not a period"):
        dd.periodic(m, period=-1.0)
    decay = dd.Model("decay")
    y = decay.state("y", 2, start=[1.0, 0.0])
    decay.equation(decay.der(y), ca.vertcat(-y[0] - y[1], y[0] - y[1]))
    with pytest.raises(dd.SolverError, match=r"No periodic orbit of 'decay' was found|is at rest there"):
        dd.periodic(decay, period=2.0)
