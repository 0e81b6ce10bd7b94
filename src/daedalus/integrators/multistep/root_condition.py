"""Roots of characteristic polynomials: whether all lie in the unit disc, those on the rim simple, and the largest."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

# Simple roots nearer to the unit circle than this are taken to lie on it; methods have none that nearly do.
ON_THE_RIM = 1e-6


def has_only_simple_unit_roots(coefficients: Sequence[Fraction | int]) -> bool:
    """The root condition for a polynomial, highest power first; multiple roots are told apart exactly.

    Example
    -------
    >>> has_only_simple_unit_roots([1, -1]), has_only_simple_unit_roots([1, -2, 1])
    (True, False)
    """
    polynomial = [Fraction(value) for value in coefficients]
    repeated = _common_divisor(polynomial, _slope(polynomial))
    simple = _divided(polynomial, repeated)[0]
    far = np.abs(_roots(simple)) > 1 + ON_THE_RIM
    return not (np.any(far) or np.any(np.abs(_roots(repeated)) > 1 - ON_THE_RIM))


def _roots(polynomial: list[Fraction]) -> np.ndarray:
    return np.roots([float(value) for value in polynomial])


def _slope(coefficients: list[Fraction]) -> list[Fraction]:
    degree = len(coefficients) - 1
    return [value * (degree - k) for k, value in enumerate(coefficients[:-1])]


def _common_divisor(p: list[Fraction], q: list[Fraction]) -> list[Fraction]:
    """The greatest common divisor by Euclid's algorithm, highest power first."""
    while q:
        p, q = q, _divided(p, q)[1]
    return p


def _divided(p: list[Fraction], q: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Quotient and remainder, the remainder without leading zeros."""
    quotient, left = [], list(p)
    while len(left) >= len(q):
        factor = left[0] / q[0]
        quotient.append(factor)
        left = [a - factor * (q[k] if k < len(q) else 0) for k, a in enumerate(left)][1:]
    first = next((k for k, value in enumerate(left) if value), len(left))
    return quotient, left[first:]


def largest_root(polynomials: np.ndarray) -> np.ndarray:
    """The largest |root| of each row of coefficients, highest power first; infinite where the leading one vanishes."""
    degree = polynomials.shape[1] - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = -polynomials[:, 1:] / polynomials[:, :1]
    found = np.full(len(polynomials), np.inf)
    known = np.all(np.isfinite(rows), axis=1)
    companion = np.zeros((int(known.sum()), degree, degree), dtype=complex)
    companion[:, 0] = rows[known]
    companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1.0
    found[known] = np.abs(np.linalg.eigvals(companion)).max(axis=1)
    return found
