"""Points at which the system Jacobian is looked at: far from the jet, unless equations leave all bounds there."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis.structure.jets.consistent_jet import Jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_jacobian import random_arguments


def points_of(law, start):
    """Values of (a, b) drawn around a start that obeys law(a, b) = 0 and b = start[1]."""
    m = dd.Model("m")
    a, b = m.algebraic("a", start=start[0]), m.algebraic("b", start=start[1])
    m.equation(law(a, b))
    m.equation(b, start[1])
    array = DerivativeArray(m.freeze())
    jet = Jet(0.0, np.zeros(0), np.zeros(0), np.array([start]), np.zeros(2))
    return np.array([point[3][:2] for point in random_arguments(array, jet, 0)])


@pytest.mark.parametrize("small", [1e-3, 1e-9, 1e-11, 1e-12, 1e-14])
def test_values_that_are_small_at_the_jet_alone_are_drawn_like_all_others(small):
    points = points_of(lambda a, b: a * b - small, (small, 1.0))
    assert np.all(np.abs(points[:, 0]) > 0.1)


def test_exponentials_are_looked_at_nearer_to_the_jet():
    points = points_of(lambda a, b: ca.exp(100 * a) - b, (0.0, 1.0))
    assert np.all(np.abs(points[:, 0]) < 0.1)
