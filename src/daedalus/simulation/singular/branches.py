"""Tell of the singular configurations that a run passed, and end it at the first where it did not stay on its branch.

There branches of the motion cross. The equations alone let it go on along any of them; a velocity that does not jump
belongs to one, and a run that keeps it goes on as far as its equations say. One that is led onto another branch, by
errors below its tolerance, does not: what follows depends on them, and every method finds something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from daedalus.simulation.result.ending import Obstacle, Stop
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.recorded_run import Dense, Outcome
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.independence import independence_of
from daedalus.simulation.singular.singular_configuration import came_near, weak_constraints
from daedalus.simulation.singular.singular_places import Passed, singular_places


def told_of_branches(whole: Trajectory, rtol: float, has_steps: bool, known: int = 0) -> Trajectory:
    """The run with a record of the singular configurations that it passed, or up to where it left its branch.

    `has_steps`: its samples are all steps, not what save_at asks for. `known`: so many pieces were looked through
    before, and the run stays on its branch in them.
    """
    given = pieces = whole.pieces
    for k, piece in enumerate(pieces):
        measure = independence_of(piece._plant)
        places = [] if measure is None else singular_places(measure, piece, rtol, has_steps)
        if not places:
            continue
        assert measure is not None
        passed = [place.time for place in places[: len(places) if k < known else _first_kink(places)]]
        told = _told(piece, passed)
        if len(passed) < len(places):
            return joined([*pieces[:k], _ended(told, measure.labels, places[len(passed)], has_steps)])
        pieces = (*pieces[:k], told, *pieces[k + 1 :])
    return whole if pieces is given else joined(pieces)


def _first_kink(places: list[Passed]) -> int:
    return next((k for k, place in enumerate(places) if place.has_kink), len(places))


def _told(piece: Trajectory, times: list[float]) -> Trajectory:
    """The piece with a record of the places that it passed."""
    if not times:
        return piece
    return piece.remade(piece.status, partial(_with_record, piece, DeadCentresPassed(tuple(times))))


def _with_record(piece: Trajectory, record: Record) -> Outcome:
    return replace(piece.outcome, records=(*piece.outcome.records, record))


def _ended(piece: Trajectory, labels: Sequence[str], place: Passed, has_steps: bool) -> Trajectory:
    """The piece up to where it left its branch."""
    weak = weak_constraints(labels, place.shares)
    stop = came_near(place.time, weak, ("the run has a kink there",), Obstacle.LEFT_BRANCH)
    return cut_at(piece, stop, has_steps)


def cut_at(piece: Trajectory, stop: Stop, has_steps: bool, project: bool = False) -> Trajectory:
    """A piece up to an end inside it, its last sample there where these are all steps."""
    t, dense = stop.time, piece.dense
    forward = float(np.sign(dense.ends[-1] - dense.starts[0]))
    before = forward * (t - piece._times) > 0
    times, rows = piece._times[before], piece._x[before]
    if has_steps:
        times, rows = np.append(times, t), np.vstack([rows, piece.at([t], project=project)._x])
    events = tuple(event for event in piece.outcome.events if forward * (t - event[1]) > 0)
    outcome = replace(piece.outcome, stop=stop, events=events)
    held = None if piece._held_values is None else piece._held_values.before(t, forward)
    return piece.remade(stop.ending, outcome, (times, rows), held, dense_until(dense, t))


def dense_until(dense: Dense, t: float) -> Dense:
    """The dense output up to a time inside."""
    forward = float(np.sign(dense.ends[-1] - dense.starts[0]))
    count = int(np.sum(forward * (t - dense.starts) > 0))
    starts, ends, coefficients = (np.array(part[:count]) for part in dense)
    part = (t - starts[-1]) / (ends[-1] - starts[-1])
    coefficients[-1] *= part ** np.arange(coefficients.shape[1])[:, None]
    ends[-1] = t
    return Dense(starts, ends, coefficients)
