"""Noise as a table of held values, drawn for a run."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from daedalus import _core
from daedalus.errors import InputError
from daedalus.model.names import element_label
from daedalus.model.signals import Signal
from daedalus.model.variables import Variable

# A run holds at most this many values of a noise.
MOST_VALUES = 50_000_000
# A time this close to the beginning of a cell, in cells, is there.
AT = 1e-9
# The cells that are drawn first are this many doublings longer than a unit of time: longer than any run.
TOP = 48
# A level of the tree that no cell has: the values of sampled noise.
SAMPLED = 2**32


@dataclass(frozen=True, eq=False, repr=False)
class NoisePath(Signal):
    """A table of a noise, and the seed that it was drawn with."""

    seed: int = 0


def noise_paths(
    noises: Sequence[Variable], t0: float, t1: float, step: float | None, seed: int
) -> dict[str, NoisePath]:
    """The path of every noise over a span; white noise is held over cells of `step`."""
    found = {}
    for variable in noises:
        law = variable.noise
        assert law is not None
        period = law.every or float(step or 0.0)
        first, last = cells(t0, t1, period, variable.name)
        columns = [noise_values(variable, k, t0, t1, step, [seed])[0] for k in range(variable.size)]
        values = np.stack(columns, axis=1)
        times = np.arange(first, last) * period
        times[0] = min(times[0], t0)
        for array in (times, values):
            array.setflags(write=False)
        found[variable.name] = NoisePath(times, values, "hold", variable.shape, None, seed)
    return found


def cells(t0: float, t1: float, period: float, name: str) -> tuple[int, int]:
    """The cells of a length that a span meets: from the first to the one behind the last."""
    first, last = t0 / period, t1 / period
    if not last - first < MOST_VALUES:
        raise InputError(
            f"The noise {name} would take {last - first:.2g} values.",
            f"it changes every {period:g} s, over a span of {t1 - t0:g} s",
            because=f"a run holds at most {MOST_VALUES} of them.",
            remedy="a longer step=, or a shorter span",
        )
    begin = round(first) if abs(first - round(first)) < AT else math.floor(first)
    end = round(last) if abs(last - round(last)) < AT else math.ceil(last)
    return begin, max(end, begin + 1)


def noise_values(
    variable: Variable, k: int, t0: float, t1: float, step: float | None, seeds: Sequence[int] | np.ndarray
) -> np.ndarray:
    """The values of an element of a noise in all cells of a span, one row a seed."""
    law = variable.noise
    assert law is not None
    period = law.every or float(step or 0.0)
    first, last = cells(t0, t1, period, variable.name)
    label, spread = element_label(variable.name, variable.shape, k), math.sqrt(law.spread[k])
    if law.is_white:
        return spread / period * increments(seeds, label, period, first, last - first)
    return spread * normals(seeds, label, SAMPLED, first, last - first)


class DrawingLaw(NamedTuple):
    """What a kernel draws an element of a noise with: its first cell, how long a chain changes, and its numbers."""

    first: int
    kept: int
    numbers: np.ndarray


def noise_law(variable: Variable, k: int, t0: float, t1: float, step: float | None) -> DrawingLaw:
    """How a kernel draws an element of a noise over a span: chains of cells that halve those above them."""
    law = variable.noise
    assert law is not None
    period = law.every or float(step or 0.0)
    first, last = cells(t0, t1, period, variable.name)
    label, spread = element_label(variable.name, variable.shape, k), math.sqrt(law.spread[k])
    unit, level, top = _tree(period) if law.is_white else (1.0, SAMPLED, SAMPLED)
    depth = level - top
    lengths = [math.ldexp(unit, s + 1 - level) for s in range(depth)]
    factors = [*(0.5 * math.sqrt(length) for length in lengths), math.sqrt(math.ldexp(unit, -top))]
    if not law.is_white:
        factors, period = [1.0], 1.0
    whole = np.array([stream_of(label), level % 2**64, depth], dtype=np.uint64).view(float)
    changing = (first ^ (last - 1)).bit_length() if (first < 0) == (last - 1 < 0) else depth
    return DrawingLaw(first, min(changing, depth), np.concatenate([whole, [spread / period], factors]))


# The path of a Wiener process, the same for every step that it is read with.
#
# Normal numbers are drawn by their place, with Philox, a generator without a state (J. K. Salmon et al., Parallel
# random numbers: as easy as 1, 2, 3, SC 2011). The increments over long cells of time are drawn first; a cell is halved
# by Lévy's bridge: given its increment, the value in the middle is normal around the mean of the ends, with a quarter
# of the cell's length as variance. So the path over cells of half the length runs through the same points. The cells
# begin at the time zero, wherever a run begins: two joined runs meet the same noise as one.


def increments(seeds: Sequence[int] | np.ndarray, label: str, step: float, first: int, count: int) -> np.ndarray:
    """The increments of paths of unit intensity over the cells first, first + 1, … of a length, one row a seed.

    Example
    -------
    >>> fine, whole = increments([1], "w", 0.005, 6, 4), increments([1], "w", 0.01, 3, 2)
    >>> bool(np.allclose(fine.reshape(2, 2).sum(axis=1), whole))
    True
    """
    found = np.empty((len(seeds), count))
    unit, level, top = _tree(step)
    _core.wiener_increments(_words(seeds), stream_of(label), unit, top, level, first, found)
    return found


def _tree(step: float) -> tuple[float, int, int]:
    """The unit, the level and the level of the longest cells: step = unit / 2^level, unit in [1, 2)."""
    share, exponent = math.frexp(step)
    return 2 * share, 1 - exponent, min(-TOP, 1 - exponent)


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
