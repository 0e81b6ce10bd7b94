"""Derivatives of random models with conditions of states, time and parameters in equations and in guards of events."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import SolverError

END = 2.0


def random_model(seed):
    draw = np.random.default_rng(seed)
    m = dd.Model(f"random gates {seed}")
    a, b = m.parameter("a", 1.0), m.parameter("b", 0.7)
    x, y = m.state("x", start=draw.uniform(-1, 1)), m.state("y", start=draw.uniform(-1, 1))
    n = m.discrete("n", start=0.0) if draw.random() < 0.5 else None

    def level(low=-1.0, high=1.0):
        return float(draw.uniform(low, high))

    def condition():
        c = level(-0.8, 0.8)
        known = [x > c, y < c, x + y > c, x * y > 0.3 * c, m.time > level(0.2, 1.5), m.time > b * level(0.3, 2.0),
                 ca.sin(3 * m.time * b) > c, ca.fmod(m.time, b) > 0.3 * b]  # fmt: skip
        one = known[draw.integers(len(known))]
        if draw.random() < 0.75:
            return one
        other = [x < c, y > c, x - y > c][draw.integers(3)]
        return ca.logic_and(one, other) if draw.random() < 0.5 else ca.logic_or(one, other)

    def term():
        if draw.random() < 0.8:
            return ca.if_else(condition(), level(-2, 2) * a, level(-2, 2) * b)
        return ca.if_else(condition(), ca.if_else(condition(), a, 0.3), b * x)

    def guard():
        kind = draw.integers(5)
        if kind == 0:
            return ca.if_else(condition(), 1, -1) > 0
        if kind in (1, 2):
            return (dd.all_of, dd.any_of)[kind - 1]((x, y)[kind - 1] > level(), condition())
        return x - b * y > level() if kind == 3 else ca.if_else(condition(), x, y) > level()

    m.equation(m.der(x), y + term() - 0.3 * x + (0.0 if n is None else 0.4 * n))
    if draw.random() < 0.4:
        z = m.algebraic("z")
        m.equation(z + 0.2 * z**3, x + term())
        m.equation(m.der(y), -z + 0.5 * term() - 0.2 * y)
    else:
        m.equation(m.der(y), -x + term() - 0.2 * y)
    for _ in range(draw.integers(1, 3)):
        what = 0 if n is None else draw.integers(3)
        resets = [{"y": 0.5 * y - 0.3 * a * b}]
        resets += [] if n is None else [{"n": n + a}, {"n": b - n, "x": x - 0.2 * b}]
        m.when(guard(), resets[what])
    if n is not None and draw.random() < 0.4:
        m.every(0.3, {"n": 0.5 * n + 0.1 * x})
    return m


def by_differences(m, parameter, value, beside):
    runs = [dd.simulate(m, END, parameters={parameter: value + h}, rtol=1e-11, atol=1e-13) for h in (beside, -beside)]
    return np.array([float(runs[0].end[name]) - float(runs[1].end[name]) for name in ("x", "y")]) / (2 * beside)


DEFAULT = (1, 8, 14)
SEEDS = [*DEFAULT, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(60) if seed not in DEFAULT)]


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_are_those_of_runs_with_other_parameters(seed):
    """Models that are refused are skipped, and so are derivatives whose differences have no limit."""
    m = random_model(seed)
    try:
        sens = dd.sensitivities(m, END, rtol=1e-8)
    except SolverError:
        return
    for parameter, value in (("a", 1.0), ("b", 0.7)):
        near, far = (by_differences(m, parameter, value, beside) for beside in (2e-6, 1e-5))
        if np.all(np.abs(near - far) <= 1e-3 * (1 + np.abs(near))):
            found = np.array([float(np.ravel(sens.d(name, parameter))[-1]) for name in ("x", "y")])
            assert np.max(np.abs(found - near) / (1 + np.abs(near))) < 2e-3
