"""Statistics over cases as they come in, so that memory does not grow with their number.

Means and deviations are merged block by block (Chan, Golub and LeVeque 1983), in the order of the cases; quantiles come
from a sketch with a bounded rank error. Blocks are the same whatever the number of threads, so is every bit of the
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.ensembles.quantile_sketch import QuantileSketch
from daedalus.errors import InputError

WORDS = ("mean", "std", "min", "max")
Statistic = str | float


def read_summary(summary: Any) -> tuple[Statistic, ...]:
    """The statistics asked for: words, and shares between 0 and 1 for quantiles."""
    asked = (summary,) if isinstance(summary, (str, float, int)) else tuple(summary)
    if not asked:
        raise InputError("summary= names no statistic.", remedy='summary=("mean", "std", 0.05, 0.95)')
    for statistic in asked:
        is_share = isinstance(statistic, (float, int)) and not isinstance(statistic, bool) and 0 <= statistic <= 1
        if statistic not in WORDS and not is_share:
            raise InputError(
                f"{statistic!r} is not a statistic.",
                remedy=f"{', '.join(repr(w) for w in WORDS)}, or a share between 0 and 1 for a quantile",
            )
    if len(set(asked)) < len(asked):
        raise InputError("summary= names a statistic twice.", f"got {asked!r}")
    return tuple(s if isinstance(s, str) else float(s) for s in asked)


class Statistics:
    """Statistics of `channels` numbers over up to `count` cases.

    Example
    -------
    >>> import numpy as np
    >>> summary = Statistics(("mean", "std", 0.5), channels=1, count=4)
    >>> summary.add(np.array([[1.0], [2.0]])); summary.add(np.array([[3.0], [6.0]]))
    >>> [float(value[0]) for value in summary.values()]
    [3.0, 1.8708286933869707, 2.5]
    """

    def __init__(self, statistics: Sequence[Statistic], channels: int, count: int) -> None:
        self.statistics = tuple(statistics)
        self.count = 0
        self._mean, self._squares = np.zeros(channels), np.zeros(channels)
        self._min, self._max = np.full(channels, np.inf), np.full(channels, -np.inf)
        has_quantiles = any(isinstance(s, float) for s in statistics)
        self._sketch = QuantileSketch(channels, count) if has_quantiles else None

    def add(self, block: np.ndarray) -> None:
        """Take in cases, (cases, channels)."""
        if not len(block):
            return
        count = self.count + len(block)
        mean = block.mean(axis=0)
        step = mean - self._mean
        self._squares += ((block - mean) ** 2).sum(axis=0) + step**2 * (self.count * len(block) / count)
        self._mean += step * (len(block) / count)
        np.minimum(self._min, block.min(axis=0), out=self._min)
        np.maximum(self._max, block.max(axis=0), out=self._max)
        if self._sketch is not None:
            self._sketch.add(block)
        self.count = count

    def values(self) -> list[np.ndarray]:
        """One array (channels,) for each statistic; NaN where no case came in."""
        return [self._value(statistic) for statistic in self.statistics]

    def _value(self, statistic: Statistic) -> np.ndarray:
        if not self.count:
            return np.full(len(self._mean), np.nan)
        if isinstance(statistic, float):
            assert self._sketch is not None
            return self._sketch.quantile(statistic)
        words = {"mean": self._mean, "min": self._min, "max": self._max}
        return np.sqrt(self._squares / self.count) if statistic == "std" else words[statistic]
