"""Expressions as text: in the user's names, and with the meaning they had."""

import math
import re

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.model.expressions import symbol_key
from daedalus.model.printing import count_terms, expression_text, whole_text

NAMES = ("x", "y", "k")
ONE = [
    "exp", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "floor", "ceil", "fabs", "sign", "erf", "sqrt",
    "log", "asin", "acos", "acosh", "atanh", "log1p", "expm1", "neg", "square", "inverse", "twice", "not",
]  # fmt: skip
TWO = [
    "+",
    "-",
    "*",
    "/",
    "**",
    "fmin",
    "fmax",
    "atan2",
    "copysign",
    "fmod",
    "hypot",
    "remainder",
    "<",
    "<=",
    "==",
    "!=",
    "and",
    "or",
    "if",
]


def apply(operation, a, b):
    return {
        "neg": lambda: -a,
        "square": lambda: a * a,
        "inverse": lambda: 1 / a,
        "twice": lambda: a + a,
        "not": lambda: ca.logic_not(a),
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "**": lambda: a**b,
        "<": lambda: a < b,
        "<=": lambda: a <= b,
        "==": lambda: a == b,
        "!=": lambda: a != b,
        "and": lambda: ca.logic_and(a < 1, b < 1),
        "or": lambda: ca.logic_or(a < 1, b < 1),
        "if": lambda: ca.if_else(a, b, 2 * b),
    }.get(operation, lambda: getattr(ca, operation)(a) if operation in ONE else getattr(ca, operation)(a, b))()


@st.composite
def expressions(draw):
    symbols = [ca.SX.sym(name) for name in NAMES]
    pool = [*symbols, *(ca.SX(draw(st.sampled_from([0.5, 2.0, -1.5, 3.0, 1e-7]))) for _ in range(2))]
    for _ in range(draw(st.integers(1, 7))):
        operation = draw(st.sampled_from(ONE + TWO))
        # A fresh result comes first: deep expressions need their brackets.
        a, b = pool[-1], draw(st.sampled_from(pool))
        if draw(st.booleans()):
            a, b = b, a
        pool.append(apply(operation, a, b))
    return symbols, pool[-1]


SCOPE = {"erf": math.erf, "remainder": math.remainder}
SCOPE |= {name: getattr(np, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")}
SCOPE |= {name: getattr(np, name) for name in ("floor", "ceil", "fabs", "sign", "fmin", "fmax", "copysign", "fmod")}
SCOPE |= {name: getattr(np, name) for name in ("log1p", "expm1", "hypot", "inf", "nan")}
SCOPE |= {f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")}


@given(expressions(), st.tuples(*[st.floats(0.25, 2.0)] * 3))
def test_the_text_means_what_the_expression_means(case, point):
    symbols, expression = case
    labels = {symbol_key(s): name for s, name in zip(symbols, NAMES)}
    text = expression_text(expression, labels, limit=100_000)
    value = float(ca.Function("f", symbols, [expression])(*point))
    assume(np.isfinite(value) and abs(value) < 1e10)
    with np.errstate(all="ignore"):
        try:
            read = float(eval(text.replace("^", "**"), dict(SCOPE), dict(zip(NAMES, map(np.float64, point)))))
        except (ZeroDivisionError, ValueError, OverflowError):
            assume(False)
    # Comparisons and steps may fall on the other side by a rounding; everything else is the same number.
    neighbours = [float(ca.Function("f", symbols, [expression])(*(p * (1 + e) for p in point))) for e in (-1e-9, 1e-9)]
    assume(all(abs(n - value) <= 1e-6 * (1 + abs(value)) for n in neighbours))
    assert read == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda x, y: x - (y - 1), "x - (y - 1)"),
        (lambda x, y: (x - y) - 1, "x - y - 1"),
        (lambda x, y: x / (y / 2), "x/(y/2)"),
        (lambda x, y: x / y * 2, "2*x/y"),
        (lambda x, y: (x + y) * 3, "3*(x + y)"),
        (lambda x, y: -(x + y), "-(x + y)"),
        (lambda x, y: (-x) * y, "-(x*y)"),
        (lambda x, y: (x**y) ** 2, "(x^y)^2"),
        (lambda x, y: x ** (y**x), "x^(y^x)"),
        (lambda x, y: (-x) ** y, "(-x)^y"),
        (lambda x, y: x**-1.5, "x^(-1.5)"),
        (lambda x, y: 1 / (x * y), "1/(x*y)"),
        (lambda x, y: x * x, "x^2"),
        (lambda x, y: x + x, "2*x"),
        (lambda x, y: ca.sqrt(x) + ca.atan2(x, y), "sqrt(x) + atan2(x, y)"),
        (lambda x, y: (x < y) == 1, "(x < y) == 1"),
        (lambda x, y: ca.logic_and(x < y, y < 1), "(x < y) and (y < 1)"),
        (lambda x, y: ca.logic_not(x < y), "not (x < y)"),
        (lambda x, y: 0.1 * x + 1e-9, "0.1*x + 1e-09"),
        (lambda x, y: x * 1e20 - 3, "1e+20*x - 3"),
    ],
)
def test_texts(write, text):
    x, y = ca.SX.sym("a"), ca.SX.sym("b")
    labels = {symbol_key(x): "x", symbol_key(y): "y"}
    written = expression_text(write(x, y), labels)
    values = {"x": np.float64(0.7), "y": np.float64(1.3)}
    scope = {"sqrt": np.sqrt, "atan2": np.arctan2}
    assert written == text
    with np.errstate(invalid="ignore"):
        read = eval(written.replace("^", "**"), scope, values)
    assert read == pytest.approx(float(ca.Function("f", [x, y], [write(x, y)])(0.7, 1.3)), nan_ok=True)


