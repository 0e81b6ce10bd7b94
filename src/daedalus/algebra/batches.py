"""How many things are computed at a time where all at once would fill the memory; no result depends on it."""

from __future__ import annotations

from collections.abc import Iterator

# Numbers of a batch: 16 MB of real ones, by judgement.
NUMBERS_AT_A_TIME = 2_000_000


def batches(count: int, each: int) -> Iterator[slice]:
    """Slices of `count` things with `each` numbers, one after the other, as many as make a batch.

    Example
    -------
    >>> list(batches(5, 1_000_000))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, NUMBERS_AT_A_TIME // max(1, each))
    return (slice(begin, min(begin + size, count)) for begin in range(0, count, size))
