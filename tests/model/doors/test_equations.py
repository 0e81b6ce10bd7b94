"""Door 1: what may stand in an equation, and every refusal with its words."""

import gc
import math
import warnings
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

COMMA_FORM = "the comma form m.equation(m.der(x), [v, -g]): left side, right side"
WHOLE, PART = "Equation 'equation_1'", "Component 1 of equation 'equation_1'"
GROWTH = ["x_dot[0] - x[0] = 0", "x_dot[1] - x[1] = 0"]
HOLDS = "it is a comparison that always holds, or can never be zero"
NAN_CAUSE = (
    "  Because math.sin(x), float(x) and writing a symbol into a float array turn symbols into NaN.\n"
    "  Try: np.sin or casadi.sin, and lists instead of np.zeros"
)


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


# -- equations that are taken ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        (lambda d: d.m.equation(d.der(d.y), -d.y), ["y_dot + y = 0"]),
        (lambda d: d.m.equation(d.der(d.y) == -d.y), ["y_dot + y = 0"]),
        (lambda d: d.m.equation(d.der(d.y) + d.y), ["y_dot + y = 0"]),
        (lambda d: d.m.equation(d.y == 0), ["y = 0"]),
        (lambda d: d.m.equation(d.der(d.x), [d.x[1], -d.y]), ["x_dot[0] - x[1] = 0", "x_dot[1] + y = 0"]),
        (lambda d: d.m.equation(d.der(d.x), (d.x[1], 3)), ["x_dot[0] - x[1] = 0", "x_dot[1] - 3 = 0"]),
        (lambda d: d.m.equation(d.der(d.x), np.array([d.x[1], 3])), ["x_dot[0] - x[1] = 0", "x_dot[1] - 3 = 0"]),
        (lambda d: d.m.equation(d.der(d.x), np.array([[d.x[1]], [3]])), ["x_dot[0] - x[1] = 0", "x_dot[1] - 3 = 0"]),
        (lambda d: d.m.equation(d.der(d.x), [[d.x[1]], [3]]), ["x_dot[0] - x[1] = 0", "x_dot[1] - 3 = 0"]),
        (lambda d: d.m.equation(d.der(d.x) == [1, 2]), ["x_dot[0] - 1 = 0", "x_dot[1] - 2 = 0"]),
        (lambda d: d.m.equation(d.der(d.x) == np.array([d.y, 2])), ["x_dot[0] - y = 0", "x_dot[1] - 2 = 0"]),
        (lambda d: d.m.equation(d.der(d.x), ca.DM([1, 2])), ["x_dot[0] - 1 = 0", "x_dot[1] - 2 = 0"]),
        (lambda d: d.m.equation(d.der(d.x), 0), ["x_dot[0] = 0", "x_dot[1] = 0"]),
        (lambda d: d.m.equation(3, d.w), ["3 - w[0] = 0", "3 - w[1] = 0"]),
        (lambda d: d.m.equation([d.der(d.x) == d.x, d.der(d.y) == d.u]), [*GROWTH, "y_dot - u = 0"]),
        (lambda d: d.m.equation([d.der(d.x) - d.x, d.z == d.u]), [*GROWTH, "z - u = 0"]),
        (lambda d: d.m.equation([d.der(d.x), d.z], [d.x, d.u]), [*GROWTH, "z - u = 0"]),
        (lambda d: d.m.equation(d.der(d.row), d.row), ["row_dot[0,0] - row[0,0] = 0", "row_dot[0,1] - row[0,1] = 0"]),
        (lambda d: d.m.equation(d.der(d.row), [[1, d.y]]), ["row_dot[0,0] - 1 = 0", "row_dot[0,1] - y = 0"]),
        (lambda d: d.m.equation(d.der(d.y), np.float32(1.5)), ["y_dot - 1.5 = 0"]),
        (lambda d: d.m.equation(d.der(d.y), np.array(1.5)), ["y_dot - 1.5 = 0"]),
        (lambda d: d.m.equation(d.der(d.y), Fraction(1, 2)), ["y_dot - 0.5 = 0"]),
        (lambda d: d.m.equation(d.der(d.y), d.k > 1), ["y_dot - (1 < k) = 0"]),
    ],
)  # fmt: skip
def test_ways_to_write_an_equation(d, write, texts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(d)
    assert d.m.equations == {"equation_1": texts}


@pytest.mark.parametrize(
    "right",
    [
        lambda d: [[d.y, 1], [2, d.z]],
        lambda d: np.array([[d.y, 1], [2, d.z]]),
        lambda d: ca.vertcat(ca.horzcat(d.y, 1), ca.horzcat(2, d.z)),
        lambda d: np.array([[d.y, 1], [2, d.z]]).tolist(),
    ],
)
def test_matrices_are_written_column_by_column(d, right):
    d.m.equation(d.der(d.R), right(d))
    texts = ["R_dot[0,0] - y = 0", "R_dot[1,0] - 2 = 0", "R_dot[0,1] - 1 = 0", "R_dot[1,1] - z = 0"]
    assert d.m.equations["equation_1"] == texts


def test_sparse_and_numeric_matrices(d):
    texts = ["R_dot[0,0] - 1 = 0", "R_dot[1,0] = 0", "R_dot[0,1] = 0", "R_dot[1,1] - 1 = 0"]
    for k, right in enumerate((np.eye(2), ca.SX.eye(2), ca.DM.eye(2), [[1, 0], [0, 1]]), 1):
        d.m.equation(d.der(d.R), right)
        assert d.m.equations[f"equation_{k}"] == texts


def test_names_of_equations(d):
    d.m.equation(d.der(d.y), 1, name="equation_2")
    d.m.equation(d.der(d.y), 2)
    d.m.equation(d.der(d.y), 3, name="force balance")
    d.m.equation(d.der(d.y), 4, name="y")
    assert list(d.m.equations) == ["equation_2", "equation_3", "force balance", "y"]
    assert text_of(lambda: d.m.equation(d.der(d.y), 5, name="y")) == (
        "The equation name 'y' is taken.\n"
        "  it stands for y_dot - 4 = 0\n"
        "  Because errors and results use the name of an equation.\n"
        "  Try: another name="
    )


@pytest.mark.parametrize("name", [3, "", ("a",)])
def test_wrong_names_of_equations(d, name):
    assert text_of(lambda: d.m.equation(d.der(d.y), 5, name=name)) == (
        "The name of an equation is a text.\n"
        f"  got {name!r}\n"
        "  Because errors and results use the name of an equation.\n"
        '  Try: name="balance"'
    )


# -- equations that are refused --------------------------------------------------------------------------------


def test_the_python_value_that_casadi_makes_of_a_list_of_symbols(d):
    v, g = d.y, 9.81
    comparison = d.der(d.x) == [v, -g]
    assert comparison is False
    text = (
        "Equation 'fall' is the Python value False, not an expression.\n"
        "  Because comparing a symbol with a Python list gives a plain True or False.\n"
        f"  Try: {COMMA_FORM}"
    )
    assert text_of(lambda: d.m.equation(comparison, name="fall")) == text
    assert text_of(lambda: d.m.equation([d.der(d.y), comparison], name="fall")) == text
    assert text_of(lambda: d.m.equation(d.der(d.y), np.True_, name="fall")) == text.replace("False, not", "True, not")
    assert text_of(lambda: d.m.equation(np.array([True, False]))) == (
        "Equation 'equation_1' is an array of bool, not of real numbers.\n"
        "  Because only symbols and real numbers can be computed with.\n"
        f"  Try: {COMMA_FORM}"
    )
    assert d.m.equations == {}


@pytest.mark.parametrize(
    ("write", "where", "constant", "meaning"),
    [
        (lambda d: d.m.equation(d.y == d.y), WHOLE, "1", HOLDS),
        (lambda d: d.m.equation(d.y, d.y), WHOLE, "0", "it says nothing"),
        (lambda d: d.m.equation(0 * d.y), WHOLE, "0", "it says nothing"),
        (lambda d: d.m.equation(5), WHOLE, "5", "it can never hold"),
        (lambda d: d.m.equation(d.y - d.y, 5), WHOLE, "-5", "it can never hold"),
        (lambda d: d.m.equation(ca.sqrt(d.y) >= 0), WHOLE, "1", HOLDS),
        (lambda d: d.m.equation([d.y, d.x[0] - d.x[0]]), PART, "0", "it says nothing"),
        (lambda d: d.m.equation(d.x, [0, d.x[1]]), PART, "0", "it says nothing"),
        (lambda d: d.m.equation([d.y == 1, d.x == d.x]), PART, "1", HOLDS),
    ],
)  # fmt: skip
def test_equations_that_folded_to_a_constant(d, write, where, constant, meaning):
    assert text_of(lambda: write(d)) == (
        f"{where} simplified to the constant {constant}.\n"
        f"  it contains no symbol, so {meaning}\n"
        "  Because both sides are the same, or Python evaluated the comparison before the model saw it.\n"
        f"  Try: {COMMA_FORM}"
    )
    assert d.m.equations == {}


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        (lambda d: d.y <= 0, "an inequality"),
        (lambda d: d.y > d.z, "an inequality"),
        (lambda d: d.y != 0, "an inequality"),
        (lambda d: ca.logic_and(d.y == 1, d.z == 2), "a logical expression"),
        (lambda d: ca.logic_not(d.y == 1), "a logical expression"),
    ],
)
def test_inequalities_and_logic(d, expression, what):
    reason = (
        "  Because a model is made of equations; bounds belong to lower=, upper= or an event.\n"
        "  Try: m.event(...) where something switches"
    )
    assert text_of(lambda: d.m.equation(expression(d))) == f"Equation 'equation_1' is {what}.\n{reason}"
    assert (
        text_of(lambda: d.m.equation([d.y, expression(d)], name="b"))
        == f"Component 1 of equation 'b' is {what}.\n{reason}"
    )


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (lambda d: d.y, "a scalar"),
        (lambda d: d.k, "a scalar"),
        (lambda d: d.x.T, "a 1 × 2 matrix"),
        (lambda d: [[1, 2]], "a 1 × 2 matrix"),
        (lambda d: np.ones((1, 2)), "a 1 × 2 matrix"),
        (lambda d: [1, 2, 3], "3 numbers"),
        (lambda d: d.R, "a 2 × 2 matrix"),
    ],
)
def test_sides_of_different_shapes(d, right, words):
    assert text_of(lambda: d.m.equation(d.der(d.x), right(d))) == (
        "The two sides of equation 'equation_1' have different shapes.\n"
        f"  left 2 numbers, right {words}\n"
        "  Because each component of the left side equals one of the right side; a list is a column.\n"
        "  Try: write as many components on both sides"
    )


