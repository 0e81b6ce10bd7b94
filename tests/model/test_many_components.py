"""Equations with many components are read all at once, and say the same as component by component."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.model.doors import equations

N = 600


def model():
    m = dd.Model("table")
    u, v = m.state("u", N, start=np.linspace(0, 1, N)), m.algebraic("v", N, start=0.5)
    return m, u, v, m.parameter("p", np.linspace(1, 2, N)), m.input("w")


@pytest.mark.parametrize("form", ["one by one", "two sides", "equal signs", "listed"])
def test_every_form_gives_the_same_equations(form, monkeypatch):
    found = []
    for many in (equations.MANY_COMPONENTS, 10**9):
        monkeypatch.setattr(equations, "MANY_COMPONENTS", many)
        m, u, v, p, w = model()
        rates = p * np.roll(u, 1) - v**2 * w + m.time
        if form == "two sides":
            m.equation(m.der(u), rates)
        elif form == "equal signs":
            m.equation(m.der(u) == rates)
        elif form == "listed":
            m.equation([m.der(u)[k] == rates[k] for k in range(N)])
        else:
            m.equation([m.der(u)[k] - rates[k] if k % 2 else m.der(u)[k] == rates[k] for k in range(N)])
        m.equation(v == u)
        system = m.freeze()
        values = [np.linspace(0.1, 0.9, system.symbol(letter).numel()) for letter in ("t", "xdot", "x", "z", "u", "p")]
        found.append((m.equations["equation_1"][7], m.equations["equation_2"][9], system.function(*values).full()))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_array_equal(found[0][2], found[1][2])


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda m, u, v, p: m.equation(m.der(u), u == v), "has an == inside a left and a right side"),
        (lambda m, u, v, p: m.equation(u == v, 0), "has an == inside a left and a right side"),
        (lambda m, u, v, p: m.equation(0 * u, p), "Component 0 of equation 'equation_1' contains no unknown"),
        (lambda m, u, v, p: m.equation(u < v), "Component 0 of equation 'equation_1' is an inequality"),
        (lambda m, u, v, p: m.equation((u < v) == 0), "Component 0 of equation 'equation_1' is an inequality"),
        (lambda m, u, v, p: m.equation(u, u), "simplified to the constant 0"),
        (lambda m, u, v, p: m.equation(v == p + np.nan * u), "contains the constant NaN"),
    ],
)
def test_what_is_no_equation_is_refused(write, text):
    m, u, v, p, _ = model()
    with pytest.raises(dd.ModelError, match=text):
        write(m, u, v, p)


def test_an_equality_that_is_a_number_may_stand_inside():
    m, u, v, p, _ = model()
    m.equation(m.der(u) - u * (v == p), 0)
    m.equation(v, ca.sin(u))
    assert len(m.freeze().rows) == 2 * N
