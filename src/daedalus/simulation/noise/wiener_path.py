"""The path of a Wiener process: it depends on a seed and a name alone, not on the times at which it is read.

Times are nodes of a tree. A cell of 10^k seconds has two halves, and each of them five fifths, of 10^(k-1) seconds. The
increments over the longest cells are drawn first and cut by bridges: given the increment of a cell, the values inside
are normally distributed around the straight line between its ends. Numbers are drawn by their place in the tree with
Philox, a generator without a state (J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011). So
everybody meets the same value at a node, however they get there.

Steps of 10^k and 5 · 10^k seconds are cells of the tree. The ends of all other steps are nodes further down: exact ones
where the step is a decimal fraction, and otherwise the nearest ones, at most 10^-6 of a step away.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from daedalus import _core

# The longest cells have 10^18 seconds. Levels count the cuts from 1 s on: 1 s, 0.5 s, 0.1 s, 0.05 s, …
LONGEST, TOP = 18, -36
# The ends of steps are kept to so many digits of a step; digits of a step behind these are rounding.
DIGITS, WRITTEN = 6, 15
# Cells are counted in doubles, with room for halves.
MOST_CELLS = 2.0**50


class TimeTree(NamedTuple):
    """A level of the tree, and how many of its cells a step takes."""

    level: int
    cells: Fraction
    factors: np.ndarray

    @property
    def is_cell(self) -> bool:
        """Whether a step is one cell."""
        return self.cells == 1

    def nodes(self, steps: np.ndarray) -> np.ndarray:
        """The nodes at the ends of whole numbers of steps from zero."""
        if self.cells.denominator == 1:
            return steps.astype(np.int64) * self.cells.numerator
        return np.rint(steps * float(self.cells)).astype(np.int64)

    def above(self, cell: int) -> list[int]:
        """A cell and those that it is a part of, up to the longest."""
        found = [cell]
        for up in range(len(self.factors) - 1):
            found.append(found[-1] // parts(self.level - up))
        return found


def parts(level: int) -> int:
    """Into how many cells of a level a cell above it is cut."""
    return 2 if level % 2 else 5


def tree_of(step: float, latest: float) -> TimeTree:
    """The level at which the ends of a step are nodes, as far as times up to `latest` are counted in its cells.

    Example
    -------
    >>> tree_of(0.01, 1.0)[:2], tree_of(0.025, 1.0)[:2]
    ((4, Fraction(1, 1)), (5, Fraction(5, 1)))
    """
    _, digits, exponent = Decimal(f"{step:.{WRITTEN - 1}e}").normalize().as_tuple()
    number = int("".join(map(str, digits)))
    level = -2 * int(exponent)
    if number % 5 == 0:
        level -= 1
    finest = math.ceil(-math.log10(step)) + DIGITS
    counted = math.floor(math.log10(MOST_CELLS / max(latest, step)))
    level = max(min(level, 2 * finest, 2 * counted), TOP)
    return TimeTree(level, Fraction(number) * Fraction(10) ** int(exponent) / _length(level), _factors(level))


def _length(level: int) -> Fraction:
    """The length of a cell in seconds."""
    return Fraction(10) ** -(level // 2) / (2 if level % 2 else 1)


def _factors(level: int) -> np.ndarray:
    """What normal numbers are multiplied by, in the cuts from a level up, and in the longest cells."""
    found = []
    for up in range(level - TOP):
        count = parts(level - up)
        found.append(math.sqrt(_length(level - up - 1) / count) * math.sqrt(0.5 if count == 2 else 1.0))
    return np.array([*found, math.sqrt(10.0**LONGEST)])


def increments(seeds: Sequence[int] | np.ndarray, label: str, step: float, first: int, count: int) -> np.ndarray:
    """The increments of paths of unit intensity over the steps first, first + 1, … from zero, one row a seed.

    Example
    -------
    >>> fine, whole = increments([1], "w", 0.002, 15, 5), increments([1], "w", 0.01, 3, 1)
    >>> bool(np.allclose(fine.sum(axis=1), whole[:, 0]))
    True
    """
    tree = tree_of(step, max(abs(first), abs(first + count)) * step)
    if tree.is_cell:
        found = np.empty((len(seeds), count))
        _core.wiener_increments(_words(seeds), stream_of(label), tree.level, tree.factors, first, found)
        return found
    nodes = tree.nodes(np.arange(first, first + count + 1))
    at = np.empty((len(seeds), count + 1))
    _core.wiener_points(_words(seeds), stream_of(label), tree.level, tree.factors, nodes, at)
    return at[:, 1:] - at[:, :-1]


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
