"""What is known of a unit label: whether it is one, that of a rate, its dimension."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from functools import cache
from typing import Any

# Products and quotients of these words, with or without a prefix of thousands, are known without asking Pint.
_PLAIN = (
    "m", "g", "s", "A", "K", "mol", "cd", "rad", "sr", "Hz", "N", "Pa", "J", "W", "C", "V", "F", "ohm", "S", "Wb", "T",
    "H", "bar", "L", "l", "eV", "min", "h", "deg", "rpm", "degC", "degF", "percent", "meter", "second", "gram", "year",
)  # fmt: skip
_PREFIXES = ("", "k", "M", "G", "m", "u", "µ", "n", "c", "d", "h")
_FACTOR = r"[^\W\d_]+(?:(?:\^|\*\*)-?\d)?"
_FORM = re.compile(rf"(?:1|{_FACTOR})(?:[*/]{_FACTOR})*")
_SIGNED = re.compile(r"(^|[*/])([^*/]+(?:\*\*-?\d+)?)")  # every factor with the sign before it
_KNOWN = {prefix + word for prefix in _PREFIXES for word in _PLAIN}


class UnitWarning(UserWarning):
    """A unit label that `dd.units` does not understand. It stays a label, and nothing can be converted to it.

    Example
    -------
    >>> import daedalus as dd, warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     x = dd.Model("m").state("x", unit="blorp")
    >>> seen[0].category is dd.UnitWarning
    True
    """


@cache
def pint_registry() -> Any:
    """Pint's units, made when they are first needed."""
    import pint

    return pint.UnitRegistry()


def pint_unit(unit: str) -> Any:
    """The unit of a label in Pint.

    Of a label with a comma, one unit for each part of a value, Pint would take the product.
    """
    if "," in unit:
        raise ValueError(f"{unit!r} is not one unit but several")
    return pint_registry().Unit(unit)


@cache
def is_understood(unit: str) -> bool:
    """Whether values can be converted to a unit label; found without Pint for the labels of every day."""
    plain = _FORM.fullmatch(unit) is not None and all(word in _KNOWN for word in re.findall(r"[^\W\d_]+", unit))
    if plain or not unit:
        return True
    try:
        pint_unit(unit)
    except Exception:
        return False
    return True


def checked_unit(unit: object, name: str) -> str:
    """A unit label as it is written; one that nothing can be converted to is warned of, with the name it is for."""
    label = str(unit or "")
    if label and not is_understood(label):
        warnings.warn(
            f"{name}: {label!r} is not a unit that dd.units knows; it stays a label without conversion.",
            UnitWarning,
            stacklevel=4,
        )
    return label


def quotient_unit(above: str, below: str) -> str:
    """The unit of a quotient: `V*s/rad` for volts per radian per second, `1/s` for a rate of numbers.

    Example
    -------
    >>> quotient_unit("V", "rad/s"), quotient_unit("", "K"), quotient_unit("W", ""), quotient_unit("m/s", "m")
    ('V*s/rad', '1/K', 'W', '1/s')
    """
    if any(sign in above + below for sign in "()"):
        return f"({above})/({below})" if above and below else above or f"1/({below})"
    tops: list[str] = []
    bottoms: list[str] = []
    for unit, own, other in ((above, tops, bottoms), (below, bottoms, tops)):
        for sign, factor in _SIGNED.findall(unit):
            (other if sign == "/" else own).append(factor)
    for factor in list(tops):
        if factor in bottoms:
            tops.remove(factor)
            bottoms.remove(factor)
    tops, bottoms = ([factor for factor in own if factor != "1"] for own in (tops, bottoms))
    text = "*".join(tops) or ("1" if bottoms else "")
    return "/".join([text, *bottoms])


def rate_unit(unit: str, order: int) -> str:
    """The unit of a derivative: `m/s` for the rate of metres."""
    return f"{unit}{'/s' * order}" if unit else ""


@cache
def dimension_of(unit: str) -> tuple[tuple[str, Fraction], ...] | None:
    """The dimension of a unit label as powers of base quantities; None where there is no unit, or an unknown one.

    Example
    -------
    >>> dimension_of("km/h")
    (('[length]', Fraction(1, 1)), ('[time]', Fraction(-1, 1)))
    """
    if not unit or not is_understood(unit):
        return None
    powers = dict(pint_unit(unit).dimensionality)
    return tuple(sorted((base, Fraction(power).limit_denominator(1000)) for base, power in powers.items() if power))
