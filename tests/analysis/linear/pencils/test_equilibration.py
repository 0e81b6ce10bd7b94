import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.analysis.linear.pencils.equilibration import equilibrate


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_rows_and_columns_reach_about_one_and_scaling_is_exact(rows, columns, seed):
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.uniform(-4, 4, rows)[:, None] * 10.0 ** rng.uniform(-3, 3, columns)
    E, A = rng.normal(size=(rows, columns)) * units * 1e5, rng.normal(size=(rows, columns)) * units
    scaled = equilibrate(E, A)
    largest = np.maximum(np.abs(scaled.E), np.abs(scaled.A))
    assert np.all(largest.max(axis=0) <= 4)
    assert np.all(largest.max(axis=0) >= 0.1)
    assert np.all(largest.max(axis=1) <= 4)
    assert np.all(largest.max(axis=1) >= 0.1)
    factors = np.concatenate([scaled.rows, scaled.columns, [scaled.speed]])
    assert np.all(np.frexp(factors)[0] == 0.5)
    assert np.array_equal(scaled.E / scaled.rows[:, None] / scaled.columns / scaled.speed, E)
    assert np.array_equal(scaled.A / scaled.rows[:, None] / scaled.columns, A)


def test_a_row_of_rounding_errors_is_not_made_important():
    A = np.array([[1.0, 2.0], [1e-17, 0.0]])
    assert np.abs(equilibrate(np.zeros((2, 2)), A).A[1]).max() < 1e-15


@given(st.floats(-30, 3), st.floats(-4, 10), st.floats(-2, 2))
def test_units_do_not_make_an_oscillator_algebraic(mass_power, frequency_power, damping_power):
    """m x'' + d x' + k x = u with the mass of a molecule and the frequency of light is of index 0, as every other."""
    mass, frequency, ratio = 10.0**mass_power, 10.0**frequency_power, 10.0**damping_power
    E = np.diag([1.0, mass])
    A = np.array([[0.0, 1.0], [-mass * frequency**2, -2 * ratio * mass * frequency]])
    system = dd.DescriptorSystem(E, A, [0.0, 1.0], states=["x", "v"])
    assert system.pencil.index == 0
    space = system.to_state_space()
    np.testing.assert_allclose(space.A, [[0, 1], [-(frequency**2), -2 * ratio * frequency]], rtol=1e-12)
    # One push of the density 1: the variance of the speed is 1 / (2 m d).
    variance = dd.covariance(system, 1.0)[1, 1] * 2 * mass * 2 * ratio * mass * frequency
    np.testing.assert_allclose(variance, 1.0, rtol=1e-9)
