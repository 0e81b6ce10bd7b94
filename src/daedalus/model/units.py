"""Units as labels, and conversion between them (`dd.units.convert`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.unit_labels import is_understood, pint_registry, pint_unit

__all__ = ["convert", "is_known"]


def __dir__() -> list[str]:
    return __all__


def convert(value: Any, source: str, target: str) -> Any:
    """`value` in `target` units; numbers, arrays and symbols alike.

    Example
    -------
    >>> import daedalus as dd
    >>> round(dd.units.convert(1.0, "psi", "Pa"), 3)
    6894.757
    >>> dd.units.convert([0.0, 180.0], "deg", "rad").round(4).tolist()
    [0.0, 3.1416]
    """
    if type(value).__module__.startswith("casadi"):
        return _convert_symbol(value, source, target)
    registry = pint_registry()
    try:
        amount = registry.Quantity(
            np.asarray(value, dtype=float) if np.ndim(value) else float(value), pint_unit(source)
        )
        return amount.to(pint_unit(target)).magnitude
    except Exception as error:
        raise InputError(
            f"Cannot convert {source!r} to {target!r}.",
            str(error).splitlines()[0],
            because="the two labels must be units of the same quantity, and the value a number.",
            remedy='units such as "m/s", "N*m", "bar", "deg", "kg/m^3"',
        ) from error


def _convert_symbol(value: Any, source: str, target: str) -> Any:
    """An expression in other units: a factor and an offset, read off numbers."""
    offset, one, two = (convert(number, source, target) for number in (0.0, 1.0, 2.0))
    factor = one - offset
    if abs(two - one - factor) > 1e-9 * abs(factor):
        raise InputError(
            f"Cannot convert an expression from {source!r} to {target!r}.",
            f"0, 1, 2 {source} are {offset:g}, {one:g}, {two:g} {target}",
            because="the conversion is not a factor and an offset.",
            remedy="write the formula with casadi.log or casadi.exp",
        )
    return factor * value + offset if offset else factor * value


def is_known(unit: str) -> bool:
    """Whether `convert` understands a unit label.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.units.is_known("N*m"), dd.units.is_known("furlong_per_blink")
    (True, False)
    """
    return is_understood(unit)
