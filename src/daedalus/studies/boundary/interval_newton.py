"""Newton's method for a motion on a mesh: by the core where its matrices are safely regular."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daedalus._core import IntervalSearch
from daedalus.algebra.damped_newton import (
    SMALLEST_DAMPING,
    SOLVED,
    STALLED,
    TOLERANCE,
    Equations,
    Root,
    damped_newton,
)
from daedalus.algebra.newton_record import new_record
from daedalus.algebra.rank_decision import SINGULAR
from daedalus.deadline import poll
from daedalus.studies.interval_matrix import WIDE

# What the core decides by.
LIMITS = np.array([TOLERANCE, STALLED, SMALLEST_DAMPING, 1 / SINGULAR])


def motion_on_mesh(
    begun: Callable[[], IntervalSearch], equations: Equations, guess: np.ndarray, nominal: np.ndarray, inner: int,
    limit: int,
) -> Root:  # fmt: skip
    """The root near a guess. begun: the search of the core; inner: unknowns inside of an interval."""
    found = None if inner > WIDE else _by_the_core(begun(), limit)
    return damped_newton(equations, guess, nominal, limit=limit) if found is None else found


def _by_the_core(search: IntervalSearch, limit: int) -> Root | None:
    """The root that the core finds; None where it does not converge, or a matrix is nearly singular."""
    if not search.begin():
        return None
    record = new_record("residual", SOLVED)
    if record is not None:
        record.at(search.values, search.scaled)
    for iteration in range(limit):
        poll("a root of the equations")
        outcome = search.advance()
        if outcome not in ("advanced", "converged"):
            return None
        if record is not None:
            record.at(search.values, search.scaled, search.damping)
        if outcome == "converged":
            values, scaled = search.values, search.scaled
            return Root(values, scaled, scaled, np.zeros((len(values), 0)), iteration, True, np.zeros_like(values))
    return None
