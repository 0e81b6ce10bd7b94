"""Noise as a table of held values, drawn for a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import element_label
from daedalus.model.signals import Signal
from daedalus.model.variables import Variable
from daedalus.simulation.noise.wiener_path import LONGEST, TimeTree, increments, normals, stream_of, tree_of

# A run holds at most this many values of a noise.
MOST_VALUES = 50_000_000
# So many steps from zero, times are still known to a thousandth of a step.
FURTHEST = 1e13
# A time this close to the beginning of a cell, in cells, is there.
AT = 1e-9
# A level of the tree that no cell has: the values of sampled noise.
SAMPLED = 2**32
# A law begins with so many numbers.
WORDS = 4


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
    latest = max(abs(t0), abs(t1))
    if latest >= 10.0**LONGEST or latest / period > FURTHEST:
        raise InputError(
            f"The noise {name} would be drawn at t = {latest:.2g} s in steps of {period:g} s.",
            because=f"its path begins at 0 s, and goes on for {FURTHEST:.0e} steps and for 1e{LONGEST} s at most.",
            remedy="times that are counted from the beginning of the run",
        )
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
    period, first, last, label, spread, is_white = _drawn_element(variable, k, t0, t1, step)
    if is_white:
        return spread / period * increments(seeds, label, period, first, last - first)
    return spread * normals(seeds, label, SAMPLED, first, last - first)


def _drawn_element(
    variable: Variable, k: int, t0: float, t1: float, step: float | None
) -> tuple[float, int, int, str, float, bool]:
    """Of an element of a noise: the length of a cell, its cells in a span, its name and deviation, and its kind."""
    law = variable.noise
    assert law is not None
    period = law.every or float(step or 0.0)
    label = element_label(variable.name, variable.shape, k)
    return period, *cells(t0, t1, period, variable.name), label, math.sqrt(law.spread[k]), law.is_white


class DrawingLaw(NamedTuple):
    """What a kernel draws an element of a noise with: its cells or their ends, how many cuts change, and numbers.

    Without nodes, each cell is one of the tree, numbered from `first` on.
    """

    first: int
    nodes: np.ndarray | None
    kept: int
    numbers: np.ndarray

    @property
    def depth(self) -> int:
        """The length of the chain above a cell."""
        return len(self.numbers) - WORDS - 1


def noise_law(variable: Variable, k: int, t0: float, t1: float, step: float | None) -> DrawingLaw:
    """How a kernel draws an element of a noise over a span: chains of cells that are cut from those above them."""
    period, first, last, label, spread, is_white = _drawn_element(variable, k, t0, t1, step)
    if is_white:
        tree = tree_of(period, max(abs(first), abs(last)) * period)
    else:
        tree, period = TimeTree(SAMPLED, Fraction(1), np.ones(1)), 1.0
    nodes = None if tree.is_cell else tree.nodes(np.arange(first, last + 1))
    ends = (first, last - 1) if nodes is None else tuple(int(n) - (n < 0) for n in (nodes[0], nodes[-1]))
    changes = [one != other for one, other in zip(*map(tree.above, ends))]
    # As many as WORDS, with the spread.
    whole = np.array([stream_of(label), tree.level % 2**64, len(tree.factors) - 1], dtype=np.uint64).view(float)
    kept = min(sum(changes), len(tree.factors) - 1)
    return DrawingLaw(first, nodes, kept, np.concatenate([whole, [spread / period], tree.factors]))
