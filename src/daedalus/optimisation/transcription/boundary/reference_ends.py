"""Where the ends of a problem lie: all states there, with what is given and the rest as the constraints allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.optimisation.description.description import Description, FixedValue


@dataclass(frozen=True, eq=False)
class ReferenceEnds:
    """Consistent states at the start and at the end, (n,) each."""

    start: np.ndarray
    end: np.ndarray


def fixed_states(values: list[FixedValue] | None) -> dict[int, float]:
    """The states among fixed values."""
    return {v.state: v.value for v in values or [] if v.state is not None}


def first_guess(description: Description) -> np.ndarray:
    """The start values of the model, with the middle of bounds where nothing was written."""
    return np.array(description.system.default_start)
