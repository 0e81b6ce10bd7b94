"""What a model records of a variable: shape, start, size, bounds, unit, and every value it refuses."""

from decimal import Decimal
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rings import any_text

import daedalus as dd
from daedalus.model.system.plain_record import PlainRecord
from daedalus.model.variables import Variable


def text_of(call) -> str:
    with pytest.raises(dd.ModelError) as caught:
        call()
    return str(caught.value)


def recorded(shape=(), **said) -> Variable:
    m = dd.Model()
    m.state("x", shape, **said)
    return m.variables["x"]


# -- shapes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "kept", "symbol"),
    [
        ((), (), (1, 1)),
        (3, (3,), (3, 1)),
        (1, (1,), (1, 1)),
        (np.int64(3), (3,), (3, 1)),
        (np.array(3), (3,), (3, 1)),
        ((3,), (3,), (3, 1)),
        ([2, 3], (2, 3), (2, 3)),
        (np.array([2, 3]), (2, 3), (2, 3)),
        ((np.int32(2), 1), (2, 1), (2, 1)),
        ((1, 3), (1, 3), (1, 3)),
    ],
)
def test_shapes(shape, kept, symbol):
    for kind in ("state", "algebraic", "input"):
        m = dd.Model()
        assert getattr(m, kind)("x", shape).shape == symbol
        assert m.variables["x"].shape == kept
    m = dd.Model()
    assert m.parameter("x", shape=shape).shape == symbol


@pytest.mark.parametrize("shape", [0, -1, 2.0, 2.5, True, "3", None, (0,), (2, 0), {2, 3}, (True, 2), "33", (2.0,)])
def test_what_is_no_shape(shape):
    assert text_of(lambda: dd.Model().state("x", shape)) == (
        f"{shape!r} is not a valid shape for x.\n"
        "  Because a shape is () for a scalar, a whole number for a column, or (rows, columns).\n"
        "  Try: 3 for a column of three numbers, (2, 2) for a matrix"
    )


@pytest.mark.parametrize(
    ("declare", "shape"),
    [(lambda m, shape: m.state("u", shape), (4, 3, 2, 1)), (lambda m, shape: m.input("u", shape), (4, 3, 2))],
)
def test_more_axes_than_there_may_be_are_refused_with_a_way(declare, shape):
    assert text_of(lambda: declare(dd.Model(), shape)) == (
        f"u has {len(shape)} axes.\n"
        f"  its shape is {shape}\n"
        "  Because states, algebraic variables and parameters have three axes at most, all others two.\n"
        "  Try: a column of 24 cells, coupled by a SciPy matrix: dd.matrix_product(A, u)"
    )


# -- start values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "start", "kept"),
    [
        ((), 2, (2.0,)),
        ((), [5], (5.0,)),
        ((), [[5]], (5.0,)),
        ((), np.array(5), (5.0,)),
        ((), ca.DM(3), (3.0,)),
        ((), np.float32(1.5), (1.5,)),
        ((), Decimal("1.5"), (1.5,)),
        ((), Fraction(1, 2), (0.5,)),
        ((), None, (None,)),
        (2, [1, 2], (1.0, 2.0)),
        (2, (1, 2), (1.0, 2.0)),
        (2, range(2), (0.0, 1.0)),
        (2, ca.DM([1, 2]), (1.0, 2.0)),
        (2, [ca.DM(1), 2], (1.0, 2.0)),
        (2, np.array([[1], [2]]), (1.0, 2.0)),
        (2, [np.array(1), np.float64(2)], (1.0, 2.0)),
        (2, 7, (7.0, 7.0)),
        (2, [1, None], (1.0, None)),
        (2, [None, None], (None, None)),
        ((2, 1), [1, 2], (1.0, 2.0)),
        ((1, 2), [[1, 2]], (1.0, 2.0)),
        ((2, 2), [[1, 2], [3, 4]], (1.0, 3.0, 2.0, 4.0)),
        ((2, 2), [[1, None], [3, 4]], (1.0, 3.0, None, 4.0)),
        ((2, 3), 0, (0.0,) * 6),
        ((2, 2), ca.DM(ca.Sparsity.diag(2), [1.0, 2.0]), (1.0, 0.0, 0.0, 2.0)),
    ],
)
def test_start_values_are_kept_column_major(shape, start, kept):
    assert recorded(shape, start=start).start == kept
    assert recorded(shape, rate=start).rate == kept


