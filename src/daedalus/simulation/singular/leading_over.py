"""Lead a run over dead centres: where its motion goes on smoothly through the loss of rank, along that motion.

At a dead centre constraints become parallel and branches of the motion cross; the motion itself is smooth. A Gauss step
(`daedalus.simulation.singular.gauss_step`) that has the place in its middle goes over it: its polynomial obeys the
equations on both sides, and the direction of the motion, prolonged as the guess of its stages, keeps the branch. How
long it is follows from the tolerance. Behind it the state is put on the constraints by the smallest move. A motion that
no polynomial follows has no smooth way over the place, and the run ends before it.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import EPSILON, FULL_MATRIX
from daedalus.deadline import poll
from daedalus.model.event_purpose import EventPurpose
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Ending, Stop, reached
from daedalus.simulation.result.outcome import Outcome, Work
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.cut_pieces import cut_at, dense_until
from daedalus.simulation.singular.gauss_step import STAGES, GaussStep, gauss_nodes, gauss_step
from daedalus.simulation.singular.rank_watch import RankWatch, rank_watch_of
from daedalus.simulation.switching.touches import guard_values

# The place lies in the middle of the step, between the nodes beside it: these are 0.18 of half its length away from it.
OFF_CENTRE = 0.05
# Attempts at a length and a middle; an attempt is shorter by this at least and at most, and aims this far below 1.
ATTEMPTS, LONGER, SHORTER, AIM = 24, 0.7, 0.1, 0.8
# The step is looked at in so many places for its middle and for guards of events.
LOOKS = 65
# When the place is passed: looked for so often, each time in this part of the way beside the lowest value.
ROUNDS, CLOSER = 5, 2 / 64
# The largest error where rounding allows no less, and how far a row is moved onto the constraints, in tolerances.
FARTHEST = 100.0
# The last coefficients of a kink are a tenth of all of the motion, however short the step; a smooth one has less.
SMOOTH = 0.01
# The smallest tolerance: rounding errors of velocities where constraints are this much as independent as usual, as they
# are in the error of a step. Of s β'' + 2 β' = 0 the last Legendre coefficients of h β'' are 768 times β' before it.
SMALLEST = 768 * EPSILON / 0.01
# The first attempt, in steps of the run, whose order is lower.
LONGEST = 4.0


def way_over(piece: Trajectory, place: float, t1: float, rtol: float) -> Trajectory | None:
    """The way over a dead centre at about a time of a piece or soon behind it, to t1 at most.

    It begins inside the piece. None where there is no smooth way that obeys the tolerance. A shorter step has a smaller
    error, until the rounding errors of velocities, which go with one over the square of its length, are larger: the
    least error is then what can be had.
    """
    watch = None if isinstance(piece._plant, ImplicitPlant) else rank_watch_of(piece._plant)
    if watch is None or piece.system.sizes["x"] > FULL_MATRIX or not len(piece.dense_spans[0]):
        return None
    begin, end, tolerance = *_reach(piece), max(SMALLEST, rtol)
    middle, least, best = place, FARTHEST, None
    # How independent the constraints are, as a share of what they are at best along the piece. It goes with the square
    # of the distance from a dead centre.
    usual = piece.at([begin])
    best_share = float(np.nanmax(watch.weakest(piece.at(np.linspace(begin, end, LOOKS)), usual).values))
    length = LONGEST * float(np.max(np.abs(np.subtract(*piece.dense_spans)))) * np.sign(end - begin)
    for _ in range(ATTEMPTS):
        poll("singular places")
        # Its first half is known, at least to the end of the piece, and as much of the past before it.
        length = min(length, middle - begin, key=abs)
        t = middle - 0.5 * length
        if (end - t) * length <= 0:
            t, length = end, 2 * (middle - end)
        known = (t - begin) * length > 0 and (middle - t) * length > 0
        step = _step(piece, t, length, tolerance) if known else None
        if step is None:
            length *= LONGER
            continue
        shares = watch.weakest(_looks(piece, t, length, step), usual).values / best_share
        shares = np.where(np.isfinite(shares), shares, 0.0)
        found = t + length * float(np.mean(np.flatnonzero(shares <= shares.min()))) / (LOOKS - 1)
        if abs(found - place) > 0.5 * abs(length):  # that is another place
            middle, length = place, LONGER * length
            continue
        if abs(found - middle) > OFF_CENTRE * abs(0.5 * length):
            middle = found
            continue
        # Constraints that hold to a tolerance cannot be told from dependent ones where they are less independent.
        if (best is not None and step.error > least) or shares[0] < tolerance:
            break
        if step.error <= least and step.error <= SMOOTH * step.motion and not _has_event(piece, t, length, step):
            way = _piece(piece, t, length, _lowest(watch, usual, piece, t, length, step), t1, step)
            if way.status is Ending.FINISHED or behind(way, tolerance) is not None:
                least, best = step.error, way
                if least <= 1:
                    break
        length *= min(LONGER, max(SHORTER, AIM * step.error ** (-1 / STAGES)))
    return best


def _reach(piece: Trajectory) -> tuple[float, float]:
    """When a piece begins and ends."""
    starts, ends = piece.dense_spans
    return float(starts[0]), float(ends[-1])


def _step(piece: Trajectory, t: float, length: float, rtol: float) -> GaussStep | None:
    """A Gauss step from a moment of a piece on, with the direction of its motion as a guess."""
    core, drive, p = piece._plant.rhs.core, piece._drive, piece._parameters

    def slopes(times: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.asarray(core.evaluate_many(times[:, None], rows, drive.at(times), p)[0])

    row = piece.at([t], project=True)._x[0]
    # x' as the parabola through its past.
    back = max((_reach(piece)[0] - t) / length, -1.0)
    before = np.array([0.0, 0.5 * back, back])
    past = slopes(t + before * length, piece.at(t + before * length)._x)
    powers = np.linalg.solve(np.vander(before, increasing=True), past)
    guess = np.vander(gauss_nodes().places, 3, increasing=True) @ powers
    size = np.maximum(np.abs(row), piece.system.nominal["x"])
    with np.errstate(all="ignore"):
        return gauss_step(slopes, t, row, length, guess, size, rtol)


def _lowest(
    watch: RankWatch, usual: Samples, piece: Trajectory, t: float, length: float, step: GaussStep
) -> float:  # fmt: skip
    """When the constraints are least independent along a step."""
    low, high = 0.0, 1.0
    for _ in range(ROUNDS):
        looks = _looks(piece, t, length, step, low, high)
        values = watch.weakest(looks, usual).values
        place = float(np.mean(np.flatnonzero(values <= np.nanmin(values)))) / (LOOKS - 1)
        middle, reach = low + place * (high - low), CLOSER * (high - low)
        low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return t + length * middle


def _looks(
    piece: Trajectory, t: float, length: float, step: GaussStep, low: float = 0.0, high: float = 1.0
) -> Samples:  # fmt: skip
    """The state along a step or a part of it, evenly."""
    shares = np.linspace(low, high, LOOKS)
    rows = np.vander(shares, STAGES + 1, increasing=True) @ step.coefficients
    return Samples(piece._plant, piece._drive, piece._parameters, t + shares * length, rows)


def _has_event(piece: Trajectory, t: float, length: float, step: GaussStep) -> bool:
    """Whether the guard of an event of the model changes its sign along a step, in the direction of the event."""
    plant = piece._plant
    own = [k for k, event in enumerate(piece.system.events) if event.purpose is EventPurpose.MODEL]
    if not own:
        return False
    looks = _looks(piece, t, length, step)
    values = guard_values(plant, looks._drive, looks._parameters, looks._times, looks._x)[:, own]
    directions = np.array([piece.system.events[k].direction for k in own])
    turns = np.diff(np.sign(values), axis=0)
    return bool(np.any((turns != 0) & (turns * directions >= 0)))


def _piece(piece: Trajectory, t: float, length: float, middle: float, t1: float, step: GaussStep) -> Trajectory:
    """A step as a piece of a run that ends at t1."""
    told = DeadCentresPassed((middle,))
    dense = Dense(np.array([t]), np.array([t + length]), step.coefficients[None, :, :])
    ends = (t1 - t - length) * length <= 0
    if ends:
        dense = dense_until(dense, t1)
    stop = reached(t1) if ends else Stop(Ending.PASSED, t + length, str(told))
    outcome = Outcome(stop, piece.method, Work(), (told,))
    times, rows = np.array([t]), step.coefficients[:1]
    if ends:
        times, rows = np.array([t, t1]), np.vstack([rows, dense.coefficients[0].sum(axis=0)])
    return Trajectory(piece._plant, piece._drive, piece._parameters, times, rows, stop.ending, outcome, dense)


def until(piece: Trajectory, t: float, has_steps: bool) -> Trajectory:
    """A piece up to a time inside; what follows is another piece."""
    return cut_at(piece, Stop(Ending.PASSED, t, str(DeadCentresPassed())), has_steps, project=True)


def behind(over: Trajectory, rtol: float) -> np.ndarray | None:
    """The state behind a way, on the constraints; None where they do not meet the motion there."""
    t = _reach(over)[1]
    row = over.at([t])._x[0]
    found = over.at([t], project=True)._x[0]
    size = np.maximum(np.abs(row), over.system.nominal["x"])
    near = np.all(np.isfinite(found)) and np.all(np.abs(found - row) <= FARTHEST * max(SMALLEST, rtol) * size)
    return found if near else None
