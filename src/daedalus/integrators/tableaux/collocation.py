"""Gauss–Legendre, Radau IIA, Lobatto IIIA and Lobatto IIIC methods of any number of stages, to the last bit.

The recipe of collocation: nodes τ_i are the roots of a polynomial, ℓ_i(τ) = Π_{j≠i} (τ - τ_j)/(τ_i - τ_j),
L_i(τ) = ∫₀^τ ℓ_i, then c_j = τ_j, a_ji = L_i(τ_j), b_i = L_i(1). It is carried out exactly where the nodes are rational
or square roots, else with as many decimal digits as correctly rounded doubles need; the exact action of A on
polynomials goes along, so that order and stability stay exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.algebraic_number import Algebraic, square_root
from daedalus.integrators.tableaux.exact_polynomials import (
    derivative,
    divided,
    integral_to,
    lagrange,
    plus,
    times,
    value_at,
    with_roots,
)
from daedalus.integrators.tableaux.stage_algebra import PolynomialStages
from daedalus.integrators.tableaux.tableau import Tableau


def gauss_legendre(stages: int) -> Tableau:
    """The Gauss–Legendre method: order 2s, A-stable, symplectic; the roots of d^s/dτ^s (τ² - τ)^s are its nodes.

    Parameters
    ----------
    stages: how many, 1 or more.

    Example
    -------
    >>> import daedalus as dd
    >>> T = dd.gauss_legendre(2)
    >>> T
    gauss2: 2 stages, order 4, implicit
    1/2 - sqrt(3)/6 |             1/4 1/4 - sqrt(3)/6
    1/2 + sqrt(3)/6 | 1/4 + sqrt(3)/6             1/4
    ----------------+--------------------------------
                    |             1/2             1/2
    >>> T.is_a_stable, T.is_l_stable
    (True, False)
    """
    return _gauss_legendre(_checked(stages, 1, "gauss_legendre"))


def radau_iia(stages: int) -> Tableau:
    """The Radau IIA method: order 2s - 1, L-stable, stiffly accurate; a good choice for stiff systems and DAEs.

    Parameters
    ----------
    stages: how many, 1 (implicit Euler) or more.

    Example
    -------
    >>> import daedalus as dd
    >>> T = dd.radau_iia(2)
    >>> T
    radau3: 2 stages, order 3, implicit
    1/3 | 5/12 -1/12
      1 |  3/4   1/4
    ----+-----------
        |  3/4   1/4
    >>> T.is_l_stable, T.is_stiffly_accurate
    (True, True)
    """
    return _radau_iia(_checked(stages, 1, "radau_iia"))


def lobatto_iiia(stages: int) -> Tableau:
    """The Lobatto IIIA method: order 2s - 2, A-stable, collocation with both ends; two stages are the trapezoidal rule.

    Parameters
    ----------
    stages: how many, 2 or more.

    Example
    -------
    >>> from daedalus.integrators.tableaux.collocation import lobatto_iiia
    >>> lobatto_iiia(3).order, lobatto_iiia(3).stage_order
    (4, 3)
    """
    return _lobatto_iiia(_checked(stages, 2, "lobatto_iiia"))


def lobatto_iiic(stages: int) -> Tableau:
    """The Lobatto IIIC method: order 2s - 2, L-stable; C(s - 1) and a_i1 = b_1 define its A.

    Parameters
    ----------
    stages: how many, 2 or more.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.lobatto_iiic(3)
    lobatto_iiic3: 3 stages, order 4, implicit
      0 | 1/6 -1/3   1/6
    1/2 | 1/6 5/12 -1/12
      1 | 1/6  2/3   1/6
    ----+---------------
        | 1/6  2/3   1/6
    """
    return _lobatto_iiic(_checked(stages, 2, "lobatto_iiic"))


def _checked(stages: int, least: int, family: str) -> int:
    if isinstance(stages, (int, np.integer)) and not isinstance(stages, bool) and stages >= least:
        return int(stages)
    raise InputError(
        "The number of stages cannot be used.",
        f"{family}({stages!r})",
        because=f"it is a whole number, {least} or more for this family.",
        remedy=f"{family}(3).",
    )


@lru_cache(maxsize=64)
def _gauss_legendre(stages: int) -> Tableau:
    polynomial = shifted_legendre(stages)
    return _collocation(polynomial, f"gauss{stages}")


@lru_cache(maxsize=64)
def _radau_iia(stages: int) -> Tableau:
    polynomial = plus(shifted_legendre(stages), shifted_legendre(stages - 1), -1)
    return _collocation(polynomial, f"radau{2 * stages - 1}")


@lru_cache(maxsize=64)
def _lobatto_iiia(stages: int) -> Tableau:
    return _collocation(_lobatto_polynomial(stages), f"lobatto_iiia{stages}")


@lru_cache(maxsize=64)
def _lobatto_iiic(stages: int) -> Tableau:
    polynomial = _lobatto_polynomial(stages)
    with localcontext() as context:
        context.prec = _digits(stages)
        nodes = _nodes(polynomial)
        _, b = _integrated_lagrange(nodes)
        # The part of ℓ_j along ω = Π_{i>1}(τ - τ_i) goes to b_1 ω(0), as ω lives on the first node only.
        omega = with_roots(nodes[1:])
        A = []
        for node in nodes:
            row = []
            for j in range(stages):
                basis = lagrange(nodes, j)
                rest = [a - basis[-1] * o for a, o in zip(basis, omega)]
                row.append(integral_to(rest, node) + basis[-1] * b[0] * omega[0])
            A.append(row)
    form = _polynomial_form(polynomial)
    monic = [a / polynomial[-1] for a in polynomial]
    # In polynomials: A takes c^(k-1) to c^k/k for k < s, and ω to the constant b_1 ω(0).
    exact_omega = divided(monic, [Fraction(0), Fraction(1)])[0]
    constant = form.moments[0] * exact_omega[0] / (stages * (stages - 1))
    images = [list(image) for image in form.images[:-1]]
    last = [constant]
    for factor, image in zip(exact_omega, images):
        last = plus(last, image, -factor)
    form = PolynomialStages(monic, [*images, last], form.moments)
    return _tableau(A, b, nodes, form, f"lobatto_iiic{stages}")


def _lobatto_polynomial(stages: int) -> list[Fraction]:
    """τ(τ - 1) P'_{s-1}(τ), whose roots are the Lobatto nodes."""
    return times([Fraction(0), Fraction(-1), Fraction(1)], derivative(shifted_legendre(stages - 1)))


