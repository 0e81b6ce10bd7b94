"""A mechanism whose chosen constraints lose a rank: how near that is, and the end of a run there."""

from __future__ import annotations

import numpy as np

from daedalus.reduction.redundancy.constraint_place import MotionPlace, jacobian_at
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.reduction.redundancy.redundant_rows import IndependentRows, scaled
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text


def lost_rank(redundancy: Redundancy, place: MotionPlace, present: IndependentRows) -> Stop:
    """The constraints lose a rank here: the motion may branch."""
    matrix = scaled(jacobian_at(redundancy.moving, place))
    weakest = np.linalg.svd(matrix[list(present.independent)])[0][:, -1]
    rows = [present.independent[k] for k in np.flatnonzero(np.abs(weakest) > 0.1)]
    return Stop(
        Ending.STUCK,
        place.t,
        f"the mechanism comes to a singular configuration at {time_text(place.t)}: {redundancy.listed(rows)} no longer "
        "act in different directions there, and the motion may go on in more than one way",
        remedy="another start, or a constraint that leads it through",
        equations=tuple(redundancy.names[k] for k in rows),
        obstacle=Obstacle.SINGULAR_CONFIGURATION,
    )


def smallest_singular_value(matrix: np.ndarray) -> float:
    """How far the rows of a matrix are from depending on each other."""
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])
