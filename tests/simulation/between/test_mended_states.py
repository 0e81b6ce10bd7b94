"""States between the steps at index 2 and 3, mended by the reduced equations."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.between.mended_states import mended_states, with_room


def mended(tr, dense):
    """The coefficients of a dense output of a run, mended."""
    return mended_states(tr._plant, tr._deep_values, dense).coefficients


def bulged(coefficients, columns, size):
    """Polynomials that are off by size θ (1 - θ) in some columns, and right at both ends."""
    found = coefficients.copy()
    found[:, 1, columns] += size
    found[:, 2, columns] -= size
    return found


def test_polynomials_that_are_off_between_the_steps_are_brought_back():
    tr = dd.simulate(stiff_pendulum(1.0), 0.5, method="radau5", rtol=1e-6)
    starts, ends, coefficients = tr._source.dense()
    states, coefficients = tr._plant.row_parts["x"], with_room(coefficients)
    right = mended(tr, Dense(starts, ends, coefficients))
    found = mended(tr, Dense(starts, ends, bulged(coefficients, states, 1e-3)))
    h = np.max(ends - starts)
    assert np.abs((found - right)[:, :, states]).max() < 1e-3 * (20 * h) ** 2
    np.testing.assert_allclose(found.sum(axis=1)[:, states], coefficients.sum(axis=1)[:, states], atol=1e-13)
    np.testing.assert_array_equal(found[:, 0, states], coefficients[:, 0, states])


def stiff_pendulum(rate):
    """A pendulum by Cartesian coordinates beside a state that follows it at a rate."""
    m = dd.Model("pendulum with a sensor")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    s = m.state("s", start=1.0)
    m.equation(m.der(s), rate * (q[0] - s))
    return m


def test_stiff_states_keep_the_polynomial_of_the_step():
    """Picard's iteration does not converge for them: a sensor of 1e6 /s is as good between the steps as at them."""
    times = np.linspace(0.1, 1.9, 37)
    exact = dd.simulate(stiff_pendulum(1e6), 2.0, method="radau9", rtol=1e-11).at(times)
    for method in ("radau3", "radau5", "radau9"):
        got = dd.simulate(stiff_pendulum(1e6), 2.0, method=method, rtol=1e-6).at(times)
        assert np.abs(got["s"] - exact["s"]).max() < 2e-5, method
        assert np.abs(got["s"] - got["q"][:, 0]).max() < 2e-5


@pytest.mark.parametrize("backwards", [False, True])
def test_rows_between_steps_are_those_of_the_dense_output(backwards):
    model, times = stiff_pendulum(1.0), np.linspace(0.05, 0.95, 11)
    span = (1.0, 0.0) if backwards else 1.0
    times = times[::-1] if backwards else times
    call = {"method": "radau3", "rtol": 1e-4}
    asked, whole = dd.simulate(model, span, save_at=times, **call), dd.simulate(model, span, **call)
    for name in ("q", "q_dot", "s", "rod"):
        np.testing.assert_allclose(asked[name], whole.at(times)[name], rtol=1e-6, atol=1e-7)
        one = np.stack([whole.at(t)[name] for t in times])
        np.testing.assert_allclose(one, whole.at(times)[name], rtol=1e-13, atol=1e-14)


def test_multipliers_of_large_models_with_a_clock_can_be_read():
    """Their linear solves took parameters of one time alone."""
    count = 12
    m = dd.Model("chain")
    q = m.coordinate("q", 2 * count, start=np.ravel([[k + 1.0, 0.0] for k in range(count)]))
    push = m.discrete("push", start=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * sum(q[2 * k + 1] for k in range(count)) + 5 * push * q[0])
    for k in range(count):
        before = q[2 * k - 2 : 2 * k] if k else np.zeros(2)
        m.constraint(f"rod{k}", ca.sumsqr(q[2 * k : 2 * k + 2] - before) - 1)
    m.every(0.1, {"push": 1 - push})
    tr = dd.simulate(m, 0.15)
    before, after = (tr.at(t)["rod0"] for t in (0.03, 0.12))
    assert abs(after - before) > 1
    np.testing.assert_allclose(tr.at([0.03, 0.12])["rod0"], [before, after], rtol=1e-12)
    np.testing.assert_allclose(tr["rod0"][-1], tr.end["rod0"], rtol=1e-12)
