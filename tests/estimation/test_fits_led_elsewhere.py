"""Fits whose first search ends elsewhere: outliers, oscillations, jumps in the data, bounds; and published fits."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

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


def bouncing(bounce: float, height: float) -> dd.Model:
    m = dd.Model("ball")
    h, v, e = m.state("h", start=height), m.state("v", start=0.0), m.parameter("e", bounce)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.when(h < 0, {"v": -e * v})
    return m


def bounced_speed(times: np.ndarray) -> np.ndarray:
    """A fall of 1 m, then flights of speeds e^k v with e = 0.8, measured with a noise of 0.01 m/s."""
    fall, impact = np.sqrt(2 / 9.81), np.sqrt(2 * 9.81)
    first, second = fall + 2 * 0.8 * impact / 9.81, fall + 2 * (0.8 + 0.64) * impact / 9.81
    assert second > times[-1]
    speed = np.where(times < fall, -9.81 * times, 0.8 * impact - 9.81 * (times - fall))
    speed = np.where(times > first, 0.64 * impact - 9.81 * (times - first), speed)
    return np.asarray(speed + 0.01 * np.random.default_rng(2).normal(size=len(times)))


def test_measured_speeds_that_jump():
    """A ball that bounces, of which only the speed is measured: every sample that a bounce passes makes an optimum."""
    times = np.linspace(0.0, 1.5, 61)
    data = {"time": times, "v": bounced_speed(times)}
    fit = dd.fit(bouncing(0.6, 1.0), data, free="e", noise={"v": 0.01})
    assert fit["e"] == pytest.approx(0.8, abs=5 * fit.std["e"])


@pytest.mark.parametrize(("bounce", "height"), [(0.6, 0.8), (0.9, 0.9)])
def test_a_height_and_a_bounce_from_speeds_that_jump(bounce, height):
    """Two jumps, of which each moves with both values: a few samples between them are all that is left, as outliers."""
    times = np.linspace(0.0, 1.5, 61)
    data = {"time": times, "v": bounced_speed(times)}
    fit = dd.fit(bouncing(bounce, height), data, free=["e", "h"], noise={"v": 0.01})
    assert fit["e"] == pytest.approx(0.8, abs=5 * fit.std["e"])
    assert fit["h"] == pytest.approx(1.0, abs=5 * fit.std["h"])
    assert fit.chi_squared < 90.0


def true_speed(times: np.ndarray, bounce: float, height: float) -> np.ndarray:
    """Of a ball from its fall on, flight by flight."""
    begin, speed = -np.sqrt(2 * height / 9.81), np.sqrt(2 * height * 9.81)
    found = np.zeros(len(times))
    while begin <= times[-1]:
        found = np.where(times >= begin, speed - 9.81 * (times - begin), found)
        begin, speed = begin + 2 * speed / 9.81, bounce * speed
    return found


@pytest.mark.parametrize(
    ("true", "guess", "samples"),
    [
        ((0.853, 0.591), (0.789, 0.853), 41),
        pytest.param((0.852, 1.526), (0.766, 0.788), 64, marks=pytest.mark.wide),
        pytest.param((0.8, 1.536), (0.824, 0.507), 64, marks=pytest.mark.wide),
    ],
)
def test_speeds_that_jump_from_poor_values(true, guess, samples):
    """Without a noise, what is left looks like one that is estimated, as large as a third of the data."""
    times = np.linspace(0.0, 2.0, samples)
    data = {"time": times, "v": true_speed(times, *true)}
    bounds = {"e": (0.05, 1.0), "h": (0.1, 3.0)}
    fit = dd.fit(bouncing(*guess), data, free=["e", "h"], bounds=bounds)
    assert [fit["e"], fit["h"]] == pytest.approx(true, abs=1e-3)


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


def assert_least_squares(left, found: list[float], chi_squared: float) -> None:
    """The residuals by another integrator have this sum of squares, and a larger one beside the values on all sides."""
    best = float(np.sum(left(np.array(found)) ** 2))
    assert best == pytest.approx(chi_squared, rel=1e-6)
    for k, value in enumerate(found):
        for step in (-0.01 * value, 0.01 * max(value, 0.01 * max(found))):
            beside = np.array(found)
            beside[k] += step
            assert step == 0.0 or np.sum(left(beside) ** 2) > best


CRACKING = np.array([
    [0, 1.0, 0], [0.025, 0.8105, 0.2], [0.05, 0.6208, 0.2886], [0.075, 0.5258, 0.301], [0.1, 0.4345, 0.3215],
    [0.125, 0.3903, 0.3123], [0.15, 0.3342, 0.2716], [0.175, 0.3034, 0.2551], [0.2, 0.2735, 0.2258],
    [0.225, 0.2405, 0.1959], [0.25, 0.2283, 0.1789], [0.3, 0.2071, 0.1457], [0.35, 0.1669, 0.1198],
    [0.4, 0.153, 0.0909], [0.45, 0.1339, 0.0719], [0.5, 0.1265, 0.0561], [0.55, 0.12, 0.046], [0.65, 0.099, 0.028],
    [0.75, 0.087, 0.019], [0.85, 0.077, 0.014], [0.95, 0.069, 0.01],
])  # fmt: skip


def test_catalytic_cracking_of_gas_oil():
    """E. D. Dolan, J. J. Moré, T. S. Munson, COPS 3.1 (2004), with the data of its models; from zero. Against SciPy."""
    m = dd.Model("cracking")
    a, b, c = (m.parameter(name, 0.0) for name in "abc")
    oil, petrol = m.state("oil", start=1.0), m.state("petrol", start=0.0)
    m.equation([m.der(oil), m.der(petrol)], [-(a + c) * oil**2, a * oil**2 - b * petrol])
    data = dict(zip(("time", "oil", "petrol"), CRACKING.T))
    fit = dd.fit(m, data, free=["a", "b", "c"], noise=1.0, bounds=dict.fromkeys("abc", (0.0, None)))

    def left(p: np.ndarray) -> np.ndarray:
        slopes = lambda _, x: [-(p[0] + p[2]) * x[0] ** 2, p[0] * x[0] ** 2 - p[1] * x[1]]  # noqa: E731
        run = solve_ivp(slopes, (0, 0.95), [1.0, 0.0], "LSODA", CRACKING[:, 0], rtol=1e-9, atol=1e-11)
        return (run.y.T - CRACKING[:, 1:]).ravel()

    assert_least_squares(left, [fit[name] for name in "abc"], fit.chi_squared)


METHANOL = np.array([
    [0.0, 1.0, 0.0, 0.0], [0.05, 0.7085, 0.1621, 0.0811], [0.065, 0.5971, 0.1855, 0.0965],
    [0.08, 0.5537, 0.1989, 0.1198], [0.123, 0.3684, 0.2845, 0.1535], [0.233, 0.1712, 0.3491, 0.2097],
    [0.273, 0.1198, 0.3098, 0.2628], [0.354, 0.0747, 0.3576, 0.2467], [0.397, 0.0529, 0.3347, 0.2884],
    [0.418, 0.0415, 0.3388, 0.2757], [0.502, 0.0261, 0.3557, 0.3167], [0.553, 0.0208, 0.3483, 0.2954],
    [0.681, 0.0085, 0.3836, 0.295], [0.75, 0.0053, 0.3611, 0.2937], [0.916, 0.0019, 0.3609, 0.2831],
    [0.937, 0.0018, 0.3485, 0.2846], [1.122, 0.0006, 0.3698, 0.2899],
])  # fmt: skip


def methanol_rates(x, y, a, b, c, d, e):
    below = (b + e) * x + y
    return [
        -(2 * b - a * y / below + c + d) * x, a * x * (b * x - y) / below + c * x,
        a * x * (y + e * x) / below + d * x,
    ]  # fmt: skip


@pytest.mark.wide
def test_methanol_to_hydrocarbons():
    """COPS 3.1 (2004), as its models in MadNLP/COPSBenchmark.jl have it; against SciPy."""
    m = dd.Model("methanol")
    names = ["a", "b", "c", "d", "e"]
    p = [m.parameter(name, 1.0) for name in names]
    x, y, z = m.state("x", start=1.0), m.state("y", start=0.0), m.state("z", start=0.0)
    m.equation([m.der(x), m.der(y), m.der(z)], methanol_rates(x, y, *p))
    data = dict(zip(("time", "x", "y", "z"), METHANOL.T))
    fit = dd.fit(m, data, free=names, noise=1.0, bounds=dict.fromkeys(names, (0.0, None)))

    def left(p: np.ndarray) -> np.ndarray:
        run = solve_ivp(
            lambda _, x: methanol_rates(x[0], x[1], *p), (0, 1.122), [1.0, 0.0, 0.0], "LSODA", METHANOL[:, 0],
            rtol=1e-9, atol=1e-11,
        )  # fmt: skip
        return (run.y.T - METHANOL[:, 1:]).ravel()

    assert_least_squares(left, [fit[name] for name in names], fit.chi_squared)
    assert fit["e"] == 0.0


PINENE = np.array([
    [0, np.nan, np.nan, np.nan, np.nan, np.nan], [1230, 88.35, 7.3, 2.3, 0.4, 1.75],
    [3060, 76.4, 15.6, 4.5, 0.7, 2.8], [4920, 65.1, 23.1, 5.3, 1.1, 5.8], [7800, 50.4, 32.9, 6.0, 1.5, 9.3],
    [10680, 37.5, 42.7, 6.0, 1.9, 12.0], [15030, 25.9, 49.1, 5.9, 2.2, 17.0], [22620, 14.0, 57.4, 5.1, 2.6, 21.0],
    [36420, 4.5, 63.1, 3.8, 2.9, 25.7],
])  # fmt: skip


@pytest.mark.parametrize("guess", [0.0, 1e-5, 1e-3])
def test_isomerisation_of_pinene(guess):
    """COPS 3.1 (2004), as its models in MadNLP/COPSBenchmark.jl have it; against SciPy."""
    m = dd.Model("pinene")
    names = ["a", "b", "c", "d", "e"]
    y = [m.state(f"y{k}", start=100.0 * (k == 0)) for k in range(5)]

    def rates(y, a, b, c, d, e):
        return [
            -(a + b) * y[0], a * y[0], b * y[0] - (c + d) * y[2] + e * y[4], c * y[2], d * y[2] - e * y[4],
        ]  # fmt: skip

    m.equation([m.der(s) for s in y], rates(y, *(m.parameter(name, guess) for name in names)))
    data = dict(zip(("time", "y0", "y1", "y2", "y3", "y4"), PINENE.T))
    fit = dd.fit(m, data, free=names, noise=1.0, bounds=dict.fromkeys(names, (0.0, None)))

    def left(p: np.ndarray) -> np.ndarray:
        begin, times = [100.0, 0.0, 0.0, 0.0, 0.0], PINENE[1:, 0]
        run = solve_ivp(lambda _, y: rates(y, *p), (0, 36420), begin, "LSODA", times, rtol=1e-9, atol=1e-9)
        return (run.y.T - PINENE[1:, 1:]).ravel()

    assert_least_squares(left, [fit[name] for name in names], fit.chi_squared)
    assert fit.chi_squared < 20.0
