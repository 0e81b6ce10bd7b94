"""The constraints of a mechanism and their Jacobian at one place of its motion, and consistent states nearby."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daedalus.algebra.damped_newton import CONSISTENT
from daedalus.analysis.points.motion_samples import MovingModel
from daedalus.deadline import poll
from daedalus.reduction.redundancy.redundant_rows import rank_of_rows, scaled

# States that are looked at beside one, and how far from it, in nominal values.
SAMPLES, SPREAD = 4, 0.03
# How long rows of the Jacobian are is read at so many states, so far from the start: a row may be zero at one place.
LENGTHS, FAR = 9, 0.3


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
    other = np.zeros(len(moving.mechanics.other_labels))
    arguments = [np.array([place.t]), place.x[moving.positions], place.x[moving.velocities], place.u, place.p, other]
    return np.asarray(moving.mechanics.G(*arguments).full())


def usual_lengths(moving: MovingModel) -> np.ndarray:
    """How long each row of G usually is around the start, on the constraints or not; 1 for a row that is zero."""
    draw, u = np.random.default_rng(2013), np.zeros(moving.system.sizes["u"])
    found = []
    for _ in range(LENGTHS):
        away = FAR * moving.system.nominal["x"] * draw.standard_normal(moving.system.sizes["x"])
        place = MotionPlace(0.0, moving.start() + away, u, moving.parameters)
        found.append(np.linalg.norm(jacobian_at(moving, place), axis=1))
    lengths = np.array(found)
    usual = np.median(np.where(np.isfinite(lengths), lengths, 0.0), axis=0)
    return np.where(usual > 0, usual, 1.0)


def constraints_at(moving: MovingModel, place: MotionPlace) -> tuple[np.ndarray, np.ndarray]:
    """The constraints and invariants, and their slope in the positions."""
    values, slope = (part.full() for part in moving._constraints(place.t, place.x, place.u, place.p)[:2])
    return values[:, 0], slope


def moved_onto(moving: MovingModel, place: MotionPlace, rows: list[int]) -> MotionPlace | None:
    """The nearest positions, then velocities, that obey these constraints and all invariants; None if not reached."""
    poll("reducing the index")
    x = moving.onto(place.t, place.x, place.u, place.p, rows)
    return None if x is None else replace(place, x=x)


def states_nearby(
    moving: MovingModel, place: MotionPlace, independent: list[int], usual: np.ndarray
) -> list[MotionPlace] | None:
    """The place and some near it that obey the independent constraints; None where the others do not follow there."""
    draw = np.random.default_rng(2013)
    found = [place]
    for _ in range(SAMPLES):
        poll("reducing the index")
        away = replace(place, x=place.x + SPREAD * moving.system.nominal["x"] * draw.standard_normal(len(place.x)))
        state = moved_onto(moving, away, independent)
        if state is None or np.abs(constraints_at(moving, state)[0]).max(initial=0.0) > CONSISTENT:
            return None
        matrix = scaled(jacobian_at(moving, state), usual)
        if not rank_of_rows(matrix) == rank_of_rows(matrix[independent]) == len(independent):
            return None
        found.append(state)
    return found
