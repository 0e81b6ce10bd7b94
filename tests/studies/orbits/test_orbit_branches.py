"""Branches of periodic orbits against closed forms, published numbers and runs of their own."""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import mathieu_a, mathieu_b

import daedalus as dd


def roessler():
    m = dd.Model("Roessler")
    a, c = m.parameter("a", 0.2), m.parameter("c", 2.5)
    x, y, z = m.state("x", start=3.0), m.state("y", start=0.0), m.state("z", start=0.1)
    m.equation([m.der(x), m.der(y), m.der(z)], [-y - z, x + a * y, a + z * (x - c)])
    return m


def lorenz():
    m = dd.Model("Lorenz")
    r = m.parameter("r", 24.0)
    x, y, z = m.state("x", start=7.0), m.state("y", start=7.0), m.state("z", start=23.0)
    m.equation([m.der(x), m.der(y), m.der(z)], [10 * (y - x), x * (r - z) - y, x * y - 8 / 3 * z])
    return m


def duffing(w=0.8):
    m = dd.Model("Duffing")
    w = m.parameter("w", w)
    q = m.state("q", start=0.0, rate=0.0)
    m.equation(m.der(m.der(q)), -q - 0.2 * q**3 - 0.1 * m.der(q) + 0.3 * ca.cos(w * m.time))
    return m


def test_period_doublings_of_roessler():
    """The cascade of c = 2.8324, 3.8374, ... at a = b = 0.2 (O. E. Rössler's system; checked by shooting)."""
    m = roessler()
    orbit = dd.periodic(m, start=dd.simulate(m, 200.0).end)
    branch = dd.branch(orbit, "c", (2.5, 4.0))
    assert [point.kind for point in branch.points] == ["period doubling"]
    first = branch.points[0]
    assert first.parameter == pytest.approx(2.8324, abs=1e-4)
    assert min(abs(first.multipliers + 1)) < 1e-7
    # The derivative of a run over one period, by other code, has the multiplier -1, too.
    run = dd.sensitivities(m, first.period, wrt=("start",), start=first.state, parameters={"c": first.parameter},
                           rtol=1e-11, atol=1e-13)  # fmt: skip
    assert min(abs(np.linalg.eigvals(np.asarray(run.M)) + 1)) < 1e-6


@pytest.mark.parametrize("settled", [205.0, 230.0])
def test_an_orbit_has_its_least_period(settled):
    """With a multiplier of -0.77 a run comes back nearer after two turns than after one."""
    m = roessler()
    orbit = dd.periodic(m, start=dd.simulate(m, settled).end)
    assert orbit.period == pytest.approx(5.748991183, rel=1e-8)
    assert orbit.multipliers.real[1] == pytest.approx(-0.769694, abs=1e-5)
    assert orbit.notes[-1] == "the motion repeats itself 2 times in 11.498 s, where it was found"


@pytest.mark.parametrize("turns", [2, 3, 5])
def test_a_guess_of_several_periods_gives_one(turns):
    """Smooth by collocation, with a reset by shooting."""
    m = dd.Model("van der Pol")
    x, y = m.state("x", start=2.0), m.state("y", start=0.0)
    m.equation([m.der(x), m.der(y)], [y, (1 - x**2) * y - x])
    assert dd.periodic(m, period=6.663 * turns).period == pytest.approx(6.6632868593, rel=1e-9)
    kicked = dd.Model("kicked")
    x, v = kicked.state("x", start=1.0), kicked.state("v", start=0.0)
    kicked.equation([kicked.der(x), kicked.der(v)], [v, -x - 0.1 * v])
    kicked.event("kick", x, direction=1, reset={"v": v + 0.2})
    once = dd.periodic(kicked, start=dd.simulate(kicked, 100.0).end)
    again = dd.periodic(kicked, start=once.begun, period=turns * once.period)
    assert again.period == pytest.approx(once.period, rel=1e-8)


@pytest.mark.wide
def test_orbits_of_twice_the_period_of_roessler():
    """The branch that a period doubling begins doubles its period again."""
    m = roessler()
    orbit = dd.periodic(m, start=dd.simulate(m, 200.0).end)
    branch = dd.branch(orbit, "c", (2.5, 4.0))
    first = branch.points[0]
    twice = first.switch()
    assert twice.period[0] == pytest.approx(2 * first.period, rel=1e-3)
    assert twice.stable[0]
    assert not branch.stable[-1]
    assert [point.kind for point in twice.points] == ["period doubling"]
    assert twice.points[0].parameter == pytest.approx(3.8374, abs=2e-4)
    # A run settles on the doubled orbit.
    settled = dd.simulate(m, 400.0, parameters={"c": 3.5}, rtol=1e-9)
    near = int(np.argmin(abs(twice["c"] - 3.5)))
    late = settled.at(np.linspace(380.0, 400.0, 4001))["x"]
    assert twice["x"][near] == pytest.approx(late.max(), abs=0.05)


