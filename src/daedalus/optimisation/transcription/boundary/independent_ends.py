"""Which of the values given at an end are independent of what the model keeps there.

On the surface c(x) = 0 of all that is kept the given values E x have the rank of E N, with N a basis of the null space
of ∂c/∂x. The rank is judged at points that obey the given values and c = 0, and at points of the surface beside them:
only where it is the same on both (a rank that is constant makes some of the values functions of the others) may values
be left out. Where it is smaller at the end alone, as for a height given by v² = 2 g y at rest, nothing follows from
anything: all values count, together with the states that they settle there.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.manifold import Manifold
from daedalus.algebra.rank_decision import NOT_ZERO, STILL, null_space
from daedalus.model.names import counted
from daedalus.optimisation.transcription.boundary.reference_ends import ReferenceEnds
from daedalus.optimisation.transcription.invariants import KeptQuantities

# Points are looked for from so many places.
PLACES = 8
# What a point may be off, as a share of the size of what is kept.
OFF = 1e-9
# How far beside a point the rank is judged again, as a share of the size of the states.
BESIDE_POINT = 0.05
# Places from which steps lead to one point but for so much, as a share of its size: double roots have half the digits.
SAME_POINT = 1e-3


@dataclass(frozen=True, eq=False)
class IndependentEnd:
    """What was found about the given values of one end; printed, the sentence for it.

    states: the states asked for, given ones and those that these settle. values: theirs, at a point that obeys all.
    combinations: the rows W of what is asked for, W x = W values; None where every given value is asked for by itself.
    singular_values: those of E N, with the size of the states as unit. kept_by: what keeps the rest.
    """

    end: str
    given: int
    states: tuple[int, ...]
    point: np.ndarray | None
    combinations: np.ndarray | None
    singular_values: tuple[float, ...]
    kept_by: str = ""

    @property
    def independent(self) -> int:
        """How many conditions are asked for."""
        return self.given if self.combinations is None else len(self.combinations)

    @property
    def gap(self) -> tuple[float, float]:
        """The smallest singular value that counts, and the largest that does not."""
        sizes = (*self.singular_values, 0.0)
        return (np.inf, sizes[0]) if not self.independent else (sizes[self.independent - 1], sizes[self.independent])

    def __str__(self) -> str:
        values, verb = counted(self.given, f"{self.end} value"), "is" if self.independent == 1 else "are"
        return f"of {values} {self.independent} {verb} independent: the rest is kept by {self.kept_by}"


def independent_values(
    kept: KeptQuantities, end: str, given: dict[int, float], near: np.ndarray, quantities: ca.SX, wanted: np.ndarray
) -> IndependentEnd:
    """Which given values are asked for, where the quantities have the wanted values; `near`: a guess of all states."""
    every = IndependentEnd(end, len(given), tuple(sorted(given)), None, None, ())
    if not kept.touch(quantities, given):
        return every
    surface = _KeptSurface(kept, quantities, wanted)
    points = surface.points(given, near)
    if not points:
        return every
    names = kept.names_of(quantities)
    settled = dict(given)
    for _ in range(2):
        states = tuple(sorted(settled))
        found = [surface.singular(x, states) for x in points]
        best = int(np.argmax([rank for rank, _, _ in found]))
        rank, sizes, left = found[best]
        if rank == len(states) and len(states) == len(given):
            return every
        beside = max(surface.singular(x, states)[0] for x in surface.beside(points[best]))
        if beside == rank:
            return IndependentEnd(
                end, len(given), states, points[best], left[:, :rank].T, tuple(map(float, sizes)), names
            )
        settled = {**given, **_settled(points, given, surface.size)} if kept.known(quantities) else given
        if len(settled) == len(given):
            break
    return every


def possible_ends(
    kept: KeptQuantities, starts: dict[int, float], given: dict[int, float], ends: ReferenceEnds
) -> list[np.ndarray]:
    """Different states at the end, (n,) each, that obey the given values and what the start settles, nearest first."""
    pinned = kept.pinned(starts, len(ends.end))
    late = kept.at_end
    if not late.touch(pinned, given):
        return []
    wanted = kept.values(ends.start, pinned)
    wanted[: kept.held.numel()] = 0.0
    surface = _KeptSurface(late, pinned, wanted)
    found: list[np.ndarray] = []
    for point in surface.points(given, ends.end):
        if all(np.abs((point - other) / surface.size).max() > SAME_POINT for other in (ends.end, *found)):
            found.append(point)
    return found


def _settled(points: list[np.ndarray], given: dict[int, float], size: np.ndarray) -> dict[int, float]:
    """States that have the same value at all points that obey the given ones."""
    spread = np.ptp(np.array(points), axis=0) / size
    return {k: float(points[0][k]) for k in range(len(size)) if k not in given and spread[k] < SAME_POINT}


class _KeptSurface:
    """Where quantities of a model have the values that they keep."""

    def __init__(self, kept: KeptQuantities, quantities: ca.SX, wanted: np.ndarray) -> None:
        self._both, self._wanted = kept.values_and_slopes(quantities), wanted
        self._nominal = np.maximum(kept.description.system.nominal["x"], 1e-12)
        self.size = self._nominal

    def points(self, given: dict[int, float], near: np.ndarray) -> list[np.ndarray]:
        """Points that obey the given values too, the nearest first; none where none was found."""
        x = np.array(near, dtype=float)
        x[list(given)] = list(given.values())
        self.size = np.maximum(np.abs(x), self._nominal)
        free = np.array([k for k in range(len(x)) if k not in given], dtype=int)
        random, found = np.random.default_rng(3), []
        for place in range(PLACES if len(free) else 1):
            begin = x.copy()
            begin[free] += (place > 0) * self.size[free] * random.uniform(-2.0, 2.0, len(free))
            moved = self._moved(begin, free)
            if moved is not None:
                found.append(moved)
        return sorted(found, key=lambda y: float(np.abs((y - x) / self.size).max()))

    def beside(self, x: np.ndarray) -> list[np.ndarray]:
        """Points of the surface near a point of it."""
        random, every = np.random.default_rng(5), np.arange(len(x))
        steps = BESIDE_POINT * self.size * random.uniform(-1.0, 1.0, (4, len(x)))
        moved = [self._moved(x + step, every) for step in steps]
        return [y for y in moved if y is not None] or [x]

    def _moved(self, x: np.ndarray, free: np.ndarray) -> np.ndarray | None:
        """A point moved onto the surface by its free states, Gauss and Newton's steps; None where that fails."""

        def kept(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, slopes = self._both(point)
            return value - self._wanted, slopes

        found = Manifold(kept, self.size).nearest(x, free).values if len(free) else x
        left, slopes = kept(found)
        size = np.maximum(np.abs(slopes * self.size).sum(axis=1), np.abs(self._wanted) + NOT_ZERO)
        return found if np.all(np.abs(left) <= OFF * size) else None

    def singular(self, x: np.ndarray, states: tuple[int, ...]) -> tuple[int, np.ndarray, np.ndarray]:
        """Rank, singular values and left vectors of the states on the surface at x, with their sizes as unit."""
        tangent = null_space(self._both(x)[1] * self.size, "what is kept")[0]
        left, sizes, _ = np.linalg.svd(tangent[list(states)], full_matrices=False)
        rank = int(np.sum(sizes > STILL))
        return rank, sizes, left / self.size[list(states)][:, None]
