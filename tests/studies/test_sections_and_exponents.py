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


def energetic(kinetic, potential, start, rate):
    m = dd.Model("motion")
    q = m.coordinate("q", 2, start=start, rate=rate)
    m.kinetic_energy(kinetic(q, m.rate(q)))
    m.potential_energy(potential(q))
    return m


@pytest.mark.parametrize(
    ("make", "largest"),
    [
        (  # M. Hénon and C. Heiles (1964) at the energy 1/6, in the chaotic sea.
            lambda: energetic(
                lambda q, r: 0.5 * ca.sumsqr(r), lambda q: 0.5 * ca.sumsqr(q) + q[0] ** 2 * q[1] - q[1] ** 3 / 3,
                [0.0, -0.25], (1 / 3 - 0.0625 - 0.03125 / 3) ** 0.5 * np.array([np.cos(1.2), np.sin(1.2)]),
            ),
            (0.05, 0.2),
        ),
        (  # A double pendulum that turns over.
            lambda: energetic(
                lambda q, r: r[0] ** 2 + ca.cos(q[1] - q[0]) * r[0] * r[1] + 0.5 * r[1] ** 2,
                lambda q: -9.81 * (2 * ca.cos(q[0]) + ca.cos(q[1])), [2.0, 2.0], [0.0, 0.0],
            ),
            (0.5, 3.0),
        ),
    ],
)  # fmt: skip
def test_exponents_of_energetic_motions_come_in_pairs(make, largest):
    found = dd.lyapunov(make(), 200.0, 4)
    assert largest[0] < found[0] < largest[1]
    assert found + found[::-1] == pytest.approx(np.zeros(4), abs=0.01 * found[0])


@pytest.mark.wide
def test_exponents_of_roessler():
    """J. C. Sprott, Chaos and Time-Series Analysis (2003): 0.0714, 0, -5.3943."""
    m = dd.Model("Rössler")
    x, y, z = (m.state(name, start=value) for name, value in zip("xyz", (1.0, 1.0, 0.0)))
    m.equation([m.der(x), m.der(y), m.der(z)], [-y - z, x + 0.2 * y, 0.2 + z * (x - 5.7)])
    assert dd.lyapunov(m, 2000.0, 3) == pytest.approx((0.0714, 0.0, -5.3943), abs=2e-3, rel=3e-3)


@pytest.mark.wide
def test_two_directions_part_in_a_hyperchaotic_motion():
    """O. E. Rössler, Phys. Lett. A 71 (1979): 0.112, 0.019, 0, -25.2; the small ones settle first."""
    m = dd.Model("hyperchaos")
    x, y, z, w = (m.state(name, start=value) for name, value in zip("xyzw", (-20.0, 0.0, 0.0, 15.0)))
    m.equation([m.der(x), m.der(y), m.der(z), m.der(w)], [-y - z, x + 0.25 * y + w, 3 + x * z, -0.5 * z + 0.05 * w])
    assert dd.lyapunov(m, 4000.0, 3) == pytest.approx((0.112, 0.019, 0.0), abs=0.01)


@pytest.mark.wide
def test_exponents_of_a_driven_motion():
    """Y. Ueda's strange attractor: one exponent of 0.10, and the sum is that of the damping."""
    m = dd.Model("Ueda")
    x, v = m.state("x", start=2.5), m.state("v", start=0.0)
    m.equation([m.der(x), m.der(v)], [v, -0.05 * v - x**3 + 7.5 * ca.cos(m.time)])
    found = dd.lyapunov(m, 3000.0, 2)
    assert found.sum() == pytest.approx(-0.05, abs=1e-7)
    assert found[0] == pytest.approx(0.10, abs=0.01)
