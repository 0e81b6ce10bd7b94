"""Quantiles of streams too long to keep: many streams of equal length side by side, with a bound on the rank error.

Values fill a buffer of k places. A full buffer of level h, whose values stand for 2ʰ each, is sorted and every other
value goes up to level h + 1, in turn the odd and the even ones. Each time ranks move by at most 2ʰ, to one side and
then to the other, n / (k 2ʰ) times in all: with H levels a rank of n values is off by about n H / (2 k) at most, to the
letter in `rank_error` (Manku, Rajagopalan and Lindsay, SIGMOD 1998, in the form with one buffer a level). Nothing is
drawn at random: the same values in the same order give the same answer.
"""

from __future__ import annotations

import numpy as np

# The share of the count that a rank may be off by.
RANK_ERROR = 1e-3
_SMALLEST = 64


def levels_needed(count: int, places: int) -> int:
    """How often values of a stream are halved before all are taken in."""
    levels = 0
    while count > places << levels:
        levels += 1
    return levels


def rank_error(count: int, places: int) -> float:
    """The bound on the rank error as a share of the count.

    A level-h compaction moves ranks by at most 2ʰ in one direction and the next one in the other, so that m of them add
    up to at most ⌈m / 2⌉ 2ʰ; m = ⌊count / (places 2ʰ)⌋.
    """
    error = 0
    for h in range(levels_needed(count, places)):
        times = count // (places << h)
        error += (times + 1) // 2 << h
    return error / max(count, 1)


def places_for(count: int) -> int:
    """The smallest buffer that keeps the bound for a stream of `count` values, or the whole stream."""
    places = _SMALLEST
    while rank_error(count, places) > RANK_ERROR:
        places *= 2
    return min(places, max(count + count % 2, 2))


class QuantileSketch:
    """Quantiles of `channels` streams that grow together by one value each, up to `count` of them.

    Example
    -------
    >>> import numpy as np
    >>> sketch = QuantileSketch(1, 100_000)
    >>> for block in np.arange(100_000.0).reshape(100, 1000, 1):
    ...     sketch.add(block)
    >>> bool(abs(sketch.quantile(0.5)[0] - 50_000) <= 100)
    True
    """

    def __init__(self, channels: int, count: int) -> None:
        self.channels, self.places = channels, places_for(count)
        self.seen = 0
        self._levels: list[np.ndarray] = []  # (places, channels) each
        self._filled: list[int] = []
        self._turn: list[int] = []  # which of each pair goes up next

    def add(self, block: np.ndarray) -> None:
        """Take in values, (values, channels)."""
        begin = 0
        while begin < len(block):
            begin += self._fill(0, block[begin:])
        self.seen += len(block)

    def _fill(self, level: int, values: np.ndarray) -> int:
        """Put as many values into a level as have room; a full one is halved. How many went in is returned."""
        if level == len(self._levels):
            self._levels.append(np.empty((self.places, self.channels)))
            self._filled.append(0)
            self._turn.append(0)
        if self._filled[level] == self.places:
            self._halve(level)
        room = self.places - self._filled[level]
        taken = min(room, len(values))
        self._levels[level][self._filled[level] : self._filled[level] + taken] = values[:taken]
        self._filled[level] += taken
        return taken

    def _halve(self, level: int) -> None:
        """Every other value of a full level goes one level up."""
        self._levels[level].sort(axis=0)
        rising = self._levels[level][self._turn[level] :: 2]
        self._turn[level] ^= 1
        self._filled[level] = 0
        begin = 0
        while begin < len(rising):
            begin += self._fill(level + 1, rising[begin:])

    def quantile(self, share: float) -> np.ndarray:
        """The value of each channel below which a share of its values lies; between two values by linear interpolation
        where all values were kept, as `numpy.quantile` does."""
        if not self.seen:
            return np.full(self.channels, np.nan)
        kept = [level[:filled] for level, filled in zip(self._levels, self._filled)]
        values = np.concatenate(kept)
        if len(kept) == 1:
            return np.asarray(np.quantile(values, share, axis=0))
        weights = np.concatenate([np.full(len(part), 1 << h) for h, part in enumerate(kept)])
        order = np.argsort(values, axis=0, kind="stable")
        reached = np.cumsum(weights[order], axis=0)
        position = np.argmax(reached >= share * reached[-1], axis=0)
        return np.asarray(values[order[position, np.arange(self.channels)], np.arange(self.channels)])
