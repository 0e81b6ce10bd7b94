"""The families of linear multistep methods: BDF, Adams–Bashforth and Adams–Moulton of any number of steps, exact.

BDF differentiates the polynomial through the last m + 1 values; the Adams methods integrate the one through the last m
slopes, without (Bashforth) or with (Moulton) the new one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from daedalus.errors import InputError
from daedalus.integrators.multistep.multistep import Multistep
from daedalus.integrators.tableaux.exact_polynomials import integral_to, lagrange

# Coefficients of longer formulas are lost in rounding.
MOST_STEPS = 20


@cache
def bdf(steps: int) -> Multistep:
    """Backward differentiation of m steps and order m: Σ_{k=1..m} ∇ᵏ x_{n+1} / k = h x'_{n+1}.

    It is zero-stable up to six steps, A-stable up to two and A(α)-stable up to six. Use it for stiff systems and DAEs.
    The method "bdf" is BDF with variable order and step size.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.bdf(3)
    bdf3: 3 steps, order 3, implicit, zero-stable, error constant -1/4
    x[n+1] = 18/11 x[n] - 9/11 x[n-1] + 2/11 x[n-2] + h (6/11 x'[n+1])
    """
    m = _checked(steps, "bdf")
    alpha = [Fraction(0)] * (m + 1)
    for k in range(1, m + 1):
        # ∇ᵏ x_{n+1} = Σ_j (-1)^j C(k, j) x_{n+1-j}
        binomial = Fraction(1)
        for j in range(k + 1):
            alpha[j] += (-1) ** j * binomial / k
            binomial = binomial * (k - j) / (j + 1)
    lead = alpha[0]
    return Multistep([value / lead for value in alpha[1:]], [1 / lead, *[Fraction(0)] * m], f"bdf{m}")


@cache
def adams_bashforth(steps: int) -> Multistep:
    """The explicit Adams–Bashforth method of m steps and order m: it integrates the polynomial through the last m
    slopes.

    Example
    -------
    >>> import daedalus as dd
    >>> print(*dd.adams_bashforth(3).b)
    0 23/12 -4/3 5/12
    """
    m = _checked(steps, "adams_bashforth")
    weights = _integrated([Fraction(-j) for j in range(m)])
    return Multistep([-1, *[0] * (m - 1)], [Fraction(0), *weights], f"adams_bashforth{m}")


@cache
def adams_moulton(steps: int) -> Multistep:
    """The implicit Adams–Moulton method of m steps and order m + 1: it also uses the new slope.

    One step is the trapezoidal rule.

    Example
    -------
    >>> import daedalus as dd
    >>> print(*dd.adams_moulton(2).b)
    5/12 2/3 -1/12
    """
    m = _checked(steps, "adams_moulton")
    weights = _integrated([Fraction(1 - j) for j in range(m + 1)])
    return Multistep([-1, *[0] * (m - 1)], weights, f"adams_moulton{m}")


def _integrated(nodes: list[Fraction]) -> list[Fraction]:
    """∫₀¹ of each Lagrange polynomial over the nodes, which count in steps from the last known value."""
    return [integral_to(lagrange(nodes, j), Fraction(1)) for j in range(len(nodes))]


def _checked(steps: object, family: str) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
        raise InputError(
            f"{steps!r} is not a valid number of steps.",
            because=f"a multistep method looks back at a whole number of values, {MOST_STEPS} at most.",
            remedy=f"dd.{family}(3)",
        )
    return steps
