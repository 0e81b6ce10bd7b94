"""Sturm, Routh and common factors against roots that were chosen beforehand."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus.integrators.tableaux.algebraic_number import square_root
from daedalus.integrators.tableaux.exact_polynomials import (
    common_factor,
    divided,
    first_sign_change,
    is_non_negative_on_half_line,
    odd_part,
    plus,
    roots_are_right,
    times,
    trimmed,
)

ONE = [Fraction(1)]


def from_roots(roots, pairs=()):
    """Π(x - r) Π((x - a)² + b²)."""
    product = ONE
    for root in roots:
        product = times(product, [-Fraction(root), Fraction(1)])
    for a, b in pairs:
        product = times(product, [Fraction(a) ** 2 + Fraction(b) ** 2, -2 * Fraction(a), Fraction(1)])
    return product


values = st.fractions(min_value=-5, max_value=5, max_denominator=12)
nonzero = values.filter(bool)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(nonzero, min_size=1, max_size=5), st.lists(st.tuples(values, nonzero), max_size=1))
def test_first_sign_change_is_the_smallest_positive_root_of_odd_multiplicity(roots, pairs):
    odd = sorted(r for r in set(roots) if r > 0 and roots.count(r) % 2)
    assert first_sign_change(from_roots(roots, pairs)) == (float(odd[0]) if odd else math.inf)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(values, max_size=3), st.lists(st.tuples(values, nonzero), max_size=2))
def test_routh_sees_every_root_that_is_not_right(roots, pairs):
    polynomial = from_roots(roots, pairs)
    expected = all(r > 0 for r in roots) and all(a > 0 for a, _ in pairs)
    assert roots_are_right(polynomial) == expected
    assert roots_are_right([-a for a in polynomial]) == expected


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(values, max_size=3), st.lists(values, max_size=3), st.lists(values, max_size=3))
def test_common_factor_holds_what_was_multiplied_in(shared, first, second):
    first = [r for r in first if r not in second]
    factor = common_factor(from_roots(shared + first), from_roots(shared + second))
    assert plus([a / factor[-1] for a in factor], from_roots(shared), -1) == []


def test_touching_is_not_crossing():
    double = from_roots([2, 2])
    assert is_non_negative_on_half_line(double)
    assert not is_non_negative_on_half_line(plus(double, ONE, Fraction(-1, 10**40)))
    assert is_non_negative_on_half_line([])
    assert not is_non_negative_on_half_line([Fraction(-1)])
    assert odd_part(from_roots([1, 1, 1, 2, 2])) in ([Fraction(-1), Fraction(1)], [Fraction(1), Fraction(-1)])


def test_irrational_roots_are_found_to_the_last_bit():
    assert first_sign_change([Fraction(-2), Fraction(0), Fraction(1)]) == math.sqrt(2)
    assert first_sign_change([Fraction(-1), Fraction(0), Fraction(10**30)]) == pytest.approx(1e-15, rel=4e-16)
    root = square_root(2)
    assert first_sign_change([-root, Fraction(1)]) == math.sqrt(2)
    # (x - √2)² has no sign change, which no float computation can see.
    assert first_sign_change([root * root, -2 * root, Fraction(1)]) == math.inf


def test_division():
    quotient, remainder = divided(plus(from_roots([1, 2, 3]), ONE), from_roots([1, 2]))
    assert quotient == from_roots([3])
    assert remainder == ONE
    assert trimmed([Fraction(1), Fraction(0)]) == ONE
