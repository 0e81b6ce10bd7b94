"""Units as labels, and conversion between them (`dd.units.convert`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from daedalus.errors import InputError


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


def convert(value: Any, source: str, target: str) -> Any:
    """`value` in `target` units; numbers and arrays alike.

    Example
    -------
    >>> import daedalus as dd
    >>> round(dd.units.convert(1.0, "psi", "Pa"), 3)
    6894.757
    >>> dd.units.convert([0.0, 180.0], "deg", "rad").round(4).tolist()
    [0.0, 3.1416]
    """
    registry = _registry()
    try:
        amount = registry.Quantity(np.asarray(value, dtype=float) if np.ndim(value) else float(value), source)
        return amount.to(target).magnitude
    except Exception as error:
        raise InputError(
            f"Cannot convert {source!r} to {target!r}.",
            str(error).splitlines()[0],
            remedy='units such as "m/s", "N*m", "bar", "deg", "kg/m^3"',
        ) from error


def is_known(unit: str) -> bool:
    """Whether `convert` understands a unit label.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.units.is_known("N*m"), dd.units.is_known("furlong_per_blink")
    (True, False)
    """
    try:
        _registry().Unit(unit)
    except Exception:
        return False
    return True
