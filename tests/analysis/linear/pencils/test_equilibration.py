import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
