"""Options that count something: cells, sections, buses."""

from __future__ import annotations

import operator

from daedalus.errors import InputError


def counted_option(name: str, value: object, least: int, example: int) -> int:
    """A whole number, or an InputError that names the option.

    Example
    -------
    >>> counted_option("cells", 12, 2, 16)
    12
    """
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = least - 1
    if count < least or isinstance(value, bool):
        raise InputError(
            f"The option {name} is not a number of {name}.",
            f"got {value!r}"[:80],
            because=f"it is a whole number, at least {least}.",
            remedy=f"{name}={example}",
        )
    return count
