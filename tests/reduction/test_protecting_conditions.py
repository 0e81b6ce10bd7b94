"""Conditions that keep an operation where it is defined stay in the equations; others are modes, however written."""

from __future__ import annotations

import casadi as ca
import pytest

import daedalus as dd
from daedalus.model.expressions import contains
from daedalus.reduction.switches import switches_of

COMPARISONS = frozenset((ca.OP_LT, ca.OP_LE, ca.OP_SIGN))


def stays(formula) -> bool:
    """Whether a condition is left in the equations of x' = formula(x, y, R)."""
    m = dd.Model("formula")
    x, y, R = m.state("x", start=1.0), m.state("y", start=1.0), m.parameter("R", 2.0)
    m.equation(m.der(x), formula(x, y, R))
    m.equation(m.der(y), -y)
    found = switches_of(m.freeze())
    assert found is not None
    assert found.count > 0
    residual = found.system.residual
    return contains(ca.Function("f", ca.symvar(residual), [residual]), COMPARISONS)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y, R: ca.if_else(x > 0, 2 / R, 0),
        lambda x, y, R: ca.if_else(x > 1, 2 / x, 0),
        lambda x, y, R: y / ca.if_else(x > 0, R, 3 * R),
        lambda x, y, R: ca.if_else(x > 0, ca.sqrt(2 + y**2), 1),
        lambda x, y, R: ca.if_else(x > y, ca.log(R), 1),
    ],
)
def test_what_comes_near_to_no_limit_is_held(formula) -> None:
    assert not stays(formula)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y, R: ca.if_else(x > 0, ca.log(x), 0),
        lambda x, y, R: ca.if_else(x > y, 1 / (x - y), 0),
        lambda x, y, R: ca.if_else(x < R, ca.acos(x / R), 1),
        lambda x, y, R: ca.if_else(x > R, ca.sqrt(x - R), 0),
    ],
)
def test_what_is_defined_on_one_side_alone_is_protected_and_so_is_a_kink(formula) -> None:
    assert stays(formula)


def test_a_root_beside_a_jump_is_continued_by_zero() -> None:
    m = dd.Model("root")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -ca.if_else(x > 0, 2 + ca.sqrt(x), 0))
    found = switches_of(m.freeze())
    assert found is not None
    system = found.system
    slope = ca.Function("f", [system.symbol("x"), system.symbol("xdot"), found.modes[0]], [system.residual])
    assert abs(float(slope(-1e-9, 0, 1))) == pytest.approx(2.0)
    assert abs(float(slope(4.0, 0, 1))) == pytest.approx(4.0)