def test_an_equality_on_top_of_a_comma(d):
    assert text_of(lambda: d.m.equation(d.der(d.y) == d.y, 0)) == (
        "Equation 'equation_1' has an == inside a left and a right side.\n"
        "  Because the comma already stands for the equality.\n"
        "  Try: m.equation(a == b) or m.equation(a, b)"
    )


@pytest.mark.parametrize(
    ("side", "shown"),
    [
        (None, "NoneType: None"),
        ("der(x) = 1", "str: 'der(x) = 1'"),
        (1j, "complex: 1j"),
        ({"a": 1}, "dict: {'a': 1}"),
    ],
)
def test_things_that_are_no_expressions(d, side, shown):
    text = (
        "Equation 'equation_1' is not an expression.\n"
        f"  got {shown}\n"
        "  Because only symbols and numbers can be computed with.\n"
        "  Try: an expression in the model's symbols, a number, or a list of these"
    )
    assert text_of(lambda: d.m.equation(side)) == text
    # A function that forgot its return gives None: that is no equation der(y) = 0.
    assert text_of(lambda: d.m.equation(d.der(d.y), side)) == text
    assert text_of(lambda: d.m.equation(d.der(d.x), [0, side])) == text


def test_expressions_inside_wrong_things_are_not_printed(d):
    assert "  got dict\n" in text_of(lambda: d.m.equation({"a": ca.sin(d.x)}))


