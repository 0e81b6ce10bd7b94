"""Fits whose first search ends elsewhere: outliers, oscillations, jumps in the data, bounds; and published fits."""

import numpy as np
import pytest

import daedalus as dd


def spring(k: float, c: float) -> dd.Model:
    m = dd.Model("spring")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    stiffness, damping = m.parameter("k", k), m.parameter("c", c)
    m.equation([m.der(x), m.der(v)], [v, -stiffness * x - damping * v])
    return m


def swung(k: float, c: float, start: float, times: np.ndarray) -> np.ndarray:
    """The closed form of the spring, from rest."""
    w = np.sqrt(k - c**2 / 4)
    return start * np.exp(-c * times / 2) * (np.cos(w * times) + c / (2 * w) * np.sin(w * times))


@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy", "arctan"])
def test_robust_losses_find_the_values_from_afar(loss):
    random, data = np.random.default_rng(0), []
    for start in (1.0, 0.5, 2.0):
        times = np.concatenate([[0.0], np.sort(random.uniform(0.1, 6.0, 39))])
        seen = swung(4.0, 0.3, start, times) + 0.01 * random.normal(size=40)
        seen[5] += 1.0
        data.append({"time": times, "x": seen})
    fit = dd.fit(spring(2.0, 0.1), data, free=["k", "c"], per_experiment=["x"], noise={"x": 0.01}, loss=loss)
    assert fit["k"] == pytest.approx(4.0, abs=0.02)
    assert fit["c"] == pytest.approx(0.3, abs=0.02)
    assert [fit[f"x, experiment {k}"] for k in range(3)] == pytest.approx([1.0, 0.5, 2.0], abs=0.03)
    # Outliers are why χ² is large.
    assert fit.notes == ()


@pytest.mark.parametrize("noise", [{"x": 0.01}, None])
def test_many_oscillations_from_another_frequency(noise):
    """Over twelve turns a frequency that is 20 % off ends in an optimum of its own."""
    times = np.linspace(0.0, 20.0, 201)
    seen = swung(16.0, 0.1, 1.0, times) + 0.01 * np.random.default_rng(1).normal(size=201)
    fit = dd.fit(spring(10.0, 0.1), {"time": times, "x": seen}, free="k", noise=noise)
    assert fit["k"] == pytest.approx(16.0, abs=5 * fit.std["k"])
    assert any("along stretches of the data" in note for note in fit.notes)
    assert "along stretches of the data" in str(fit)


def test_measured_speeds_that_jump():
    """A ball that bounces, of which only the speed is measured: every sample that a bounce passes makes an optimum."""

    def ball(bounce: float) -> dd.Model:
        m = dd.Model("ball")
        h, v, e = m.state("h", start=1.0), m.state("v", start=0.0), m.parameter("e", bounce)
        m.equation([m.der(h), m.der(v)], [v, -9.81])
        m.when(h < 0, {"v": -e * v})
        return m

    times = np.linspace(0.0, 1.5, 61)
    # Falls of 1 m, then flights of speeds e^k v.
    fall, impact = np.sqrt(2 / 9.81), np.sqrt(2 * 9.81)
    first, second = fall + 2 * 0.8 * impact / 9.81, fall + 2 * (0.8 + 0.64) * impact / 9.81
    assert second > 1.5
    speed = np.where(times < fall, -9.81 * times, 0.8 * impact - 9.81 * (times - fall))
    speed = np.where(times > first, 0.64 * impact - 9.81 * (times - first), speed)
    seen = speed + 0.01 * np.random.default_rng(2).normal(size=61)
    fit = dd.fit(ball(0.6), {"time": times, "v": seen}, free="e", noise={"v": 0.01})
    assert fit["e"] == pytest.approx(0.8, abs=5 * fit.std["e"])


def test_values_at_bounds_and_a_wrong_noise_are_told():
    m = dd.Model("decay")
    x, a = m.state("x", start=1.0), m.parameter("a", 1.0)
    m.equation(m.der(x), -a * x)
    times = np.linspace(0.0, 1.0, 21)
    data = {"time": times, "x": np.exp(-3 * times) + 0.01 * np.cos(40 * times)}
    fit = dd.fit(m, data, free="a", noise={"x": 0.01}, bounds={"a": (0.0, 2.0)})
    assert any("a is at its upper bound 2" in note for note in fit.notes)
    assert any("a degree of freedom" in note for note in fit.notes)
    assert dd.fit(m, data, free="a", noise={"x": 0.01}, bounds={"a": (0.0, None)}).notes == ()


