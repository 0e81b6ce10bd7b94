"""The published numbers: order conditions of method, embedded method and dense output, L-stability, stiff accuracy."""

from math import prod

import numpy as np
import pytest

from daedalus import _core
from daedalus.integrators.tableaux.rooted_trees import trees
from daedalus.integrators.tableaux.rosenbrock_coefficients import NUMBERS, core_rosenbrock, rosenbrock_coefficients


class Classical:
    """α_ij, γ_ij, β_ij and b of a method in its usual form: k_i = h f(w + Σ α_ij k_j) + h J Σ γ_ij k_j."""

    def __init__(self, name):
        self.numbers = numbers = rosenbrock_coefficients(name)
        stages = len(numbers.alpha)
        self.gamma = np.linalg.inv(np.eye(stages) / numbers.gamma[0] - numbers.c)
        self.alpha = numbers.a @ self.gamma
        self.beta = self.alpha + self.gamma
        self.b, self.error = numbers.end @ self.gamma, numbers.error @ self.gamma
        self.powers = numbers.powers @ self.gamma

    def stage_vector(self, tree):
        """A node with one branch passes on through β (f and its exact Jacobian), one with several through α."""
        if len(tree) == 1:
            return self.beta @ self.stage_vector(tree[0])
        return prod((self.alpha @ self.stage_vector(branch) for branch in tree), start=np.ones(len(self.b)))


def nodes(tree):
    return 1 + sum(nodes(branch) for branch in tree)


def density(tree):
    return nodes(tree) * prod(density(branch) for branch in tree)


def misses(method, weights, order):
    return max(abs(weights @ method.stage_vector(tree) - 1 / density(tree)) for tree in trees(order))


@pytest.mark.parametrize("name", NUMBERS)
def test_order_conditions_of_the_method_and_of_the_embedded_one(name):
    method = Classical(name)
    order = method.numbers.order
    for p in range(1, order + 1):
        assert misses(method, method.b, p) < 1e-13
        assert (misses(method, method.b - method.error, p) < 1e-13) == (p < order)
    assert misses(method, method.b, order + 1) > 1e-4


@pytest.mark.parametrize("name", NUMBERS)
def test_dense_output_has_one_order_less(name):
    method = Classical(name)
    for p in range(1, method.numbers.order):
        for tree in trees(p):
            by_power = method.powers @ method.stage_vector(tree)
            expected = np.zeros(len(by_power))
            expected[p - 1] = 1 / density(tree)
            np.testing.assert_allclose(by_power, expected, atol=2e-12)
    np.testing.assert_allclose(method.numbers.powers.sum(axis=0), method.numbers.end, atol=1e-14)


@pytest.mark.parametrize("name", NUMBERS)
def test_sums_of_rows_are_the_nodes(name):
    method = Classical(name)
    np.testing.assert_allclose(method.alpha.sum(axis=1), method.numbers.alpha, atol=3e-14)
    np.testing.assert_allclose(method.gamma.sum(axis=1), method.numbers.gamma, atol=3e-14)


@pytest.mark.parametrize("name", NUMBERS)
def test_algebraic_order_condition_of_index_1(name):
    """Σ b_i α_i α_ij ω_jk α_k² = 1/4 with (ω_ij) = (β_ij)⁻¹ (Hairer and Wanner II, table VI.4.1)."""
    method = Classical(name)
    alpha = method.numbers.alpha
    inner = method.alpha @ np.linalg.solve(method.beta, alpha**2)
    assert abs(method.b @ (alpha * inner) - 1 / 4) < 1e-13


@pytest.mark.parametrize("name", NUMBERS)
def test_stiffly_accurate_and_l_stable(name):
    method = Classical(name)
    np.testing.assert_allclose(method.b, method.beta[-1], atol=2e-14)
    np.testing.assert_allclose(method.error, method.gamma[-1], atol=2e-14)

    def growth(z, weights):
        return 1 + z * weights @ np.linalg.solve(np.eye(len(weights)) - z * method.beta, np.ones(len(weights)))

    # The only pole is 1/γ, on the right: the modulus on the axis bounds that on the left half plane.
    for y in np.geomspace(1e-3, 1e5, 4001):
        assert abs(growth(1j * y, method.b)) < 1 + 1e-11
    assert abs(growth(-1e7, method.b)) < 1e-5
    assert abs(growth(-1e7, method.b - method.error)) < 1e-5


def test_the_core_takes_only_stiffly_accurate_methods():
    numbers = rosenbrock_coefficients("rodas4")
    assert core_rosenbrock("rodas4") is core_rosenbrock("rodas4")
    assert (core_rosenbrock("rodas5p").stages, core_rosenbrock("rodas5p").order) == (8, 5)
    parts = [numbers.alpha, numbers.gamma, numbers.a, numbers.c, numbers.end, numbers.error, numbers.powers]
    for place, change, text in (
        (0, lambda v: v + 1, "first alpha must be zero"),
        (1, lambda v: -v, "first gamma must be positive"),
        (2, lambda v: v.T, "a must be strictly lower triangular"),
        (3, lambda v: v[:3], "c must be"),
        (4, lambda v: 2 * v, "must be stiffly accurate"),
        (5, lambda v: v[:3], "error must have one entry a stage"),
        (6, lambda v: np.vstack([v, v]), "powers must be"),
        (6, lambda v: v * np.nan, "not finite"),
    ):
        changed = [*parts]
        changed[place] = change(parts[place])
        with pytest.raises(ValueError, match=text):
            _core.Rosenbrock(*changed, 4)
