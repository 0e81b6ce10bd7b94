"""The stability function R(z) = det(I - z(A - 1bᵀ)) / det(I - zA): its coefficients, and what follows from them.

A-stability is decided on the imaginary axis and at the poles, not by sampling: R maps the left half plane into the
unit disc exactly when det(I - zA) has all its roots to the right and E(y) = |Q(iy)|² - |P(iy)|² is nowhere negative
(Hairer & Wanner II, IV.3). Exact coefficients are decided exactly, by Routh's scheme and Sturm's theorem. Floating
ones carry an uncertainty each; coefficients of E below theirs are zero, the rest is decided in exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from daedalus.integrators.tableaux.exact_polynomials import (
    Polynomial,
    common_factor,
    divided,
    first_sign_change,
    is_non_negative_on_half_line,
    mirrored,
    plus,
    roots_are_right,
    sign_after_zero,
    times,
    trimmed,
    value_at,
)
from daedalus.integrators.tableaux.stage_algebra import TOLERANCE
from daedalus.model.lazy_values import cached_property


@dataclass(frozen=True)
class StabilityFunction:
    """R(z) = P(z)/Q(z) with Q(0) = 1, coefficients in ascending powers; uncertainties are None for exact ones.

    Example
    -------
    >>> import daedalus as dd
    >>> R = dd.tableau("trapezoidal").stability_function
    >>> [str(p) for p in R.numerator], [str(q) for q in R.denominator], R.is_a_stable, R.is_l_stable
    (['1', '1/2'], ['1', '-1/2'], True, False)
    """

    numerator: tuple[Any, ...]
    denominator: tuple[Any, ...]
    uncertainties: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def __call__(self, z: Any) -> Any:
        """R(z) for a number or an array, real in and real out; R(inf) is the limit."""
        z = np.asarray(z)
        z = z.astype(complex if np.iscomplexobj(z) else float)
        P, Q = ([float(a) for a in p] for p in (self.numerator, self.denominator))
        near = np.abs(z) <= 1
        with np.errstate(all="ignore"):
            inside, w = np.where(near, z, 0), 1 / np.where(near, 1, z)
            w = np.where(np.isinf(z), 0, w)
            # Far out both polynomials are divided by their highest power, so that nothing overflows early.
            top = np.where(near, value_at(P, inside), value_at(P[::-1], w))
            bottom = np.where(near, value_at(Q, inside), value_at(Q[::-1], w))
            ratio = np.where(bottom == 0, np.inf, top / np.where(bottom == 0, 1, bottom))
            rise = len(P) - len(Q)
            growth = np.where(near, 1, w**-rise if rise < 0 else np.where(near, 1, z) ** rise)
            values = np.where(np.isinf(z) & (rise > 0), np.inf, ratio * growth)
        return values[()] + 0.0

    def to_latex(self) -> str:
        """R(z) in LaTeX: a polynomial in z, or a fraction of two.

        Example
        -------
        >>> import daedalus as dd
        >>> print(dd.tableau("trapezoidal").stability_function.to_latex())
        R(z) = \\frac{1 + \\frac{1}{2} z}{1 - \\frac{1}{2} z}
        """
        from daedalus.display.formulas.object_latex import stability_latex

        return stability_latex(self.numerator, self.denominator)

    def __str__(self) -> str:
        above, below = (
            " + ".join(f"({a})" + (f" z^{k}" if k > 1 else " z" if k else "") for k, a in enumerate(part) if a != 0)
            for part in (self.numerator, self.denominator)
        )
        return f"R(z) = {above}" if len(self.denominator) == 1 else f"R(z) = [{above}] / [{below}]"

    def _as_rationals(self) -> tuple[Polynomial, Polynomial]:
        if self.uncertainties is None:
            return list(self.numerator), list(self.denominator)
        return [Fraction(p) for p in self.numerator], [Fraction(q) for q in self.denominator]

    def _squares(self, square: Any, absolute_square: Any) -> Polynomial:
        """|Q|² - |P|² along an axis, with what is smaller than its uncertainty set to zero."""
        P, Q = self._as_rationals()
        difference = plus(square(Q), square(P), -1)
        if self.uncertainties is None:
            return difference
        spread: Polynomial = []
        for p, uncertain in zip((P, Q), self.uncertainties):
            sizes = [abs(a) for a in p]
            widened = [a + Fraction(d) for a, d in zip(sizes, uncertain)]
            spread = plus(plus(spread, absolute_square(widened)), absolute_square(sizes), -1)
        spread = [*spread, *[Fraction(0)] * (len(difference) - len(spread))]
        return trimmed([Fraction(0) if abs(a) <= d else a for a, d in zip(difference, spread)])

    @cached_property
    def axis_polynomial(self) -> tuple[Any, ...]:
        """E as a polynomial in w = y²: E = |Q(iy)|² - |P(iy)|², ascending powers."""
        return tuple(self._squares(_axis_square, lambda p: _axis_square(p, sign=1)))

    @cached_property
    def is_a_stable(self) -> bool:
        """Whether |R(z)| <= 1 for every z with Re z <= 0."""
        return roots_are_right(self._as_rationals()[1]) and is_non_negative_on_half_line(self.axis_polynomial)

    @property
    def is_l_stable(self) -> bool:
        """Whether the method is A-stable and R(z) tends to 0 for large z."""
        return self.is_a_stable and len(self.numerator) < len(self.denominator)

    @cached_property
    def real_interval(self) -> float:
        """The largest x with |R| <= 1 on [-x, 0]."""
        along = self._squares(
            lambda p: times(mirrored(p), mirrored(p)),
            lambda p: times(p, p),
        )
        return 0.0 if sign_after_zero(along) < 0 else first_sign_change(along)

    @cached_property
    def imaginary_interval(self) -> float:
        """The largest y with |R| <= 1 on [-iy, iy]."""
        along = self.axis_polynomial
        return 0.0 if sign_after_zero(along) < 0 else math.sqrt(first_sign_change(along))


def _axis_square(p: Polynomial, sign: int = -1) -> Polynomial:
    """|p(iy)|² in powers of y²: the square of the even part plus y² times that of the odd part."""
    even = [a * sign**j for j, a in enumerate(p[0::2])]
    odd = [a * sign**j for j, a in enumerate(p[1::2])]
    return plus(times(even, even), [Fraction(0), *times(odd, odd)])


def _minor_sums(matrix: Sequence[Sequence[Any]], sizes: Sequence[Sequence[Any]]) -> tuple[list[Any], list[Any]]:
    """Sums e_k of the principal k-by-k minors (Faddeev–LeVerrier), and Σ |∂e_k/∂a_ij| sizes_ij.

    N_0 = I, e_k = trace(M N_{k-1})/k, N_k = e_k I - M N_{k-1}; the derivative of e_k by M is the transpose of N_{k-1}.
    """
    entries = [entry for rows in (matrix, sizes) for row in rows for entry in row]
    whole = all(isinstance(entry, Fraction) for entry in entries)
    # Whole numbers are quicker than fractions: the common denominator is divided out at the end.
    scale = math.lcm(*(entry.denominator for entry in entries)) if whole else 1
    read = (lambda entry: int(entry * scale)) if whole else (lambda entry: entry)
    M, S = (np.array([[read(entry) for entry in row] for row in rows], dtype=object) for rows in (matrix, sizes))
    identity = np.array([[int(i == j) for j in range(len(M))] for i in range(len(M))], dtype=object)
    N, sums, spreads = identity, [Fraction(1)], [Fraction(0)]
    for k in range(1, len(M) + 1):
        spreads.append((np.abs(N.T) * S).sum() * Fraction(1, scale**k))
        product = M.dot(N)
        coefficient = product.trace() // k if whole else product.trace() / Fraction(k)
        sums.append(coefficient * Fraction(1, scale**k))
        N = identity * coefficient - product
    return sums, spreads


def exact_stability(A: Sequence[Sequence[Any]], A_minus_b: Sequence[Sequence[Any]]) -> StabilityFunction:
    """R(z) from exact matrices A and A - 1bᵀ (in any common basis), common factors cancelled."""
    nothing = [[Fraction(0)] * len(A)] * len(A)
    P, Q = (trimmed(mirrored(_minor_sums(matrix, nothing)[0])) for matrix in (A_minus_b, A))
    factor = common_factor(P, Q)
    P, Q = divided(P, factor)[0], divided(Q, factor)[0]
    return StabilityFunction(tuple(p / Q[0] for p in P), tuple(q / Q[0] for q in Q))


def floating_stability(A: np.ndarray, b: np.ndarray) -> StabilityFunction:
    """R(z) of a floating tableau, with the uncertainty that twelve given digits leave in each coefficient."""
    polynomials, uncertainties = [], []
    for matrix, sizes in ((A - b, np.abs(A) + np.abs(b)), (A, np.abs(A))):
        sums, spreads = _minor_sums(_rational(matrix), _rational(sizes))
        uncertain = [TOLERANCE * float(spread) for spread in spreads]
        signed = mirrored([float(a) for a in sums])
        settled = trimmed([0.0 if abs(a) <= d else a for a, d in zip(signed, uncertain)])
        polynomials.append(tuple(settled))
        uncertainties.append(tuple(uncertain[: len(settled)]))
    return StabilityFunction(polynomials[0], polynomials[1], (uncertainties[0], uncertainties[1]))


def _rational(matrix: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(entry) for entry in row] for row in matrix.tolist()]


def useful_stages(A: np.ndarray, b: np.ndarray) -> list[int]:
    """The stages that the result depends on."""
    useful = set(np.flatnonzero(b).tolist()) or {0}
    waiting = list(useful)
    while waiting:
        fresh = set(np.flatnonzero(A[waiting.pop()]).tolist()) - useful
        useful |= fresh
        waiting += fresh
    return sorted(useful)


def method_verdict(order: int, R: StabilityFunction, explicit: bool) -> str:
    """Order and stability of a method in two sentences with their reasons."""
    one = f"Order {order}: every order condition up to {order} holds, and one of order {order + 1} does not."
    if R.is_a_stable:
        end = float(abs(R(np.inf)))
        far = "L-stable, since R(∞) = 0" if R.is_l_stable else f"not L-stable, since |R(∞)| = {end:.4g}"
        return f"{one}\nA-stable, since |R(iy)| <= 1 and no pole of R lies in the left half plane; {far}."
    if explicit:
        reason = "R is a polynomial and grows without bound"
    elif R.imaginary_interval < np.inf:
        reason = f"|R(iy)| > 1 for some y beyond {R.imaginary_interval:.4g}"
    else:
        reason = "a pole of R lies in the left half plane"
    interval = R.real_interval
    real = "all negative real z are stable" if np.isinf(interval) else f"real z are stable down to -{interval:.4g}"
    return f"{one}\nNot A-stable, since {reason}: {real}."
