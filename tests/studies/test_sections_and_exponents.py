"""Poincaré sections and Lyapunov exponents against closed forms and published numbers."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rings import examples

import daedalus as dd


def lorenz():
    m = dd.Model("Lorenz")
    x = m.state("x", 3, start=[1.0, 1.0, 20.0])
    m.equation(m.der(x), ca.vertcat(10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]))
    return m, x


def van_der_pol(mu=1.0):
    m = dd.Model("van der Pol")
    x, y = m.state("x", start=2.0), m.state("y", start=0.0)
    m.equation([m.der(x), m.der(y)], [y, mu * (1 - x**2) * y - x])
    return m, x, y


@settings(max_examples=examples(10, 3), deadline=None)
@given(st.lists(st.floats(-1.5, 0.8), min_size=2, max_size=3, unique=True), st.integers(0, 99))
def test_exponents_of_linear_systems_are_real_parts_of_eigenvalues(rates, seed):
    turn = np.random.default_rng(seed).standard_normal((len(rates), len(rates))) + 2 * np.eye(len(rates))
    matrix = turn @ np.diag(rates) @ np.linalg.inv(turn)
    m = dd.Model("linear")
    x = m.state("x", len(rates), start=np.zeros(len(rates)))
    m.equation(m.der(x), ca.DM(matrix) @ x)
    found = dd.lyapunov(m, 400.0, len(rates))
    gaps = np.diff(np.sort(rates))
    # Directions that part slowly turn slowly into place.
    assert np.allclose(found, np.sort(rates)[::-1], atol=0.02 if np.min(gaps) < 0.05 else 1e-3)


def test_lorenz_attractor():
    """0.9056, 0, -14.572 (J. C. Sprott, Chaos and Time-Series Analysis, 2003); their sum is -(σ + 1 + b) exactly."""
    m, _ = lorenz()
    found = dd.lyapunov(m, 120.0, 3)
    assert found == pytest.approx([0.9056, 0.0, -14.572], abs=0.06)
    assert found.sum() == pytest.approx(-(10 + 1 + 8 / 3), abs=1e-6)


def test_limit_cycle_has_one_exponent_zero():
    """Van der Pol at μ = 1: the multiplier over a period of 6.6633 is 8.59e-4."""
    m, _, _ = van_der_pol()
    found = dd.lyapunov(m, 300.0, 2)
    assert found == pytest.approx([0.0, np.log(8.59e-4) / 6.6632868593], abs=3e-3)


def test_constrained_pendulum_keeps_volume():
    m = dd.Model("pendulum")
    r, pull = m.state("r", 2, start=[0.6, -0.8], rate=0.0), m.algebraic("pull")
    m.equation(m.der(m.der(r)), ca.vertcat(0, -9.81) - pull * r - 0.4 * m.der(r))
    m.equation(r.T @ r, 1.0)
    # Damped to rest: both exponents are the real part -0.2 of the poles there.
    assert dd.lyapunov(m, 60.0, 2) == pytest.approx([-0.2, -0.2], abs=0.01)
    with pytest.raises(dd.InputError, match="constraints fix 2 more"):
        dd.lyapunov(m, 60.0, 3)


def test_section_of_a_limit_cycle_returns_after_a_period():
    m, x, _ = van_der_pol()
    section = dd.poincare(m, x, 8, direction=-1, rtol=1e-10, atol=1e-12)
    assert len(section.time) == 8
    assert np.abs(section["x"]).max() < 1e-8
    assert np.diff(section.time)[-1] == pytest.approx(6.6632868593, abs=1e-8)


def test_section_of_lorenz_lies_on_its_surface():
    m, x = lorenz()
    section = dd.poincare(m, x[2] - 27.0, 60)
    assert len(section.time) == 60
    assert np.abs(section["x"][:, 2] - 27.0).max() < 1e-6
    # Rising through it: x' y' sign by the equations.
    assert np.all(section["x"][:, 0] * section["x"][:, 1] - 8 / 3 * 27 > 0)


def test_section_once_in_a_period_of_a_driven_model():
    m = dd.Model("driven")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), -x + ca.cos(2 * m.time))
    section = dd.poincare(m, ca.sin(2 * m.time), 12, rtol=1e-10)
    assert np.allclose(np.diff(section.time), np.pi, atol=1e-8)
    assert section["x"][-1] == pytest.approx(1 / 5, abs=1e-6)


def test_wrong_uses():
    m, x, _ = van_der_pol()
    decay = dd.Model("decay")
    y = decay.state("y", start=1.0)
    decay.equation(decay.der(y), -y)
    with pytest.raises(dd.SolverError, match="crosses the surface 0 times instead of 2"):
        dd.poincare(decay, y + 1.0, 2)
    with pytest.raises(dd.InputError, match="is not a valid number of crossings"):
        dd.poincare(m, x, 0)
    assert np.array_equal(dd.poincare(m.freeze(), "x", 2).time, dd.poincare(m, x, 2).time)
    with pytest.raises(dd.InputError, match="3 exponents cannot be computed"):
        dd.lyapunov(m, 10.0, 3)


def test_a_driven_motion_that_crosses_nothing_is_not_followed_for_hours(monkeypatch):
    monkeypatch.setattr("daedalus.studies.poincare.MOST_STEPS", 500)
    m = dd.Model("driven")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), np.float64(3.0) * (1 - x) * m.time / (1 + m.time) - x)
    with pytest.raises(dd.SolverError, match="0 times instead of 2"):
        dd.poincare(m, x - 10, 2, max_step=0.1)
