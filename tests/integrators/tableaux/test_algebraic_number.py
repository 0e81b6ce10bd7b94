"""Exact arithmetic in number fields against high-precision decimals, and the laws of a field."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.integrators.tableaux.algebraic_number import Algebraic, NumberField, square_root

CUBIC = NumberField((Fraction(-1, 6), Fraction(3, 2), Fraction(-3), Fraction(1)), Fraction(2, 5), Fraction(1, 2), "g")
QUADRATIC = square_root(6).field

rationals = st.fractions(min_value=-20, max_value=20, max_denominator=50)


def elements(field: NumberField) -> st.SearchStrategy:
    return st.lists(rationals, min_size=field.degree, max_size=field.degree).map(lambda c: Algebraic(field, tuple(c)))


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from([CUBIC, QUADRATIC]).flatmap(lambda f: st.tuples(elements(f), elements(f), elements(f))))
def test_laws_of_a_field(abc):
    a, b, c = abc
    assert a * (b + c) == a * b + a * c
    assert (a * b) * c == a * (b * c)
    assert a - a == 0
    if b:
        assert (a / b) * b == a
        assert 1 / (1 / b) == b
        assert b**-2 * b**2 == 1


@settings(max_examples=examples(40), deadline=None)
@given(elements(QUADRATIC), elements(QUADRATIC))
def test_order_and_doubles_agree_with_sixty_digits(a, b):
    with localcontext() as context:
        context.prec = 60
        root = Decimal(6).sqrt()

        def decimal(x: Algebraic) -> Decimal:
            p, q = (Decimal(c.numerator) / Decimal(c.denominator) for c in x.coefficients)
            return p + q * root

        assert (a < b) == (decimal(a) < decimal(b))
        assert float(a) == float(decimal(a))
        assert abs(a).sign() == (1 if a else 0)


def test_a_difference_below_double_precision_has_a_sign():
    # 99^2 - 2·70^2 = 1: powers of 99 - 70√2 = 0.005… become tiny, and stay positive.
    tiny = (99 - 70 * square_root(2)) ** 30
    assert 0 < tiny < Fraction(1, 10**60)
    assert float(tiny) == pytest.approx(float((99 + 70 * square_root(2)) ** 30) ** -1, rel=1e-14)


def test_roots():
    assert square_root(Fraction(49, 9)) == Fraction(7, 3)
    assert square_root(0) == 0
    assert square_root(8) == 2 * square_root(2)
    assert square_root(Fraction(1, 3)) ** 2 == Fraction(1, 3)
    assert CUBIC.root**3 == 3 * CUBIC.root**2 - Fraction(3, 2) * CUBIC.root + Fraction(1, 6)
    # Alexander 1977 prints 0.4358665.
    assert float(CUBIC.root) == pytest.approx(0.4358665215084590, rel=1e-15)
    with pytest.raises(ValueError):
        square_root(-1)


def test_texts():
    root = square_root(3)
    assert [str(x) for x in (root, -root, root / 6, 1 - 2 * root / 3, root - root)] == [
        "sqrt(3)",
        "-sqrt(3)",
        "sqrt(3)/6",
        "1 - 2*sqrt(3)/3",
        "0",
    ]


def test_different_fields_do_not_mix():
    with pytest.raises(ValueError, match="different number fields"):
        square_root(2) + square_root(3)
    assert square_root(2) != square_root(3)
    with pytest.raises(ZeroDivisionError):
        1 / (square_root(2) - square_root(2))


def test_equal_numbers_have_equal_hashes():
    assert hash(square_root(2) ** 2) == hash(Fraction(2)) == hash(2)
    assert {square_root(2), square_root(8) / 2} == {square_root(2)}
