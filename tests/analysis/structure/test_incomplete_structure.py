"""Offsets where some equations have no unknown of their own."""

import casadi as ca
import numpy as np

from daedalus.analysis.structure.incomplete_structure import completed
from daedalus.analysis.structure.signature import signature


def of(rows, y, ydot):
    return signature(ca.vertcat(*rows), [y, ydot])


def test_a_full_assignment_keeps_its_offsets():
    y, ydot = ca.SX.sym("y", 3), ca.SX.sym("ydot", 3)
    s = of([ydot[0] - y[1], ydot[1] - y[2], y[0] - 1], y, ydot)
    found = completed(s)
    assert found.c.tolist() == s.c.tolist()
    assert found.d.tolist() == s.d.tolist()


def test_a_third_row_is_differentiated_as_often_as_the_others():
    """q' = v, v' = λ1 + λ2 + λ3 and three rows for q: two of them are left over, all with the offset 2."""
    y, ydot = ca.SX.sym("y", 5), ca.SX.sym("ydot", 5)
    s = of([ydot[0] - y[1], ydot[1] - y[2] - y[3] - y[4], y[0] - 1, 2 * y[0] - 2, 3 * y[0] - 3], y, ydot)
    found = completed(s)
    assert not s.regular
    assert found.c.tolist() == [1, 0, 2, 2, 2]
    assert found.d.tolist() == [2, 1, 0, 0, 0]
    # The defining inequality of the signature method holds for all entries.
    assert np.all(found.d[found.columns] - found.c[found.rows] >= found.orders)


def test_systems_that_are_not_square_have_none():
    y, ydot = ca.SX.sym("y", 1), ca.SX.sym("ydot", 1)
    assert completed(of([ydot[0] - y[0], y[0] - 1], y, ydot)) is None