@pytest.mark.parametrize("side", [[], (), np.zeros(0), np.zeros((2, 0)), ca.SX(0, 1), [[]], np.zeros(0, dtype=object)])
def test_empty_sides(d, side):
    assert text_of(lambda: d.m.equation(side)).startswith("Equation 'equation_1' is empty.\n  got ")
    assert text_of(lambda: d.m.equation(d.der(d.x), side)) == text_of(lambda: d.m.equation(side))
    assert text_of(lambda: d.m.equation(side)).endswith(f"\n  Because it has no entries.\n  Try: {COMMA_FORM}")


def test_other_arrays(d):
    assert text_of(lambda: d.m.equation(d.der(d.x), np.ones((2, 1, 1)))) == (
        "The two sides of equation 'equation_1' have different shapes.\n"
        "  left (2, 1), right (2, 1, 1)\n"
        "  Because each component of the left side equals one of the right side.\n"
        "  Try: arrays of one shape, or a single value on one side"
    )
    assert "different shapes" in text_of(lambda: d.m.equation(d.der(d.x), np.ones((2, 1, 1), dtype=object)))
    assert text_of(lambda: d.m.equation(d.der(d.x), np.array([1j, 2]))).startswith(
        "Equation 'equation_1' is an array of complex128, not of real numbers.\n"
    )
    assert text_of(lambda: d.m.equation(d.der(d.x), np.array(["1", "2"]))).startswith(
        "Equation 'equation_1' is an array of <U1"
    )
    assert text_of(lambda: d.m.equation(d.der(d.R), [[1, 2], [3]])) == (
        "Equation 'equation_1' has rows of different length.\n"
        "  the rows have 2, 1 entries\n"
        "  Because a list of lists is a matrix, row by row.\n"
        "  Try: rows of one length, or one flat list"
    )
    assert text_of(lambda: d.m.equation([d.der(d.x), d.der(d.R)], [d.x, d.R])) == (
        "Equation 'equation_1' mixes columns and matrices in one list.\n"
        "  the parts have the shapes (2, 1), (2, 2)\n"
        "  Because a list stacks columns.\n"
        "  Try: casadi.vec(R), which stacks the columns of R, or one call each"
    )
    assert text_of(lambda: d.m.equation(d.der(d.y), ca.MX.sym("a"))) == (
        "Equation 'equation_1' is an MX expression.\n"
        "  Because models are made of SX symbols.\n"
        "  Try: write it with the symbols that the model returned"
    )


