"""What a moment at a jump has beside its states: the limit from its own side.

Two rows share the time of a jump, before and after. A time that is asked for belongs to the later side where the jump
happens at it, and to the earlier side before. Inputs, algebraic variables, derivatives and outputs follow from a row by
formulas, and next to the jump rounding decides on which side a condition or a table is read. So they are read at three
points farther away on the same side, and drawn to the row by a parabola: exact for what is constant or linear there.

Jumps happen where a step ends: the run is cut there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.model.switching.schedule import SAME_INSTANT

# How far from the row the points lie, as parts of the way to its neighbour.
NEXT_TO = (1e-5, 2e-5, 3e-5)
# Values are the same, too, that differ by less than so many times what they differ by among the three points.
SPREADS = 10.0
# Values that move by more than this share of the largest between the three points go to no limit.
NO_LIMIT = 0.02
# A time this near to the end of a step, as a part of the step, is at it, and so is one that is the same instant.
NEAR = 1e-7


class BesideJumps(NamedTuple):
    """Rows at jumps, and the points next to them, three for each."""

    rows: np.ndarray
    points: Any  # samples

    def limits(self, values: np.ndarray, read: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Values of all rows, with those at jumps as they are from their own side."""
        found = read(self.points)
        if not found.shape[1]:
            return values
        first, second, third = found.reshape(len(self.rows), 3, -1).transpose(1, 0, 2)
        limit = first + 2 * (first - second) - (second - third)
        values, own = np.array(values), values[self.rows]
        # What is the same on both sides follows from the row itself, to its last digit.
        spread = np.abs(first - second) + np.abs(second - third)
        size = np.abs(values).max(axis=0, initial=0.0)
        jumped = ~(np.abs(limit - own) <= np.maximum(SAME * size, SPREADS * spread))
        # What changes by so much next to the jump has no limit there, as arcsech(t) at 0: the row itself counts.
        unlimited = spread > NO_LIMIT * np.maximum(size, np.abs(found).max(axis=0, initial=0.0))
        jumped &= ~(unlimited & np.isfinite(own))
        values[self.rows] = np.where(jumped, limit, own)
        return values

    def of_rows(self, chosen: np.ndarray) -> BesideJumps | None:
        """The same for some rows in a new order, given by their places in the old one."""
        place = {int(row): k for k, row in enumerate(self.rows)}
        known = [(k, place[row]) for k, row in enumerate(chosen.tolist()) if row in place]
        if not known:
            return None
        rows, own = (np.array(column) for column in zip(*known))
        return BesideJumps(rows, self.points._some((3 * own[:, None] + np.arange(3)).ravel()))


def neighbours_of_jumps(times: np.ndarray, ends_before_jump: bool) -> tuple[np.ndarray, np.ndarray]:
    """The rows at jumps, and the neighbour of each on its own side.

    ends_before_jump: whether the last row is that before a jump which the next piece of the run begins behind.
    """
    pairs = np.flatnonzero(times[1:] == times[:-1])
    before, after = pairs, pairs + 1
    if ends_before_jump and len(times) > 1 and times[-1] != times[-2]:
        before = np.append(before, len(times) - 1)
    before, after = before[before > 0], after[after < len(times) - 1]
    rows, beside = np.concatenate([before, after]), np.concatenate([before - 1, after + 1])
    apart = times[rows] != times[beside]
    return rows[apart], beside[apart]


def points_beside_steps(times: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of some times those at which a step begins or ends, to rounding; and three times for each, (count, 3).

    These lie in the step that the time belongs to: behind it where a step begins there, before it where it is earlier.
    """
    if not len(starts) or not len(times):
        return np.zeros(0, dtype=int), np.zeros((0, 3))
    forward = -1.0 if ends[-1] < starts[0] else 1.0
    own = np.maximum(np.searchsorted(forward * starts, forward * times, side="right") - 1, 0)
    begin, end, instant = starts[own], ends[own], SAME_INSTANT * np.abs(times)
    length = forward * (end - begin)
    near = NEAR * length + instant
    after = np.abs(times - begin) <= near
    before = ~after & (np.abs(end - times) <= near) & (forward * (end - times) > 0)
    apart = np.maximum(NEXT_TO[0] * length, instant)
    rows = np.flatnonzero((after | before) & (4 * apart < length))
    away = np.where(after, forward, -forward)[rows] * apart[rows]
    return rows, times[rows, None] + away[:, None] * np.array([1.0, 2.0, 3.0])
