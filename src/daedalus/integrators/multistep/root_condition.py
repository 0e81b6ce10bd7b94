"""Roots of characteristic polynomials: whether all lie in the unit disc, those on the rim simple, and the largest."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from daedalus.integrators.tableaux.exact_polynomials import common_factor, derivative, divided

# Simple roots nearer to the unit circle than this are taken to lie on it; methods have none that nearly do.
ON_THE_RIM = 1e-6


def has_only_simple_unit_roots(coefficients: Sequence[Fraction | int]) -> bool:
    """The root condition for a polynomial, highest power first; multiple roots are told apart exactly.

    Example
    -------
    >>> has_only_simple_unit_roots([1, -1]), has_only_simple_unit_roots([1, -2, 1])
    (True, False)
    """
    polynomial = [Fraction(value) for value in reversed(coefficients)]
    repeated = common_factor(polynomial, derivative(polynomial))
    simple = divided(polynomial, repeated)[0]
    far = np.abs(_roots(simple)) > 1 + ON_THE_RIM
    return not (np.any(far) or np.any(np.abs(_roots(repeated)) > 1 - ON_THE_RIM))


def _roots(polynomial: list[Fraction]) -> np.ndarray:
    return np.roots([float(value) for value in reversed(polynomial)])


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
