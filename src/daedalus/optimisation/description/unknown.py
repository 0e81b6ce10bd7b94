"""dd.unknown: a number that a problem leaves open, such as the duration of a movement."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from daedalus.errors import InputError
from daedalus.model.plain_numbers import without_unit


@dataclass(frozen=True)
class Unknown:
    """A number to be found: where the search begins, and its bounds; `dd.unknown` makes it."""

    guess: float
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def size(self) -> float:
        """Its usual size: that of its guess; where that is zero, that of its bounds, one at most."""
        return abs(self.guess) or min(1.0, max(abs(self.lower), abs(self.upper))) or 1.0


def unknown(guess: float, lower: float = -math.inf, upper: float = math.inf) -> Unknown:
    """A number to optimise together with the plan, such as the duration.

    Parameters
    ----------
    guess: where the search starts, in seconds or as a quantity of time.
    lower, upper: its bounds; a duration is always positive.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.unknown(2.0, 0.1, 10.0)
    Unknown(guess=2.0, lower=0.1, upper=10.0)
    """
    guess, lower, upper = (
        without_unit(value, "s", f"The {name} of an unknown duration")
        for name, value in (("guess", guess), ("lower", lower), ("upper", upper))
    )
    values = {"guess": guess, "lower": lower, "upper": upper}
    for name, value in values.items():
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not number or math.isnan(value) or (name == "guess" and math.isinf(value)):
            raise InputError(f"The {name} of an unknown is not a number.", f"got {value!r}", remedy="dd.unknown(2.0)")
    if not lower <= upper:
        raise InputError(
            "The bounds of an unknown are crossed.", f"lower {lower:g}, upper {upper:g}", remedy="lower <= upper"
        )
    return Unknown(float(np.clip(guess, lower, upper)), float(lower), float(upper))
