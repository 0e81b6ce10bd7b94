"""The constraints of a mechanism and their Jacobian at one place of its motion, and consistent states nearby."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daedalus.analysis.points.motion_samples import MovingModel
from daedalus.analysis.rank_decision import FULL_IN_LOOPS
from daedalus.analysis.structure.jets.nearest_jet import shortest_step
from daedalus.model.deadline import poll
from daedalus.reduction.redundancy.redundant_rows import rank_of, scaled

# States that are looked at beside one, how far from it, in nominal values, and how well they obey constraints.
SAMPLES, SPREAD, CONSISTENT, ITERATIONS = 4, 0.03, 1e-11, 40


@dataclass(frozen=True, eq=False)
class MotionPlace:
    """A time, the states, inputs and parameters of a model."""

    t: float
    x: np.ndarray
    u: np.ndarray
    p: np.ndarray


def jacobian_at(moving: MovingModel, place: MotionPlace) -> np.ndarray:
    """G over the velocities, one row a multiplier."""
    assert moving.mechanics is not None
    arguments = [np.array([place.t]), place.x[moving._q], place.x[moving._v], place.u, place.p, np.zeros(0)]
    return np.asarray(moving.mechanics.G(*arguments).full())


def constraints_at(moving: MovingModel, place: MotionPlace) -> tuple[np.ndarray, np.ndarray]:
    """The constraints and invariants, and their slope in the positions."""
    values, slope = (part.full() for part in moving._constraints(place.t, place.x, place.u, place.p)[:2])
    return values[:, 0], slope


def moved_onto(moving: MovingModel, place: MotionPlace, rows: list[int]) -> MotionPlace | None:
    """The nearest positions, then velocities, that obey these constraints and all invariants; None if not reached."""
    count = len(moving.mechanics.multipliers) if moving.mechanics is not None else 0
    x = place.x.copy()
    for _ in range(ITERATIONS):
        poll("reducing the index")
        values, slope = constraints_at(moving, replace(place, x=x))
        held = [*rows, *range(count, len(values))]
        if np.abs(values[held]).max(initial=0.0) <= CONSISTENT:
            return replace(place, x=_with_velocities(moving, replace(place, x=x), rows))
        x[moving._q] -= _shortest(slope[held], values[held])
        if not np.all(np.isfinite(x)):
            return None
    return None


def _with_velocities(moving: MovingModel, place: MotionPlace, rows: list[int]) -> np.ndarray:
    """The states with the nearest velocities that the constraints allow."""
    x = place.x.copy()
    for _ in range(2):
        speed, slope = (part.full() for part in moving._constraints(place.t, x, place.u, place.p)[2:])
        x[moving._v] -= _shortest(slope[rows], speed[rows, 0])
    return x


def _shortest(slope: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The shortest step that changes the constraints by these values; many rows are taken for sparse."""
    if len(slope) <= FULL_IN_LOOPS:
        return np.linalg.lstsq(slope, values, rcond=1e-12)[0]
    from scipy.sparse import csr_matrix

    lengths = np.linalg.norm(slope, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return shortest_step(csr_matrix(slope / lengths[:, None]), values / lengths)


def states_nearby(moving: MovingModel, place: MotionPlace, independent: list[int]) -> list[MotionPlace] | None:
    """The place and some near it that obey the independent constraints; None where the others do not follow there."""
    draw = np.random.default_rng(2013)
    found = [place]
    for _ in range(SAMPLES):
        poll("reducing the index")
        away = replace(place, x=place.x + SPREAD * moving.system.nominal["x"] * draw.standard_normal(len(place.x)))
        state = moved_onto(moving, away, independent)
        if state is None or np.abs(constraints_at(moving, state)[0]).max(initial=0.0) > 1e3 * CONSISTENT:
            return None
        matrix = scaled(jacobian_at(moving, state))
        if not rank_of(matrix) == rank_of(matrix[independent]) == len(independent):
            return None
        found.append(state)
    return found
