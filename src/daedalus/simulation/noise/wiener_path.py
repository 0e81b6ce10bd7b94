"""The path of a Wiener process, the same for every step that it is read with.

Normal numbers are drawn by their place, with Philox, a generator without a state (J. K. Salmon et al., Parallel random
numbers: as easy as 1, 2, 3, SC 2011). The increments over long cells of time are drawn first; a cell is halved by
Lévy's bridge: given its increment, the value in the middle is normal around the mean of the ends, with a quarter of the
cell's length as variance. So the path over cells of half the length runs through the same points. The cells begin at
the time zero, wherever a run begins: two joined runs meet the same noise as one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from daedalus import _core

# The cells that are drawn first are this many doublings longer than a unit of time: longer than any run.
TOP = 48
# A level of the tree that no cell has: the values of sampled noise.
SAMPLED = 2**32


def increments(seeds: Sequence[int] | np.ndarray, label: str, step: float, first: int, count: int) -> np.ndarray:
    """The increments of paths of unit intensity over the cells first, first + 1, … of a length, one row a seed.

    Example
    -------
    >>> fine, whole = increments([1], "w", 0.005, 6, 4), increments([1], "w", 0.01, 3, 2)
    >>> bool(np.allclose(fine.reshape(2, 2).sum(axis=1), whole))
    True
    """
    share, exponent = math.frexp(step)
    unit, level = 2 * share, 1 - exponent  # step = unit / 2^level, unit in [1, 2)
    found = np.empty((len(seeds), count))
    _core.wiener_increments(_words(seeds), stream_of(label), unit, min(-TOP, level), level, first, found)
    return found


def normals(seeds: Sequence[int] | np.ndarray, label: str, level: int, first: int, count: int) -> np.ndarray:
    """Standard normal numbers by their place: of a seed, a name, a level and indices; one row a seed.

    Example
    -------
    >>> bool(np.array_equal(normals([1], "w", 0, 5, 10)[0, 2:], normals([1], "w", 0, 7, 8)[0]))
    True
    """
    found = np.empty((len(seeds), count))
    _core.normal_numbers(_words(seeds), stream_of(label), level, first, found)
    return found


def stream_of(label: str) -> int:
    """The number that stands for a name: another noise of the model does not change this one."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "little")


def _words(seeds: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(seeds, dtype=np.uint64)
