"""Reading coefficients: what stays exact, what becomes a float, what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daedalus.errors import InputError
from daedalus.integrators.tableaux.coefficients import read_coefficient, read_matrix, read_vector, write_coefficient


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (1, Fraction(1)),
        (np.int64(-3), Fraction(-3)),
        (0.375, Fraction(3, 8)),
        (np.float64(0.5), Fraction(1, 2)),
        (np.array(2), Fraction(2)),
        ("0.1", Fraction(1, 10)),
        ("-1/3", Fraction(-1, 3)),
        ("2**-3", Fraction(1, 8)),
        (" (1 + 2) * 1.5 ", Fraction(9, 2)),
        ("sqrt(9/4)", Fraction(3, 2)),
    ],
)
def test_exact_ones(written, value):
    assert read_coefficient(written, "b[0]") == value


def test_floats_stay_floats_unless_small_binary_fractions():
    assert isinstance(read_coefficient(1 / 3, "b[0]"), float)
    assert isinstance(read_coefficient(2.0**-11, "b[0]"), float)
    assert isinstance(read_coefficient(2.0**-10, "b[0]"), Fraction)
    assert read_coefficient("sqrt(2) + sqrt(3)", "b[0]") == math.sqrt(2) + math.sqrt(3)
    assert read_coefficient("sqrt(2 + sqrt(3))", "b[0]") == math.sqrt(2 + math.sqrt(3))


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=10**6))
def test_a_written_fraction_is_read_back(value):
    assert read_coefficient(str(value), "b[0]") == value
    assert read_coefficient(write_coefficient(value), "b[0]") == value


@pytest.mark.parametrize(
    "nonsense",
    [
        "x",
        "",
        "1/",
        "1/0",
        "sqrt(-2)",
        "__import__('os')",
        "exec('1')",
        "2**999",
        "True",
        None,
        True,
        1j,
        [1],
        object(),
    ],
)
def test_what_is_not_a_number_is_refused_by_name(nonsense):
    with pytest.raises(InputError) as caught:
        read_vector([1, nonsense], "b")
    lines = str(caught.value).splitlines()
    assert lines[0] == "A coefficient of the tableau is not a number."
    assert lines[1] == f"  b[1] = {nonsense!r}"
    assert lines[3] == '  Try: 0.25, fractions.Fraction(1, 3), "1/3" or "1/4 - sqrt(3)/6".'


@pytest.mark.parametrize("bad", [math.nan, math.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name(bad):
    with pytest.raises(InputError) as caught:
        read_matrix([[0, 0], [bad, 0]], "A")
    assert str(caught.value).splitlines()[:2] == [
        "A coefficient of the tableau is not finite.",
        f"  A[1, 0] = {float(bad)}",
    ]


@pytest.mark.parametrize("values", [3, "abc", None, {1: 2}])
def test_what_is_not_a_list_is_refused(values):
    with pytest.raises(InputError, match="wrong shape"):
        read_vector(values, "b")
    with pytest.raises(InputError, match="row 1 of A"):
        read_matrix([[0, 0], values], "A")


def test_long_fractions_are_shown_as_decimals():
    assert write_coefficient(Fraction(10**20 + 1, 3 * 10**20)) == "0.333333"
    assert write_coefficient(Fraction(-2187, 6784)) == "-2187/6784"
