"""Polynomials with exact coefficients: common factors, signs on a half line (Sturm) and stable roots (Routh).

A polynomial is a list of coefficients in ascending powers, Fractions or elements of one number field; the zero
polynomial is the empty list. Everything is decided by exact arithmetic, so touching zeros are seen as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

Polynomial: TypeAlias = list[Any]


def trimmed(p: Sequence[Any]) -> Polynomial:
    """Without zero leading coefficients."""
    p = list(p)
    while p and not p[-1]:
        p.pop()
    return p


def plus(p: Sequence[Any], q: Sequence[Any], factor: Any = 1) -> Polynomial:
    """p + factor·q."""
    size = max(len(p), len(q))
    first = [*p, *[Fraction(0)] * (size - len(p))]
    second = [*q, *[Fraction(0)] * (size - len(q))]
    return trimmed([a + factor * b for a, b in zip(first, second)])


def times(p: Sequence[Any], q: Sequence[Any]) -> Polynomial:
    """p·q."""
    if not p or not q:
        return []
    product: Polynomial = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        if a:
            for j, b in enumerate(q):
                product[i + j] = product[i + j] + a * b
    return trimmed(product)


def derivative(p: Sequence[Any]) -> Polynomial:
    """p'."""
    return trimmed([k * a for k, a in enumerate(p)][1:])


def value_at(p: Sequence[Any], x: Any) -> Any:
    """p(x) by Horner's rule, for whatever numbers or arrays x is made of."""
    total = x * 0
    for coefficient in reversed(p):
        total = total * x + coefficient
    return total


def mirrored(p: Sequence[Any]) -> Polynomial:
    """p(-x)."""
    return [a if k % 2 == 0 else -a for k, a in enumerate(p)]


def integral_to(p: Sequence[Any], x: Any) -> Any:
    """∫₀^x p."""
    return value_at([a / (k + 1) for k, a in enumerate(p)], x) * x


def with_roots(roots: Sequence[Any]) -> Polynomial:
    """Π(x - root), of Decimals too."""
    product: Polynomial = [1]
    for root in roots:
        product = [a - root * b for a, b in zip([0, *product], [*product, 0])]
    return product


def lagrange(nodes: Sequence[Any], i: int) -> Polynomial:
    """Lagrange's polynomial that is 1 at node i and 0 at the others, of Decimals too."""
    basis = with_roots([*nodes[:i], *nodes[i + 1 :]])
    height = value_at(basis, nodes[i])
    return [a / height for a in basis]


