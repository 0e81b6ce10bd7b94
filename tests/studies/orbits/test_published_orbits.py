"""Periodic orbits of the literature: their periods, multipliers and where they lose stability."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def flow(name, parameters, start, equations):
    """A model of scalar states, given its right-hand sides."""
    m = dd.Model(name)
    p = {key: m.parameter(key, value) for key, value in parameters.items()}
    states = [m.state(key, start=value) for key, value in start.items()]
    m.equation([m.der(state) for state in states], list(equations(p, *states)))
    return m


def test_the_shortest_orbits_of_lorenz():
    """D. Viswanath, Nonlinearity 16 (2003): AB and AAB."""
    m = flow(
        "Lorenz", {}, {"x": 1.0, "y": 1.0, "z": 20.0},
        lambda p, x, y, z: (10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z),
    )  # fmt: skip
    short = dd.periodic(m, start={"x": -13.76, "y": -19.58, "z": 27.0}, period=1.5586)
    assert short.period == pytest.approx(1.558652210716, rel=1e-12)
    assert np.prod(short.multipliers.real[:2]) == pytest.approx(4.71295, rel=1e-5)
    longer = dd.periodic(m, start={"x": -12.595115, "y": -16.970525, "z": 27.0}, period=2.3059)
    assert longer.period == pytest.approx(2.305907263, rel=1e-8)


def test_the_shortest_orbit_of_roessler():
    """P. Cvitanović et al., Chaos: Classical and Quantum: period 5.88108845586, multiplier -2.40395353."""
    m = flow(
        "Rössler", {}, {"x": 1.0, "y": 1.0, "z": 0.0},
        lambda p, x, y, z: (-y - z, x + 0.2 * y, 0.2 + z * (x - 5.7)),
    )  # fmt: skip
    orbit = dd.periodic(m, start={"x": 0.0, "y": -8.36, "z": 0.0295}, period=5.88)
    assert orbit.period == pytest.approx(5.88108845586, rel=1e-10)
    assert orbit.multipliers[0] == pytest.approx(-2.40395353, rel=1e-7)


def test_three_bodies_on_an_eight():
    """A. Chenciner and R. Montgomery, Annals of Mathematics 152 (2000); the period of C. Simó's digits."""
    m = dd.Model("eight")
    places = [[0.97000436, -0.24308753], [-0.97000436, 0.24308753], [0.0, 0.0]]
    fast = np.array([-0.93240737, -0.86473146])
    r = [m.state(f"r{k}", 2, start=start) for k, start in enumerate(places)]
    v = [m.state(f"v{k}", 2, start=start) for k, start in enumerate([-fast / 2, -fast / 2, fast])]
    for k in range(3):
        pull = sum((r[j] - r[k]) / ca.norm_2(r[j] - r[k]) ** 3 for j in range(3) if j != k)
        m.equation([m.der(r[k]), m.der(v[k])], [v[k], pull])
    orbit = dd.periodic(m, period=6.3259)
    assert orbit.period == pytest.approx(6.32591398, rel=2e-6)
    assert orbit.kind == "neutral, one of a family"
    assert np.abs(orbit.multipliers) == pytest.approx(np.ones(12), abs=1e-4)


def current_control(V):
    """A boost converter with its peak current held: slopes V and V - 1, a clock of 1 s, the peak 1."""
    m = dd.Model("converter")
    i, on, v = m.state("i", start=0.76), m.discrete("on", start=1.0), m.parameter("V", V)
    m.equation(m.der(i), ca.if_else(on > 0.5, v, v - 1.0))
    m.event("peak", i - 1.0, direction=1, reset={"on": 0.0})
    m.every(1.0, {"on": 1.0})
    return m


@pytest.mark.parametrize("duty", [0.4, 0.55])
def test_the_multiplier_of_a_held_current(duty):
    """-D / (1 - D): R. Redl and N. Sokal, PESC 1985."""
    orbit = dd.periodic(current_control(1 - duty), start={"i": 1.0 - (1 - duty) * duty + 1e-3}, period=1.0)
    assert orbit.multipliers == pytest.approx([-duty / (1 - duty)], rel=1e-8)
    assert orbit.stable == (duty < 0.5)