# -- NaN -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "shown"),
    [
        (lambda d: float("nan"), "nan"),
        (lambda d: float("inf"), "inf"),
        (lambda d: math.sin(d.y), "nan"),
        (lambda d: float(d.y), "nan"),
    ],
)
def test_sides_that_are_nan(d, right, shown):
    assert (
        text_of(lambda: d.m.equation(d.der(d.y), right(d)))
        == f"Equation 'equation_1' contains NaN or infinity.\n  got {shown}\n{NAN_CAUSE}"
    )


def test_symbols_in_a_float_array(d):
    rates = np.zeros(2)
    rates[0] = d.x[1]
    rates[1] = -d.x[0]
    text = text_of(lambda: d.m.equation(d.der(d.x), rates))
    assert text == f"Equation 'equation_1' contains NaN or infinity.\n  got [nan, nan]\n{NAN_CAUSE}"


@pytest.mark.parametrize(
    "hidden",
    [
        lambda y: y + math.sin(y),
        lambda y: y * float(y),
        lambda y: ca.fmax(y, math.sin(y)),
        lambda y: ca.if_else(y > 1e9, math.sin(y), y),
        lambda y: ca.vertcat(math.cos(y), y)[0] * y,
    ],
)
def test_nan_inside_an_expression(d, hidden):
    assert (
        text_of(lambda: d.m.equation(d.der(d.y), hidden(d.y)))
        == f"Equation 'equation_1' contains the constant NaN.\n{NAN_CAUSE}"
    )
    text = text_of(lambda: d.m.equation(d.der(d.x), [d.y, hidden(d.y)]))
    assert text == f"Component 1 of equation 'equation_1' contains the constant NaN.\n{NAN_CAUSE}"


