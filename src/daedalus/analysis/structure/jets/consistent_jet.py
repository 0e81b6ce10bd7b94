"""A jet (y, y', y'', ...) that obeys the equations and their derivatives: the point that ranks are taken at.

An index belongs to a jet, not to a state: at values that contradict a hidden constraint, or at derivatives that are
just zero, ranks say nothing about solutions. Given values stay where that is possible; what had to move is on record.

Equations are differentiated equally often, as a derivative array has them, or each no more often than its offset says:
with offsets c and d, f_i, ..., f_i^(c_i) are solved for x_j, ..., x_j^(d_j), which is all that the system Jacobian
contains (J. D. Pryce, BIT 41, 2001). Higher derivatives of a large system soon have numbers of any size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import CONSISTENT
from daedalus.algebra.rank_decision import FULL_RANK
from daedalus.algebra.shortened_steps import LEFT_OUT, shortest_step
from daedalus.analysis.linear.pencils.equilibration import equilibrate
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.jets.jet_equations import JetEquations, level_pieces, staged_pieces
from daedalus.analysis.structure.jets.jet_search import SPREAD, Search
from daedalus.analysis.structure.signature import Signature
from daedalus.model.system.system import System

# A given value that moved by more than this share of its size did not stay: far above what jets are consistent to.
MOVED = 100 * CONSISTENT
# Guesses that are tried, the first as written and others around it.
TRIALS = 3
# In balanced units less is left out of a step.
LEFT_OUT_BALANCED = 1e-12
# A value this many times larger than before has run away.
FAR = 1e6


@dataclass(frozen=True, eq=False)
class Jet:
    """Values of t, p, u and its derivatives (zero but for u), and y^(k) in row k.

    residual: what is left of every differentiated equation, in shares of its size. equation: which equation each of
    them belongs to. moved: positions in y (and y') of given values that could not be kept. inputs_stay: whether values
    drawn around the jet keep its inputs.
    """

    t: float
    p: np.ndarray
    u: np.ndarray
    y: np.ndarray
    residual: np.ndarray
    equation: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=int))
    moved: tuple[tuple[int, int], ...] = ()
    inputs_stay: bool = False

    @property
    def consistent(self) -> bool:
        """Whether the equations and their derivatives hold."""
        return self.misfit <= CONSISTENT

    @property
    def misfit(self) -> float:
        """The largest share that is left of an equation."""
        return float(np.abs(self.residual).max(initial=0.0)) if np.all(np.isfinite(self.residual)) else float("inf")

    def left_of(self, count: int) -> np.ndarray:
        """The largest share that is left of each of so many equations and its derivatives."""
        left = np.zeros(count)
        np.maximum.at(left, self.equation, np.abs(np.nan_to_num(self.residual, nan=np.inf)))
        return left

    def runs_away_from(self, other: Jet, size: np.ndarray) -> bool:
        """Whether values are larger by orders of magnitude than in a jet of lower order: a root at infinity."""
        return bool(np.any(np.abs(self.y[0]) > FAR * np.maximum(size, np.abs(other.y[0]))))

    def arguments(self, order: int) -> list[Any]:
        """The arguments of `DerivativeArray.arguments(order)`."""
        y = np.zeros((order + 1, self.y.shape[1]))
        rows = min(order + 1, len(self.y))
        y[:rows] = self.y[:rows]
        u = np.zeros((order + 1, len(self.u)))
        u[0] = self.u
        return [self.t, self.p, u.ravel(), y.ravel()]


@dataclass(frozen=True, eq=False)
class JetStart:
    """Where the search begins: guesses of y and y', and which of them are given."""

    t: float
    p: np.ndarray
    u: np.ndarray
    y: np.ndarray  # (2, n)
    given: np.ndarray  # (2, n) bool
    size: np.ndarray  # (n,) usual sizes


def jet_start(system: System, vectors: Mapping[str, np.ndarray]) -> JetStart:
    """The guess from what was asked for (NaN where nothing was) and the model's start values."""
    asked = np.concatenate([vectors["x"], vectors["z"]])
    written = np.concatenate([system.start["x"], np.full(system.sizes["z"], np.nan)])
    guess = np.concatenate([system.guessed_start, system.start["z"]])
    rates = np.concatenate([vectors["xdot"], np.full(system.sizes["z"], np.nan)])
    given = np.array([~np.isnan(asked) | ~np.isnan(written), ~np.isnan(rates)])
    value = np.where(np.isnan(asked), np.where(np.isnan(written), guess, written), asked)
    size = np.concatenate([system.nominal["x"], system.nominal["z"]])
    y = np.nan_to_num(np.array([value, rates]))
    return JetStart(float(vectors["t"][0]), vectors["p"], np.nan_to_num(vectors["u"]), y, given, size)


def consistent_jet(array: DerivativeArray, start: JetStart, order: int, lower: Jet | None = None) -> Jet:
    """All equations differentiated up to `order` times and solved for the jet, given values first held, then freed.

    lower: a consistent jet of one order less, from which the next derivatives follow.
    """
    stages = Stages(array, None, start, order)
    if lower is not None and lower.consistent:
        jet = stages.beyond(lower)
        if jet.consistent:
            return jet
    return solved_jet(stages, start)


def solved_jet(stages: Stages, start: JetStart) -> Jet:
    """The first jet that is consistent, else the best, from the written guess and from some around it.

    Given values are held first, then none.
    """
    draw = np.random.default_rng(1987)
    best: Jet | None = None
    for held in (start.given, np.zeros_like(start.given)):
        for trial in range(TRIALS):
            shaken = start.y + (SPREAD * start.size * draw.standard_normal(start.y.shape) if trial else 0.0)
            jet = stages.solve(np.where(start.given, start.y, shaken), held, thorough=not trial)
            if jet.consistent:
                return jet
            best = jet if best is None or jet.misfit < best.misfit else best
    assert best is not None
    return best


def moved_values(start: JetStart, y: np.ndarray) -> tuple[tuple[int, int], ...]:
    """(order, position) of given values that y and y' do not have."""
    shift = np.abs(y - start.y) > MOVED * np.maximum(start.size, np.abs(start.y))
    return tuple((int(k), int(j)) for k, j in np.argwhere(shift & start.given))


class Stages:
    """The jets of a system: those nearest to guesses, and others near them.

    s: the offsets; without them all equations are differentiated up to `order` times. equation: which equation each row
    belongs to.
    """

    def __init__(self, array: DerivativeArray, s: Signature | None, start: JetStart, order: int = 0) -> None:
        self._start, self._at_once = start, s is None
        pieces = level_pieces(array, order) if s is None else staged_pieces(array, array.level(0), s)
        self._equations = JetEquations(array, *pieces)
        self.equation = np.array([row.number for row in self._equations.rows], dtype=int)

    def solve(self, guess: np.ndarray, held: np.ndarray, thorough: bool = True) -> Jet:
        """The jet nearest to a guess of y and y', some of it held; thorough: by slower ways too where others fail."""
        search, held = self._search(self._start.t, self._along(guess)), self._along(held)
        jet = self._jet(search, search.run(held).values)
        if thorough and not jet.consistent and held.any():
            # Derivatives of fast systems are far from the sizes of their unknowns: balanced units make up for that.
            search = replace(search, sizes=self._balanced(), left_out=LEFT_OUT_BALANCED)
            jet = self._jet(search, search.run(held).values)
        if thorough and not jet.consistent:
            search = replace(search, sizes=self._sizes, left_out=LEFT_OUT, damped=True)
            jet = self._jet(search, search.run(held).values)
        return jet

    @property
    def _sizes(self) -> np.ndarray:
        return self._start.size[[j for j, _ in self._equations.unknowns]]

    def _balanced(self) -> np.ndarray:
        """Units of y, y', y'', ... from the pencil of the equations at the start: those of y^(k) grow with speed^k."""
        start, array = self._start, self._equations.array
        _, slopes = array.function(0)(start.t, start.p, np.concatenate([start.u, 0 * start.u]), start.y.ravel())
        first = slopes.full() * np.tile(start.size, 2)
        if array.size > FULL_RANK or not np.all(np.isfinite(first)):
            return self._sizes
        scaled = equilibrate(first[:, array.size :], first[:, : array.size])
        return np.array([start.size[j] * scaled.columns[j] * scaled.speed**k for j, k in self._equations.unknowns])

    def beyond(self, lower: Jet) -> Jet:
        """The jet that goes on where one of a lower order ends, y and y' held as it holds them."""
        y = np.vstack([lower.y, np.zeros((2, lower.y.shape[1]))])
        guess = np.array([y[k, j] if k < len(y) else 0.0 for j, k in self._equations.unknowns])
        search = self._search(self._start.t, guess)
        held = self._start.given & (len(lower.moved) == 0)
        return self._jet(search, search.run(self._along(held)).values)

    def _along(self, y: np.ndarray) -> np.ndarray:
        """What is known of y and y' along the jet."""
        n = self._equations.system.sizes["x"]
        return self._equations.along_jet({"xdot": y[1, :n], "x": y[0, :n], "z": y[0, n:]})

    def _search(self, t: float, guess: np.ndarray) -> Search:
        eq, start = self._equations, self._start
        return Search(eq, t, start.p, eq.steady(start.u), guess, self._sizes, nearest=False, at_once=self._at_once)

    def nearby(
        self, jet: Jet, distance: float, draw: np.random.Generator, without: np.ndarray, still: np.ndarray
    ) -> Jet:
        """A jet at a distance in sizes of the unknowns that obeys all equations but some; its residual is that of all.

        A random step along the solutions, projected onto them again. `still`: unknowns that are moved and then held.
        """
        from scipy.sparse import diags

        eq = self._equations
        position, order = (np.array(part, dtype=int) for part in zip(*eq.unknowns))
        base = jet.y[order, position]
        at_random = np.isin(position, still)
        search = self._search(jet.t + distance * draw.uniform(0.5, 1.0), base)
        sizes = search.sizes
        base = base + np.where(at_random & (order == 0), distance * sizes, 0.0)
        kept = ~np.isin(self.equation, without)
        numbers = eq.evaluation(jet.t, search.p, search.u)
        _residual, slopes, scale = numbers.selected(kept, ~at_random, base, sizes, 0)(base[~at_random])
        weighted = diags(1 / scale) @ slopes @ diags(sizes[~at_random])
        drawn = draw.uniform(-1.0, 1.0, int(np.sum(~at_random)))
        along = shortest_step(weighted, weighted @ drawn) - drawn
        # Lower derivatives set the length: higher ones follow from them.
        low = np.abs(along[order[~at_random] == 0]).max(initial=0.0)
        base[~at_random] += sizes[~at_random] * along * (distance / low if low > 0 else 0.0)
        moved = self._search(search.time, base)
        return self._jet(moved, moved.run(at_random, kept=kept).values)

    def _jet(self, search: Search, values: np.ndarray) -> Jet:
        """Values as a jet, with what is left of all rows there."""
        y, start = self._equations.jet_of(values), self._start
        return Jet(
            search.time, start.p, start.u, y, search.residual(values)[1], self.equation, moved_values(start, y[:2])
        )

    def left(self, jet: Jet, equations: np.ndarray) -> float:
        """The largest share that is left of some equations and their derivatives; infinite if one is not finite."""
        own = np.abs(jet.residual[np.isin(self.equation, equations)])
        return float(own.max(initial=0.0)) if np.all(np.isfinite(own)) else float("inf")
