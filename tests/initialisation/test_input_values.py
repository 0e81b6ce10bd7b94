"""Inputs and their derivatives at the start: numbers, functions, tables, derivatives by name."""

import math

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


@pytest.fixture
def moved_pivot() -> dd.Model:
    """x = u as a constraint with the force that does it: u, u' and u'' enter."""
    m = dd.Model("moved")
    x, v, force, u = m.state("x"), m.state("v"), m.algebraic("force"), m.input("u")
    m.equation(m.der(x), v)
    m.equation(m.der(v), force)
    m.equation(x, u, name="track")
    return m


@pytest.mark.parametrize(
    "function", [lambda t: ca.sin(3 * t) if isinstance(t, ca.SX) else np.sin(3 * t), lambda t: math.sin(3 * t)]
)
def test_functions_are_differentiated(moved_pivot, function):
    s = dd.initialise(moved_pivot, inputs={"u": function}, time=0.4)
    assert s["x"] == pytest.approx(np.sin(1.2), abs=1e-14)
    assert s["v"] == pytest.approx(3 * np.cos(1.2), abs=1e-8)
    assert s["force"] == pytest.approx(-9 * np.sin(1.2), abs=1e-4)


def test_only_differences_are_told(moved_pivot):
    note = "derivatives of input u are taken by differences: the function is not an expression of time"
    assert note in dd.initialise(moved_pivot, inputs={"u": lambda t: math.sin(t)}).notes
    assert dd.initialise(moved_pivot, inputs={"u": lambda t: t**2}).notes == ()


def test_numbers_and_tables(moved_pivot):
    s = dd.initialise(moved_pivot, inputs={"u": 2.0})
    assert (s["x"], s["v"], s["force"]) == (2.0, 0.0, 0.0)
    table = dd.signal([0.0, 1.0, 3.0], [0.0, 1.0, 7.0], kind="linear")
    s = dd.initialise(moved_pivot, inputs={"u": table}, time=1.0)
    assert (s["x"], s["v"], s["force"]) == pytest.approx((1.0, 3.0, 0.0))
    with pytest.raises(dd.InputError, match="does not cover the start"):
        dd.initialise(moved_pivot, inputs={"u": table}, time=4.0)


def test_derivatives_by_name(moved_pivot):
    s = dd.initialise(moved_pivot, inputs={"u": 1.0, "u_dot": 2.0, "u_ddot": 3.0})
    assert (s["x"], s["v"], s["force"]) == pytest.approx((1.0, 2.0, 3.0))


def test_refusals(moved_pivot):
    with pytest.raises(dd.InputError, match="no variable 'w'"):
        dd.initialise(moved_pivot, inputs={"w": 1.0})
    with pytest.raises(dd.InputError, match="x is a state, not an input"):
        dd.initialise(moved_pivot, inputs={"x": 1.0})
    with pytest.raises(dd.InputError, match="wrong shape"):
        dd.initialise(moved_pivot, inputs={"u": [1.0, 2.0]})
    with pytest.raises(dd.InputError, match="cannot be evaluated"):
        dd.initialise(moved_pivot, inputs={"u": lambda: 1.0})
