"""Structures that mislead, repaired by combining equations or unknowns: hidden constraints, index, freedom.

The examples are those of G. Tan, N. S. Nedialkov, J. D. Pryce, Conversion methods for improving structural analysis of
differential-algebraic equation systems, BIT 57 (2017), and of the papers that these come from.
"""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def entangled(outer=lambda e: ca.exp(-e)):
    """x1 + φ(x1' + x2 x2'') + g1 and x1 + x2 x2' + x2² + g2: no combination of the equations has fewer derivatives."""
    m = dd.Model("entangled")
    x1, x2 = m.state("x1"), m.state("x2", start=1.0, rate=0.5)
    g1, g2 = m.parameter("g1", -2.0), m.parameter("g2", -3.0)
    m.equation(x1 + outer(m.der(x1) + x2 * m.der(m.der(x2))) + g1, name="first")
    m.equation(x1 + x2 * m.der(x2) + x2**2 + g2, name="second")
    return m


def test_a_combination_of_unknowns_shows_the_hidden_constraint():
    """With w = x1 + x2 x2', w' = -2 x2 x2' and x1' + x2 x2'' = w' - x2'²."""
    report = dd.analyse(entangled())
    assert (report.structural_index, report.index, report.degrees_of_freedom) == (1, 2, 1)
    assert report.solvable
    assert [text for text, _ in report.written_constraints] == ["second: x1 + x2*x2_dot + x2^2 + g2 = 0"]
    assert [text for text, _ in report.hidden_constraints] == [
        "first combined with second: x1 + exp(2*x2*x2_dot + x2_dot^2) + g1 = 0"
    ]
    assert report.warnings == [
        "the pattern of the equations misleads (structural index 1): derivatives enter only through x1 + x2*x2_dot, "
        "in fewer combinations than unknowns"
    ]
    assert not any("could not be written out" in note for note in report.notes)


def test_the_hidden_constraint_holds_only_the_users_symbols():
    report = dd.analyse(entangled())
    system = report.system
    known = {s.name() for letter in ("x", "p") for s in system.symbol(letter).elements()}
    assert {s.name() for s in ca.symvar(report.hidden_constraints[0][1])} <= known


@pytest.mark.parametrize("outer", [lambda e: ca.exp(-e), lambda e: e + e**3])
def test_the_constraints_hold_on_a_known_solution(outer):
    """x1 = sin t + 2, x2 = cos t + 3 with the right sides that make it a solution."""
    m = dd.Model("known")
    t = m.time
    x1, x2 = m.state("x1", start=2.0), m.state("x2", start=4.0, rate=0.0)
    exact = ca.sin(t) + 2, ca.cos(t) + 3

    def equations(a, b, rate):
        return a + outer(rate(a) + b * rate(rate(b))), a + b * rate(b) + b**2

    for own, value in zip(equations(x1, x2, m.der), equations(*exact, lambda e: ca.jacobian(e, t))):
        m.equation(own, value)
    report = dd.analyse(m)
    system = report.system
    (constraint,) = [expression for _, expression in report.hidden_constraints]
    values = ca.vertcat(*exact, ca.jacobian(exact[1], t))
    left = ca.Function("left", [t], [ca.substitute(constraint, system.symbol("x"), values)])
    assert max(abs(float(left(time))) for time in (0.0, 0.7, 2.0)) < 1e-12
    beside = ca.Function("beside", [t], [ca.substitute(constraint, system.symbol("x"), values + 0.1)])
    assert abs(float(beside(0.7))) > 1e-3
    assert dd.reduce(m).reduction.degrees_of_freedom == report.degrees_of_freedom == 1


def robot_arm():
    """The two-link arm with prescribed end point, S. L. Campbell and E. Griepentrog (1995): index 5."""
    m = dd.Model("robot arm")
    t = m.time
    # The solution is x1 = 1 - e^t, x3 = e^t - t; the other values follow.
    x1, x3 = m.state("x1", start=0.0, rate=-1.0), m.state("x3", start=1.0, rate=0.0)
    x2 = m.state("x2")
    u1, u2 = m.algebraic("u1"), m.algebraic("u2")
    d1, d3 = m.der(x1), m.der(x3)
    share = 1 / (2 - ca.cos(x3) ** 2)
    a, b, c, d = 2 * share, ca.cos(x3) * share, ca.sin(x3) * share, ca.sin(x3) * ca.cos(x3) * share
    spring = 2 * x3 - x2
    m.equation(m.der(d1), 2 * c * (d1 + d3) ** 2 + d1**2 * d + spring * (a + 2 * b) + a * (u1 - u2), name="one")
    two = -2 * c * (d1 + d3) ** 2 - d1**2 * d + spring * (1 - 3 * a - 2 * b) - a * u1 + (a + 1) * u2
    m.equation(m.der(m.der(x2)), two, name="two")
    three = -2 * c * (d1 + d3) ** 2 - d1**2 * d + spring * (a - 9 * b) - 2 * d1**2 * c - d * (d1 + d3) ** 2
    m.equation(m.der(d3), three - (a + b) * (u1 - u2), name="three")
    m.equation(ca.cos(x1) + ca.cos(x1 + x3), ca.cos(ca.exp(t) - 1) + ca.cos(t - 1), name="across")
    m.equation(ca.sin(x1) + ca.sin(x1 + x3), ca.sin(1 - ca.exp(t)) + ca.sin(1 - t), name="up")
    return m


def test_the_robot_arm_has_index_5_where_its_pattern_says_3():
    report = dd.analyse(robot_arm())
    assert (report.structural_index, report.index, report.degrees_of_freedom) == (3, 5, 0)
    # As many constraints as unknowns: nothing is left to choose.
    assert len(report.hidden_constraints) + len(report.written_constraints) == 8
    assert any("three combined with one" in warning for warning in report.warnings)


def test_the_linear_example_keeps_what_its_pencil_says():
    """L. Scholz and A. Steinbrecher (2013): -x1' + x3, -x2' + x4, x2 + x3 + x4, -x1 + x3 + x4, less given functions."""
    m = dd.Model("linear")
    x, u = m.state("x", 4), m.input("u", 2)
    m.equation([x[2] - m.der(x)[0], x[3] - m.der(x)[1], x[1] + x[2] + x[3] - u[0], x[2] + x[3] - x[0] - u[1]], name="e")
    report = dd.analyse(m, inputs={"u": [1.0, 2.0]})
    E = np.diag([-1.0, -1.0, 0.0, 0.0])
    A = -np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 1, 1], [-1, 0, 1, 1.0]])
    known = dd.pencil(E, A)
    assert (report.index, report.degrees_of_freedom) == (known.index, len(known.finite))
    assert report.structural_index != report.index
    texts = [text for text, _ in report.hidden_constraints]
    assert any("x[1] + x[0]" in text or "x[0] + x[1]" in text or "x[1] - " in text for text in texts), texts


def test_a_combination_inside_a_larger_model():
    """The entangled pair drives an ordinary equation and an algebraic one."""
    m = dd.Model("larger")
    m.include("pair", entangled())
    y, z = m.state("y", start=0.0), m.algebraic("z")
    m.equation(m.der(y), z - y)
    m.equation(z, m["pair.x1"] ** 2)
    report = dd.analyse(m)
    assert (report.index, report.degrees_of_freedom) == (2, 2)
    (hidden,) = [text for text, _ in report.hidden_constraints]
    assert "pair.x1 + exp(2*pair.x2*pair.x2_dot + pair.x2_dot^2) + pair.g1 = 0" in hidden
