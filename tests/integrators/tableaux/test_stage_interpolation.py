"""Dense output of implicit tableaux as data: the conditions on b(θ), collocation, values of z."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.integrators.tableaux.named_tableaux import tableau_names
from daedalus.integrators.tableaux.stage_interpolation import HIGHEST_DEGREE, state_weights, value_weights

IMPLICIT = [name for name in tableau_names() if name not in ("rk2", "rk3") and not dd.tableau(name).is_explicit]


@pytest.mark.parametrize("name", IMPLICIT)
def test_polynomials_below_the_degree_are_integrated_exactly(name):
    T = dd.tableau(name)
    weights = state_weights(T)
    degree = len(weights)
    theta = np.linspace(0, 1, 11)
    b = theta[:, None] ** np.arange(1, degree + 1) @ weights
    for k in range(1, degree + 1):
        assert b @ T.c ** (k - 1) == pytest.approx(theta**k / k, abs=1e-12)
    assert b[-1] == pytest.approx(T.b, abs=1e-12)


@pytest.mark.parametrize("stages", [1, 2, 3, 5, 8])
def test_collocation_methods_get_their_polynomial(stages):
    """b_j(c_i) = a_ij is what makes it collocation."""
    T = dd.gauss_legendre(stages)
    weights = state_weights(T)
    assert len(weights) == stages
    assert T.c[:, None] ** np.arange(1, stages + 1) @ weights == pytest.approx(T.A, abs=1e-11)


@pytest.mark.parametrize("stages", [12, 20])
def test_many_stages_get_a_lower_degree(stages):
    T = dd.gauss_legendre(stages)
    assert len(state_weights(T)) == HIGHEST_DEGREE
    assert len(value_weights(T)) <= HIGHEST_DEGREE
    assert np.abs(state_weights(T)).max() < 1e5


@pytest.mark.parametrize("name", [*IMPLICIT, "gauss20"])
def test_values_pass_through_the_ends_and_are_exact_for_polynomials(name):
    T = dd.tableau(name)
    weights = value_weights(T)
    degree = len(weights)
    assert weights.sum(axis=0)[-1] == pytest.approx(1, abs=1e-7)
    assert weights.sum(axis=0)[:-1] == pytest.approx(np.zeros(T.stages), abs=1e-7)
    theta, places = np.linspace(0, 1, 11), np.append(T.c, 1.0)
    powers = theta[:, None] ** np.arange(1, degree + 1)
    assert powers @ weights @ places**degree == pytest.approx(theta**degree, abs=1e-7)


def test_stages_at_one_time_count_once():
    """Two stages at c = 1/2: the later one is taken."""
    T = dd.Tableau([[0.5, 0, 0], [0.25, 0.25, 0], [0.3, 0.3, 0.4]], [0.3, 0.3, 0.4], [0.5, 0.5, 1])
    assert value_weights(T).tolist() == [[0, 4, 0, -1], [0, -4, 0, 2]]
    assert np.isfinite(state_weights(T)).all()
