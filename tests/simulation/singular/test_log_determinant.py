"""The formula for log |det| against factorisations of numbers."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.simulation.singular.log_determinant import entries_of, log_determinant


def value(matrix, symbols, numbers):
    return float(ca.Function("f", [symbols], [log_determinant(matrix)])(numbers))


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 9), st.floats(0.1, 1.0), st.integers(0, 2**32 - 1))
def test_two_determinants_differ_as_those_of_numbers(n, filling, seed):
    """Constants among the pivots change log |det| by a constant, which differences do not see."""
    generator = np.random.default_rng(seed)
    filled = (generator.random((n, n)) < filling) | np.eye(n, dtype=bool)[generator.permutation(n)]
    fixed = generator.random((n, n)) < 0.4
    symbols = ca.SX.sym("a", n, n)
    constants = generator.normal(size=(n, n)) + 2.0
    entries = [(i, j) for j in range(n) for i in range(n) if filled[i, j]]
    pattern = ca.Sparsity.triplet(n, n, *map(list, zip(*entries)))
    places = zip(pattern.row(), pattern.get_col())
    matrix = ca.SX(pattern, ca.vertcat(*(ca.SX(constants[i, j]) if fixed[i, j] else symbols[i, j] for i, j in places)))
    logs, formulas = [], []
    for _ in range(2):
        numbers = np.where(fixed, constants, generator.normal(size=(n, n)))
        logs.append(np.linalg.slogdet(np.where(filled, numbers, 0.0))[1])
        formulas.append(value(matrix, symbols, numbers))
    assert formulas[1] - formulas[0] == pytest.approx(logs[1] - logs[0], abs=1e-6)


def test_masses_and_constraints_come_to_few_operations():
    """Constant masses are taken out first: what is left of 13 unknowns are 3 constraints."""
    a = ca.SX.sym("a", 3, 10)
    matrix = ca.blockcat([[ca.SX.eye(10), a.T], [a, ca.SX(3, 3)]])
    formula = ca.Function("f", [a], [log_determinant(matrix)])
    assert formula.n_instructions() < 250
    numbers = np.random.default_rng(1).normal(size=(3, 10))
    assert float(formula(numbers)) == pytest.approx(np.linalg.slogdet(numbers @ numbers.T)[1])


def test_nothing_but_constants_is_a_constant():
    assert log_determinant(ca.SX([[2.0, 1.0], [1.0, 3.0]])).is_constant()
    assert entries_of(ca.SX(2, 2)) == []
    x = ca.SX.sym("x")
    assert float(log_determinant(ca.blockcat([[x, 0 * x], [1.0, 0 * x]]))) == -np.inf


def test_given_symbols_are_pivots_before_others():
    """Masses over directions: up to log m², the determinant has a value where a coordinate is zero."""
    q, m = ca.SX.sym("q", 2), ca.SX.sym("m")
    matrix = ca.SX(3, 3)
    matrix[1, 1] = matrix[2, 2] = m
    matrix[1:, 0], matrix[0, 1:] = q, q.T
    with_masses = ca.Function("f", [q, m], [log_determinant(matrix, m)])
    assert float(with_masses([0.0, 2.0], 3.0)) == pytest.approx(np.log(4.0 / 3.0))
    assert np.isnan(float(ca.Function("f", [q, m], [log_determinant(matrix)])([0.0, 2.0], 3.0)))
    values = [float(with_masses(point, 3.0)) for point in ([0.3, 0.4], [3.0, 4.0])]
    assert values[1] - values[0] == pytest.approx(2 * np.log(10.0))