def test_fold_of_cycles_of_a_normal_form():
    """r' = r (mu + r² - r⁴): orbits of r² = (1 ± √(1 + 4 mu))/2, which meet at mu = -1/4."""
    m = dd.Model("fold of cycles")
    mu, x = m.parameter("mu", 0.0), m.state("x", 2, start=[1.0, 0.0])
    square = ca.dot(x, x)
    grow = mu + square - square**2
    m.equation(m.der(x), ca.vertcat(grow * x[0] - 2 * x[1], grow * x[1] + 2 * x[0]))
    branch = dd.branch(dd.periodic(m, period=3.0), "mu", (0.0, -1.0))
    assert [point.kind for point in branch.points] == ["fold of cycles"]
    assert branch.points[0].parameter == pytest.approx(-0.25, abs=1e-8)
    assert np.all(np.abs(branch.period - np.pi) < 1e-8)
    size = branch["x"][:, 0] ** 2
    assert np.allclose(size - size**2, -branch["mu"], atol=2e-4)
    assert branch.stable[0]
    assert not branch.stable[-1]
    # Liouville: the multiplier beside 1 is exp(∫ divergence) = exp(T r² (2 - 4 r²)).
    for k in (0, len(size) // 2):
        exact = np.exp(np.pi * size[k] * (2 - 4 * size[k]))
        assert branch.multipliers[k][np.argmax(abs(branch.multipliers[k] - 1))].real == pytest.approx(exact, rel=2e-3)
    assert "shrinks to a point of rest near mu = " in branch.ended


def test_torus_of_langford():
    """W. F. Langford 1979: x' = (l - 3) x - y/4 + x (z + (1 - z²)/5), ...: the cycle loses stability at l = 2."""
    m = dd.Model("Langford")
    level = m.parameter("level", 1.8)
    x, y, z = m.state("x", start=0.5), m.state("y", start=0.0), m.state("z", start=1.0)
    turn = level - 3 + z + 0.2 * (1 - z**2)
    m.equation([m.der(x), m.der(y)], [turn * x - 0.25 * y, turn * y + 0.25 * x])
    m.equation(m.der(z), level * z - (x**2 + y**2 + z**2))
    orbit = dd.periodic(m, start=dd.simulate(m, 500.0).end)
    branch = dd.branch(orbit, "level", (1.8, 2.1))
    assert [point.kind for point in branch.points] == ["torus"]
    assert branch.points[0].parameter == pytest.approx(2.0, abs=1e-7)
    assert branch.points[0].period == pytest.approx(8 * np.pi, rel=1e-8)
    assert abs(branch.points[0].multipliers[:2]) == pytest.approx(1.0, abs=1e-7)


def test_orbits_born_at_hopf_points():
    """Brusselator: period 2π and growing from B = 2. Lorenz: unstable orbits towards r = 13.926 (homoclinic)."""
    m = dd.Model("Brusselator")
    A, B = m.parameter("A", 1.0), m.parameter("B", 1.0)
    x, y = m.state("x", start=1.0), m.state("y", start=1.0)
    m.equation([m.der(x), m.der(y)], [A + x**2 * y - (B + 1) * x, B * x - x**2 * y])
    hopf = dd.branch(m, "B", (1.0, 3.0)).points[0]
    orbits = dd.branch(hopf, "B", (1.0, 3.0))
    assert orbits.period[0] == pytest.approx(2 * np.pi, rel=1e-4)
    assert orbits.stable.all()
    assert orbits["B"][-1] == 3.0
    last = orbits.at(-1)
    assert last.period == pytest.approx(orbits.period[-1], rel=1e-8)
    settled = dd.simulate(m, 200.0, parameters={"B": 3.0}, rtol=1e-9).at(np.linspace(190, 200, 4001))["x"]
    assert orbits["x"][-1] == pytest.approx(settled.max(), abs=2e-3)
    assert orbits.least("x")[-1] == pytest.approx(settled.min(), abs=2e-3)
    born = next(point for point in dd.branch(lorenz(), "r", (24.0, 25.0)).points if point.kind == "hopf")
    unstable = dd.branch(born, "r", (20.0, 26.0))
    assert unstable["r"][-1] == 20.0
    assert not unstable.stable.any()
    # The closed orbit at r = 20, by shooting from there.
    assert unstable.at(-1).residual < 1e-6


@pytest.mark.wide
def test_resonance_curve_of_duffing_over_its_frequency():
    """The period follows the drive along the branch; both folds are passed, and runs settle on its stable parts."""
    m = duffing()
    end = dd.simulate(m, 2 * np.pi / 0.8 * 40).end
    orbit = dd.periodic(m, start={name: float(end[name]) for name in ("q", "q_dot")}, period=2 * np.pi / 0.8)
    branch = dd.branch(orbit, "w", (0.8, 2.0))
    assert np.allclose(branch.period * branch["w"], 2 * np.pi, rtol=1e-9)
    folds = [point.parameter for point in branch.points if point.kind == "fold of cycles"]
    assert len(folds) == 2
    assert folds[0] > folds[1]
    # Harmonic balance: ((1 + 0.15 A² - w²)² + (0.1 w)²) A² = 0.3², the folds where dw/dA = 0.
    A = np.linspace(0.3, 2.6, 200001)
    inner = 1 + 0.15 * A**2
    root = np.sqrt(np.maximum((0.3 / A) ** 2 * 1.0 - 0.01 * inner + 0.01**2 / 4, 0))
    upper = np.sqrt(inner - 0.005 + root)
    turns = upper[1:-1][(upper[1:-1] < upper[2:]) & (upper[1:-1] <= upper[:-2])]
    assert folds[1] == pytest.approx(turns[0], rel=0.02)
    # Between the folds three orbits exist, two of them stable.
    between = 0.5 * (folds[0] + folds[1])
    crossings = np.flatnonzero(np.diff(np.sign(branch["w"] - between)))
    assert len(crossings) == 3
    assert [bool(branch.stable[k]) for k in crossings] == [True, False, True]


@pytest.mark.wide
def test_symmetry_breaking_of_a_driven_pendulum():
    """The symmetric swing of a pendulum loses its symmetry; the other branch doubles its period at 1.0663 (Baker and
    Gollub, Chaotic Dynamics, 1996, for damping 1/2 and frequency 2/3)."""
    m = dd.Model("driven pendulum")
    drive = m.parameter("drive", 0.9)
    q = m.state("q", start=0.5, rate=0.0)
    m.equation(m.der(m.der(q)), -ca.sin(q) - 0.5 * m.der(q) + drive * ca.cos(2 / 3 * m.time))
    end = dd.simulate(m, 3 * np.pi * 60).end
    orbit = dd.periodic(m, start={name: float(end[name]) for name in ("q", "q_dot")}, period=3 * np.pi)
    branch = dd.branch(orbit, "drive", (0.9, 1.08))
    assert [point.kind for point in branch.points] == ["branch point"]
    point = branch.points[0]
    other = point.switch()
    k = int(np.argmin(abs(other["drive"] - 1.05)))
    assert other.stable[k]
    assert not branch.stable[-1]
    # Symmetric swings are as large to both sides, the others are not.
    assert branch["q"][5] == pytest.approx(-branch.least("q")[5], rel=1e-6)
    assert abs(other["q"][k] + other.least("q")[k]) > 0.05
    assert [found.kind for found in other.points] == ["period doubling"]
    assert other.points[0].parameter == pytest.approx(1.0663, abs=2e-4)


def test_whirling_pendulum_of_index_three():
    """A constraint of index 3: mean speed and power balance of the whirling orbit, tau = d · mean(w²)/mean(w)."""
    m = dd.Model("whirl")
    tau = m.parameter("tau", 3.0)
    r, pull = m.state("r", 2, start=[0.0, -1.0], rate=[6.0, 0.0]), m.algebraic("pull")
    v = m.der(r)
    m.equation(m.der(v), ca.vertcat(0, -9.81) - pull * r + tau * ca.vertcat(-r[1], r[0]) - 0.5 * v)
    m.equation(ca.dot(r, r), 1.0)
    orbit = dd.periodic(m, start=dd.simulate(m, 60.0).end)
    branch = dd.branch(orbit, "tau", (3.0, 4.0))
    assert branch["tau"][-1] == 4.0
    assert branch.stable.all()
    # One turn of the pendulum: ∫ w dt = 2π, and the work of the torque is what damping takes.
    last = branch.at(-1)
    seen = last.at(np.linspace(0, last.period, 4001))
    speed = np.linalg.norm(seen["r_dot"], axis=1)
    step = last.period / 4000
    assert np.trapezoid(speed, dx=step) == pytest.approx(2 * np.pi, rel=1e-6)
    assert 4.0 * 2 * np.pi == pytest.approx(0.5 * np.trapezoid(speed**2, dx=step), rel=1e-6)
    assert abs(branch.multipliers[-1][1]) == pytest.approx(np.exp(-0.5 * branch.period[-1]), rel=1e-6)


def test_tables_and_pictures():
    m = dd.Model("van der Pol")
    mu, x, y = m.parameter("mu", 1.0), m.state("x", start=2.0), m.state("y", start=0.0)
    m.equation([m.der(x), m.der(y)], [y, mu * (1 - x**2) * y - x])
    branch = dd.branch(dd.periodic(m), "mu", (1.0, 1.5))
    data = branch.to_xarray()
    assert data["x"].dims == ("orbit", "extent")
    assert np.allclose(data["x"].sel(extent="largest"), branch["x"])
    assert list(branch) == ["mu", "x", "y"]
    figure = branch.plot("x")
    assert figure.axes[0].get_xlabel() == "mu"
    assert "van der Pol" in branch._repr_html_()
    assert str(branch).startswith("Branch of periodic orbits of 'van der Pol' over mu")
    plt.close("all")


def test_wrong_uses():
    m = roessler()
    orbit = dd.periodic(m, start=dd.simulate(m, 200.0).end)
    with pytest.raises(dd.InputError, match="bring their own start"):
        dd.branch(orbit, "c", (2.5, 3.0), parameters={"a": 0.3})
    with pytest.raises(dd.InputError, match="cannot be moved"):
        dd.branch(orbit, "x", (2.5, 3.0))
    with pytest.raises(dd.InputError, match="not a pair of different numbers"):
        dd.branch(orbit, "c", (2.5, 2.5))
    fold = dd.branch(_fold(), "a", (-1.0, 0.5), start={"x": 1.0}).points[0]
    with pytest.raises(dd.InputError, match="No orbits are born at a fold"):
        dd.branch(fold, "a", (-1.0, 0.5))


def _fold():
    m = dd.Model("saddle and node")
    x, a = m.state("x", start=-1.0), m.parameter("a", -1.0)
    m.equation(m.der(x), -a - x**2)
    return m


@pytest.mark.wide
def test_orbits_of_a_squid_axon():
    """Hodgkin and Huxley's folds and period doublings: J. Guckenheimer, I. S. Labouriau, Bull. Math. Biol. 55 (1993).

    Between the first two, multipliers of 26 and 1 meet, become a pair and come apart on the other side of the circle.
    """
    m = dd.Model("axon")
    current = m.parameter("I", 0.0)
    V, a, h, n = (m.state(name, start=value) for name, value in zip("Vahn", (0.0, 0.05, 0.6, 0.32)))
    m.equation(
        m.der(V), current - 120 * a**3 * h * (V - 115) - 36 * n**4 * (V + 12) - 0.3 * (V - 10.599)
    )  # fmt: skip
    rates = {
        a: (0.1 * (25 - V) / (ca.exp((25 - V) / 10) - 1), 4 * ca.exp(-V / 18)),
        h: (0.07 * ca.exp(-V / 20), 1 / (ca.exp((30 - V) / 10) + 1)),
        n: (0.01 * (10 - V) / (ca.exp((10 - V) / 10) - 1), 0.125 * ca.exp(-V / 80)),
    }
    for gate, (opens, closes) in rates.items():
        m.equation(m.der(gate), opens * (1 - gate) - closes * gate)
    rest = dd.branch(m, "I", (0.0, 20.0))
    branch = dd.branch(rest.points[0], "I", (7.0, 10.0))
    assert [point.kind for point in branch.points] == [
        "fold of cycles", "period doubling", "period doubling", "fold of cycles",
    ]  # fmt: skip
    assert np.allclose([point.parameter for point in branch.points], [7.84655, 7.84954, 7.92198, 7.92199], atol=1e-5)
    for point in branch.points[1:3]:
        assert min(abs(point.multipliers + 1)) < 1e-3


def test_tongues_of_mathieu():
    """The edges of instability of x'' + (a - 2 q cos 2t) x = 0 at q = 1; between them multipliers are on the circle,
    where rounding makes no torus of them (NIST Handbook of Mathematical Functions, chapter 28)."""
    m = dd.Model("Mathieu")
    x, a = m.state("x", start=0.0, rate=0.0), m.parameter("a", -0.2)
    m.equation(m.der(m.der(x)), -(a - 2 * ca.cos(2 * m.time)) * x)
    orbit = dd.periodic(m, period=np.pi, parameters={"a": 3.8})
    upper = dd.branch(orbit, "a", (3.8, 4.5))
    assert [point.kind for point in upper.points] == ["branch point"] * 2
    assert [p.parameter for p in upper.points] == pytest.approx([mathieu_b(2, 1.0), mathieu_a(2, 1.0)], abs=1e-7)
    lower = dd.branch(dd.periodic(m, period=np.pi), "a", (-0.2, 2.0))
    assert [point.kind for point in lower.points] == ["period doubling"] * 2
    assert [p.parameter for p in lower.points] == pytest.approx([mathieu_b(1, 1.0), mathieu_a(1, 1.0)], abs=1e-7)
