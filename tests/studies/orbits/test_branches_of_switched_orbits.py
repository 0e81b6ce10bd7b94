"""Branches of orbits with switching, events and clocks."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def buck(Vin=22.0):
    """J. H. B. Deane and D. C. Hamill, IEEE PESC 1990: 20 mH, 47 µF, 22 Ω, gain 8.4, ramp of 3.8 to 8.2 V in 400 µs."""
    m = dd.Model("buck converter")
    supply, v, i = m.parameter("Vin", Vin), m.state("v", start=12.0), m.state("i", start=0.55)
    ramp = 3.8 + 4.4 * ca.fmod(m.time, 400e-6) / 400e-6
    on = ca.if_else(8.4 * (v - 11.3) < ramp, 1.0, 0.0)
    m.equation([m.der(v), m.der(i)], [(i - v / 22) / 47e-6, (supply * on - v) / 20e-3])
    return m


def test_period_doubling_of_a_buck_converter():
    """At 24.516 V the cycle doubles its period (M. di Bernardo, F. Garofalo, L. Glielmo and F. Vasca, IEEE Trans.
    Circuits and Systems I 45, 1998)."""
    m = buck(24.0)
    end = dd.simulate(m, 0.06, rtol=1e-8).end
    orbit = dd.periodic(m, start={name: float(end[name]) for name in ("v", "i")}, period=400e-6)
    branch = dd.branch(orbit, "Vin", (24.0, 25.0))
    assert [point.kind for point in branch.points] == ["period doubling"]
    point = branch.points[0]
    assert point.parameter == pytest.approx(24.516, abs=1e-3)
    assert branch.notes == ("by shooting, through events and clocks",)
    assert branch.stable[0]
    assert not branch.stable[-1]


@pytest.mark.wide
def test_doubled_cycles_of_a_buck_converter():
    m = buck(24.0)
    end = dd.simulate(m, 0.06, rtol=1e-8).end
    orbit = dd.periodic(m, start={name: float(end[name]) for name in ("v", "i")}, period=400e-6)
    point = dd.branch(orbit, "Vin", (24.0, 25.0)).points[0]
    twice = point.switch()
    assert twice.period[0] == pytest.approx(800e-6)
    # A run settles on the doubled cycle: twice the period brings it back, once does not.
    settled = dd.simulate(m, 400e-6 * 400, start=point.state, parameters={"Vin": 24.6}, rtol=1e-9)
    late = settled.at(400e-6 * np.array([398, 399, 400]))["v"]
    assert late[2] == pytest.approx(late[0], abs=1e-5)
    assert abs(late[1] - late[0]) > 1e-3
    k = int(np.argmin(abs(twice["Vin"] - 24.6)))
    assert twice.stable[k]


def test_clocked_orbit_over_its_gain():
    """x' = a x + u, u = -k x held for 0.1: the multiplier is e^{ah} - k (e^{ah} - 1)/a, and -1 at a known gain."""
    m = dd.Model("sampled loop")
    k, x, held = m.parameter("k", 5.0), m.state("x", start=1.0), m.discrete("held", start=0.0)
    m.equation(m.der(x), x + held + ca.cos(20 * np.pi * m.time))
    m.every(0.1, {"held": -k * x})
    orbit = dd.periodic(m, start={"x": 0.0}, period=0.1)
    branch = dd.branch(orbit, "k", (5.0, 30.0))
    grow = np.exp(0.1)
    exact = [grow - value * (grow - 1) for value in branch["k"]]
    assert np.allclose([values[0].real for values in branch.multipliers], exact, rtol=1e-6)
    assert branch.points[0].kind == "period doubling"
    assert branch.points[0].parameter == pytest.approx((grow + 1) / (grow - 1), rel=1e-7)


def test_bouncing_ball_over_the_amplitude_of_its_table():
    """A ball that bounces once a period: the multiplier -1 is reached at the amplitude of P. J. Holmes 1982."""
    m = dd.Model("ball on a table")
    h, v, amplitude = m.state("h", start=0.15), m.state("v", start=2.4), m.parameter("amplitude", 0.08)
    e, omega = 0.5, 4 * np.pi
    table, speed = amplitude * ca.sin(omega * m.time), amplitude * omega * ca.cos(omega * m.time)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("bounce", h - table, direction=-1, reset={"v": -e * v + (1 + e) * speed})
    end = dd.simulate(m, 0.5 * 60 + 0.2, rtol=1e-10).end
    orbit = dd.periodic(m, start={name: float(end[name]) for name in ("h", "v")}, period=0.5, begin=0.2)
    branch = dd.branch(orbit, "amplitude", (0.08, 0.12))
    # After an impact v = g T/2; determinant e² of the map; it doubles where the trace is -(1 + e²).
    for k in (0, -1):
        assert np.prod(branch.multipliers[k]).real == pytest.approx(e**2, rel=1e-6)
    kinds = {point.kind for point in branch.points}
    assert kinds <= {"period doubling"}


def test_constraints_beside_events_are_refused():
    m = dd.Model("pendulum with a wall")
    r, pull = m.state("r", 2, start=[np.sin(1.0), -np.cos(1.0)], rate=0.0), m.algebraic("pull")
    gain = m.parameter("gain", 9.81)
    m.equation(m.der(m.der(r)), ca.vertcat(0, -gain) - pull * r)
    m.equation(r.T @ r, 1.0)
    m.event("low", r[0], direction=0)
    orbit = dd.periodic(m, period=2.1)
    with pytest.raises(dd.InputError, match="shooting does not support constraints"):
        dd.branch(orbit, "gain", (9.81, 10.0))


def digital_controller():
    """x' = -x + u, a PI controller of 0.1 s with the sum as its memory, and a reference that swings once a second."""
    m = dd.Model("digital PI")
    x, total, u, gain = (
        m.state("x", start=0.2),
        m.discrete("total", start=0.0),
        m.discrete("u", start=0.0),
        m.parameter("gain", 2.0),
    )
    error = 1 + 0.3 * ca.cos(2 * np.pi * m.time) - x
    m.equation(m.der(x), -x + u)
    m.every(0.1, {"total": total + 0.1 * error, "u": gain * error + 3 * total})
    return m


def loop_matrix(gain):
    """What one sample makes of (x, total): x holds e^{-h} x + (1 - e^{-h}) u."""
    decay = np.exp(-0.1)
    return np.array([[decay - (1 - decay) * gain, (1 - decay) * 3], [-0.1, 1.0]])


def test_memory_of_a_controller_is_part_of_the_orbit():
    m = digital_controller()
    orbit = dd.periodic(m, period=1.0)
    exact = np.linalg.eigvals(np.linalg.matrix_power(loop_matrix(2.0), 10))
    assert np.allclose(sorted(abs(orbit.multipliers)), sorted(abs(exact)), rtol=1e-6)
    settled = dd.simulate(m, 60.0, rtol=1e-10, atol=1e-12)
    assert float(orbit["x"][0]) == pytest.approx(float(settled.end["x"]), abs=1e-8)
    assert float(orbit.begun["total"]) == pytest.approx(float(settled.at(59.95)["total"]), abs=1e-8)


@pytest.mark.wide
def test_a_controller_loses_stability_over_its_gain():
    branch = dd.branch(dd.periodic(digital_controller(), period=1.0), "gain", (2.0, 40.0))
    first = branch.points[0]
    # Two samples of -1 in ten are +1: the loop itself loses stability where its matrix has the eigenvalue -1.
    assert min(abs(np.linalg.eigvals(loop_matrix(first.parameter)) + 1)) < 1e-6
