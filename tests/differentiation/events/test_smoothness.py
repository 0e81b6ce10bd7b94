"""Corners and jumps are found wherever they stand."""

import casadi as ca
import pytest

from daedalus.differentiation.events.smoothness import corners

x, y = ca.SX.sym("x"), ca.SX.sym("y")


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        (ca.sin(x) * ca.sqrt(y) + x**3, []),
        (ca.fabs(x * y), ["fabs"]),
        (ca.fmax(x, 0) + ca.fmin(y, 1), ["fmax", "fmin"]),
        (ca.if_else(x > 0, x, y), ["<", "if_else", "not"]),
        (ca.sign(x) + ca.floor(y), ["floor", "sign"]),
    ],
)
def test_corners(expression, names):
    assert corners(expression) == names
