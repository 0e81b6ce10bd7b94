"""Terms that cancel: told from small ones by the rounding of their own operations, all slopes in one pass."""

import casadi as ca
import numpy as np

from daedalus.analysis.interval_arithmetic import range_over
from daedalus.analysis.structure.cancelled_terms import are_rounding

POINTS = np.array([[0.3, 0.7], [-0.4, 0.9], [0.25, -0.6]])


def test_each_entry_is_judged_by_its_own_rounding():
    x = ca.SX.sym("x", 2)
    cancelled = (x[0] + x[1]) ** 2 - x[0] ** 2 - 2 * x[0] * x[1] - x[1] ** 2
    small = 1e-13 * (2 + x[0])
    assert are_rounding(x, ca.vertcat(cancelled, small, x[1]), POINTS).tolist() == [True, False, False]
    assert are_rounding(x, ca.SX(0, 1), POINTS).tolist() == []


def test_an_operation_without_bounds_says_nothing_about_the_other_entries():
    x = ca.SX.sym("x", 2)
    unknown = ca.erfinv(x[0])
    assert are_rounding(x, ca.vertcat(x[0], unknown, x[1] - x[1] * 1.0), POINTS).tolist() == [False, True, True]


def test_products_of_zero_and_infinity_are_zero():
    x = ca.SX.sym("x", 2)
    function = ca.Function("f", [x], [x[0] * x[1]])
    low, high = np.array([[0.0, 1.0], [-1.0, 2.0]]), np.array([[0.0, np.inf], [1.0, np.inf]])
    bounds = range_over(function, [low], [high])
    assert np.abs(bounds.low[0][0, 0]) < 1e-300
    assert np.abs(bounds.high[0][0, 0]) < 1e-300
    assert (bounds.low[0][1, 0], bounds.high[0][1, 0]) == (-np.inf, np.inf)
