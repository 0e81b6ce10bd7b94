"""The form x' = f, 0 = g: what is solved for, what gets a name, and that solutions stay."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def test_an_equation_that_gives_one_derivative_is_solved():
    m = dd.Model("scaled")
    x, z, k = m.state("x", start=1.0), m.algebraic("z"), m.parameter("k", 4.0)
    m.equation(z - k * m.der(x), x, name="balance")
    m.equation(z, 3 * x, name="law")
    n = dd.to_semi_explicit(m)
    assert list(n.variables) == ["x", "z", "k"]
    assert n.equations["law"] == ["z - 3*x = 0"]
    assert dd.analyse(n).kind == "semi-explicit DAE"
    assert dd.simulate(n, 1.0, rtol=1e-10)["x"][-1] == pytest.approx(np.exp(0.5), abs=1e-8)


def test_a_mass_matrix_gets_names_for_the_rates():
    m = dd.Model("mass matrix")
    x = m.state("x", 2, start=[1.0, 2.0])
    M = ca.vertcat(ca.horzcat(2 + ca.cos(x[0]), 1), ca.horzcat(1, 3))
    m.equation(M @ m.der(x), -x, name="motion")
    n = dd.to_semi_explicit(m)
    assert list(n.variables) == ["x", "x_rate"]
    assert n.variables["x_rate"].kind == "algebraic"
    assert n.equations["rate of x"] == ["x_dot[0] - x_rate[0] = 0", "x_dot[1] - x_rate[1] = 0"]
    one, two = (dd.simulate(model, 1.0, rtol=1e-10, atol=1e-12)["x"][-1] for model in (m, n))
    assert np.abs(one - two).max() < 1e-9
    assert dd.analyse(n).kind == "semi-explicit DAE"


@pytest.mark.document("003", "x1 − x1' + 1 = 0, x1' x2 + 2 = 0 is a DAE: semi-explicit form", "`dd.to_semi_explicit`")
def test_the_index_rises_where_the_slopes_are_singular():
    """x1 - x1' + 1 = 0, x1' x2 + 2 = 0 of document 003 has index 1; u x' + x = 0 at u = 0 is algebraic."""
    m = dd.Model("003")
    x1, x2 = m.state("x1", start=0.0), m.state("x2", start=-2.0)
    m.equation(x1 - m.der(x1) + 1, name="growth")
    m.equation(m.der(x1) * x2 + 2, name="product")
    n = dd.to_semi_explicit(m)
    assert n.variables["x2"].kind == "algebraic"
    assert n.variables["x1_rate"].kind == "algebraic"
    tr = dd.simulate(n, 1.0, rtol=1e-10, atol=1e-12)
    assert tr["x1"][-1] == pytest.approx(np.e - 1, abs=1e-8)
    assert tr["x2"][-1] == pytest.approx(-2 / np.e, abs=1e-8)


def test_second_order_becomes_first():
    m = dd.Model("oscillator")
    y = m.state("y", start=1.0, rate=0.0)
    m.equation(m.der(m.der(y)) + y, name="motion")
    n = dd.to_semi_explicit(m)
    assert list(n.variables) == ["y", "y_rate"]
    assert n.equations["motion"] == ["y_rate_dot + y = 0"]


def test_a_nonlinear_derivative_gets_a_name():
    m = dd.Model("cube")
    x = m.state("x", start=1.0)
    m.equation(m.der(x) ** 3 + m.der(x), -2 * x, name="law")
    n = dd.to_semi_explicit(m)
    assert n.equations["rate of x"] == ["x_dot - x_rate = 0"]
    assert "x_dot" not in n.equations["law"][0]
    assert (
        float(ca.substitute(n.written.equations["law"].residual, ca.vertcat(n["x_rate"], x), ca.DM([2, 3])))
        == 8 + 2 + 6
    )