@pytest.mark.parametrize(
    ("shape", "start", "words", "given_shape", "remedy"),
    [
        (2, [1, 2, 3], "2 numbers", (3,), "a list of 2 numbers, or one number for all"),
        (2, [[1, 2]], "2 numbers", (1, 2), "a list of 2 numbers, or one number for all"),
        (4, [[1, 2], [3, 4]], "4 numbers", (2, 2), "a list of 4 numbers, or one number for all"),
        ((), [1, 2], "a scalar", (2,), "one number"),
        ((), [], "a scalar", (0,), "one number"),
        ((1, 2), [1, 2], "a 1 × 2 matrix", (2,), "a list of 1 row with 2 numbers each, or one number for all"),
        ((2, 2), [1, 2, 3, 4], "a 2 × 2 matrix", (4,), "a list of 2 rows with 2 numbers each, or one number for all"),
        (2, np.ones((2, 1, 1)), "2 numbers", (2, 1, 1), "a list of 2 numbers, or one number for all"),
    ],
)  # fmt: skip
def test_wrong_shapes_of_values(shape, start, words, given_shape, remedy):
    assert text_of(lambda: recorded(shape, start=start)) == (
        "The start value of x has the wrong shape.\n"
        f"  x is {words}; the start value given has shape {given_shape}\n"
        "  Because every element takes one number.\n"
        f"  Try: {remedy}"
    )


@pytest.mark.parametrize(
    "start", [[[1, 2], [3]], [1, [2, 3]], [np.ones(2), np.ones(3)], [np.ones((2, 2)), np.ones((2, 3))]]
)
def test_ragged_values(start):
    text = text_of(lambda: recorded((2, 2), start=start))
    assert text.startswith("The start value of x has rows of different length.\n  got [")
    assert text.endswith("\n  Because every element takes one number.\n  Try: a rectangular array")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("3", "'3'"),
        (b"3", "b'3'"),
        (1 + 2j, "(1+2j)"),
        ({"a": 1}, "{'a': 1}"),
        (object, "<class 'object'>"),
    ],
)
def test_what_is_no_number(value, shown):
    assert text_of(lambda: recorded(start=value)) == (
        "The start value of x is not a number.\n"
        f"  got {shown}\n"
        "  Because text and expressions are not numbers.\n"
        "  Try: a finite number"
    )


def test_a_wrong_element_is_named():
    assert text_of(lambda: recorded(2, start=[0, "1"])).startswith(
        "The start value of x[1] is not a number.\n  got '1'\n"
    )
    assert text_of(lambda: recorded((2, 2), start=[[0, "a"], [1, 1]])).startswith("The start value of x[0,1] is not")
    assert text_of(lambda: recorded(2, nominal=[1, None])).startswith("The nominal value of x[1] is not a number.")


@pytest.mark.parametrize(
    ("value", "shown"), [(float("nan"), "nan"), (np.inf, "inf"), (-np.inf, "-inf"), (10**400, "inf")]
)
def test_values_that_are_not_finite(value, shown):
    assert text_of(lambda: recorded(2, start=[0, value])) == (
        f"The start value of x[1] is {shown}.\n"
        "  Because a run cannot begin from a value that is not finite.\n"
        "  Try: a finite number"
    )
    assert text_of(lambda: dd.Model().parameter("k", value)) == (
        f"The value of k is {shown}.\n"
        "  Because nothing can be computed from a value that is not finite.\n"
        "  Try: a finite number"
    )


@pytest.mark.parametrize("expression", [ca.SX.sym("a"), ca.SX.sym("a", 2), ca.MX.sym("a"), ca.SX(3)])
def test_expressions_are_no_values(expression):
    text = (
        "The {} of k is an expression.\n"
        f"  got {type(expression).__name__} where numbers were expected\n"
        "  Because it must be known before anything is computed.\n"
        "  Try: numbers; expressions go into m.equation"
    )
    assert text_of(lambda: dd.Model().parameter("k", expression)) == text.format("value")
    assert text_of(lambda: dd.Model().state("k", start=expression)) == text.format("start value")


def test_expressions_inside_lists_are_no_values_and_show_no_names_of_casadi():
    m = dd.Model()
    x = m.state("x", 2)
    text = text_of(lambda: m.parameter("k", [x[0], 1]))
    assert text.startswith("The value of k[0] is not a number.\n  got SX\n")
    assert "x_0" not in text
    assert text_of(lambda: m.parameter("k", [x, x])).startswith("The value of k is an expression.\n  got list where")
    assert "k" not in m


