"""A jet (y, y', y'', ...) that obeys the equations and their derivatives: the point that ranks are taken at.

An index belongs to a jet, not to a state: at values that contradict a hidden constraint, or at derivatives that are
just zero, ranks say nothing about solutions. Given values stay where that is possible; what had to move is on record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import CONSISTENT, damped_newton
from daedalus.algebra.rank_decision import FULL_NULL_SPACE, FULL_RANK
from daedalus.algebra.shortened_steps import LEFT_OUT, shortest_steps
from daedalus.analysis.linear.pencils.equilibration import equilibrate
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.jets.jet_evaluation import JetEvaluation
from daedalus.model.system.system import System

# A given value that moved by more than this share of its size did not stay: far above what jets are consistent to.
MOVED = 100 * CONSISTENT
# Guesses that are tried around the first one, and how far around in units of the usual size.
TRIALS, SPREAD = 4, 0.7
# In balanced units less is left out of a step.
LEFT_OUT_BALANCED = 1e-12
# A value this many times larger than before has run away.
FAR = 1e6


@dataclass(frozen=True, eq=False)
class Jet:
    """Values of t, p, u and its derivatives (zero but for u), and y^(k) in row k.

    residual: what is left of every differentiated equation, in shares of its size. moved: positions in y (and y') of
    given values that could not be kept. inputs_stay: whether values drawn around the jet keep its inputs.
    """

    t: float
    p: np.ndarray
    u: np.ndarray
    y: np.ndarray
    residual: np.ndarray
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
    """Solve levels 0 to `order` of the derivative array for the jet, given values first held, then freed.

    lower: a consistent jet of one order less, from which the next derivatives follow.
    """
    if lower is not None and lower.consistent:
        base = np.vstack([lower.y, np.zeros((order + 2 - len(lower.y), array.size))])
        fixed = np.zeros(base.shape, dtype=bool)
        fixed[:2] = start.given & (len(lower.moved) == 0)
        with np.errstate(over="ignore", invalid="ignore"):
            y, residual = _newton(array, start, base, fixed, order)
        jet = Jet(start.t, start.p, start.u, y, residual, moved_values(start, y[:2]))
        if jet.consistent:
            return jet

    def solve(guess: np.ndarray, held: np.ndarray, draw: np.random.Generator | None) -> Jet:
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far is shortened
            return _solve(array, start, guess, held, order, draw)

    return first_consistent(start, TRIALS, solve)


def first_consistent(
    start: JetStart, trials: int, solve: Callable[[np.ndarray, np.ndarray, np.random.Generator | None], Jet]
) -> Jet:
    """The first jet that `solve` finds consistent, else the best, from the written guess and from some around it.

    `solve` gets a guess, the values that are held, given ones first, then none, and what draws but for the first trial.
    """
    draw = np.random.default_rng(1987)
    best: Jet | None = None
    for held in (start.given, np.zeros_like(start.given)):
        for trial in range(trials):
            shaken = start.y + (SPREAD * start.size * draw.standard_normal(start.y.shape) if trial else 0.0)
            jet = solve(np.where(start.given, start.y, shaken), held, draw if trial else None)
            if jet.consistent:
                return jet
            best = jet if best is None or jet.misfit < best.misfit else best
    assert best is not None
    return best


def moved_values(start: JetStart, y: np.ndarray) -> tuple[tuple[int, int], ...]:
    """(order, position) of given values that y and y' do not have."""
    shift = np.abs(y - start.y) > MOVED * np.maximum(start.size, np.abs(start.y))
    return tuple((int(k), int(j)) for k, j in np.argwhere(shift & start.given))


def _solve(
    array: DerivativeArray,
    start: JetStart,
    guess: np.ndarray,
    held: np.ndarray,
    order: int,
    draw: np.random.Generator | None,
) -> Jet:
    n, depth = array.size, order + 2
    fixed = np.zeros((depth, n), dtype=bool)
    fixed[:2] = held
    base = np.zeros((depth, n))
    if draw is not None:
        base[:] = SPREAD * start.size * draw.standard_normal(base.shape)
    base[:2] = guess
    y, residual = _newton(array, start, base, fixed, order)
    if held.any() and draw is None and not np.abs(residual).max(initial=0.0) <= CONSISTENT:
        # Derivatives of fast systems are far from the sizes of their unknowns: balanced units make up for that.
        y, residual = _newton(array, start, base, fixed, order, units=_balanced(array, start, depth))
    if not np.abs(residual).max(initial=0.0) <= CONSISTENT:
        # From low orders to high ones: each level starts where the one before arrived.
        climbing = base
        for lower in range(order + 1):
            rows = lower + 2
            climbing = climbing.copy()
            climbing[:rows], residual = _newton(array, start, climbing[:rows], fixed[:rows], lower)
        y = climbing
    # The slow way is taken once from where one asked, and then only where everything is free.
    if not np.abs(residual).max(initial=0.0) <= CONSISTENT and (draw is None or not held.any()):
        y, residual = _newton(array, start, base, fixed, order, damped=True)
    return Jet(start.t, start.p, start.u, y, residual, moved_values(start, y[:2]))


def _balanced(array: DerivativeArray, start: JetStart, depth: int) -> np.ndarray:
    """Units of y, y', y'', ... from the pencil of the equations at the start: those of y^(k) grow with speed^k."""
    _, slopes = array.function(0)(start.t, start.p, np.concatenate([start.u, 0 * start.u]), start.y.ravel())
    first = slopes.full() * np.tile(start.size, 2)
    if array.size > FULL_RANK or not np.all(np.isfinite(first)):
        return np.tile(start.size, depth)
    scaled = equilibrate(first[:, array.size :], first[:, : array.size])
    return np.concatenate([start.size * scaled.columns * scaled.speed**k for k in range(depth)])


def _newton(
    array: DerivativeArray,
    start: JetStart,
    base: np.ndarray,
    fixed: np.ndarray,
    order: int,
    damped: bool = False,
    units: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve levels 0 to `order` for the entries of the jet that are not fixed, from the values in `base`."""
    free, usual = ~fixed.ravel(), np.tile(start.size, order + 2) if units is None else units
    u = np.concatenate([start.u, np.zeros((order + 1) * len(start.u))])
    evaluation = JetEvaluation(array.function(order), np.array([start.t]), start.p, u)
    values = base.ravel().copy()
    equations = evaluation.selected(np.ones(evaluation.shape[0], dtype=bool), free, values, usual)
    if damped and len(values) <= FULL_NULL_SPACE:
        values[free] = damped_newton(equations, values[free], usual[free]).values
    left_out = LEFT_OUT if units is None else LEFT_OUT_BALANCED
    values[free], residual, _ = shortest_steps(equations, values[free], usual[free], left_out)
    return values.reshape(base.shape), residual
