"""A guess at which all functions of a program have slopes, beside one at which they have none.

|F| has no slope where the force F is zero, and 1/r no value where nobody said how far away a body begins: both are what
a guess without further knowledge has. Inputs are moved off first, then all that is free.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.optimisation.program.program import Program
from daedalus.optimisation.search.hidden_inputs import tilted, variables_of_inputs
from daedalus.optimisation.transcription.collocated import Transcription

# How far all variables are moved, in their scales, one after the other.
REACHES = (0.01, 0.1, 1.0)


def with_slopes(parts: Sequence[Transcription], begin: np.ndarray) -> np.ndarray:
    """The guess, or one beside it where its program has no slopes; parts: the phases of a program, or its only one."""
    program = parts[0].program
    if _has_slopes(program, begin):
        return begin
    moved = begin
    for made in parts:
        moved = tilted(made, moved, variables_of_inputs(made))
    draw = np.random.default_rng(0)
    for reach in (0.0, *REACHES):
        found = np.clip(moved + reach * program.scale * draw.normal(size=len(begin)), program.lower, program.upper)
        if _has_slopes(program, found):
            return np.asarray(found)
    return begin


def _has_slopes(program: Program, w: np.ndarray) -> bool:
    """Whether cost, rows and their slopes are numbers."""
    cost, rows = program.values(w)
    gradient, jacobian = program.first(w)
    return bool(np.isfinite(cost) and all(np.isfinite(part).all() for part in (rows, gradient, jacobian)))
