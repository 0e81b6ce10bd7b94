"""Total derivatives in a notebook: against derivatives of the functions of time that are put in."""

import casadi as ca
import pytest

import daedalus as dd
from daedalus.reduction.index.differentiate import Differentiation
from daedalus.reduction.index.offsets import SolvedDerivatives


def test_along_known_functions_of_time():
    """x = sin t, y = exp t: the second derivative of an expression is that of the function of time."""
    m = dd.Model("path")
    x, y = m.state("x"), m.state("y")
    along = Differentiation(m, [("x", 0), ("y", 0)], SolvedDerivatives({}, {}, {}))
    expression = x**2 * y + ca.sin(m.time * x) * m.der(y)
    twice = along.derivative(along.derivative(expression))
    t = ca.SX.sym("t")
    old, new = [m.time], [t]
    for name, path in (("x", ca.sin(t)), ("y", ca.exp(t))):
        rate = path
        for order in range(4):
            old.append(m.written.derivative_symbol(name, order))
            new.append(rate)
            rate = ca.jacobian(rate, t)
    there, directly = (ca.substitute(e, ca.vertcat(*old), ca.vertcat(*new)) for e in (twice, expression))
    wanted = ca.jacobian(ca.jacobian(directly, t), t)
    for at in (0.3, 1.7):
        one, two = (float(ca.evalf(ca.substitute(e, t, at))) for e in (there, wanted))
        assert one == pytest.approx(two, rel=1e-12)


def test_derivatives_that_an_equation_gives():
    """With q' = v the second derivative of q² is 2 v² + 2 q v', and the third of q the second of v."""
    m = dd.Model("flow")
    q, v = m.state("q"), m.state("v")
    along = Differentiation(m, [("q", 0), ("v", 0)], SolvedDerivatives({0: 0}, {0: 1}, {0: v}))
    twice = along.derivative(along.derivative(q**2))
    symbols = ca.vertcat(q, v, m.der(v))
    assert float(ca.evalf(ca.substitute(twice, symbols, ca.DM([3, 5, 7])))) == 2 * 25 + 2 * 3 * 7
    third = along.without_solved(m.der(m.der(m.der(q))))
    assert ca.is_equal(third, m.der(m.der(v)))