# -- symbols that do not belong --------------------------------------------------------------------------------


def test_symbols_of_another_model(d):
    other = type(d)()
    other.m.name = "other"
    text = (
        "{} contains a symbol of another model.\n"
        "  {} belongs to the model 'other', not to 'desk'\n"
        "  Because each model has its own symbols.\n"
        "  Try: {}"
    )
    inside = 'm.include("part", other) and then m["part.{}"]'
    first, second = WHOLE, "Component 1 of equation 'equation_1'"
    assert text_of(lambda: d.m.equation(d.der(d.y), other.y)) == text.format(first, "y", inside.format("y"))
    assert text_of(lambda: d.m.equation(d.der(d.x), [d.y, other.R[0, 1]])) == text.format(
        second, "R[0,1]", inside.format("R[0,1]")
    )
    assert text_of(lambda: d.m.equation(d.der(d.y), other.der(other.x)[0])) == text.format(
        first, "x_dot[0]", inside.format("x_dot[0]")
    )
    assert text_of(lambda: d.m.equation(d.der(d.y), other.m.time)) == text.format(first, "t", "m.time")


def test_symbols_of_no_model(d):
    text = (
        "Equation 'equation_1' contains a symbol that no model declared.\n"
        "  the symbol prints as {!r}\n"
        "  Because every symbol of a model comes from the model itself.\n"
        "  Try: {}"
    )
    foo, t = ca.SX.sym("foo"), ca.SX.sym("t")
    remedy = 'm.state("foo"), m.input("foo") or m.parameter("foo", value)'
    assert text_of(lambda: d.m.equation(d.der(d.y), foo)) == text.format("foo", remedy)
    assert text_of(lambda: d.m.equation(d.der(d.y), t)) == text.format("t", "m.time")


def test_symbols_of_a_model_that_is_gone(d):
    q = dd.Model("gone").state("q", 2)
    gc.collect()
    assert text_of(lambda: d.m.equation(d.der(d.x), q)) == (
        "Component 0 of equation 'equation_1' contains a symbol that no model declared.\n"
        "  the symbol prints as 'q[0]'\n"
        "  Because every symbol of a model comes from the model itself.\n"
        '  Try: m.state("q"), m.input("q") or m.parameter("q", value)'
    )


def test_the_owner_of_a_symbol_is_who_declared_it(d):
    twin = d.m.copy("twin")
    text = text_of(lambda: dd.Model("third").output("o", d.y))
    assert "y belongs to the model 'desk', not to 'third'" in text
    del twin
    gc.collect()
    assert text_of(lambda: dd.Model("third").output("o", d.y)) == text


@pytest.mark.parametrize(
    ("write", "where", "only"),
    [
        (lambda d: d.m.equation(d.k, 3), WHOLE, "k"),
        (lambda d: d.m.equation(d.m.time - 1), WHOLE, "t"),
        (lambda d: d.m.equation([d.z, d.u - d.k * d.m.time]), PART, "k, t, u"),
    ],
)
def test_equations_without_an_unknown(d, write, where, only):
    assert text_of(lambda: write(d)) == (
        f"{where} contains no unknown.\n"
        f"  it contains only {only}\n"
        "  Because an equation determines a state, a derivative or an algebraic variable.\n"
        "  Try: declare one of them with m.algebraic(...)"
    )
