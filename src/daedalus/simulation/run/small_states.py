"""States that stay below their tolerances in a whole run, or near them: told, since no error of theirs is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.algebra.agreement import TWELVE_DIGITS
from daedalus.simulation.result.records_of_methods import BelowTolerance, FewDigits
from daedalus.simulation.run.settings import Settings

# States within so many absolute tolerances have fewer than three digits under control.
RESOLVED = 1000.0


def moving(x: np.ndarray, largest: float) -> np.ndarray:
    """Which states move; motions from zero that rounding alone makes, beside larger ones, are none."""
    sizes = np.abs(x).max(axis=0, initial=0.0)
    moves: np.ndarray = (sizes > TWELVE_DIGITS * largest) | ((x[:1] != 0).all(axis=0) & (x != x[:1]).any(axis=0))
    return moves


def small_states(settings: Settings, run: Any) -> tuple[BelowTolerance | FewDigits, ...]:
    """Records of states that the tolerances of a core run never saw, or hardly; none where steps are fixed."""
    if settings.call.get("step") is not None:
        return ()
    x = run.x[:, settings.plant.row_parts["x"]]
    if len(x) == 0:
        return ()
    largest, atol = np.abs(x).max(axis=0, initial=0.0), np.asarray(settings.call["atol"])[: x.shape[1]]
    if (largest >= RESOLVED * atol).all():
        return ()
    moves = moving(x, largest.max(initial=0.0))
    small, few = (largest < atol) & moves, (largest >= atol) & (largest < RESOLVED * atol) & moves
    if not (small | few).any() or np.all(x == x[0]):
        return ()
    labels = settings.plant.system.labels["x"]
    return tuple(
        kind(tuple(labels[k] for k in np.flatnonzero(which)), float(atol[which].max()))
        for kind, which in ((BelowTolerance, small), (FewDigits, few))
        if which.any()
    )
