"""The singular configurations that a run passes, also between its steps, and whether it stayed on its branch there.

Along a run log |det| of the constraints (`daedalus.simulation.singular.rank_watch`) falls towards a place where they
lose a rank and rises behind it. Around every low value at the steps the dense output is searched for the lowest, and
the smallest singular value there decides: masses M and directions G make it of the order σ(G)², and constraints that
are kept to a tolerance cannot be told from dependent ones where it is below that tolerance.

Branches of the motion cross at such a place. On its own branch a motion goes on with the velocity that it has; one that
is led onto another one has a kink.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import SINGULAR, taking_part
from daedalus.deadline import poll
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.rank_watch import RankWatch, rank_watch_of

# A value of log |det| is low where det is less than half of its largest.
LOW = np.log(0.5)
# The search: so many points around each low value, taken closer so many times; what stays above this is let go.
POINTS, ROUNDS, HIGH = 9, 16, np.log(1e-3)
# Steps that see det change by less than twice from one to the next, when there are this many, see its zeros.
SEEN = 8
# Where there are few steps, so many times within each are looked at too.
FEW, WITHIN = 40, 16
# Dependent: the smallest singular value by its size at the best step, between these whatever the tolerance. Where the
# matrix is singular at that step, the constraints are redundant everywhere.
LEAST, MOST = 1e-8, 1e-4
# A kink is looked for at this part of the way to where det, or how independent constraints are, is half of its largest;
# slopes differ there by this part.
BESIDE, USUAL, KINK = 0.05, 0.5, 0.25
# Halvings of the distance to the ends of the run, to find how far that is. A place counts that the run comes to and
# leaves again: det or how independent constraints are is so much of its largest on both sides.
HALVINGS, LEFT = 24, 0.01
# So many times show how far states move; those that move by less than this part of their size do not show a kink.
OVERALL, STILL = 65, 1e-3


class Passed(NamedTuple):
    """A singular configuration on the way of a run.

    time: when. weak: which of the constraints vanish there. has_kink: whether the run is not smooth there.
    """

    time: float
    weak: np.ndarray
    has_kink: bool


def singular_places(piece: Trajectory, rtol: float, has_steps: bool = True) -> list[Passed]:
    """The singular configurations inside a piece of a run, in its order; `has_steps`: its samples are all steps."""
    watch = rank_watch_of(piece._plant)
    if watch is None:
        return []
    samples = piece if has_steps else _at_steps(piece)
    lowest, highest = watch.extremes(samples)
    if highest + LOW < lowest:  # nearly every run ends here
        return []
    times, values = samples._times, watch.logarithms(samples)
    # Two rows share the time of a jump; neighbours are rows of other times.
    last = np.append(times[1:] != times[:-1], True)[: len(times)]
    times, values = times[last], values[last]
    with np.errstate(invalid="ignore"):  # where det has no value
        is_seen = np.abs(np.diff(values)) < -LOW
    if len(values) >= SEEN and np.all(is_seen):
        return []
    if len(times) < FEW:
        times = _between(times)
        values = watch.logarithms(piece.at(times))
    times, values = times[~np.isnan(values)], values[~np.isnan(values)]
    highest = values.max()
    low = _lowest(watch, piece, *_brackets(times, values, highest), highest)
    if not len(low):
        return []
    usual = piece.at([float(times[values.argmax()])])
    weak, dependent = _vanishing(watch, piece, usual, low, np.clip(rtol, LEAST, MOST))
    low, weak = low[dependent], weak[dependent]
    if not len(low):
        return []
    lengths, left = _beside(watch, piece, low, usual, highest)
    found = np.flatnonzero(left)
    kinks = _kinks(watch, piece, low[found], lengths[found])
    return [Passed(float(low[k]), weak[k], bool(kink)) for k, kink in zip(found, kinks)]


def led_by_errors(piece: Trajectory) -> bool:
    """Whether errors below the tolerance lead the steps of a piece over a place where constraints lose a rank."""
    plant = piece._plant
    return isinstance(plant, ImplicitPlant) and plant.index.largest > 1


def _at_steps(piece: Trajectory) -> Samples:
    """The run at its steps, where its samples are those of save_at."""
    if isinstance(piece._source, _core.Run):
        return Samples(piece._plant, piece._drive, piece._parameters, *piece._source.at_steps())
    starts, ends = piece.dense_spans
    return piece.at(np.append(starts, ends[-1:])) if len(starts) else piece


def _between(times: np.ndarray) -> np.ndarray:
    """The times of steps and times within them, where these may be as long as several turns of an easy motion."""
    last = len(times) - 1
    finer: np.ndarray = np.interp(np.arange(last * WITHIN + 1) / WITHIN, np.arange(last + 1), times)
    return finer


def _brackets(times: np.ndarray, values: np.ndarray, highest: float) -> tuple[np.ndarray, np.ndarray]:
    """The times around low values between which a zero may lie.

    Where det has a zero of any order between two steps, it is at one of them less than half of what it is at a
    neighbour; only where steps are that near to it that they see it rounded off by errors this need not be so. Of
    steps as near as that the lowest of each row of them counts.
    """
    if len(values) < 3:
        return times[:0], times[:0]
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    before, after = padded[:-2], padded[2:]
    near = np.flatnonzero(values < highest + HIGH)
    lowest = np.flatnonzero(
        (values < highest + LOW) & (values < np.maximum(before, after) + LOW)
        & ((values <= before) | np.isinf(before)) & ((values < after) | np.isinf(after))
    )  # fmt: skip
    if len(near):
        rows = np.split(near, np.flatnonzero(np.diff(near) > 1) + 1)
        lowest = np.union1d(np.setdiff1d(lowest, near), [row[values[row].argmin()] for row in rows])
    return times[np.maximum(lowest - 1, 0)], times[np.minimum(lowest + 1, len(times) - 1)]


def _lowest(watch: RankWatch, piece: Trajectory, left: np.ndarray, right: np.ndarray, highest: float) -> np.ndarray:
    """The times of the lowest values between neighbours, where these go on falling."""
    before = np.full(len(left), np.inf)
    middle: np.ndarray = 0.5 * (left + right)
    for _ in range(ROUNDS):
        poll("singular places")
        if not len(left):
            break
        grid = left[:, None] + np.linspace(0.0, 1.0, POINTS) * (right - left)[:, None]
        values = watch.logarithms(piece.at(grid.ravel())).reshape(grid.shape)
        values = np.where(np.isnan(values), np.inf, values)
        best, each = values.argmin(axis=1), np.arange(len(grid))
        lowest = values[each, best]
        # Twice as near a zero means half of det at least.
        keep = (lowest < highest + HIGH) | (lowest < before + LOW)
        ends = grid[each, np.maximum(best - 1, 0)], grid[each, np.minimum(best + 1, POINTS - 1)]
        left, right, before, middle = (part[keep] for part in (*ends, lowest, grid[each, best]))
    return middle


def _vanishing(
    watch: RankWatch, piece: Trajectory, usual: Samples, times: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray]:
    """Which constraints are weak at times, and whether they are dependent there, by what is usual."""
    found = watch.weakest(piece.at(times), usual)
    weak = watch.constrains & taking_part(found.rows * watch.constrains)
    dependent = (found.values < least) & (found.usual > SINGULAR)
    return weak, dependent & (weak & taking_part(found.rows)).any(axis=1)


def _beside(
    watch: RankWatch, piece: Trajectory, times: np.ndarray, usual: Samples, highest: float
) -> tuple[np.ndarray, np.ndarray]:
    """How far beside times a kink is looked for, and whether the run comes to them and leaves them again.

    Of several loops that fold together det stays small for long, and it may have no value; of one it says more.
    """
    starts, ends = piece.dense_spans
    reach = np.stack([times - starts[0], ends[-1] - times])[:, :, None]
    lengths = reach * 0.5 ** np.arange(HALVINGS)
    around = piece.at(np.stack([times[:, None] - lengths[0], times[:, None] + lengths[1]]).ravel())
    logarithms = watch.logarithms(around).reshape(lengths.shape)
    shares = watch.weakest(around, usual).values.reshape(lengths.shape)
    came, left = ((logarithms > highest + np.log(LEFT)) | (shares > LEFT)).any(axis=2)
    # On another branch, onto which errors led it, a run may stop soon, and others of its constraints may stay weak.
    counts = came & (left | led_by_errors(piece)) & (reach != 0).all(axis=(0, 2))
    is_usual = (logarithms > highest + LOW) | (np.isnan(logarithms) & (shares > USUAL))
    far = np.where(is_usual, np.abs(lengths), np.inf).min(axis=(0, 2))
    nearer_end = np.abs(reach).min(axis=(0, 2))
    return BESIDE * np.minimum(far, nearer_end) * np.sign(ends[-1] - starts[0]), counts


def _kinks(watch: RankWatch, piece: Trajectory, times: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """At which times slopes of the states, or states themselves, differ more on both sides than a smooth motion's."""
    if not len(times):
        return np.zeros(0, dtype=bool)
    states = watch.moving
    around = times[:, None] + lengths[:, None] * np.array([-2.0, -1.0, 1.0, 2.0])
    rows = piece.at(around.ravel())._x[:, states].reshape(len(times), 4, -1)
    whole = piece.at(np.linspace(*piece._reach(), OVERALL))._x[:, states]
    least = STILL * np.maximum(np.abs(whole).max(axis=0), piece.system.nominal["x"][states])
    a, b, c, d = (rows / np.maximum(np.ptp(whole, axis=0), least)).transpose(1, 0, 2)
    before, over, after = b - a, c - b, d - c
    bend = _norm(after - before) > KINK * (_norm(after) + _norm(before))
    jump = _norm(over - before - after) > KINK * (_norm(over) + _norm(before) + _norm(after))
    return np.asarray(bend | jump)


def _norm(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(vectors, axis=-1))
