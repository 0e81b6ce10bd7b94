"""Runs that slide are the same in amperes and in picoamperes, where `nominal=` says how large values are."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

SIZES = pytest.mark.parametrize("size", [1.0, 1e-9, 1e-12, 1e-15])


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """Each function is called some hundred times: compiling would take longer."""
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


@SIZES
def test_a_relay_slides(size):
    """x' = 1/2 - 2 sign(x) comes to x = 0 at t = 2/3 and stays; there sign(x) is 1/4, the mean of y' = sign(x)."""
    m = dd.Model("relay")
    x, y = m.state("x", start=size, nominal=size), m.state("y", start=0.0, nominal=size)
    m.equation(m.der(x), size * (0.5 - 2 * ca.sign(x)))
    m.equation(m.der(y), size * ca.sign(x))
    tr = dd.simulate(m, 3.0, atol=1e-9 * size)
    assert [(told.kind.value, round(told.time, 6)) for told in tr.transitions] == [("slides", 0.666667)]
    np.testing.assert_allclose([tr["x"][-1] / size, tr["y"][-1] / size], [0, 2 / 3 + 0.25 * 7 / 3], atol=1e-8)


@SIZES
def test_levels_of_one_state_stay_apart(size):
    """While x slides along one level, a condition at another level holds: it was taken for the same in picoamperes."""
    m = dd.Model("two levels")
    x, y = m.state("x", start=0.0, nominal=size), m.state("y", start=0.0)
    m.equation(m.der(x), size * (1.0 - ca.if_else(x > 3 * size, 2.0, 0.0)))
    m.equation(m.der(y), ca.if_else(x > size, 1.0, 0.0))
    tr = dd.simulate(m, 10.0, atol={"x": 1e-9 * size, "y": 1e-9})
    np.testing.assert_allclose([tr["x"][-1] / size, tr["y"][-1]], [3.0, 9.0], rtol=1e-8)


@SIZES
def test_several_surfaces_at_once(size):
    """Two relays slide together, one behind the other."""
    m = dd.Model("pair")
    a, b = m.state("a", start=size, nominal=size), m.state("b", start=-2 * size, nominal=size)
    m.equation(m.der(a), size * (0.5 - 2 * ca.sign(a) + 0.25 * ca.sign(b)))
    m.equation(m.der(b), size * (0.25 - 3 * ca.sign(b) - 0.5 * ca.sign(a)))
    tr = dd.simulate(m, 3.0, atol=1e-9 * size)
    assert sorted(told.guard[0] for told in tr.transitions if told.kind.value == "slides") == ["a", "b"]
    np.testing.assert_allclose([tr["a"][-1] / size, tr["b"][-1] / size], [0, 0], atol=1e-8)