def shifted_legendre(degree: int) -> list[Fraction]:
    """P_s(τ) = (1/s!) d^s/dτ^s (τ² - τ)^s, the Legendre polynomial on [0, 1], ascending powers.

    Example
    -------
    >>> from daedalus.integrators.tableaux.collocation import shifted_legendre
    >>> [int(a) for a in shifted_legendre(2)]
    [1, -6, 6]
    """
    return [Fraction((-1) ** (degree + k) * math.comb(degree, k) * math.comb(degree + k, k)) for k in range(degree + 1)]


def _digits(stages: int) -> int:
    """Decimal digits to work with: the powers of τ cost about 1.6 digits a stage."""
    return 50 + 3 * stages


def _collocation(polynomial: list[Fraction], name: str) -> Tableau:
    with localcontext() as context:
        context.prec = _digits(len(polynomial) - 1)
        nodes = _nodes(polynomial)
        A, b = _integrated_lagrange(nodes)
    return _tableau(A, b, nodes, _polynomial_form(polynomial), name)


def _tableau(A: list[list[Any]], b: Sequence[Any], nodes: Sequence[Any], form: PolynomialStages, name: str) -> Tableau:
    if isinstance(nodes[-1], (Fraction, Algebraic)):
        return Tableau(A, b, nodes, name=name)
    rounded = [[float(a) for a in row] for row in A]
    return Tableau.from_polynomial_stages(rounded, [float(w) for w in b], [float(x) for x in nodes], form, name)


def _polynomial_form(polynomial: list[Fraction]) -> PolynomialStages:
    """Collocation in polynomials: A takes c^m to c^(m+1)/(m+1), and b·c^m is 1/(m+1)."""
    stages = len(polynomial) - 1
    monic = [a / polynomial[-1] for a in polynomial]
    images = []
    for m in range(stages):
        integral = [*[Fraction(0)] * (m + 1), Fraction(1, m + 1)]
        images.append(divided(integral, monic)[1])
    return PolynomialStages(monic, images, [Fraction(1, m + 1) for m in range(stages)])


def _nodes(polynomial: list[Fraction]) -> list[Any]:
    """The roots in [0, 1], ascending: exact where square roots are enough, else Decimals of the current precision."""
    inner, ends = polynomial, []
    for end in (Fraction(0), Fraction(1)):
        if not value_at(inner, end):
            inner = divided(inner, [-end, Fraction(1)])[0]
            ends.append(end)
    exact = _exact_roots(inner)
    if exact is not None:
        return sorted([*ends, *exact])
    return sorted([*(Decimal(int(end)) for end in ends), *_decimal_roots(inner)])


def _exact_roots(p: list[Fraction]) -> list[Any] | None:
    """Roots by formula, for degree 2 and below, or 3 with the root 1/2."""
    if len(p) == 1:
        return []
    if len(p) == 2:
        return [-p[0] / p[1]]
    if len(p) == 3:
        middle = -p[1] / (2 * p[2])
        reach = square_root(middle**2 - p[0] / p[2])
        return [middle - reach, middle + reach]
    if len(p) == 4 and not value_at(p, Fraction(1, 2)):
        outer = _exact_roots(divided(p, [Fraction(-1, 2), Fraction(1)])[0])
        return None if outer is None else [Fraction(1, 2), *outer]
    return None


def _decimal_roots(p: list[Fraction]) -> list[Decimal]:
    """All roots of a polynomial with simple roots in (0, 1) only, ascending, by Newton's method.

    From the left of all roots that remain, Newton's method on p/Π(τ - found) (Maehly) climbs to the next one. A loop
    of its own: decimals of any number of digits, where `algebra.damped_newton` has arrays of doubles.
    """
    denominator = math.lcm(*(a.denominator for a in p))
    coefficients = [Decimal(int(a * denominator)) for a in p]
    slopes = [k * a for k, a in enumerate(coefficients)][1:]
    # Newton's method doubles the digits, so a step this small is the last one needed.
    last_step = Decimal(10) ** -(2 * getcontext().prec // 3)
    found: list[Decimal] = []
    point = Decimal(0)
    while len(found) < len(p) - 1:
        step = Decimal(1)
        while abs(step) > last_step:
            value, slope = value_at(coefficients, point), value_at(slopes, point)
            if not value:
                break
            step = -1 / (slope / value - sum((1 / (point - root) for root in found), Decimal(0)))
            point += step
        found.append(point)
        point += Decimal(10) ** -6
    return found


def _integrated_lagrange(nodes: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
    """A with a_ji = L_i(τ_j), and b with b_i = L_i(1)."""
    one = nodes[0] * 0 + 1
    bases = [lagrange(nodes, i) for i in range(len(nodes))]
    A = [[integral_to(basis, node) for basis in bases] for node in nodes]
    return A, [integral_to(basis, one) for basis in bases]
