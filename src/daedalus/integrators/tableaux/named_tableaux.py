"""Tableaux by name: the methods of the books, the second- and third-order families with α, and collocation by order.

Each is built when first asked for. Explicit ones come from explicit_tableaux.py, Gauss, Radau and Lobatto ones from
collocation.py, diagonally implicit ones are here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from daedalus.errors import InputError
from daedalus.integrators.tableaux.algebraic_number import NumberField
from daedalus.integrators.tableaux.coefficients import Coefficient, read_coefficient
from daedalus.integrators.tableaux.collocation import gauss_legendre, lobatto_iiia, lobatto_iiic, radau_iia
from daedalus.integrators.tableaux.explicit_tableaux import EXPLICIT
from daedalus.integrators.tableaux.tableau import Tableau

ALIASES = {
    "explicit_euler": "euler",
    "explicit_midpoint": "midpoint",
    "bogacki_shampine": "bs3",
    "rkf45": "fehlberg",
    "dormand_prince": "dopri5",
    "backward_euler": "implicit_euler",
    "trapezoid": "trapezoidal",
    "crank_nicolson": "trapezoidal",
    "implicit_midpoint": "gauss1",
    "tr_bdf2": "trbdf2",
}
FAMILIES = ("rk2", "rk3")
# Methods of simulate() that a tableau cannot describe.
NOT_TABLEAUX = ("auto", "bdf", "rodas4", "rodas5p", "rattle", "lobatto4", "lobatto6")
# An alpha this near to one that divides by zero has coefficients of a million, and loses as many digits.
NEAREST = Fraction(1, 10**6)


def tableau(name: str, alpha: Any = None) -> Tableau:
    """The tableau of a named method.

    Parameters
    ----------
    name: one of ``tableau_names()``, or gauss1, gauss2, … (stages), radau3, radau5, … (order), lobatto_iiia2, … and
        lobatto_iiic2, … (stages).
    alpha: the free node of the families "rk2" (not 0) and "rk3" (not 0, 2/3 or 1). A float is read as the decimal that
        you write, so 0.7 is 7/10.

    Raises an InputError for an unknown name, and for an alpha that is missing, not needed or not allowed.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.tableau("rk4")
    rk4: 4 stages, order 4, explicit
      0 |
    1/2 | 1/2
    1/2 |   0 1/2
      1 |   0   0   1
    ----+----------------
        | 1/6 1/3 1/3 1/6
    >>> dd.tableau("rk2", alpha="2/3") == dd.tableau("ralston")
    True
    """
    if not isinstance(name, str):
        raise InputError("The name of a method is not a text.", f"name = {name!r}", remedy='dd.tableau("rk4").')
    key = re.sub(r"[\s-]+", "_", name.strip().lower())
    key = ALIASES.get(key, key)
    if key in FAMILIES:
        return _second_order(alpha) if key == "rk2" else _third_order(alpha)
    if alpha is not None:
        raise InputError(
            "This method has no alpha.",
            f"name = {name!r}, alpha = {alpha!r}",
            because='alpha is the free node of the families "rk2" and "rk3".',
            remedy=f'dd.tableau("{key}") or dd.tableau("rk2", alpha=...).',
        )
    return _named(key, name)


def tableau_names() -> list[str]:
    """The names that ``tableau`` knows. gauss, radau and lobatto exist for any number of stages.

    Example
    -------
    >>> from daedalus.integrators.tableaux.named_tableaux import tableau_names
    >>> {"rk4", "tsit5", "radau5", "trbdf2"} <= set(tableau_names())
    True
    """
    collocation = [*(f"gauss{s}" for s in range(1, 7)), "radau3", "radau5", "radau9"]
    lobatto = [f"lobatto_{kind}{s}" for kind in ("iiia", "iiic") for s in (2, 3, 4)]
    return [*FAMILIES, *EXPLICIT, *_IMPLICIT, *collocation, *lobatto]


@lru_cache(maxsize=128)
def _named(key: str, asked: str) -> Tableau:
    if key in EXPLICIT:
        return _explicit(key)
    if key in _IMPLICIT:
        return _IMPLICIT[key]()
    numbered = re.fullmatch(r"(gauss|radau|lobatto_iiia|lobatto_iiic)(\d{1,3})", key)
    if numbered is None:
        raise _unknown(asked, key)
    family, number = numbered[1], int(numbered[2])
    if family == "radau":
        if number % 2 == 0:
            raise InputError(
                "Radau IIA methods have odd orders.",
                f"name = {asked!r}",
                because="s stages give order 2s - 1, and the number in the name is the order.",
                remedy=f'"radau{number - 1}" or "radau{number + 1}".' if number else '"radau5".',
            )
        return radau_iia((number + 1) // 2)
    return {"gauss": gauss_legendre, "lobatto_iiia": lobatto_iiia, "lobatto_iiic": lobatto_iiic}[family](number)


def _unknown(asked: str, key: str) -> InputError:
    if key in NOT_TABLEAUX:
        return InputError(
            "This method has no Butcher tableau.",
            f"name = {asked!r}",
            because="it is not a Runge–Kutta method with one fixed tableau.",
            remedy=f'dd.simulate(..., method="{key}"), or a tableau such as "radau5".',
        )
    close = difflib.get_close_matches(key, [*tableau_names(), *ALIASES], n=3, cutoff=0.5)
    return InputError(
        "There is no tableau of this name.",
        f"name = {asked!r}" + (f"; close: {', '.join(close)}" if close else ""),
        because=f"known are {', '.join(tableau_names())}.",
        remedy=f'dd.tableau("{close[0] if close else "rk4"}").',
    )


def _explicit(name: str) -> Tableau:
    written = EXPLICIT[name]
    b = written.b.split()
    rows = [row.split() for row in ("", *written.rows)]
    # Coefficients in decimals are doubles: their last digit is rounded, so they are not exact.
    read: Callable[[str], Any] = float if written.c else str
    A = [[read(text) for text in row] + [0] * (len(b) - len(row)) for row in rows]
    second = [read(text) for text in written.b_hat.split()] if written.b_hat else None
    nodes = [read(text) for text in written.c.split()] if written.c else None
    return Tableau(A, [read(text) for text in b], nodes, second, name=name)


def _read_alpha(alpha: Any, family: str, forbidden: dict[Fraction, str]) -> Coefficient:
    """alpha as an exact number, away from the values that divide by zero."""
    if alpha is None:
        raise InputError(
            "This family needs its alpha.",
            f'dd.tableau("{family}")',
            because="alpha is the node of the second stage, and each alpha gives a different method.",
            remedy=f'dd.tableau("{family}", alpha="1/2").',
        )
    value = read_coefficient(alpha, "alpha")
    if isinstance(value, float):
        # 2/3 typed as a division is 2/3, and 0.7 is 7/10.
        simple = Fraction(value).limit_denominator(1000)
        value = simple if float(simple) == value else Fraction(repr(value))
    for bad, reason in forbidden.items():
        if abs(value - bad) > NEAREST:
            continue
        raise InputError(
            "This alpha gives no method.",
            f'dd.tableau("{family}", alpha={alpha!r})',
            because=reason,
            remedy=f'dd.tableau("{family}", alpha="1/2").',
        )
    return value


def _second_order(alpha: Any) -> Tableau:
    """c = (0, α), b = (1 - 1/(2α), 1/(2α)): document 002."""
    forbidden = {Fraction(0): "the second weight is 1/(2 alpha): both stages would be the same point."}
    a = _read_alpha(alpha, "rk2", forbidden)
    return Tableau([[0, 0], [a, 0]], [1 - 1 / (2 * a), 1 / (2 * a)], [0, a], name=f"rk2(alpha={a})")


def _third_order(alpha: Any) -> Tableau:
    """c = (0, α, 1): document 002."""
    forbidden = {
        Fraction(0): "the second weight is 1/(6 alpha (1 - alpha)): the first two stages would be the same point.",
        Fraction(2, 3): "the third stage has a coefficient (1 - alpha)/(alpha (3 alpha - 2)), and its weight vanishes.",
        Fraction(1): "the second weight is 1/(6 alpha (1 - alpha)): the last two stages would be at the same time.",
    }
    a = _read_alpha(alpha, "rk3", forbidden)
    inner = (1 - a) / (a * (3 * a - 2))
    b = [Fraction(1, 2) - 1 / (6 * a), 1 / (6 * a * (1 - a)), (2 - 3 * a) / (6 * (1 - a))]
    return Tableau([[0, 0, 0], [a, 0, 0], [1 + inner, -inner, 0]], b, [0, a, 1], name=f"rk3(alpha={a})")


def _implicit_euler() -> Tableau:
    return Tableau([[1]], [1], [1], name="implicit_euler")


def _trapezoidal() -> Tableau:
    return Tableau([[0, 0], [0.5, 0.5]], [0.5, 0.5], [0, 1], name="trapezoidal")


def _sdirk2() -> Tableau:
    """Alexander 1977: two stages, order 2, L-stable."""
    g = "1 - sqrt(2)/2"
    return Tableau([[g, 0], ["sqrt(2)/2", g]], ["sqrt(2)/2", g], [g, 1], name="sdirk2")


def _sdirk3() -> Tableau:
    """Alexander 1977: three stages, order 3, L-stable; γ is the root of γ³ - 3γ² + 3γ/2 - 1/6 near 0.4359."""
    minimal = (Fraction(-1, 6), Fraction(3, 2), Fraction(-3), Fraction(1))
    g = NumberField(minimal, Fraction(2, 5), Fraction(1, 2), "gamma").root
    b1, b2 = -(6 * g**2 - 16 * g + 1) / 4, (6 * g**2 - 20 * g + 5) / 4
    A = [[g, 0, 0], [(1 - g) / 2, g, 0], [b1, b2, g]]
    return Tableau(A, A[-1], [g, (1 + g) / 2, 1], name="sdirk3")


def _sdirk4() -> Tableau:
    """Hairer & Wanner 1991, table IV.6.5: five stages, order 4(3), L-stable, γ = 1/4."""
    A = [
        ["1/4", 0, 0, 0, 0],
        ["1/2", "1/4", 0, 0, 0],
        ["17/50", "-1/25", "1/4", 0, 0],
        ["371/1360", "-137/2720", "15/544", "1/4", 0],
        ["25/24", "-49/48", "125/16", "-85/12", "1/4"],
    ]
    b_hat = ["59/48", "-17/96", "225/32", "-85/12", 0]
    return Tableau(A, A[-1], ["1/4", "3/4", "11/20", "1/2", 1], b_hat, name="sdirk4")


def _trbdf2() -> Tableau:
    """Bank et al. 1985 with the third-order companion of Hosea & Shampine 1996."""
    d, w = "1 - sqrt(2)/2", "sqrt(2)/4"
    b_hat = ["(4 - sqrt(2))/12", "(4 + 3*sqrt(2))/12", "(2 - sqrt(2))/6"]
    return Tableau([[0, 0, 0], [d, d, 0], [w, w, d]], [w, w, d], [0, "2 - sqrt(2)", 1], b_hat, name="trbdf2")


_IMPLICIT: dict[str, Callable[[], Tableau]] = {
    "implicit_euler": _implicit_euler,
    "trapezoidal": _trapezoidal,
    "sdirk2": _sdirk2,
    "sdirk3": _sdirk3,
    "sdirk4": _sdirk4,
    "trbdf2": _trbdf2,
}
