"""Who looks at a run while it goes on: values by name of what has been computed so far, at some of its steps.

An onlooker takes the place of `progress`. The core stops for a look between two steps, so that what is seen is what
the run will have at those times, unless it takes a stretch back: a stiff beginning is made again by another method, a
dead centre is led over. The pieces that are made in its place then take the place of what was seen.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from daedalus import _core
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.some_rows import in_a_row, picked
from daedalus.simulation.result.trajectory import Trajectory

# Looks may take this share of the time of a run.
SHARE = 0.1


class Onlooker(ABC):
    """Sees a run as it goes on: is called with the time reached, and shown at most `most` rows of it so far.

    A run that is over before the first look costs nothing; in a longer one looks are as rare as they are slow.

    Example
    -------
    >>> import daedalus as dd
    >>> class Counting(Onlooker):
    ...     def __call__(self, t): pass
    ...     def show(self, samples): self.seen = len(samples.time)
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), -x)
    >>> counting = Counting(most=100)
    >>> tr = dd.simulate(m, 1e9, progress=counting, time_limit=0.3)
    >>> 2 <= counting.seen <= 100
    True
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._next_look = 0.0
        # Pieces that ended, with how many of their rows count, and some of these rows once they were asked for.
        self._done: list[tuple[Trajectory, int]] = []
        self._earlier: list[Samples] | None = None

    @abstractmethod
    def __call__(self, t: float) -> None:
        """The run has reached t."""

    @abstractmethod
    def show(self, samples: Samples) -> None:
        """This is some of what has been computed so far, in the order of the run, its last step included."""

    def of_piece(
        self, plant: Plant, drive: Drive, parameters: np.ndarray, begin: float, end: float
    ) -> Callable[[_core.SoFar], None]:
        """What looks at a core run from begin on; what earlier ones have from there on is taken back."""
        while self._done and not self._cut_last(begin, -1.0 if end < begin else 1.0):
            self._done.pop()
        self._earlier = None

        def look(so_far: _core.SoFar) -> None:
            began = time.perf_counter()
            if began < self._next_look:
                return
            earlier = self._some_earlier()
            most = self.most // 2 if earlier else self.most
            self.show(in_a_row([*earlier, _samples(plant, drive, parameters, so_far, most)]))
            took = time.perf_counter() - began
            self._next_look = began + took / SHARE

        return look

    def ended(self, piece: Trajectory) -> None:
        """A piece is there."""
        self._done.append((piece, len(piece._times)))

    def _cut_last(self, begin: float, sign: float) -> bool:
        """Keep of the last piece what lies before a time; whether that is anything."""
        piece, count = self._done[-1]
        kept = int(np.searchsorted(sign * piece._times[:count], sign * begin))
        self._done[-1] = (piece, kept)
        return kept > 0

    def _some_earlier(self) -> list[Samples]:
        """Rows of the pieces before this one, a half of those that are shown."""
        if self._earlier is None:
            counts = [count for _, count in self._done]
            stride = 1
            while sum(counts) / stride > self.most // 2:
                stride *= 2
            chosen = np.arange(0, sum(counts), stride)
            self._earlier = [picked([tr for tr, _ in self._done], counts, chosen)] if len(chosen) else []
        return self._earlier


def _samples(plant: Plant, drive: Drive, parameters: np.ndarray, so_far: _core.SoFar, most: int) -> Samples:
    """Some rows of a core run that goes on."""
    times, rows, held = so_far.rows(most)
    if drive.delayed is not None:
        drive = drive._replace(delayed=drive.delayed.recorded(so_far))
    count = plant.system.discrete_count
    return Samples(plant, drive, parameters, times, rows, held=held[:, :count] if count else None)
