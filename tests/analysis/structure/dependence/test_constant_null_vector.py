"""Constant combinations of equations, told from those whose coefficients vary."""

import numpy as np
import pytest

from daedalus import catalogue
from daedalus.analysis.points.operating_point import read_point
from daedalus.analysis.structure.jets.consistent_jet import consistent_jet, jet_start
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.structural_repair import constant_null_vector, repaired_structure


def matrices(last_row, count=3):
    draw = np.random.default_rng(5)
    return [np.vstack([m, last_row(m, draw)]) for m in (draw.standard_normal((2, 3)) for _ in range(count))]


def test_a_constant_combination_is_found_to_the_last_digit():
    found = constant_null_vector(matrices(lambda m, _: m[0] / 3 - m[1]))
    assert np.abs(found).tolist() == [1 / 3, 1.0, 1.0]


def test_sizes_of_equations_and_unknowns_do_not_matter():
    rows, columns = np.array([1e-9, 1e6, 1.0]), np.array([1e8, 1.0, 1e-7])
    scaled = [rows[:, None] * m * columns for m in matrices(lambda m, _: m[0] - m[1])]
    found = constant_null_vector(scaled)
    assert found[1] / found[0] == pytest.approx(-1e-15, rel=1e-6, abs=0)
    assert found[2] / found[0] == pytest.approx(-1e-9, rel=1e-6, abs=0)


def test_varying_coefficients_regular_matrices_and_two_directions_are_none():
    assert constant_null_vector(matrices(lambda m, draw: m[0] * draw.uniform(1, 2) - m[1])) is None
    assert constant_null_vector(matrices(lambda m, draw: draw.standard_normal(3))) is None
    assert constant_null_vector([np.ones((3, 3))] * 2) is None
    assert constant_null_vector([np.array([[np.inf, 1.0], [1.0, 1.0]])]) is None


def test_the_diodes_of_the_ring_modulator_cancel():
    """Exponentials of 17.7 U leave all bounds at values of one; the sum of the four balances has none of them."""
    system = catalogue.load("ring_modulator", parasitic=0.0).model.freeze()
    array = DerivativeArray(system)
    jet = consistent_jet(array, jet_start(system, read_point(system, None, None, None)), 1)
    structure = repaired_structure(array, jet)
    assert structure.trusted
    assert structure.signature.index == 2
    (repair,) = structure.repairs
    assert sorted(repair.involved) == [2, 3, 4, 5]
    assert str(repair.equation).count("exp") == 0
