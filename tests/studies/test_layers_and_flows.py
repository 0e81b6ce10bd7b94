"""Boundary values with layers and several unknowns, from collections of problems, against solve_bvp and formulas."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_bvp

import daedalus as dd


def states_of(m, *names):
    return [m.state(name, start=0.0) for name in names]


def as_guess(sol, *names):
    return {name: lambda t, name=name: float(sol.at(t)[name]) for name in names}


def test_a_shock_in_a_nozzle():
    """A coarse mesh has no solution near a straight guess (U. Ascher et al., 1995, example 1.17: A = 1 + t²)."""
    m = dd.Model("nozzle")
    (u, v), eps, t = states_of(m, "u", "v"), m.parameter("eps", 0.1), m.time
    area, slope = 1 + t**2, 2 * t
    push = (1.2 - eps * slope) * u * v - v / u - slope / area * (1 - 0.2 * u**2)
    m.equation([m.der(u), m.der(v)], [v, push / (eps * area * u)])
    guess = {"u": lambda s: 0.9129 - 0.5379 * s, "v": -0.5379}
    for value in (0.1,):
        sol = dd.boundary_value(
            m, (0, 1), lambda at: [at(0)["u"] - 0.9129, at(1)["u"] - 0.375], guess=guess, parameters={"eps": value}
        )
        guess = as_guess(sol, "u", "v")

    def rates(x, y):
        area, slope = 1 + x**2, 2 * x
        push = (1.2 - 0.1 * slope) * y[0] * y[1] - y[1] / y[0] - slope / area * (1 - 0.2 * y[0] ** 2)
        return np.vstack([y[1], push / (0.1 * area * y[0])])

    ends = lambda a, b: np.array([a[0] - 0.9129, b[0] - 0.375])  # noqa: E731
    theirs = solve_bvp(rates, ends, sol.time, np.array([sol["u"], sol["v"]]), tol=1e-8, max_nodes=20000)
    at = np.linspace(0, 1, 41)
    assert sol.at(at)["u"] == pytest.approx(theirs.sol(at)[0], abs=1e-6)


def test_flow_between_disks_that_turn_against_each_other():
    """ε f'''' + f f''' + g g' = 0, ε g'' + f g' = f' g (Ascher, Mattheij and Russell, 1995, example 1.20)."""
    m, e = dd.Model("swirling flow"), 0.01
    (f, f1, f2, f3, g, g1), names = states_of(m, "f", "f1", "f2", "f3", "g", "g1"), ("f", "f1", "f2", "f3", "g", "g1")
    rates = [f1, f2, f3, (-f * f3 - g * g1) / e, g1, (f1 * g - f * g1) / e]
    m.equation([m.der(x) for x in (f, f1, f2, f3, g, g1)], rates)
    sol = dd.boundary_value(
        m, (0, 1),
        lambda at: [at(0)["f"], at(0)["f1"], at(1)["f"], at(1)["f1"], at(0)["g"] + 1, at(1)["g"] - 1],
        guess={"g": lambda t: 2 * t - 1, "g1": 2.0},
    )  # fmt: skip
    theirs = solve_bvp(
        lambda x, y: np.vstack(
            [y[1], y[2], y[3], (-y[0] * y[3] - y[4] * y[5]) / e, y[5], (y[1] * y[4] - y[0] * y[5]) / e]
        ),
        lambda a, b: np.array([a[0], a[1], b[0], b[1], a[4] + 1, b[4] - 1]),
        sol.time, np.array([sol[name] for name in names]), tol=1e-8, max_nodes=20000,
    )  # fmt: skip
    assert float(sol["f2"][0]) == pytest.approx(theirs.y[2, 0], rel=1e-6)
    assert float(sol["g1"][0]) == pytest.approx(theirs.y[5, 0], rel=1e-6)


def test_an_index_2_problem_with_growing_and_falling_motions():
    """x₁ = x₂ = eᵗ, y = -eᵗ/(2 - t) (U. Ascher and L. R. Petzold, SIAM J. Sci. Stat. Comput. 12, 1991, example 1)."""
    m, k = dd.Model("index 2"), 10.0
    x1, x2, y, t = m.state("x1", start=1.0), m.state("x2", start=1.0), m.algebraic("y"), m.time
    m.equation(m.der(x1), (k - 1 / (2 - t)) * x1 + (2 - t) * k * y + (3 - t) / (2 - t) * ca.exp(t))
    m.equation(m.der(x2), (1 - k) / (t - 2) * x1 - x2 + (k - 1) * y + 2 * ca.exp(t))
    m.equation((t + 2) * x1 + (t**2 - 4) * x2, (t**2 + t - 2) * ca.exp(t))
    sol = dd.boundary_value(
        m, (0, 1), lambda at: [at(1)["x1"] - np.e], guess={"x1": lambda s: 1 + s, "x2": lambda s: 1 + s, "y": -0.5}
    )
    at = np.linspace(0, 1, 11)
    found = sol.at(at)
    assert found["x1"] == pytest.approx(np.exp(at), abs=1e-6)
    assert found["x2"] == pytest.approx(np.exp(at), abs=1e-6)
    assert found["y"] == pytest.approx(-np.exp(at) / (2 - at), abs=1e-5)


def test_frequencies_of_a_beam_and_zeros_of_bessel():
    """cosh k cos k = -1: 1.875104; J₁(k) = 0: 3.831706."""
    m = dd.Model("beam")
    bent, k = states_of(m, "w", "slope", "moment", "force"), m.parameter("k", 2.0)
    m.equation([m.der(x) for x in bent], [*bent[1:], k**4 * bent[0]])
    sol = dd.boundary_value(
        m, (0, 1),
        lambda at: [at(0)["w"], at(0)["slope"], at(1)["moment"], at(1)["force"], at(1)["w"] - 1],
        free={"k": 2.0}, guess={"w": lambda t: t**2, "slope": lambda t: 2 * t, "moment": 2.0},
    )  # fmt: skip
    assert sol["k"] == pytest.approx(1.875104068711961, rel=1e-8)
    m, near = dd.Model("Bessel"), 1e-3
    y, k, t = m.state("y", start=0.0, rate=0.5), m.parameter("k", 3.5), m.time
    m.equation(m.der(m.der(y)), -m.der(y) / t - (k**2 - 1 / t**2) * y)
    sol = dd.boundary_value(
        m, (near, 1.0), lambda at: [at(near)["y"] - near * at(near)["y_dot"], at(near)["y_dot"] - 1, at(1.0)["y"]],
        free={"k": 3.5}, guess={"y": lambda t: np.sin(np.pi * t), "y_dot": lambda t: np.pi * np.cos(np.pi * t)},
    )  # fmt: skip
    assert sol["k"] == pytest.approx(3.8317059702, rel=1e-6)