def test_every_operation_has_a_name():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    for operation in (*ONE, *TWO, "erfinv"):
        result = ca.erfinv(x) if operation == "erfinv" else apply(operation, x, y)
        assert "operation" not in expression_text(result, {})


def test_shared_parts_are_written_out_and_long_texts_cut():
    m = dd.Model()
    x = m.state("x", 2)
    shared = ca.sin(x[0] * x[1])
    m.equation(m.der(x), [shared + 1 / shared, shared])
    assert m.equations["equation_1"] == [
        "x_dot[0] - (sin(x[0]*x[1]) + 1/sin(x[0]*x[1])) = 0",
        "x_dot[1] - sin(x[0]*x[1]) = 0",
    ]
    e = x[0]
    for _ in range(60):  # written out in full: 2^60 terms
        e = e * e + ca.sin(e)
    text = expression_text(e, m.written.labels())
    assert len(text) == 160
    assert text.endswith("…")


def test_sums_of_any_length_begin_at_their_beginning():
    x = [ca.SX.sym(f"x{k}") for k in range(1200)]
    total = ca.SX(0)
    for k, one in enumerate(x):
        total = total + (k + 2) * one
    assert expression_text(total, {}, 30) == "2*x0 + 3*x1 + 4*x2 + 5*x3 + 6…"
    assert whole_text(total, {}) == " + ".join(f"{k + 2}*x{k}" for k in range(1200))
    assert count_terms(total) == 1200


@pytest.mark.parametrize("turns", [14, 40])
def test_whole_texts_name_what_is_repeated_and_mean_the_same(turns):
    x = ca.SX.sym("x")
    e = x
    for k in range(turns):
        e = ca.sin(e) * (e - 0.5) + (k + 1) * e / (2 + e**2) - (-e)
    text = whole_text(e, {symbol_key(x): "part2"})
    formula, _, parts = text.partition(", where ")
    scope = {"sin": np.sin, "part2": 0.3}
    for part in parts.split(", "):
        name, _, value = part.partition(" = ")
        assert name not in scope
        scope[name] = eval(value.replace("^", "**"), dict(scope))
    assert eval(formula.replace("^", "**"), scope) == pytest.approx(float(ca.Function("f", [x], [e])(0.3)), rel=1e-9)


def test_two_signs_become_one():
    m = dd.Model("m")
    x, y = m.state("x"), m.state("y")
    for expression, text in (
        (x - ca.SX(-7), "x + 7"),
        (x + ca.SX(-7), "x - 7"),
        (x + (-y), "x - y"),
        (x - (-ca.sin(y)), "x + sin(y)"),
        (x * ca.SX(-7) - y, "(-7)*x - y"),
        (y + x * ca.SX(-7), "y - 7*x"),
        (y - ca.SX(-7) * x, "y + 7*x"),
    ):
        assert expression_text(expression, m.written.labels()) in (text, text.replace("(-7)*x", "x*(-7)"))


def test_names_of_casadi_appear_nowhere():
    m = dd.Model("m")
    y, R, z = m.state("y", 3), m.state("part.R", (2, 2)), m.algebraic("z", 2)
    shared = ca.sum1(y) * ca.exp(z[0])
    m.equation(m.der(m.der(y)), y * shared)
    m.equation(m.der(R), R @ R * shared)
    m.equation(z, [shared, shared])
    m.freeze()
    words = set(re.findall(r"[A-Za-z_@][\w.@]*(?:\[[\d,]+\])?", " ".join(t for ts in m.equations.values() for t in ts)))
    allowed = {f"{n}[{k}]" for n in ("y", "y_ddot") for k in range(3)} | {"z[0]", "z[1]", "exp"}
    allowed |= {f"part.{n}[{i},{j}]" for n in ("R", "R_dot") for i in range(2) for j in range(2)}
    assert words == allowed


def test_models_and_systems_in_one_line():
    m = dd.Model("arm")
    assert repr(m) == "Model('arm': empty)"
    x, z = m.state("x", 2), m.algebraic("z")
    m.input("u")
    m.parameter("k", 1)
    m.parameter("l", 1)
    m.equation(m.der(x), 1)
    m.equation(z, 1)
    assert repr(m) == "Model('arm': 1 state, 1 algebraic, 1 input, 2 parameters, 3 equations)"
    assert repr(m.freeze()) == "System('arm': 3 equations, 2 x, 1 z, 1 u, 2 p)"
