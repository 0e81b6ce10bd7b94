"""Points of a branch by their number: from 0 on, or from -1 back."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from daedalus.errors import InputError
from daedalus.model.names import counted


def checked_number(k: SupportsIndex, count: int, called: str) -> int:
    """The number of a point, refused where the branch has none of that number.

    Example
    -------
    >>> checked_number(-1, 3, "point")
    -1
    >>> checked_number(7, 3, "point")
    Traceback (most recent call last):
    ...
    daedalus.errors.InputError: The branch has no point 7.
      it has 3 points, from 0 to 2
      Try: br.at(2), or br.at(-1) for the last one
    """
    try:
        number = operator.index(k)
    except TypeError:
        number = count
    if not -count <= number < count:
        raise InputError(
            f"The branch has no {called} {k!r}.",
            f"it has {counted(count, called)}, from 0 to {count - 1}",
            remedy=f"br.at({count - 1}), or br.at(-1) for the last one",
        )
    return number