def test_a_held_current_doubles_its_period_at_half_the_duty():
    branch = dd.branch(dd.periodic(current_control(0.6), period=1.0), "V", (0.6, 0.4))
    (doubling,) = branch.points
    assert (doubling.kind, doubling.parameter) == ("period doubling", pytest.approx(0.5, abs=1e-8))


def test_an_impact_takes_its_share_of_volume():
    """x'' + x = cos(w t) with x > 0 and a restitution of 0.8: the multipliers of one impact have the product 0.64."""
    m = dd.Model("impacts")
    x, v, w = m.state("x", start=0.5), m.state("v", start=0.0), 2.8
    m.equation([m.der(x), m.der(v)], [v, -x + ca.cos(w * m.time)])
    m.event("hit", x, direction=-1, reset={"v": -0.8 * v})
    period = 2 * np.pi / w
    orbit = dd.periodic(m, start=dd.simulate(m, 200 * period).end, period=period)
    assert len(orbit.trajectory.events) == 1
    assert np.prod(orbit.multipliers).real == pytest.approx(0.64, rel=1e-8)


def test_a_pendulum_on_a_shaken_pivot():
    """The hanging position doubles the period of the shaking where a = 2 c (principal parametric resonance)."""
    m = dd.Model("shaken")
    a, q, c = m.parameter("a", 0.1), m.state("q", start=0.0, rate=0.0), 0.02
    m.equation(m.der(m.der(q)), -(1 + a * ca.cos(2 * m.time)) * ca.sin(q) - c * m.der(q))
    rest = dd.periodic(m, start={"q": 0.0, "q_dot": 0.0}, period=np.pi)
    (doubling,) = dd.branch(rest, "a", (0.01, 0.1)).points
    assert doubling.kind == "period doubling"
    assert doubling.parameter == pytest.approx(2 * c, rel=2e-4)


@pytest.mark.wide
def test_a_feedback_control_system_doubles_its_period():
    """The system of the MatCont manual: Hopf at 1, doubling at 0.6303020 with the period 6.364071."""
    m = flow(
        "adaptive control", {"a": 2.0}, {"x": 0.0, "y": 0.0, "z": 0.0},
        lambda p, x, y, z: (y, z, -p["a"] * z - y - x + x**2),
    )  # fmt: skip
    (hopf,) = dd.branch(m, "a", (2.0, 0.5), start={"x": 0.0, "y": 0.0, "z": 0.0}).points
    assert (hopf.kind, hopf.parameter) == ("hopf", pytest.approx(1.0, abs=1e-9))
    (doubling,) = dd.branch(hopf, "a", (1.0, 0.3)).points
    assert doubling.kind == "period doubling"
    assert (doubling.parameter, doubling.period) == pytest.approx((0.6303020, 6.364071), abs=1e-6)


@pytest.mark.wide
def test_a_torus_of_the_peroxidase_oxidase_reaction():
    """C. Steinmetz and R. Larter, J. Chem. Phys. 94 (1991), as in the MatCont manual: period 10.91213."""

    def rates(p, A, B, X, Y):
        first, second = 0.1631021 * A * B * X, 0.046875 * A * B * Y
        return (
            p["k7"] - 0.1175 * A - first - second,
            0.5 - first - second,
            first - 2500 * X**2 + 2 * second - 20 * X + 0.001,
            2500 * X**2 - second - 1.104 * Y,
        )

    start = {"A": 31.78997, "B": 1.45468, "X": 0.01524586, "Y": 0.1776113}
    m = flow("peroxidase", {"k7": 4.235322}, start, rates)
    (hopf,) = dd.branch(m, "k7", (4.235322, 0.5)).points
    first, *_ = dd.branch(hopf, "k7", (0.5, 4.3)).points
    assert (first.kind, first.parameter) == ("torus", pytest.approx(0.7164336, abs=1e-6))
    assert first.period == pytest.approx(10.91213, abs=1e-5)
