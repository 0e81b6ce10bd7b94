"""The search for a consistent jet, stage by stage: positions, then velocities, then accelerations and multipliers.

Each stage is solved for its own unknowns with the earlier ones held. Where given values of a later stage determine
guesses of an earlier one (a given derivative, a given force), the stages up to there are solved together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from daedalus.algebra.counted_entries import counted
from daedalus.algebra.damped_newton import CONSISTENT, SOLVED, Equations, damped_newton
from daedalus.algebra.homotopy import follow
from daedalus.algebra.least_change import Arrival, least_change
from daedalus.algebra.rank_decision import EPSILON, FULL_NULL_SPACE, balanced, is_singular
from daedalus.algebra.shortened_steps import LEFT_OUT, shortest_steps
from daedalus.analysis.structure.jets.jet_equations import JetEquations
from daedalus.analysis.structure.jets.jet_evaluation import JetEvaluation
from daedalus.deadline import poll
from daedalus.model.lazy_values import cached_property

# Derivatives and algebraic variables move this much more easily than the states that they follow from.
EASE = 1e3
# How far aside a search begins where slopes vanish at the guess, and how far others are drawn, in sizes.
ASIDE, SPREAD = 0.1, 0.7
DRAWS = 3
# Stages with more blocks are solved as a whole only.
MOST_BLOCKS = 200
EXACT = 4 * EPSILON
# What Newton's method leaves of a zero, in sizes.
NOTHING = 1e-30


@dataclass(frozen=True, eq=False)
class MassMetric:
    """Blocks of unknowns, as places in the jet, with the symmetric matrix that measures their change; stacks, too."""

    blocks: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def spread(self, columns: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """S with ‖S⁻¹ Δ‖ the length of a change of these unknowns: (n,) sizes, or (..., n, n) where mass counts."""
        where = {int(c): k for k, c in enumerate(columns)}
        spread: np.ndarray | None = None
        for own, matrix in self.blocks:
            present = [k for k, c in enumerate(own) if int(c) in where]
            if not present:
                continue
            places = [where[int(own[k])] for k in present]
            part = matrix[..., np.array(present)[:, None], present]
            # In the mean a mass counts as much as the sizes do, so that other unknowns keep their weight.
            diagonal = np.diagonal(part, axis1=-2, axis2=-1)
            part = part / np.mean(diagonal * sizes[places] ** 2, axis=-1)[..., None, None]
            spread = (
                np.broadcast_to(np.diag(sizes), (*part.shape[:-2], len(sizes), len(sizes))).copy()
                if spread is None
                else spread
            )
            root = np.linalg.inv(np.linalg.cholesky(part))
            spread[..., np.array(places)[:, None], places] = np.swapaxes(root, -1, -2)
        return sizes if spread is None else spread


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """Where a search ended. stage: the one that failed, None when all arrived; scaled: residuals in sizes of rows."""

    values: np.ndarray
    scaled: np.ndarray
    stage: int | None
    iterations: int
    notes: tuple[str, ...] = ()
    finite: bool = True
    insensitive: tuple[int, ...] = ()

    @property
    def solved(self) -> bool:
        """Whether all equations hold."""
        return self.stage is None


@dataclass(frozen=True, eq=False)
class Search:
    """What is known before a search: the equations at a time with parameters and inputs, guesses and sizes.

    nearest: whether the values sought are those nearest to the guess; otherwise shortest steps from it are enough,
    behind damped ones where these are wanted. left_out: small pivots of such steps, see `shortest_steps`. at_once: all
    stages together first, which of several solutions finds the one nearest to the guess.
    """

    equations: JetEquations
    time: float
    p: np.ndarray
    u: np.ndarray
    guess: np.ndarray
    sizes: np.ndarray
    metric: MassMetric = MassMetric()
    nearest: bool = True
    damped: bool = False
    left_out: float = LEFT_OUT
    at_once: bool = False

    @cached_property
    def numbers(self) -> JetEvaluation:
        """The equations in numbers."""
        return self.equations.evaluation(self.time, self.p, self.u)

    def run(
        self, given: np.ndarray, *, upto: int | None = None, thorough: bool = True, kept: np.ndarray | None = None
    ) -> SearchOutcome:
        """Search with some unknowns held at their guess; `upto` leaves out later stages, `kept` other rows."""
        eq, values = self.equations, self.guess.copy()
        iterations, notes = 0, []
        wanted = np.ones(len(eq.rows), dtype=bool) if kept is None else kept
        stages = sorted(set(eq.row_stage[wanted].tolist()))
        if self.at_once:
            arrival, _ = self._newton(wanted, ~given, values, values)
            if arrival.solved:
                values[~given], stages = arrival.values, []
        for stage in stages:
            if upto is not None and stage > upto:
                break
            rows, columns = wanted & (eq.row_stage == stage), (eq.stage == stage) & ~given
            arrival, aside = self._newton(rows, columns, values, values)
            iterations += arrival.iterations
            if not arrival.solved:
                arrival, aside = self._in_own_sizes(rows, columns, values) or (arrival, aside)
            if not arrival.solved:
                arrival, aside = self._block_by_block(rows, columns, values) or (arrival, aside)
            if not arrival.solved:
                rows, columns = wanted & (eq.row_stage <= stage), (eq.stage <= stage) & ~given
                arrival, aside = self._together(rows, columns, values, thorough)
                iterations += arrival.iterations
            notes += aside
            values[columns] = arrival.values
            if not arrival.solved:
                scaled = np.zeros(len(eq.rows))
                scaled[rows] = arrival.scaled
                dead = tuple(int(k) for k in np.flatnonzero(rows)[sorted(arrival.insensitive)])
                return SearchOutcome(values, scaled, stage, iterations, tuple(notes), arrival.finite, dead)
        # What did not move but for rounding stays exactly.
        still = np.abs(values - self.guess) <= EXACT * self.sizes
        values = np.where(still, self.guess, np.where(np.abs(values) <= NOTHING * self.sizes, 0.0, values))
        return SearchOutcome(values, self.residual(values)[1], None, iterations, tuple(dict.fromkeys(notes)))

    def residual(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All rows, and all rows in their sizes."""
        residual = self.numbers.rows(values)
        return residual, residual / self.numbers.sizes(np.maximum(self.sizes, np.abs(values)))

    def jacobian(self, values: np.ndarray) -> Any:
        """∂rows/∂jet in sizes, sparse."""
        sizes = np.maximum(self.sizes, np.abs(values))

        def slopes(own: np.ndarray) -> Any:
            self.numbers.rows(own)
            return self.numbers.jacobian()

        matrix = counted(slopes, values, sizes)
        self.numbers.rows(values)
        scale = self.numbers.sizes(sizes)
        return matrix.multiply(sizes[None, :]).multiply(1 / scale[:, None]).tocsr()

    # -- one solve ---------------------------------------------------------------------------------------------

    def _newton(
        self, rows: np.ndarray, columns: np.ndarray, start: np.ndarray, anchor: np.ndarray
    ) -> tuple[Arrival, list[str]]:
        """Newton's method on some rows for some unknowns; once more from aside where slopes vanish at the start."""
        equations = self._selected(rows, columns, start)
        if not self.nearest:
            return self._near_root(equations, start[columns], self.sizes[columns]), []
        spread, states = self._spread(columns)
        arrival = least_change(equations, start[columns], spread, anchor[columns], states)
        if arrival.solved:
            return arrival, []
        chosen = np.flatnonzero(rows)
        dead = [int(chosen[k]) for k in arrival.insensitive if abs(arrival.scaled[k]) > SOLVED]
        touched = np.zeros(len(start), dtype=bool)
        for row in dead:
            touched[self.equations.unknowns_in(row)] = True
        touched &= columns
        if not np.any(touched):
            return arrival, []
        moved = np.flatnonzero(touched)
        begin = start.copy()
        begin[moved] += ASIDE * self.sizes[moved] * np.linspace(1.0, 1.3, len(moved))
        again = least_change(equations, begin[columns], spread, anchor[columns], states)
        if not again.solved:
            return arrival, []
        names = ", ".join(self.equations.label(int(k)) for k in moved[:6])
        which = " and ".join(dict.fromkeys(self.equations.rows[row].label for row in dead))
        note = f"the slopes of {which} vanish at the guess of {names}: the search began aside of it"
        return again, [note]

    def _near_root(self, equations: Equations, guess: np.ndarray, sizes: np.ndarray) -> Arrival:
        """Where shortest steps lead from a guess; solved as far as values are where ranks are lost."""
        if self.damped and len(guess) <= FULL_NULL_SPACE:
            guess = damped_newton(equations, guess, sizes).values
        values, left, count = shortest_steps(equations, guess, sizes, self.left_out)
        finite = bool(np.all(np.isfinite(left)))
        return Arrival(values, left, finite and bool(np.abs(left).max(initial=0.0) <= CONSISTENT), count, finite=finite)

    def _in_own_sizes(
        self, rows: np.ndarray, columns: np.ndarray, start: np.ndarray
    ) -> tuple[Arrival, list[str]] | None:
        """A square stage with each unknown as large as one step of Newton's method makes it. None if it fails.

        Third derivatives of a motion of microseconds are 1e15 where their guess is 0 in units of 1: beside what is held
        in a row, slopes in such units look like rounding.
        """
        if rows.sum() != columns.sum():
            return None
        residual, slopes, _ = self._selected(rows, columns, start)(start[columns])
        step = _balanced_solution(slopes, residual) if isinstance(slopes, np.ndarray) else None
        if step is None:
            return None
        sizes = np.maximum(self.sizes, np.abs(start))
        sizes[columns] = np.maximum(sizes[columns], np.abs(step))
        arrival, aside = replace(self, sizes=sizes)._newton(rows, columns, start, start)
        return (arrival, aside) if arrival.solved else None

    def _block_by_block(
        self, rows: np.ndarray, columns: np.ndarray, start: np.ndarray
    ) -> tuple[Arrival, list[str]] | None:
        """A square stage in the order of its blocks: none is held up by what follows from it. None if it fails."""
        blocks = self.numbers.blocks(rows, columns)
        if not 1 < len(blocks) <= MOST_BLOCKS:
            return None
        values, notes, iterations = start.copy(), [], 0
        for own_rows, own_columns in blocks:
            arrival, aside = self._newton(own_rows, own_columns, values, values)
            if not arrival.solved:
                return None
            values[own_columns] = arrival.values
            iterations += arrival.iterations
            notes += aside
        scaled = self.residual(values)[1][rows]
        solved = bool(np.abs(scaled).max(initial=0.0) <= SOLVED)
        return (Arrival(values[columns], scaled, True, iterations), notes) if solved else None

    def _together(
        self, rows: np.ndarray, columns: np.ndarray, start: np.ndarray, thorough: bool
    ) -> tuple[Arrival, list[str]]:
        """All means for the stages up to one: Newton from both guesses, the homotopy, Newton from places around."""
        best, notes = self._newton(rows, columns, start, self.guess)
        if best.solved or not self.nearest or self._hopeless(rows, columns):
            return best, notes
        attempts: list[tuple[Callable[[], tuple[Arrival | None, list[str]]], str]] = [
            (lambda: self._newton(rows, columns, self.guess, self.guess), "earlier stages moved, too")
        ]
        if thorough:
            attempts.append((lambda: self._homotopy(rows, columns), "the solution was followed by a homotopy"))
        draw = np.random.default_rng(1990)
        for _ in range(DRAWS if thorough else 1):
            poll("a consistent start")
            shaken = np.where(columns, self.guess + SPREAD * self.sizes * draw.standard_normal(len(start)), self.guess)
            attempts.append((partial(self._newton, rows, columns, shaken, self.guess), "it began aside of it"))
        for attempt, remark in attempts:
            arrival, notes = attempt()
            if arrival is not None and arrival.solved:
                return arrival, notes or [f"the search from the guess did not arrive: {remark}"]
            if arrival is not None and arrival.worst < best.worst:
                best = arrival
        return best, []

    def _hopeless(self, rows: np.ndarray, columns: np.ndarray) -> bool:
        """Whether a row without any free unknown is not zero: no search can help."""
        eq = self.equations
        touched = np.zeros(len(eq.rows), dtype=bool)
        touched[self.numbers.row_of[columns[self.numbers.column_of]]] = True
        stuck = rows & ~touched
        return bool(np.any(np.abs(np.nan_to_num(self.residual(self.guess)[1][stuck], nan=1.0)) > SOLVED))

    def _homotopy(self, rows: np.ndarray, columns: np.ndarray) -> tuple[Arrival | None, list[str]]:
        return follow(self._selected(rows, columns, self.guess), self.guess[columns], self._spread(columns)[0]), []

    def _spread(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The norm of a change, and which unknowns it counts: states where there are some, else all."""
        chosen = np.flatnonzero(columns)
        sizes = np.maximum(self.sizes, np.abs(self.guess))[chosen]
        n = self.equations.system.sizes["x"]
        unknowns = [self.equations.unknowns[k] for k in chosen]
        states = np.array([order == 0 and j < n for j, order in unknowns], dtype=bool)
        if not np.any(states) or np.all(states):
            return self.metric.spread(chosen, sizes), None
        return self.metric.spread(chosen, np.where(states, sizes, EASE * sizes)), states

    def _selected(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> Callable[[np.ndarray], Any]:
        """Some rows as functions of some unknowns, the others held."""
        return self.numbers.selected(rows, columns, values, self.sizes)


def _balanced_solution(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """v with matrix v = right, whatever the units of rows and unknowns; None where the matrix does not determine it."""
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(right))) or is_singular(matrix):
        return None
    near_one, scales = balanced(matrix)
    return np.asarray(scales.columns * np.linalg.solve(near_one, scales.rows * right))
