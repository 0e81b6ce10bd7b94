"""Exact numbers of one real number field, such as 1/4 - sqrt(3)/6, so that knife edges of a tableau stay sharp.

An element of Q(θ) is a polynomial g(θ) with rational coefficients, reduced by the irreducible minimal polynomial of θ;
which of its real roots θ is, an isolating interval says. Equality is equality of coefficients, signs come from
interval arithmetic on ever smaller intervals around θ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from daedalus.integrators.tableaux.exact_polynomials import value_at
from daedalus.model.lazy_values import cached_property

# Width of the interval around θ that most sign questions get by with.
USUAL_WIDTH = Fraction(1, 2**120)


@dataclass(frozen=True)
class NumberField:
    """The field Q(θ): monic irreducible minimal polynomial (ascending powers), the interval that isolates θ, its name.

    Example
    -------
    >>> from fractions import Fraction
    >>> from daedalus.integrators.tableaux.algebraic_number import NumberField
    >>> cubic = NumberField((Fraction(-2), Fraction(0), Fraction(0), Fraction(1)), Fraction(1), Fraction(2), "cbrt(2)")
    >>> cubic.root ** 3 == 2, float(cubic.root)
    (True, 1.259921049894873...)
    """

    minimal: tuple[Fraction, ...]
    low: Fraction
    high: Fraction
    symbol: str

    @property
    def degree(self) -> int:
        """How many rational coefficients an element has."""
        return len(self.minimal) - 1

    @property
    def root(self) -> Algebraic:
        """θ itself."""
        return Algebraic(self, (Fraction(0), Fraction(1)) + (Fraction(0),) * (self.degree - 2))

    def interval(self, width: Fraction) -> tuple[Fraction, Fraction]:
        """An interval around θ that is narrower than width, by bisection."""
        low, high = self._usual_interval
        return (low, high) if high - low <= width else self._bisected(low, high, width)

    @cached_property
    def _usual_interval(self) -> tuple[Fraction, Fraction]:
        return self._bisected(self.low, self.high, USUAL_WIDTH)

    def _bisected(self, low: Fraction, high: Fraction, width: Fraction) -> tuple[Fraction, Fraction]:
        rising = value_at(self.minimal, high) > 0
        while high - low > width:
            middle = (low + high) / 2
            if (value_at(self.minimal, middle) > 0) == rising:
                high = middle
            else:
                low = middle
        return low, high


@dataclass(frozen=True, eq=False)
class Algebraic:
    """An element g(θ) of a number field: exact +, -, *, /, comparison, and the nearest double.

    Example
    -------
    >>> from daedalus.integrators.tableaux.algebraic_number import square_root
    >>> root = square_root(3)
    >>> (2 + root) * (2 - root) == 1, root > 1, str(1 / (1 + root))
    (True, True, '-1/2 + sqrt(3)/2')
    """

    field: NumberField
    coefficients: tuple[Fraction, ...]

    def _like(self, other: object) -> Algebraic | None:
        if isinstance(other, Algebraic):
            if other.field != self.field:
                raise ValueError(f"{self.field.symbol} and {other.field.symbol} are of different number fields")
            return other
        if isinstance(other, (int, Fraction)):
            return Algebraic(self.field, (Fraction(other),) + (Fraction(0),) * (self.field.degree - 1))
        return None

    def __add__(self, other: object) -> Algebraic:
        like = self._like(other)
        if like is None:
            return NotImplemented
        return Algebraic(self.field, tuple(a + b for a, b in zip(self.coefficients, like.coefficients)))

    __radd__ = __add__

    def __neg__(self) -> Algebraic:
        return Algebraic(self.field, tuple(-a for a in self.coefficients))

    def __sub__(self, other: object) -> Algebraic:
        like = self._like(other)
        return NotImplemented if like is None else self + (-like)

    def __rsub__(self, other: object) -> Algebraic:
        return (-self) + other

    def __mul__(self, other: object) -> Algebraic:
        if isinstance(other, (int, Fraction)):
            return Algebraic(self.field, tuple(a * other for a in self.coefficients))
        like = self._like(other)
        if like is None:
            return NotImplemented
        degree = self.field.degree
        product = [Fraction(0)] * (2 * degree - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(like.coefficients):
                product[i + j] += a * b
        # Powers of θ from the degree on are replaced through the minimal polynomial.
        for power in range(2 * degree - 2, degree - 1, -1):
            top = product[power]
            for j in range(degree):
                product[power - degree + j] -= top * self.field.minimal[j]
        return Algebraic(self.field, tuple(product[:degree]))

    __rmul__ = __mul__

    def _inverse(self) -> Algebraic:
        """1/g, from the linear system g·x = 1 in the basis 1, θ, θ², …"""
        degree = self.field.degree
        columns, power = [], self
        for _ in range(degree):
            columns.append(power.coefficients)
            power = power * self.field.root
        rows = [[columns[j][i] for j in range(degree)] + [Fraction(int(i == 0))] for i in range(degree)]
        for k in range(degree):
            pivot = next((i for i in range(k, degree) if rows[i][k]), None)
            if pivot is None:
                raise ZeroDivisionError("division by an algebraic zero")
            rows[k], rows[pivot] = rows[pivot], rows[k]
            rows[k] = [entry / rows[k][k] for entry in rows[k]]
            for i in range(degree):
                if i != k and rows[i][k]:
                    rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k])]
        return Algebraic(self.field, tuple(row[-1] for row in rows))

    def __truediv__(self, other: object) -> Algebraic:
        if isinstance(other, (int, Fraction)):
            return Algebraic(self.field, tuple(a / other for a in self.coefficients))
        like = self._like(other)
        return NotImplemented if like is None else self * like._inverse()

    def __rtruediv__(self, other: object) -> Algebraic:
        return self._inverse() * other

    def __pow__(self, exponent: int) -> Algebraic:
        result = self._like(1)
        assert result is not None
        for _ in range(abs(exponent)):
            result = result * self
        return result._inverse() if exponent < 0 else result

    def as_fraction(self) -> Fraction | None:
        """The rational number this is, or None."""
        return None if any(self.coefficients[1:]) else self.coefficients[0]

    def bounds(self, width: Fraction) -> tuple[Fraction, Fraction]:
        """Rational bounds of the value from an interval of this width around θ."""
        low, high = self.field.interval(width)
        bottom = top = Fraction(0)
        for coefficient in reversed(self.coefficients):
            corners = [bottom * low, bottom * high, top * low, top * high]
            bottom, top = min(corners) + coefficient, max(corners) + coefficient
        return bottom, top

    def sign(self) -> int:
        """-1, 0 or 1, exactly."""
        if not any(self.coefficients):
            return 0
        width = USUAL_WIDTH
        while True:
            bottom, top = self.bounds(width)
            if bottom > 0 or top < 0:
                return 1 if bottom > 0 else -1
            width /= 2**120

    def __bool__(self) -> bool:
        return any(self.coefficients)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Algebraic) and other.field != self.field:
            return self.as_fraction() is not None and self.as_fraction() == other.as_fraction()
        like = self._like(other)
        return NotImplemented if like is None else self.coefficients == like.coefficients

    def __hash__(self) -> int:
        rational = self.as_fraction()
        return hash((self.field, self.coefficients)) if rational is None else hash(rational)

    def __lt__(self, other: object) -> bool:
        return (self - other).sign() < 0

    def __gt__(self, other: object) -> bool:
        return (self - other).sign() > 0

    def __le__(self, other: object) -> bool:
        return (self - other).sign() <= 0

    def __ge__(self, other: object) -> bool:
        return (self - other).sign() >= 0

    def __abs__(self) -> Algebraic:
        return -self if self.sign() < 0 else self

    def __float__(self) -> float:
        width = USUAL_WIDTH
        while True:
            bottom, top = (float(bound) for bound in self.bounds(width))
            if bottom == top:
                return bottom
            width /= 2**120

    def __str__(self) -> str:
        rational = self.as_fraction()
        if rational is not None:
            return str(rational)
        if self.field.degree > 2:
            return f"{float(self):.6g}"
        constant, slope = self.coefficients
        times = "" if abs(slope.numerator) == 1 else f"{abs(slope.numerator)}*"
        over = "" if slope.denominator == 1 else f"/{slope.denominator}"
        term = f"{times}{self.field.symbol}{over}"
        if not constant:
            return f"-{term}" if slope < 0 else term
        return f"{constant} {'-' if slope < 0 else '+'} {term}"


@lru_cache(maxsize=64)
def _quadratic_field(radicand: int) -> NumberField:
    return NumberField(
        (Fraction(-radicand), Fraction(0), Fraction(1)),
        Fraction(math.isqrt(radicand)),
        Fraction(math.isqrt(radicand) + 1),
        f"sqrt({radicand})",
    )


def square_root(value: int | Fraction) -> Fraction | Algebraic:
    """The exact square root of a non-negative rational number.

    Example
    -------
    >>> from fractions import Fraction
    >>> from daedalus.integrators.tableaux.algebraic_number import square_root
    >>> print(square_root(Fraction(9, 4)), square_root(12), square_root(Fraction(1, 3)))
    3/2 2*sqrt(3) sqrt(3)/3
    """
    value = Fraction(value)
    if value < 0:
        raise ValueError("the square root of a negative number is not real")
    # sqrt(n/d) = sqrt(n d)/d; square factors of n d come out.
    radicand, factor = value.numerator * value.denominator, 1
    divisor = 2
    while divisor * divisor <= radicand:
        while radicand % (divisor * divisor) == 0:
            radicand //= divisor * divisor
            factor *= divisor
        divisor += 1
    outside = Fraction(factor, value.denominator)
    if radicand in (0, 1):
        return outside * radicand
    return _quadratic_field(radicand).root * outside
