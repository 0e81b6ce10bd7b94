"""Laws that sensitivities obey whatever the system is: Liouville, symplecticity, composition, scaling of time."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus import catalogue

TIGHT = {"rtol": 1e-10, "atol": 1e-13}
numbers = st.floats(-1.5, 1.5, allow_nan=False)


def test_volumes_change_by_the_divergence():
    """det M = exp ∫ tr f_x dt (Liouville)."""
    known = catalogue.load("van_der_pol", mu=2.0)
    m = known.model
    x, total = m["x"], m.state("total", start=0.0)
    m.equation(m.der(total), 2.0 * (1 - x**2))
    sens = dd.sensitivities(m, 3.0, start=known.start, wrt="start", **TIGHT)
    trace = float(sens.states["total"][-1])
    place = [k for k, label in enumerate(sens.system.labels["x"]) if label != "total"]
    block = sens.M[np.ix_(place, place)]
    assert np.linalg.det(block) == pytest.approx(np.exp(trace), rel=1e-6)


def test_the_stars_move_symplectically():
    """Mᵀ Ω M = Ω with the masses in Ω: gravity conserves what canonical coordinates conserve."""
    known = catalogue.load("pleiades")
    sens = dd.sensitivities(known.model, 0.7, start=known.start, wrt="start", **TIGHT)
    mass = np.tile(np.arange(1.0, 8.0), 2)
    zero = np.zeros((14, 14))
    omega = np.block([[zero, np.diag(mass)], [-np.diag(mass), zero]])
    np.testing.assert_allclose(sens.M.T @ omega @ sens.M, omega, atol=1e-6 * np.abs(sens.M).max() ** 2)


@pytest.mark.parametrize("name", ["cart_pendulum", "pendulum_3d", "lotka_volterra"])
def test_derivatives_of_two_spans_multiply(name):
    known = catalogue.load(name)
    end = 0.2 * known.span[1]
    options = {"inputs": known.inputs, "wrt": ("start", "parameters"), **TIGHT}
    whole = dd.sensitivities(known.model, end, start=known.start, **options)
    first = dd.sensitivities(known.model, 0.4 * end, start=known.start, **options)
    second = dd.sensitivities(known.model, (0.4 * end, end), start=first.states.at(0.4 * end), **options)
    scale = np.abs(whole.M).max()
    np.testing.assert_allclose(second.M @ first.M, whole.M, atol=1e-7 * scale)
    if not whole.system.invariants:
        # A parameter acts in both spans; with constraints the second start would be carried along once more.
        both = second.M @ first.by_parameters + second.by_parameters
        np.testing.assert_allclose(both, whole.by_parameters, atol=1e-7 * np.abs(both).max())


@settings(max_examples=examples(15))
@given(st.lists(numbers, min_size=9, max_size=9), st.lists(numbers, min_size=3, max_size=3), st.floats(0.2, 1.5))
def test_a_factor_on_the_clock_moves_along_the_orbit(weights, start, speed):
    """x' = k f(x): k ∂x/∂k = t x', and M carries f(x₀) to f(x)."""
    A = np.array(weights).reshape(3, 3)
    m = dd.Model("clock")
    x, k = m.state("x", 3, start=start), m.parameter("k", speed)
    m.equation(m.der(x), k * ca.sin(ca.mtimes(ca.DM(A), x) + 0.3))
    sens = dd.sensitivities(m, 2.0, rtol=1e-9, atol=1e-12)
    rate = speed * np.sin(A @ sens.value + 0.3)
    np.testing.assert_allclose(speed * sens.d("x", "k"), 2.0 * rate, atol=1e-6)
    np.testing.assert_allclose(sens.M @ (speed * np.sin(A @ np.array(start) + 0.3)), rate, atol=1e-6)


@settings(max_examples=examples(10))
@given(st.lists(numbers, min_size=4, max_size=4), st.integers(0, 1))
def test_second_derivatives_are_those_of_first_ones(start, which):
    """∂M/∂x₀ by differences of whole runs."""
    m = dd.Model("waves")
    x = m.state("x", 4, start=start)
    m.equation(m.der(x), [x[1], -ca.sin(x[0]) + x[2] * x[3], ca.cos(x[0]) - x[2], 0.3 * x[1] * x[2]])
    sens = dd.sensitivities(m, 1.0, order=2, rtol=1e-10, atol=1e-13)
    step = 1e-4
    ends = []
    for sign in (1, -1):
        moved = np.array(start)
        moved[which] += sign * step
        ends.append(dd.sensitivities(m, 1.0, start={"x": moved}, rtol=1e-10, atol=1e-13).M)
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), sens.O[:, :, which], atol=1e-5)
    np.testing.assert_array_equal(sens.O, sens.O.transpose(0, 2, 1))
