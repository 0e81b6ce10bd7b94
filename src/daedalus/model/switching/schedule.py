"""When a clock or a schedule acts: ticks at offset + k · period, or given times, read as exact decimals.

0.1 means one tenth: tick k is the number next to the exact offset + k · period, so that clocks of 0.1 and 0.3 meet at
0.3, 0.6, 0.9, … to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.model.system.plain_record import PlainRecord

# Two times that differ by less than this share are one instant, as for the core: those of clocks are products of
# decimals, those of guards sums of steps.
SAME_INSTANT = 8 * EPSILON
# Times that users write in nine digits and more, by this share of their span or interval.
SAME_TIME = 1e-9


def same_instant(*times: float) -> float:
    """Times of a run that differ by less are one; times: its ends, or what is compared.

    Example
    -------
    >>> abs(0.1 + 0.2 - 0.3) <= same_instant(0.3), abs(0.3 - 0.3000001) <= same_instant(0.3)
    (True, False)
    """
    return SAME_INSTANT * max(abs(t) for t in times)


@dataclass(frozen=True)
class Schedule:
    """Ticks of a period, or given times; the other one is empty.

    Example
    -------
    >>> Schedule(period=0.1).ticks(0.0, 0.35).tolist()
    [0.0, 0.1, 0.2, 0.3]
    >>> Schedule(times=(2.5, 1.0)).ticks(0.0, 2.0).tolist()
    [1.0]
    """

    period: float | None = None
    offset: float = 0.0
    times: tuple[float, ...] = ()

    def ticks(self, low: float, high: float) -> np.ndarray:
        """All times from low to high at which it acts, both ends included, to rounding."""
        slack = same_instant(low, high)
        if self.period is None:
            given = np.unique(np.array(self.times, dtype=float))
            return given[(given >= low - slack) & (given <= high + slack)]
        period, offset = (Fraction(Decimal(repr(float(value)))) for value in (self.period, self.offset))
        first = ceil((Fraction(low - slack) - offset) / period)
        last = floor((Fraction(high + slack) - offset) / period)
        whole = lcm(period.denominator, offset.denominator)
        begin, step = int((offset + first * period) * whole), int(period * whole)
        count = max(last - first + 1, 0)
        if max(abs(begin), abs(begin + count * step), whole) < 2**53:
            # Whole numbers that are exact: their quotient is rounded once.
            return (begin + step * np.arange(count, dtype=np.int64)) / float(whole)
        return np.array([float(Fraction(begin + k * step, whole)) for k in range(count)])

    def due(self, begin: float, end: float, done: bool) -> np.ndarray:
        """When it acts in a run, ends included; done: whether what is due at the beginning has happened already."""
        low, high = min(begin, end), max(begin, end)
        ticks: np.ndarray = np.clip(self.ticks(low, high), low, high)
        later: np.ndarray = ticks[np.abs(ticks - begin) > same_instant(begin, end)]
        return later if done else ticks

    def to_record(self) -> dict[str, Any]:
        """The schedule as plain data."""
        return {"period": self.period, "offset": self.offset, "times": list(self.times)}

    @staticmethod
    def from_record(record: PlainRecord) -> Schedule:
        """The inverse of `to_record`, with every entry checked."""
        record.only(("period", "offset", "times"))
        period = None if record.entry("period") is None else record.number("period")
        offset, given = record.number("offset"), record.items("times")
        times = [float(t) for t in record.numbers("times", (len(given),)) if t is not None]
        if not np.all(np.isfinite([*times, offset, period or 1.0])) or (period is not None and not period > 0):
            raise record.misfit("period", "a positive number", period)
        return Schedule(period, offset, tuple(times))
