"""Butcher's simplifying assumptions B(p), C(η), D(ξ), tested with Legendre polynomials instead of powers.

B(p): Σ b_i g(c_i) = ∫₀¹ g for every polynomial g of degree below p,
C(η): Σ a_ij g(c_j) = ∫₀^{c_i} g below degree η,
D(ξ): Σ b_i g(c_i) a_ij = b_j ∫_{c_j}¹ g below degree ξ.
Powers of c are so alike that 16 Gauss nodes miss B(33) by 1e-19 only; with P_32 they miss it by 0.1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from daedalus.integrators.tableaux.stage_algebra import StageAlgebra


def _integral_to_node(algebra: StageAlgebra, k: int) -> Any:
    """∫₀^c P_k = (P_{k+1}(c) - P_{k-1}(c)) / (2(2k+1)), and c for k = 0."""
    if k == 0:
        return algebra.nodes()
    factor = Fraction(1, 2 * (2 * k + 1))
    return algebra.combine((factor, algebra.legendre(k + 1)), (-factor, algebra.legendre(k - 1)))


def _integral_from_node(algebra: StageAlgebra, k: int) -> Any:
    """∫_c¹ P_k, which is minus the integral up to c for k > 0."""
    whole = Fraction(int(k == 0))
    return algebra.combine((whole, algebra.ones()), (Fraction(-1), _integral_to_node(algebra, k)))


def _count(holds: Callable[[int], bool], limit: int) -> int:
    for k in range(limit):
        if not holds(k):
            return k
    return limit


def quadrature_order(algebra: StageAlgebra, limit: int) -> int:
    """The largest p, up to limit, with B(p): the weights integrate polynomials below degree p exactly."""
    return _count(
        lambda k: algebra.same_number(algebra.weigh(algebra.legendre(k)), Fraction(int(k == 0))),
        limit,
    )


def stage_order(algebra: StageAlgebra, limit: int) -> int:
    """The largest η, up to limit, with C(η): every stage is exact for polynomials below degree η."""
    return _count(
        lambda k: algebra.same_vector(algebra.apply(algebra.legendre(k)), _integral_to_node(algebra, k)),
        limit,
    )


def row_order(algebra: StageAlgebra, limit: int) -> int:
    """The largest ξ, up to limit, with D(ξ).

    Example
    -------
    >>> import numpy as np
    >>> from daedalus.integrators.tableaux.simplifying_assumptions import quadrature_order, row_order, stage_order
    >>> from daedalus.integrators.tableaux.stage_algebra import FloatStages
    >>> midpoint = FloatStages(np.array([[0.5]]), np.array([1.0]), np.array([0.5]))
    >>> quadrature_order(midpoint, 2), stage_order(midpoint, 1), row_order(midpoint, 1)
    (2, 1, 1)
    """
    return _count(
        lambda k: algebra.same_row(
            algebra.apply_left(algebra.row(algebra.legendre(k))),
            algebra.row(_integral_from_node(algebra, k)),
        ),
        limit,
    )
