"""Segments of a run between two checkpoints, and what of their steps is stored until derivatives come back to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

# Bytes: states and stages of a field of 1e4 unknowns over some hundred steps, less than the run itself records. Steps
# beyond that are taken again from their checkpoints, at the cost of the run.
MOST_STORED = 2**28


class TakenSteps(NamedTuple):
    """The rows at the ends of steps, (steps + 1, row), and stages where they are needed, (steps, stages, K and Z).

    solved_to: the share of their terms to which stages fulfil their equations; 0: rounding.
    """

    rows: np.ndarray
    stages: np.ndarray | None = None
    solved_to: float = 0.0

    @property
    def size(self) -> int:
        """In bytes."""
        return self.rows.nbytes + (0 if self.stages is None else self.stages.nbytes)


@dataclass(frozen=True, eq=False)
class Segment:
    """Steps that follow each other: their times, and the row before them: x, and (x, z, x') of an implicit method.

    taken: the steps themselves, where there was room for them.
    """

    times: np.ndarray  # (steps + 1,)
    row: np.ndarray
    taken: TakenSteps | None = None

    @property
    def size(self) -> int:
        """What is stored of it, in bytes."""
        return self.row.nbytes + (0 if self.taken is None else self.taken.size)


class Room:
    """The bytes that are left for steps; segments keep theirs while there is room.

    Example
    -------
    >>> import numpy as np
    >>> room, rows = Room(100), np.zeros((5, 2))
    >>> segment = Segment(np.arange(5.0), rows[0])
    >>> [room.kept(segment, TakenSteps(rows)).size for _ in range(2)]
    [96, 16]
    """

    def __init__(self, bytes_left: int | None = None) -> None:
        self.left = MOST_STORED if bytes_left is None else bytes_left

    def kept(self, segment: Segment, taken: TakenSteps) -> Segment:
        """The segment with its steps, or as it is where they do not fit any more."""
        if taken.size > self.left:
            return segment
        self.left -= taken.size
        return replace(segment, taken=taken)
