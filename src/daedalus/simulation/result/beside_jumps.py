"""What rows at a jump have beside their states: the limit from their own side.

Two rows share the time of a jump, before and after. Inputs, algebraic variables, derivatives and outputs follow from a
row by formulas, and on the jump itself rounding decides on which side a condition or a table is read. So they are read
at three points next to the row, on the line to its neighbour on the same side, and drawn to it by a parabola: exact for
what is constant or linear there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# How far from the row the points lie, as parts of the way to its neighbour.
NEXT_TO = (1e-5, 2e-5, 3e-5)
# Values that differ by less than this share of the largest of their column are the same.
SAME = 1e-9


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
        jumped = ~(np.abs(limit - own) <= SAME * np.abs(values).max(axis=0, initial=0.0))
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
