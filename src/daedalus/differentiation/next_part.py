"""How a run with derivatives goes on behind the end of one of its parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.simulation.result.records import Record


class NextPart(NamedTuple):
    """How a run goes on: the case, ∂x⁺/∂(x, u, p) from before it, and what is told of it.

    steep: the condition that it passes where slopes are infinite; empty elsewhere.
    """

    case: Case
    slopes: np.ndarray
    records: tuple[Record, ...] = ()
    steep: str = ""
