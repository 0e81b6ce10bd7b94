"""Where Newton's method stops the solution is followed from the guess."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus.algebra.damped_newton import damped_newton
from daedalus.algebra.homotopy import follow


def valley(v):
    x = v[0]
    return np.array([x**3 - 2 * x + 2]), np.array([[3 * x**2 - 2]]), np.ones(1)


def test_newton_stops_in_the_valley_and_the_curve_leads_out():
    assert not damped_newton(valley, np.array([2.0]), np.ones(1)).solved
    found = follow(valley, np.array([2.0]), np.ones(1))
    assert found is not None
    assert found.solved
    assert found.values[0] == pytest.approx(-1.7692923542386314, abs=1e-12)


def test_a_model_behind_such_a_valley():
    m = dd.Model("valley")
    x, z = m.state("x", start=0.0), m.algebraic("z", start=2.0)
    m.equation(m.der(x), z)
    m.equation(z**3 - 2 * z + 2, name="cubic")
    s = dd.initialise(m)
    assert s["z"] == pytest.approx(-1.7692923542386314, abs=1e-10)
    assert s.notes == ("the search from the guess did not arrive: the solution was followed by a homotopy",)


@pytest.mark.parametrize("guess", [3.0, 50.0, -1e4])
def test_an_arc_tangent_far_away(guess):
    # Plain Newton doubles its distance here at every step.
    m = dd.Model("saturated")
    x, z = m.state("x", start=0.5), m.algebraic("z", start=guess)
    m.equation(m.der(x), z)
    m.equation(ca.atan(z), x, name="saturation")
    assert dd.initialise(m)["z"] == pytest.approx(np.tan(0.5), abs=1e-9)


def test_a_curve_that_leads_nowhere():
    assert follow(lambda v: (v**2 + 1, 2 * v[None, :], np.ones(1)), np.array([2.0]), np.ones(1)) is None
    assert follow(lambda v: (np.full(1, np.nan), np.ones((1, 1)), np.ones(1)), np.zeros(1), np.ones(1)) is None


@settings(max_examples=examples(30), deadline=None)
@given(st.floats(0.5, 3.0), st.floats(-0.9, 0.9), st.floats(-4, 4))
def test_monotone_curves_end_at_the_root(steep, shift, start):
    def equations(v):
        return (
            np.array([steep * v[0] + shift * np.sin(v[0]) - 1]),
            np.array([[steep + shift * np.cos(v[0])]]),
            np.ones(1),
        )

    if steep <= abs(shift) + 0.05:
        return
    found = follow(equations, np.array([start]), np.ones(1))
    assert found is not None
    assert abs(equations(found.values)[0][0]) < 1e-9