CRACKING = np.array([
    [0, 1.0, 0], [0.025, 0.8105, 0.2], [0.05, 0.6208, 0.2886], [0.075, 0.5258, 0.301], [0.1, 0.4345, 0.3215],
    [0.125, 0.3903, 0.3123], [0.15, 0.3342, 0.2716], [0.175, 0.3034, 0.2551], [0.2, 0.2735, 0.2258],
    [0.225, 0.2405, 0.1959], [0.25, 0.2283, 0.1789], [0.3, 0.2071, 0.1457], [0.35, 0.1669, 0.1198],
    [0.4, 0.153, 0.0909], [0.45, 0.1339, 0.0719], [0.5, 0.1265, 0.0561], [0.55, 0.12, 0.046], [0.65, 0.099, 0.028],
    [0.75, 0.087, 0.019], [0.85, 0.077, 0.014], [0.95, 0.069, 0.01],
])  # fmt: skip


def test_catalytic_cracking_of_gas_oil():
    """E. D. Dolan, J. J. Moré, T. S. Munson, COPS 3.0 (2004): 5.23664e-3 at 11.847, 8.345, 1.001; from zero."""
    m = dd.Model("cracking")
    a, b, c = (m.parameter(name, 0.0) for name in "abc")
    oil, petrol = m.state("oil", start=1.0), m.state("petrol", start=0.0)
    m.equation([m.der(oil), m.der(petrol)], [-(a + c) * oil**2, a * oil**2 - b * petrol])
    data = dict(zip(("time", "oil", "petrol"), CRACKING.T))
    fit = dd.fit(m, data, free=["a", "b", "c"], noise=1.0, bounds=dict.fromkeys("abc", (0.0, None)))
    assert fit.chi_squared == pytest.approx(5.23664e-3, rel=1e-4)
    assert [fit[name] for name in "abc"] == pytest.approx([11.847, 8.345, 1.001], rel=1e-3)


METHANOL = np.array([
    [0.0, np.nan, np.nan, np.nan], [0.05, 0.461, 0.114, 0.018], [0.065, 0.426, 0.135, 0.035],
    [0.08, 0.383, 0.157, 0.045], [0.123, 0.305, 0.194, 0.047], [0.233, 0.195, 0.231, 0.084],
    [0.273, 0.17, 0.234, 0.095], [0.354, 0.139, 0.228, 0.111], [0.397, 0.112, 0.228, 0.134],
    [0.418, 0.112, 0.226, 0.168], [0.502, 0.09, 0.22, 0.148], [0.553, 0.082, 0.214, 0.157],
    [0.681, 0.066, 0.178, 0.206], [0.75, 0.053, 0.188, 0.206], [0.916, 0.043, 0.183, 0.214],
    [0.937, 0.041, 0.184, 0.213], [1.122, 0.029, 0.166, 0.23],
])  # fmt: skip


@pytest.mark.parametrize("guess", [1.0, 10.0])
def test_methanol_to_hydrocarbons(guess):
    """W. R. Esposito, C. A. Floudas, Industrial & Engineering Chemistry Research 39 (2000): 5.2407, 1.2176, 0, 0, 0."""
    m = dd.Model("methanol")
    names = ["a", "b", "c", "d", "e"]
    a, b, c, d, e = (m.parameter(name, guess) for name in names)
    x, y, z = m.state("x", start=1.0), m.state("y", start=0.0), m.state("z", start=0.0)
    below = (b + e) * x + y
    m.equation(
        [m.der(x), m.der(y), m.der(z)],
        [
            -(2 * a - a * y / below + c + d) * x, a * x * (b * x - y) / below + c * x,
            a * x * (y + e * x) / below + d * x,
        ],
    )  # fmt: skip
    data = dict(zip(("time", "x", "y", "z"), METHANOL.T))
    fit = dd.fit(m, data, free=names, noise=1.0, bounds=dict.fromkeys(names, (0.0, None)))
    assert [fit[name] for name in names] == pytest.approx([5.2407, 1.2176, 0.0, 0.0, 0.0], rel=1e-3, abs=1e-3)
    assert sum("is at its lower bound 0" in note for note in fit.notes) == 3
