"""States that stay below their tolerances in a whole run: told, since no error of theirs is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.simulation.result.records_of_methods import BelowTolerance
from daedalus.simulation.run.settings import Settings

# Below this share of the largest state a motion may be rounding.
ROUNDING = 1e-12


def small_states(settings: Settings, run: Any) -> tuple[BelowTolerance, ...]:
    """A record of states that the tolerances of a core run never saw; none where steps are fixed."""
    if settings.call.get("step") is not None:
        return ()
    x = run.x[:, settings.plant.row_parts["x"]]
    largest, atol = np.abs(x).max(axis=0, initial=0.0), np.asarray(settings.call["atol"])[: x.shape[1]]
    # Motions that rounding alone makes, beside larger ones, are at rest.
    small = (largest < atol) & (largest > ROUNDING * largest.max(initial=0.0))
    if not small.any() or np.all(x == x[0]):
        return ()
    names = tuple(settings.plant.system.labels["x"][k] for k in np.flatnonzero(small))
    return (BelowTolerance(names, float(atol[small].max())),)
