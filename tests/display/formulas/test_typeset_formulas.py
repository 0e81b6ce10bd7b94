"""Formulas in text, LaTeX and MathML: in the user's names, whole, in order, and equal in value to what was written."""

import re
from xml.etree import ElementTree

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus import catalogue
from daedalus.display.formulas.model_equations import Equations
from daedalus.display.formulas.normal_form import Ordered
from daedalus.display.formulas.styles import Text
from daedalus.display.formulas.writing import FormulaWriter

NAMES = ("x", "y", "z")
SYMBOLS = [ca.SX.sym(name) for name in NAMES]


def text_of(expression):
    table = Ordered({})
    return FormulaWriter(table, Text()).write(table.value(ca.SX(expression)))


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda x, y, z: x + x, "2*x"),
        (lambda x, y, z: x - (y - z), "x + z - y"),
        (lambda x, y, z: -x - y, "-x - y"),
        (lambda x, y, z: (x + y) * z, "(x + y)*z"),
        (lambda x, y, z: x * y / (z * x), "y/z"),
        (lambda x, y, z: x / (y * z), "x/(y*z)"),
        (lambda x, y, z: 0.5 * x * y**2, "x*y^2/2"),
        (lambda x, y, z: (x + y) ** 2, "(x + y)^2"),
        (lambda x, y, z: ca.sqrt(x) * ca.sqrt(x) * y, "x*y"),
        (lambda x, y, z: 1 / x, "1/x"),
        (lambda x, y, z: x**y, "x^y"),
        (lambda x, y, z: ca.sin(-x), "sin(-x)"),
        (lambda x, y, z: ca.if_else(x < 1, y, z), "(y if x < 1 else z)"),
        (lambda x, y, z: 3 - 2 * ca.fabs(x), "3 - 2*fabs(x)"),
        (lambda x, y, z: 0 * x + 0.0, "0"),
    ],
)
def test_expressions_are_put_in_order(write, text):
    assert text_of(write(*SYMBOLS)) == text


leaves = st.sampled_from(range(3)).map(lambda k: SYMBOLS[k]) | st.sampled_from([0.5, 2.0, -3.0, 1.0]).map(ca.SX)
trees = st.recursive(
    leaves,
    lambda own: st.one_of(
        st.tuples(own, own).map(lambda p: p[0] + p[1]),
        st.tuples(own, own).map(lambda p: p[0] - p[1]),
        st.tuples(own, own).map(lambda p: p[0] * p[1]),
        st.tuples(own, own).map(lambda p: p[0] / (p[1] ** 2 + 1)),
        own.map(lambda a: -a),
        own.map(ca.sin),
        own.map(lambda a: a**2),
        own.map(lambda a: ca.sqrt(a**2 + 2)),
        own.map(lambda a: ca.exp(-(a**2))),
    ),
    max_leaves=10,
)


@settings(max_examples=examples(150), deadline=None)
@given(trees)
def test_what_is_read_has_the_value_of_what_was_written(tree):
    values = {"x": 0.7, "y": -1.3, "z": 0.4}
    expected = float(ca.Function("f", SYMBOLS, [tree])(*values.values()))
    read = text_of(tree).replace("^", "**")
    names = {"sin": np.sin, "sqrt": np.sqrt, "exp": np.exp, **values}
    assert eval(read, names) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_names_in_latex():
    m = dd.Model("names")
    q = m.coordinate("q", 2, start=0.0, rate=0.0)
    omega, mass = m.parameter("omega_0", 1.0), m.parameter("mass", 2.0)
    lam = m.algebraic("λ")
    m.kinetic_energy(0.5 * mass * ca.sumsqr(m.rate(q)))
    m.potential_energy(0.5 * omega**2 * ca.sumsqr(q))
    m.equation(lam, ca.sqrt(q[0]) / 3e-5)
    assert m.to_latex().splitlines()[1:-1] == [
        r"\lambda &= 33333.3333333 \, \sqrt{q_{0}} \\",
        r"\mathrm{mass} \, \ddot{q}_{0} &= - \omega_{0}^{2} \, q_{0} \\",
        r"\mathrm{mass} \, \ddot{q}_{1} &= - \omega_{0}^{2} \, q_{1}",
    ]


def test_owners_stand_below():
    part = dd.Model("part")
    x = part.state("x", start=1.0)
    part.equation(part.der(x), -x)
    m = dd.Model("whole")
    m.include("left", part)
    assert r"\dot{x}_{\mathrm{left}} &= - x_{\mathrm{left}}" in m.to_latex()


@pytest.mark.parametrize("name", ["delta_robot", "andrews", "quadrotor", "transistor_amplifier", "four_bar"])
def test_equations_are_whole(name):
    model = catalogue.load(name).model
    equations = Equations(model)
    for text in (
        equations.text(),
        equations.latex(),
        str(model),
        *(t for own in model.equations.values() for t in own),
    ):
        assert "…" not in text
        assert "\\dots" not in text
    latex = equations.latex()
    assert latex.count("{") == latex.count("}")
    assert latex.count("\\left") == latex.count("\\right")
    assert len(equations.lines) == sum(map(len, model.equations.values()))
    # MathML is well-formed.
    ElementTree.fromstring(f"<div>{equations.mathml()}</div>")


def test_sides_are_as_written():
    m = dd.Model("cart")
    v = m.state("v", start=0.0)
    F, mass = m.input("F"), m.parameter("mass", 1.0)
    m.equation(mass * m.der(v), F - 0.1 * v)
    assert Equations(m).text() == "mass*v_dot = F - 0.1*v"


def test_motion_has_accelerations_on_the_left():
    k = catalogue.load("double_pendulum")
    for line in Equations(k.model).text().splitlines():
        left, right = line.split(" = ")
        assert "ddot" in left
        assert not re.search(r"_ddot|_dot", left.replace("_ddot", ""))
        assert "ddot" not in right


def test_print_shows_the_equations():
    k = catalogue.load("pendulum_3d")
    assert "    mass*position_ddot[0] = force[0] + cable*position[0]" in str(k.model).splitlines()
    assert repr(k.model).startswith("Model('pendulum_3d': ")


def test_an_equation_that_would_be_cut_opens_below_its_name(monkeypatch):
    """A short beginning with dots in the place of its parts told nothing."""
    from daedalus.display.formulas import model_equations

    m = dd.Model("long")
    x = m.state("x", 40, start=1.0)
    m.equation(m.der(x), [sum(x[k] for k in range(40) if k != j) for j in range(40)])
    short = type("Short", (model_equations.FormulaWriter,), {})
    short.__init__ = lambda self, table, style, longest=60: super(short, self).__init__(table, style, longest)
    monkeypatch.setattr(model_equations, "FormulaWriter", short)
    page = model_equations.Equations(m).mathml(2)
    assert page.count("<details") == 0
    assert "…" not in page.replace("… and 38 more", "")
    monkeypatch.setattr(model_equations, "LONG_ONES", 0)
    page = model_equations.Equations(m).mathml(2)
    assert page.count(", cut: m.to_latex() has the rest)</summary>") == 2
