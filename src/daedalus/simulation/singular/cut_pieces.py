"""A piece of a run up to a time inside it: rows, events, held values and dense output end together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daedalus.simulation.between.dense import Dense
from daedalus.simulation.result.ending import Stop
from daedalus.simulation.result.trajectory import Trajectory


def cut_at(piece: Trajectory, stop: Stop, adds_row: bool, project: bool = False, with_end: bool = False) -> Trajectory:
    """A piece up to an end inside it; `adds_row`: it gets a row there, on the constraints where it is to `project`.

    with_end: rows, events and values at that very time belong to it.
    """
    t, dense = stop.time, piece.dense
    forward = float(np.sign(dense.ends[-1] - dense.starts[0]))

    def belongs(time: np.ndarray | float) -> np.ndarray | bool:
        distance = forward * (t - time)
        return distance >= 0 if with_end else distance > 0

    before = belongs(piece._times)
    times, rows = piece._times[before], piece._x[before]
    if adds_row:
        times, rows = np.append(times, t), np.vstack([rows, piece.at([t], project=project)._x])
    events = tuple(event for event in piece.outcome.events if belongs(event[1]))
    outcome = replace(piece.outcome, stop=stop, events=events)
    held = None if piece._held_values is None else piece._held_values.before(t, forward, with_t=with_end)
    return piece.remade(stop.ending, outcome, (times, rows), held, dense_until(dense, t))


def dense_until(dense: Dense, t: float) -> Dense:
    """The dense output up to a time inside."""
    forward = float(np.sign(dense.ends[-1] - dense.starts[0]))
    count = int(np.sum(forward * (t - dense.starts) > 0))
    starts, ends, coefficients = (np.array(part[:count]) for part in dense)
    if count == 0:  # the time is that of the start
        return Dense(starts, ends, coefficients)
    part = (t - starts[-1]) / (ends[-1] - starts[-1])
    coefficients[-1] *= part ** np.arange(coefficients.shape[1])[:, None]
    ends[-1] = t
    return Dense(starts, ends, coefficients)
