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


@pytest.mark.parametrize("name", [*(name for name in IMPLICIT if name != "sdirk4"), "gauss20"])
def test_values_pass_through_the_ends_and_are_exact_for_polynomials(name):
    T = dd.tableau(name)
    weights = value_weights(T)
    degree = len(weights)
    assert weights.sum(axis=0)[-1] == pytest.approx(1, abs=1e-7)
    assert weights.sum(axis=0)[:-1] == pytest.approx(np.zeros(T.stages), abs=1e-7)
    theta, places = np.linspace(0, 1, 11), np.append(T.c, 1.0)
    powers = theta[:, None] ** np.arange(1, degree + 1)
    assert powers @ weights @ places**degree == pytest.approx(theta**degree, abs=1e-7)


def step_of(T, h):
    """x and K of one step of x' = -x², x(0) = 1, with x(t) = 1 / (1 + t), stage by stage."""
    K = np.zeros(T.stages)
    for i in range(T.stages):
        base, factor = 1 + h * T.A[i] @ K, h * T.A[i, i]
        x = (np.sqrt(1 + 4 * factor * base) - 1) / (2 * factor)
        K[i] = -(x**2)
    return 1 + h * T.A @ K, K


def test_stages_of_order_1_get_the_conditions_that_count():
    """Inside a step of sdirk4 x is wrong by O(h⁴) and z = x³ by O(h³); its stages are by O(h²)."""
    T = dd.tableau("sdirk4")
    theta, lengths = np.linspace(0, 1, 12)[1:-1], 0.2 * 0.5 ** np.arange(4)
    powers = theta[:, None] ** np.arange(1, 4)
    of_x, of_z, of_stages = [], [], []
    for h in lengths:
        x, K = step_of(T, h)
        z = np.append(x**3, x[-1] ** 3)
        of_x.append(np.abs(1 + h * powers @ state_weights(T) @ K - 1 / (1 + theta * h)).max())
        of_z.append(np.abs(1 + powers @ value_weights(T) @ (z - 1) - (1 + theta * h) ** -3.0).max())
        of_stages.append(np.abs(x - 1 / (1 + T.c * h)).max())
    orders = [np.log2(errors[-2] / errors[-1]) for errors in (of_x, of_z, of_stages)]
    assert orders == pytest.approx([4, 3, 2], abs=0.2)


def test_stages_at_one_time_count_once():
    """Two stages at c = 1/2: the later one is taken."""
    T = dd.Tableau([[0.5, 0, 0], [0.25, 0.25, 0], [0.3, 0.3, 0.4]], [0.3, 0.3, 0.4], [0.5, 0.5, 1])
    assert value_weights(T).tolist() == [[0, 4, 0, -1], [0, -4, 0, 2]]
    assert np.isfinite(state_weights(T)).all()
