"""Linear or not: slopes alone do not tell, steps count too."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daedalus.reduction.forms.linearity import is_linear

Z, X = ca.SX.sym("z", 2), ca.SX.sym("x")


def linear(expression):
    return is_linear(expression, Z, ca.jacobian(expression, Z))


@pytest.mark.parametrize(
    "expression",
    [
        3 * Z[0] - Z[1] / X + ca.sin(X),
        ca.vertcat(Z[0] * ca.sign(X), Z[1] + ca.floor(X)),
        ca.if_else(X > 0, Z[0], 2 * Z[0]),
        ca.copysign(2, X) * Z[1],
        Z[0] / ca.fmax(X, 1),
        ca.SX(3) + 0 * Z[0],
        X,
    ],
)
def test_linear(expression):
    assert linear(expression)


@pytest.mark.parametrize(
    "expression",
    [
        Z[0] ** 2,
        Z[0] * Z[1],
        ca.sin(Z[0]),
        ca.fabs(Z[1]),
        ca.fmax(Z[0], X),
        Z[0] + ca.sign(Z[0]),
        Z[0] + ca.floor(X + Z[1]),
        ca.ceil(Z[0] * X),
        ca.if_else(Z[0] > X, 1, 2) + Z[1],
        Z[0] + (Z[1] == X),
        ca.fmod(Z[0], 3),
        ca.copysign(X, Z[0]),
        ca.vertcat(Z[0], X, Z[1] + ca.sign(2 * Z[0] - X)),
    ],
)
def test_not_linear(expression):
    assert not linear(expression)


@given(
    st.lists(
        st.sampled_from(["+", "x*", "c*", "-", "sign x", "if x", "sign", "square", "if", "floor"]),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 99),
)
def test_agrees_with_superposition(operations, seed):
    """Whatever is called linear obeys f(a + b) - f(a) - f(b) + f(0) = 0 far and near."""
    draw = np.random.default_rng(seed)
    e = Z[0]
    for operation in operations:
        e = {
            "+": e + Z[1],
            "x*": X * e,
            "c*": 2.5 * e + 1,
            "-": -e,
            "sign x": e * ca.sign(X),
            "if x": ca.if_else(X > 0.5, e, e + 1),
            "sign": e + ca.sign(e),
            "square": e * Z[0],
            "if": ca.if_else(e > 0, 1, Z[1]),
            "floor": ca.floor(e),
        }[operation]
    f = ca.Function("f", [Z, X], [e])
    gap = 0.0
    for scale in (0.1, 1, 10, 100):
        for _ in range(5):
            a, b, x = draw.normal(size=2) * scale, draw.normal(size=2) * scale, draw.uniform(0, 1)
            parts = [float(f(z, x)) for z in (a + b, a, b, 0 * a)]
            gap = max(gap, abs(parts[0] - parts[1] - parts[2] + parts[3]) / (1 + max(map(abs, parts))))
    if linear(e):
        assert gap < 1e-9
    elif not {"sign", "square", "if", "floor"} & set(operations):
        pytest.fail("a linear expression was called nonlinear")
