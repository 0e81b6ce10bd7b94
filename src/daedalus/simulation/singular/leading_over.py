"""Lead a run over dead centres: where its motion goes on smoothly through the loss of rank, along that motion.

At a dead centre constraints become parallel and branches of the motion cross; the motion itself is smooth. Its past, up
to where constraints still act clearly in different directions, is prolonged to as far behind the place by a polynomial,
so that the direction of the motion keeps the branch, and put on the constraints there by the smallest move. A motion
that the constraints do not meet there has no smooth way over the place, and the run ends before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop
from daedalus.simulation.result.recorded_run import Dense, Outcome, Work
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.branches import dense_until
from daedalus.simulation.singular.independence import Independence, independence_of, scales
from daedalus.simulation.singular.singular_places import singular_places

# How independent constraints are, as a share of what they are at best, where a passage begins and ends. The error of a
# polynomial goes with the ninth power of the length, so that tighter tolerances have shorter passages.
CLEAR, OF_TOLERANCE = 0.03, 1e-5
# The polynomial, and the window that it goes through, in lengths of the passage.
DEGREE, WINDOW, SHORTEST = 8, 18.0, 4.0
# The prolonged motion is moved onto the constraints by no more than this, in nominal values.
MOVED = 1e-3
# Looks backwards from a place, each so many times as far as the one before, beginning with this part of the run.
LOOKS, FARTHER, FIRST = 60, 1.3, 1e-7


class Unpassed(NamedTuple):
    """Where a run has to be led over a dead centre: the piece, and about when."""

    piece: int
    time: float


def next_place(whole: Trajectory, rtol: float, has_steps: bool, begin: int) -> Unpassed | None:
    """The first place, from a piece on, that a run did not pass on its branch, or stopped at."""
    pieces = whole.pieces
    for k in range(begin, len(pieces)):
        measure = None if isinstance(pieces[k]._plant, ImplicitPlant) else independence_of(pieces[k]._plant)
        if measure is None:
            continue
        for place in singular_places(measure, pieces[k], rtol, has_steps):
            if place.has_kink:
                return Unpassed(k, place.time)
    stop = pieces[-1].stop
    singular = stop.obstacle is Obstacle.SINGULAR_CONFIGURATION
    measured = not isinstance(pieces[-1]._plant, ImplicitPlant) and independence_of(pieces[-1]._plant) is not None
    return Unpassed(len(pieces) - 1, float(pieces[-1].end.time)) if singular and measured else None


def led_over(
    piece: Trajectory, place: float, t1: float, rtol: float, has_steps: bool
) -> tuple[Trajectory, Trajectory] | None:
    """A piece up to a dead centre, and the way over it; None where its past shows no smooth way."""
    measure = independence_of(piece._plant)
    assert measure is not None
    begin = float(piece.dense_spans[0][0])
    clear = CLEAR * min(1.0, rtol / OF_TOLERANCE) ** (1 / (DEGREE + 1))
    found = _ends(measure, piece, begin, place, clear)
    if found is None:
        return None
    t, length = found
    ends = abs(t1 - t) <= abs(length)
    length = t1 - t if ends else length
    # Nodes as those of Chebyshev, from the far end of the window to where the passage begins.
    window = min(WINDOW, abs(t - begin) / abs(length))
    nodes = -0.5 * window * (1 - np.cos(np.linspace(np.pi, 0.0, DEGREE + 3)))[::-1]
    rows = piece.at(t + nodes * length)._x
    here = rows[np.argmax(nodes)].copy()
    fit = np.polynomial.Polynomial.fit
    coefficients = np.array([fit(nodes, column, DEGREE).convert().coef for column in rows.T]).T
    coefficients[0] = here
    dense = Dense(np.array([t]), np.array([t1 if ends else t + length]), coefficients[None, :, :])
    stop = Stop(Ending.FINISHED if ends else Ending.PASSED, t1 if ends else t + length, str(DeadCentresPassed()))
    outcome = Outcome(stop, piece.method, Work(), (DeadCentresPassed((t + 0.5 * length,)),))
    drive, p = piece._drive, piece._parameters
    times = np.array([t]) if has_steps else np.zeros(0)
    over = Trajectory(piece._plant, drive, p, times, here[None][: len(times)], stop.ending, outcome, dense)
    return _until(piece, t, has_steps), over


def _ends(
    measure: Independence, piece: Trajectory, begin: float, place: float, clear: float
) -> tuple[float, float] | None:
    """When a passage begins, and how long it is: the root of independence falls to zero along a line."""
    usual = _independence(measure, piece, np.linspace(begin, place, 33)[:-1]).max()
    back = FIRST * (place - begin)
    for _ in range(LOOKS):
        t = place - back
        if (t - begin) * (place - begin) <= 0:
            return None
        here, before = _independence(measure, piece, np.array([t, t - 0.2 * back])) / usual
        if here >= clear and before > here:
            length = 2 * here * 0.2 * back / (before - here)
            smooth = abs(t - begin) >= SHORTEST * abs(length) and abs(length) < 4 * abs(place - t)
            return (t, length) if smooth else None
        back *= FARTHER
    return None


def _independence(measure: Independence, piece: Trajectory, times: np.ndarray) -> np.ndarray:
    """The root of the smallest singular value of what constraints and their forces act on, rows and columns scaled."""
    matrices = measure.matrices(piece.at(times))
    rows, columns = scales(matrices[0])
    scaled = rows[:, None] * matrices * columns
    if not np.isfinite(scaled).all():
        return np.zeros(len(times))
    return np.sqrt(np.linalg.svd(scaled, compute_uv=False)[:, -1])


def _until(piece: Trajectory, t: float, has_steps: bool) -> Trajectory:
    """The piece up to a time inside; what follows is another piece."""
    dense = piece.dense
    forward = float(np.sign(dense.ends[-1] - dense.starts[0]))
    before = forward * (t - piece._times) > 0
    times, rows = piece._times[before], piece._x[before]
    if has_steps:
        times, rows = np.append(times, t), np.vstack([rows, piece.at([t])._x])
    events = tuple(event for event in piece.outcome.events if forward * (t - event[1]) > 0)
    stop = Stop(Ending.PASSED, t, str(DeadCentresPassed()))
    outcome = Outcome(stop, piece.method, piece.work, piece.outcome.records, events)
    arrays = (piece._parameters, times, rows)
    return Trajectory(piece._plant, piece._drive, *arrays, stop.ending, outcome, dense_until(dense, t))


def behind(over: Trajectory) -> np.ndarray | None:
    """The state behind a passage, on the constraints; None where they do not meet the motion there."""
    t = float(over.dense_spans[1][-1])
    row = over.at([t])._x[0]
    found = row
    for _ in range(3):
        moved = Trajectory(
            over._plant, over._drive, over._parameters, np.array([t]), found[None], Ending.FINISHED, over.outcome,
            Dense(np.array([t]), np.array([t]), found[None, None, :]),
        ).at([t], project=True)._x[0]  # fmt: skip
        found = moved
    size = np.maximum(np.abs(row), over.system.nominal["x"])
    near = bool(np.all(np.isfinite(found)) and np.all(np.abs(found - row) <= MOVED * size))
    return found if near else None