def divided(p: Sequence[Any], q: Sequence[Any]) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder."""
    remainder, quotient = trimmed(p), [Fraction(0)] * max(0, len(p) - len(q) + 1)
    while len(remainder) >= len(q):
        shift = len(remainder) - len(q)
        factor = remainder[-1] / q[-1]
        quotient[shift] = factor
        remainder = trimmed(
            [a - factor * q[i - shift] if i >= shift else a for i, a in enumerate(remainder[:-1])],
        )
    return trimmed(quotient), remainder


def _scaled(p: Polynomial) -> Polynomial:
    """A positive multiple with small coefficients, which keeps long divisions quick."""
    if not p or not all(isinstance(a, Fraction) for a in p):
        return [a / abs(p[-1]) for a in p] if p else p
    denominator = math.lcm(*(a.denominator for a in p))
    whole = [int(a * denominator) for a in p]
    content = math.gcd(*whole)
    return [Fraction(a // content) for a in whole]


def common_factor(p: Sequence[Any], q: Sequence[Any]) -> Polynomial:
    """The greatest common divisor, up to a constant.

    Example
    -------
    >>> from fractions import Fraction
    >>> from daedalus.integrators.tableaux.exact_polynomials import common_factor
    >>> factor = common_factor([Fraction(v) for v in (-1, 0, 1)], [Fraction(v) for v in (2, -3, 1)])
    >>> [str(a / factor[-1]) for a in factor]
    ['-1', '1']
    """
    first, second = trimmed(p), trimmed(q)
    while second:
        first, second = second, _scaled(divided(first, second)[1])
    return first


def odd_part(p: Sequence[Any]) -> Polynomial:
    """The square-free product of the factors of odd multiplicity: its roots are where p changes sign (Yun)."""
    p = trimmed(p)
    repeated = common_factor(p, derivative(p))
    distinct = divided(p, repeated)[0]
    result: Polynomial = [Fraction(1)]
    multiplicity = 1
    while len(distinct) > 1:
        higher = common_factor(distinct, repeated)
        if multiplicity % 2:
            result = times(result, divided(distinct, higher)[0])
        distinct, repeated = _scaled(higher), divided(repeated, higher)[0]
        multiplicity += 1
    return _scaled(result)


def _sturm_chain(p: Polynomial) -> list[Polynomial]:
    chain = [p, _scaled(derivative(p))]
    while len(chain[-1]) > 1:
        remainder = _scaled(divided(chain[-2], chain[-1])[1])
        if not remainder:
            break
        chain.append([-a for a in remainder])
    return [q for q in chain if q]


def _sign_changes(values: list[Any]) -> int:
    signs = [value > 0 for value in values if value]
    return sum(a != b for a, b in pairwise(signs))


def first_sign_change(p: Sequence[Any]) -> float:
    """The smallest x > 0 where p changes sign, or infinity; to double precision, found by Sturm's theorem.

    Example
    -------
    >>> from fractions import Fraction
    >>> from daedalus.integrators.tableaux.exact_polynomials import first_sign_change
    >>> first_sign_change([Fraction(v) for v in (-2, 0, 1)])       # x^2 - 2
    1.4142135623730951
    >>> first_sign_change([Fraction(v) for v in (1, -2, 1)])       # (x - 1)^2 only touches zero
    inf
    """
    odd = odd_part(p) if trimmed(p) else []
    while odd and not odd[0]:
        odd = odd[1:]
    if len(odd) < 2:
        return math.inf
    chain = _sturm_chain(odd)
    at_zero = _sign_changes([q[0] for q in chain])
    if at_zero == _sign_changes([q[-1] for q in chain]):
        return math.inf

    def roots_up_to(x: Fraction) -> int:
        return at_zero - _sign_changes([value_at(q, x) for q in chain])

    high = Fraction(1)
    while not roots_up_to(high):
        high *= 2
    while roots_up_to(high / 2):
        high /= 2
    # Half-open intervals (low, high]: a root at the right end counts.
    low = high / 2
    while float(low) != float(high) and high - low > high / 2**60:
        middle = (low + high) / 2
        low, high = (low, middle) if roots_up_to(middle) else (middle, high)
    return float(high)


def sign_after_zero(p: Sequence[Any]) -> int:
    """The sign of p(x) for small x > 0."""
    lowest = next((a for a in p if a), None)
    return 0 if lowest is None else (1 if lowest > 0 else -1)


def is_non_negative_on_half_line(p: Sequence[Any]) -> bool:
    """Whether p(x) >= 0 for every x >= 0.

    Example
    -------
    >>> from fractions import Fraction
    >>> from daedalus.integrators.tableaux.exact_polynomials import is_non_negative_on_half_line
    >>> is_non_negative_on_half_line([Fraction(v) for v in (1, -2, 1)])
    True
    """
    p = trimmed(p)
    return not p or (sign_after_zero(p) > 0 and math.isinf(first_sign_change(p)))


def roots_are_right(p: Sequence[Any]) -> bool:
    """Whether every root of p has a positive real part, by Routh's scheme on p(-x).

    Example
    -------
    >>> from fractions import Fraction
    >>> from daedalus.integrators.tableaux.exact_polynomials import roots_are_right
    >>> roots_are_right([Fraction(v) for v in (2, -2, 1)]), roots_are_right([Fraction(v) for v in (1, 0, 1)])
    (True, False)
    """
    p = trimmed(p)
    if not p or not p[0]:
        return False
    descending = mirrored(p)[::-1]
    if len(descending) < 2:
        return True
    if descending[0] < 0:
        descending = [-a for a in descending]
    upper, lower = descending[0::2], descending[1::2]
    while lower:
        # A first column that is zero or changes sign means a root that is not in the open half plane.
        if not lower[0] > 0:
            return False
        factor = upper[0] / lower[0]
        padded = [*lower, *[Fraction(0)] * (len(upper) - len(lower))]
        following = [a - factor * b for a, b in zip(upper, padded)][1:]
        upper, lower = lower, following
        while lower and not lower[-1]:
            lower.pop()
        if not lower and len(upper) > 1:
            return False
    return True
