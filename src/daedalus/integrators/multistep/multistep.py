"""Linear multistep methods: a formula over past values that answers questions about itself.

With steps of equal size h

    x_{n+1} = -Σ_{j=1..m} a_j x_{n+1-j} + h Σ_{j=0..m} b_j x'_{n+1-j},

document 003's formula for BDF, where only b_0 is not zero. The coefficients come from interpolation of past values, not
from a Butcher tableau. With ρ(ζ) = ζᵐ + Σ a_j ζ^{m-j} and σ(ζ) = Σ b_j ζ^{m-j} the order is how often ρ(e^h) - h σ(e^h)
vanishes at h = 0 less one, and on x' = λ x the method grows like the roots of ρ(ζ) - hλ σ(ζ).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import factorial
from typing import Any, final

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.coefficients import read_vector, write_coefficient
from daedalus.integrators.tableaux.exact_polynomials import common_factor, derivative, divided
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted

# An order beyond this is that of a method with more steps than anybody takes.
HIGHEST_ORDER = 60
# How often the boundary of the stability region is looked at.
BOUNDARY_POINTS = 2000


@final
class Multistep:
    """A linear multistep method given by its coefficients; immutable, usable as ``simulate(method=..., step=h)``.

    Parameters
    ----------
    a: a_1 ... a_m of x_{n+1} = -Σ a_j x_{n+1-j} + h Σ b_j x'_{n+1-j}; numbers, fractions or texts such as "4/3".
    b: b_0 ... b_m; b_0 = 0 makes the method explicit.
    name: its name.

    A run starts with values of an adaptive method at a tight tolerance, see `dd.simulate`.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.Multistep(["-4/3", "1/3"], ["2/3", 0, 0], name="second BDF")
    second BDF: 2 steps, order 2, implicit, zero-stable, error constant -1/3
    x[n+1] = 4/3 x[n] - 1/3 x[n-1] + h (2/3 x'[n+1])
    >>> dd.bdf(2) == dd.Multistep(["-4/3", "1/3"], ["2/3", 0, 0])
    True
    """

    a: tuple[Fraction, ...]
    b: tuple[Fraction, ...]
    name: str

    def __init__(self, a: Sequence[object], b: Sequence[object], name: str = "") -> None:
        past, slopes = (
            [_exact(value, word) for value in read_vector(given, word)] for given, word in ((a, "a"), (b, "b"))
        )
        if not past or len(slopes) != len(past) + 1:
            raise InputError(
                "The coefficients of a multistep method do not fit.",
                f"{counted(len(past), 'coefficient')} a, {counted(len(slopes), 'coefficient')} b",
                because="m steps have a_1 ... a_m and b_0 ... b_m.",
                remedy="one more b than a; b_0 = 0 for an explicit method",
            )
        for field, value in (("a", tuple(past)), ("b", tuple(slopes)), ("name", str(name))):
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("a", "b", "name"):
            raise AttributeError(f"a Multistep does not change; build a new one instead of writing {name}")
        object.__setattr__(self, name, value)

    # -- what it is --------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """The number m of past values."""
        return len(self.a)

    @property
    def is_explicit(self) -> bool:
        """Whether the new value follows without solving an equation: b_0 = 0."""
        return self.b[0] == 0

    @property
    def is_implicit_euler(self) -> bool:
        """Whether it is x[n+1] = x[n] + h x'[n+1]: a run takes it as the one-step method of that name.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.bdf(1).is_implicit_euler, dd.bdf(2).is_implicit_euler
        (True, False)
        """
        return self.a == (-1,) and self.b == (1, 0)

    def _defect(self, power: int) -> Fraction:
        """C_q = (Σ α_i i^q - q Σ β_i i^(q-1)) / q! with i counted from the oldest value."""
        m = self.steps
        total = Fraction(0)
        for j, (alpha, beta) in enumerate(zip((Fraction(1), *self.a), self.b)):
            i = m - j
            total += alpha * i**power - (power * beta * i ** (power - 1) if power else 0)
        return total / factorial(power)

    @cached_property
    def order(self) -> int:
        """The order p: the error of a run is O(h^p) on smooth systems, if the method is zero-stable; exact.

        Example
        -------
        >>> import daedalus as dd
        >>> dd.bdf(4).order, dd.adams_bashforth(4).order, dd.adams_moulton(4).order
        (4, 4, 5)
        """
        return next((q - 1 for q in range(HIGHEST_ORDER) if self._defect(q) != 0), HIGHEST_ORDER) if self._sums() else 0

    def _sums(self) -> bool:
        return self._defect(0) == 0

    @property
    def is_consistent(self) -> bool:
        """Whether the order is at least 1."""
        return self.order >= 1

    @cached_property
    def error_constant(self) -> Fraction:
        """C = C_{p+1} / σ(1): a run's error is about C h^p times what x^(p+1) adds up to.

        It does not depend on how the formula is scaled (Hairer, Nørsett, Wanner I, III.2): -1/(m+1) for BDF of m steps.

        Example
        -------
        >>> import daedalus as dd
        >>> print(dd.adams_bashforth(2).error_constant, dd.adams_moulton(2).error_constant, dd.bdf(3).error_constant)
        5/12 -1/24 -1/4
        """
        return self._defect(self.order + 1) / sum(self.b)

    @cached_property
    def is_zero_stable(self) -> bool:
        """Whether errors of past values stay bounded as h goes to 0: the root condition on ρ (Dahlquist 1956).

        All roots lie in the unit disc, and those on its rim are simple; without it no order helps.

        Example
        -------
        >>> import daedalus as dd
        >>> [dd.bdf(m).is_zero_stable for m in range(1, 8)]
        [True, True, True, True, True, True, False]
        """
        return has_only_simple_unit_roots((Fraction(1), *self.a))

    # -- stability ---------------------------------------------------------------------------------------------

    def stability(self, z: Any) -> Any:
        """The largest |ζ| among the roots of ρ(ζ) - z σ(ζ), z = hλ: what a step multiplies x' = λ x by at worst.

        Numbers or arrays; the method is stable where it is not above 1.

        Example
        -------
        >>> import daedalus as dd
        >>> float(dd.bdf(1).stability(-3.0)), dd.bdf(2).stability([-1e9, 0.5j]).round(4).tolist()
        (0.25, [0.0, 0.9904])
        """
        values = np.asarray(z, dtype=complex)
        rho, sigma = np.array([1.0, *map(float, self.a)]), np.array([float(value) for value in self.b])
        found = largest_root(rho[None, :] - values.reshape(-1, 1) * sigma[None, :])
        return found.reshape(values.shape)[()]

    def boundary(self, points: int = BOUNDARY_POINTS) -> np.ndarray:
        """The root locus z = ρ(ζ) / σ(ζ) for |ζ| = 1, complex; it contains the boundary of the stability region."""
        zeta = np.exp(1j * np.linspace(0.0, 2 * np.pi, points))
        sigma = np.polyval([float(value) for value in self.b], zeta)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.polyval([1.0, *map(float, self.a)], zeta) / sigma)

    @cached_property
    def stability_angle(self) -> float:
        """The largest α in degrees for which the method is A(α)-stable: stable where |arg(-z)| <= α; 0 without any.

        Example
        -------
        >>> import daedalus as dd
        >>> [round(dd.bdf(m).stability_angle, 2) for m in range(1, 7)]
        [90.0, 90.0, 86.03, 73.35, 51.84, 17.84]
        """
        if (
            not self.is_zero_stable
            or self.stability(-1e12) > 1 + 1e-9
            or np.any(self.stability(-np.logspace(-3, 6, 60)) > 1 + 1e-9)
        ):
            return 0.0
        curve = self.boundary(40 * BOUNDARY_POINTS)
        left = curve[np.isfinite(curve) & (curve.real < -1e-9 * (1 + np.abs(curve)))]
        return 90.0 if not len(left) else float(np.degrees(np.min(np.abs(np.pi - np.abs(np.angle(left))))))

    @property
    def is_a_stable(self) -> bool:
        """Whether the whole left half plane is stable; no order above 2 allows it (Dahlquist 1963)."""
        return self.stability_angle == 90.0

    def plot_stability(self, ax: Any = None, window: Any = None) -> Any:
        """Draw where the method is stable; returns the matplotlib axes.

        Example
        -------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import daedalus as dd
        >>> dd.bdf(3).plot_stability().get_title()
        'bdf3: order 3, A(86.03°)-stable'
        """
        from daedalus.display.lectures.multistep_plot import plot_multistep

        return plot_multistep(self, ax=ax, window=window)

    # -- words -------------------------------------------------------------------------------------------------

    @property
    def formula(self) -> str:
        """The formula as text."""
        past = _terms([-value for value in self.a], [_at("x", 1 - j) for j in range(1, self.steps + 1)])
        slopes = _terms(list(self.b), [_at("x'", 1 - j) for j in range(self.steps + 1)])
        return f"x[n+1] = {past} + h ({slopes})"

    def to_latex(self) -> str:
        """The formula in LaTeX.

        Example
        -------
        >>> import daedalus as dd
        >>> print(dd.bdf(2).to_latex())
        x_{n+1} = \\frac{4}{3} x_{n} - \\frac{1}{3} x_{n-1} + h \\, \\frac{2}{3} f_{n+1}
        """
        from daedalus.display.formulas.object_latex import multistep_latex

        return multistep_latex(self.a, self.b)

    def __eq__(self, other: object) -> bool:
        return (self.a, self.b) == (other.a, other.b) if isinstance(other, Multistep) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.a, self.b))

    def __reduce__(self) -> tuple[Any, ...]:
        return Multistep, (self.a, self.b, self.name)

    def _repr_html_(self) -> str:
        from daedalus.display.cards.study_cards import method_card

        return method_card(self)

    def __repr__(self) -> str:
        kind = "explicit" if self.is_explicit else "implicit"
        stable = "zero-stable" if self.is_zero_stable else "not zero-stable"
        plural = "step" if self.steps == 1 else "steps"
        head = f"{self.name or 'Multistep'}: {self.steps} {plural}, order {self.order}, {kind}, {stable}"
        return (
            f"{head}, error constant {self.error_constant}\n{self.formula}" if self.order else f"{head}\n{self.formula}"
        )


def _exact(value: object, word: str) -> Fraction:
    try:
        return Fraction(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise InputError(
            f"A coefficient {word} of a multistep method is not a fraction.",
            f"got {value!r}",
            because="its order and root condition are decided exactly.",
            remedy='numbers, fractions, or texts such as "4/3"',
        ) from None


def _at(letter: str, shift: int) -> str:
    return f"{letter}[n{f'{shift:+d}' if shift else ''}]"


def _terms(values: list[Fraction], names: list[str]) -> str:
    text = ""
    for value, name in zip(values, names):
        if value:
            size = "" if abs(value) == 1 else f"{write_coefficient(abs(value))} "
            sign = (" - " if value < 0 else " + ") if text else ("-" if value < 0 else "")
            text += f"{sign}{size}{name}"
    return text or "0"


# Roots of characteristic polynomials: whether all lie in the unit disc, those on the rim simple, and the largest.

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