# -- parameters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "options", "shape", "kept"),
    [
        (1, {}, (), (1.0,)),
        (np.array(1.0), {}, (), (1.0,)),
        (ca.DM(2), {}, (), (2.0,)),
        (True, {}, (), (1.0,)),
        ([1], {}, (1,), (1.0,)),
        ([1, 2], {}, (2,), (1.0, 2.0)),
        (ca.DM([1, 2]), {}, (2,), (1.0, 2.0)),
        (np.arange(3), {}, (3,), (0.0, 1.0, 2.0)),
        ([[1], [2]], {}, (2, 1), (1.0, 2.0)),
        ([[1, 2]], {}, (1, 2), (1.0, 2.0)),
        ([[1, 2], [3, 4]], {}, (2, 2), (1.0, 3.0, 2.0, 4.0)),
        (ca.DM([[1, 2], [3, 4]]), {}, (2, 2), (1.0, 3.0, 2.0, 4.0)),
        (None, {}, (), (None,)),
        (None, {"shape": 3}, (3,), (None,) * 3),
        (5, {"shape": (2, 2)}, (2, 2), (5.0,) * 4),
        ([None, 1], {}, (2,), (None, 1.0)),
    ],
)
def test_parameters_take_the_shape_of_their_value(value, options, shape, kept):
    m = dd.Model()
    rows, columns = (*shape, 1, 1)[:2]
    assert m.parameter("k", value, unit="N/m", **options).shape == (rows, columns)
    assert (m.variables["k"].shape, m.variables["k"].start, m.variables["k"].unit) == (shape, kept, "N/m")


def test_parameters_of_no_shape():
    assert text_of(lambda: dd.Model().parameter("k", np.ones((2, 2, 2, 1)))).startswith("k has 4 axes.\n")
    assert text_of(lambda: dd.Model().parameter("k", [])).startswith("(0,) is not a valid shape for k.\n")
    assert text_of(lambda: dd.Model().parameter("k", [1, 2], shape=3)).startswith(
        "The value of k has the wrong shape.\n"
    )


# -- sizes and bounds ------------------------------------------------------------------------------------------


def test_sizes_and_bounds():
    v = recorded(2, start=0, nominal=[1, 10], lower=[None, -1], upper=5, unit="m")
    assert (v.nominal, v.lower, v.upper, v.unit) == ((1.0, 10.0), (-np.inf, -1.0), (5.0, 5.0), "m")
    assert recorded(nominal=None, unit=None).nominal == (1.0,)
    assert recorded(lower=-np.inf, upper=np.inf).upper == (np.inf,)


@pytest.mark.parametrize("nominal", [0, -2])
def test_sizes_are_positive(nominal):
    assert text_of(lambda: recorded(2, nominal=[1, nominal])) == (
        f"The nominal value of x[1] is {nominal}.\n"
        "  Because it is the usual size of the variable and scales its error, so it is positive.\n"
        "  Try: nominal=1.0"
    )


def test_bounds_are_in_order_and_hold_at_the_start():
    assert text_of(lambda: recorded(2, lower=[0, 2], upper=1)) == (
        "The bounds of x[1] are crossed.\n"
        "  lower 2, upper 1\n"
        "  Because no value is between them.\n"
        "  Try: lower=1, upper=2"
    )
    assert text_of(lambda: recorded(start=5, upper=1)) == (
        "The start value of x is outside its bounds.\n"
        "  5 is not between -inf and 1\n"
        "  Because the bounds hold from the start.\n"
        "  Try: change the value or the bounds"
    )
    assert recorded(start=None, lower=1).start == (None,)
    assert text_of(lambda: recorded(lower=float("nan"))).startswith("The lower bound of x is nan.\n")


def test_a_refused_variable_is_not_declared():
    m = dd.Model()
    with pytest.raises(dd.ModelError):
        m.state("x", start="a")
    m.state("x", start=1)
    assert m.variables["x"].start == (1.0,)


# -- records ---------------------------------------------------------------------------------------------------


def test_kinds_in_order_of_declaration():
    m = dd.Model()
    m.parameter("k", 1)
    m.state("x")
    m.input("u")
    m.algebraic("z")
    assert [(v.name, v.kind) for v in m.variables.values()] == [
        ("k", "parameter"), ("x", "state"), ("u", "input"), ("z", "algebraic"),
    ]  # fmt: skip
    assert list(m.inputs) == ["u"]
    assert list(m.parameters) == ["k"]


def test_records_cannot_be_written_to():
    m = dd.Model()
    m.state("x", start=1)
    m.variables["x"] = None
    m.variables.pop("x")
    assert m.variables["x"].start == (1.0,)
    with pytest.raises(AttributeError):
        m.variables["x"].start = (2.0,)


@given(
    st.sampled_from([(), (3,), (2, 2)]),
    st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=4, max_size=4),
    any_text(5),
)
def test_records_come_back(shape, numbers, unit):
    m = dd.Model()
    size = int(np.prod(shape, dtype=int))
    start = np.array(numbers[:size], dtype=object).reshape(shape, order="F")
    m.state("x", shape, start=start if shape else numbers[0], unit=unit)
    v = m.variables["x"]
    assert Variable.from_record(PlainRecord(v.to_record(), "variable")) == v
    assert v.start == tuple(numbers[:size])
    assert v.renamed("y").renamed("x") == v
