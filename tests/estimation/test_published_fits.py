"""Fits of the COPS collection (E. D. Dolan, J. J. Moré, T. S. Munson, 2004) against their published optima."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def test_cracking_of_gas_oil():
    # Problem 16: 5.23664e-3.
    early, late = [0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.225, 0.25], [0.3, 0.35, 0.4, 0.45, 0.5, 0.55]
    times = np.array([*early, *late, 0.65, 0.75, 0.85, 0.95])
    oil = np.array(
        [
            1,
            0.8105,
            0.6208,
            0.5258,
            0.4345,
            0.3903,
            0.3342,
            0.3034,
            0.2735,
            0.2405,
            0.2283,
            0.2071,
            0.1669,
            0.153,
            0.1339,
            0.1265,
            0.12,
            0.099,
            0.087,
            0.077,
            0.069,
        ]
    )
    gasoline = np.array(
        [
            0,
            0.2,
            0.2886,
            0.301,
            0.3215,
            0.3123,
            0.2716,
            0.2551,
            0.2258,
            0.1959,
            0.1789,
            0.1457,
            0.1198,
            0.0909,
            0.0719,
            0.0561,
            0.046,
            0.028,
            0.019,
            0.014,
            0.01,
        ]
    )
    m = dd.Model("cracking")
    a, b = m.state("a", start=1.0), m.state("b", start=0.0)
    p = [m.parameter(f"p{k}", 1.0) for k in range(3)]
    m.equation([m.der(a), m.der(b)], [-(p[0] + p[2]) * a**2, p[0] * a**2 - p[1] * b])
    fit = dd.fit(m, {"time": times, "a": oil, "b": gasoline}, free=["p0", "p1", "p2"])
    run = dd.simulate(fit.model, 0.95, save_at=times)
    left = np.sum((run["a"] - oil) ** 2 + (run["b"] - gasoline) ** 2)
    assert left == pytest.approx(5.23664e-3, rel=1e-4)
    assert [fit[f"p{k}"] for k in range(3)] == pytest.approx([11.847, 8.345, 1.001], rel=2e-3)


@pytest.mark.parametrize("guess", [0.0, 1e-3])
def test_isomers_of_pinene(guess):
    # Problem 15: 19.8721, from rates that are zero or a hundred times too large.
    times = np.array([1230, 3060, 4920, 7800, 10680, 15030, 22620, 36420.0])
    shares = np.array(
        [
            [88.35, 7.3, 2.3, 0.4, 1.75], [76.4, 15.6, 4.5, 0.7, 2.8], [65.1, 23.1, 5.3, 1.1, 5.8],
            [50.4, 32.9, 6.0, 1.5, 9.3], [37.5, 42.7, 6.0, 1.9, 12.0], [25.9, 49.1, 5.9, 2.2, 17.0],
            [14.0, 57.4, 5.1, 2.6, 21.0], [4.5, 63.1, 3.8, 2.9, 25.7],
        ]
    )  # fmt: skip
    m = dd.Model("pinene")
    x, p = m.state("x", 5, start=[100.0, 0, 0, 0, 0]), [m.parameter(f"p{k}", guess) for k in range(5)]
    back = p[4] * x[4]
    rates = [-(p[0] + p[1]) * x[0], p[0] * x[0], p[1] * x[0] - (p[2] + p[3]) * x[2] + back, p[2] * x[2]]
    m.equation(m.der(x), ca.vertcat(*rates, p[3] * x[2] - back))
    data = {"time": [0.0, *times], **{f"x[{k}]": [np.nan, *shares[:, k]] for k in range(5)}}
    fit = dd.fit(m, data, free=[f"p{k}" for k in range(5)], noise=1.0)
    run = dd.simulate(fit.model, times[-1], save_at=times)
    assert np.sum((run["x"] - shares) ** 2) == pytest.approx(19.8721, rel=1e-4)
    assert [fit[f"p{k}"] for k in range(5)] == pytest.approx([5.926e-5, 2.963e-5, 2.047e-5, 27.45e-5, 4e-5], rel=1e-3)
