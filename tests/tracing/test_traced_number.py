"""A traced number computes what NumPy computes, for every function and every special value."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.tracing.traced_number import FUNCTIONS, TracedNumber, UntraceableError, symbolic

VALUES = [-2.5, -1.0, -0.5, -0.3, 0.0, 0.2, 0.5, 1.0, 1.5, 2.0, 3.5]
# These names are SciPy's or need conditions; they are tested on their own.
ELSEWHERE = {"erf", "expit", "bitwise_and", "bitwise_or", "invert"}


def evaluate(function, *values):
    symbols = [ca.SX.sym(f"x{k}") for k in range(len(values))]
    result = symbolic(function(*map(TracedNumber, symbols)))
    return float(ca.Function("f", symbols, [result])(*values))


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - ELSEWHERE))
def test_every_function_is_numpys(name):
    ufunc = getattr(np, name)
    nin = 3 if name == "clip" else ufunc.nin
    points = [(v, -0.5, 1.0) for v in VALUES] if nin == 3 else [(v,) for v in VALUES]
    points = [(a, b) for a in VALUES for b in VALUES] if nin == 2 else points
    for point in points:
        with np.errstate(all="ignore"):
            expected = float(ufunc(*point))
        found = evaluate(FUNCTIONS[name], *point)
        assert found == pytest.approx(expected, rel=2e-15, abs=1e-16, nan_ok=True), point


@given(st.floats(-1e6, 1e6), st.floats(-1e3, 1e3).filter(lambda b: abs(b) > 1e-3))
@settings(max_examples=examples(150), deadline=None)
def test_remainder_and_quotient_are_pythons(a, b):
    assert evaluate(lambda x, y: x % y, a, b) == np.remainder(a, b)
    assert evaluate(lambda x, y: x // y, a, b) == np.floor_divide(a, b)


def test_maximum_keeps_nan():
    for pair in ((math.nan, 1.0), (1.0, math.nan)):
        assert math.isnan(evaluate(FUNCTIONS["maximum"], *pair))
        assert math.isnan(evaluate(FUNCTIONS["minimum"], *pair))


def test_erf_and_expit():
    for value in VALUES:
        assert evaluate(FUNCTIONS["erf"], value) == pytest.approx(math.erf(value), rel=1e-15)
        assert evaluate(FUNCTIONS["expit"], value) == pytest.approx(1 / (1 + math.exp(-value)), rel=1e-15)


def test_conditions_combine():
    def inside(x):
        return ((x > 0) & ~(x > 1)) | (x == 2)

    assert [evaluate(inside, v) for v in (-1.0, 0.5, 1.5, 2.0)] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (float, "value of a number"),
        (int, "whole one"),
        (lambda x: [1, 2][x], "index"),
        (round, "rounds"),
        (complex, "complex"),
        (str, "as text"),
        (lambda x: f"{x:.3f}", "as text"),
        (math.sin, "value of a number"),
        (lambda x: np.array([0.0]).__setitem__(0, x), "value of a number"),
        (lambda x: x & 3, "bitwise"),
        (bool, "trace had ended"),
    ],
)
def test_what_needs_the_value_is_refused(use, reason):
    with pytest.raises(UntraceableError, match=reason):
        use(TracedNumber(ca.SX.sym("x")))


def test_a_traced_number_is_no_key():
    with pytest.raises(TypeError):
        {TracedNumber(ca.SX.sym("x")): 1}


def test_comparison_with_something_else_is_false():
    assert (TracedNumber(ca.SX.sym("x")) == None) is False  # noqa: E711
