"""Runs that stop where algebraic equations fold say which and what they no longer determine."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.ending import Obstacle

METHODS = ["auto", "radau3", "radau5", "radau9", "bdf", "rodas4", "rodas5p"]


def falling_root():
    """z² = x with x' = -1: z = √(1 - t), and nothing behind t = 1."""
    m = dd.Model("falling root")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=1.0)
    m.equation(m.der(x), -1.0)
    m.equation(z**2, x, name="root")
    return m


def relaxation():
    """The oscillator of van der Pol without its capacity (Chua and Deng 1989): a fold at v = 1."""
    m = dd.Model("relaxation")
    v, i = m.algebraic("v", start=2.0), m.state("i", start=2.0 - 8.0 / 3.0)
    m.equation(m.der(i), v)
    m.equation(v - v**3 / 3, i, name="characteristic")
    return m


@pytest.mark.parametrize("method", METHODS)
def test_a_fold_is_named(method):
    tr = dd.simulate(falling_root(), 3.0, method=method)
    assert (tr.success, tr.status) == (False, "stuck")
    assert tr.time[-1] == pytest.approx(1.0, abs=1e-6)
    assert tr.stop.what == (
        f"the algebraic equations become singular at t = {tr.time[-1]:.6g} (an impasse): root no longer determines z "
        "there, and the solution may not go on"
    )
    assert len(tr.stop.facts) >= 2
    assert tr.stop.remedy == "an event that ends the run before it, or what was neglected and makes z a state"
    assert tr.stop_reason == "; ".join([tr.stop.what, *tr.stop.facts, f"try {tr.stop.remedy}"])
    assert (tr.stop.obstacle, tr.stop.equations, tr.stop.variables) == (Obstacle.IMPASSE, ("root",), ("z",))


@pytest.mark.parametrize("method", METHODS)
def test_the_time_of_a_fold(method):
    """v' = v / (1 - v²) from 2 to 1: t = 3/2 - log 2."""
    tr = dd.simulate(relaxation(), 3.0, method=method)
    assert (tr.stop.obstacle, tr.stop.equations, tr.stop.variables) == (Obstacle.IMPASSE, ("characteristic",), ("v",))
    assert tr.stop.time == tr.time[-1] == pytest.approx(1.5 - np.log(2.0), abs=1e-5)


def test_beside_a_mechanism():
    """A force without a value behind t = 0.2: the mechanism itself is in good order."""
    m = dd.Model("pendulum")
    q, v = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0])
    pull, wind = m.algebraic("pull"), m.algebraic("wind", start=0.4)
    m.equation(m.der(q), v)
    m.equation(m.der(v[0]), -pull * q[0] + wind)
    m.equation(m.der(v[1]), -pull * q[1] - 9.81)
    m.equation(wind**2 + m.time, 0.2, name="gust")
    m.equation(q[0] ** 2 + q[1] ** 2, 1.0)
    tr = dd.simulate(m, 1.0, method="radau5", locate_switches=False)
    assert (tr.stop.obstacle, tr.stop.equations, tr.stop.variables) == (Obstacle.IMPASSE, ("gust",), ("wind",))


def test_a_solution_that_blows_up_is_no_impasse():
    m = dd.Model("blow up")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=1.0)
    m.equation(m.der(x), z)
    m.equation(z + 1e-3 * z**3, x**2 + 1e-3 * x**6, name="square")
    for method in ("radau5", "bdf"):
        tr = dd.simulate(m, 3.0, method=method)
        assert not tr.success
        assert tr.stop.obstacle is None


def test_a_fixed_step_that_is_too_long_is_no_impasse():
    tr = dd.simulate(falling_root(), 3.0, method="implicit_euler", step=0.03)
    assert tr.status == "newton_failed"
