"""What lies behind a reset: assigned names are given, the rest keep their values where the equations let them.

What the equations and the assigned names determine is solved for, and so are all variables that nobody wrote as states.
If a state that could stay has to move, there are as many ways as such states: that is refused, with the candidates. In
mechanics positions stay and velocities move by the smallest impulse, in the metric of the masses; what a reset writes
against the constraints of a mechanism is met by their impulse in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_NULL_SPACE, STILL
from daedalus.analysis.structure.jets.jet_equations import JetEquations
from daedalus.analysis.structure.jets.jet_search import Search, SearchOutcome
from daedalus.errors import InconsistentStartError
from daedalus.initialisation.conflicts import explain
from daedalus.initialisation.freedom import null_over, row_reduced
from daedalus.initialisation.mass_metric import search_from
from daedalus.initialisation.reset_refusals import RefusedReset, contradicts, leaves_choice
from daedalus.initialisation.start_equations import start_equations
from daedalus.initialisation.written_states import written_states
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.selection.selected_states import without_choice

LETTERS = ("x", "z", "xdot")
# Values of a run that leave no more than this of an equation, as a share of its terms, lie on it.
ON_EQUATIONS = 1e-11

Inputs = Callable[[int], np.ndarray]  # u and its derivatives up to an order, (order + 1, nu)


@dataclass(frozen=True, eq=False)
class Behind:
    """Values behind a reset as a jet, and how they follow: what was held of it, and what moved in the mass metric.

    before: the jet before the reset, as it obeys the equations there.
    """

    search: Search
    values: np.ndarray
    held: np.ndarray
    by_mass: np.ndarray
    before: np.ndarray = field(default_factory=lambda: np.empty(0))

    def vector(self, letter: str) -> np.ndarray:
        """x, z or xdot."""
        return self.values[self.search.equations.places[letter]]

    @property
    def row(self) -> np.ndarray:
        """(x, z, x')."""
        return self._row_of(self.values)

    @property
    def row_before(self) -> np.ndarray:
        """The same before the reset."""
        return self._row_of(self.before)

    def _row_of(self, jet: np.ndarray) -> np.ndarray:
        return np.concatenate([jet[self.search.equations.places[letter]] for letter in LETTERS])


class ResetRule:
    """The resets of a system; `reset_rule(system)` makes it once."""

    def __init__(self, system: System) -> None:
        self.system = without_choice(system)
        self.kept = written_states(system)
        places = [[system.place(name) for name in event.resets] for event in system.events]
        # Discrete variables that a reset assigns keep to themselves.
        self.assigned = [
            sorted({int(k) for place in own for letter, k in zip(place.letters, place.positions) if letter == "x"})
            for own in places
        ]

    @cached_property
    def _written(self) -> ca.Function:
        return ca.Function("resets", self.system.symbols(), [self.system.resets])

    def names(self, event: int) -> list[str]:
        """What an event assigns, element by element."""
        return [self.system.labels["x"][k] for k in self.assigned[event]]

    def behind(
        self, event: int | None, t: float, before: Mapping[str, np.ndarray], inputs: Inputs,
        p: tuple[np.ndarray, np.ndarray], allowed: float,
    ) -> Behind:  # fmt: skip
        """The values behind an event; a RefusedReset where there are none, or more than one choice.

        event: None for one that assigns no state. before: x, z and xdot. p: parameters, with discrete variables as
        they are before and behind the event.
        allowed: by which share of their size assigned states may be off the constraints.
        """
        equations = start_equations(self.system, p[1])
        try:
            return self._behind(equations, event, t, before, inputs, p, allowed)
        except RefusedReset:
            if equations.deeper is None:
                raise
            return self._behind(equations.deeper, event, t, before, inputs, p, allowed)

    def _behind(
        self, equations: JetEquations, event: int | None, t: float, before: Mapping[str, np.ndarray], inputs: Inputs,
        p: tuple[np.ndarray, np.ndarray], allowed: float,
    ) -> Behind:  # fmt: skip
        u = inputs(equations.input_order)
        # What the run has, and what the reset reads of it, belongs to the discrete variables before the event.
        guess = _on_equations(search_from(equations, t, p[0], u, equations.along_jet(before))).copy()
        search = search_from(equations, t, p[1], u, guess)
        old = guess.copy()
        if event is not None and self.assigned[event]:
            point, own = equations.by_letter(guess), self.assigned[event]
            rows = self._written(t, point["xdot"], point["x"], point["z"], u[0], p[0]).full()
            guess[equations.places["x"][own]] = rows[event, own]
        return replace(_Settling(self, event, _with_guess(search, guess), allowed).found(), before=old)


def reset_rule(system: System) -> ResetRule:
    """The resets of a system, read once."""
    return once(system, ResetRule)


def _with_guess(search: Search, guess: np.ndarray) -> Search:
    """The search from another guess, with the masses there."""
    eq = search.equations
    return search_from(eq, search.time, search.p, search.u.reshape(eq.input_order + 1, -1), guess)


def _on_equations(search: Search) -> np.ndarray:
    """Values of a run are known to its tolerance: the nearest that obey the equations."""
    if np.abs(search.residual(search.guess)[1]).max(initial=0.0) <= ON_EQUATIONS:
        return search.guess
    found = search.run(np.zeros(len(search.guess), dtype=bool), thorough=False)
    return found.values if found.solved else search.guess


class _Settling:
    """One reset: the values that it wrote, and the search for all others."""

    def __init__(self, rule: ResetRule, event: int | None, search: Search, allowed: float) -> None:
        self.rule, self.event, self.search, self.allowed = rule, event, search, allowed
        self.place = search.equations.places["x"]
        self.assigned, self.kept = (np.zeros(len(search.guess), dtype=bool) for _ in range(2))
        if event is not None:
            self.assigned[self.place[rule.assigned[event]]] = True
        self.kept[self.place[rule.kept]] = True
        self.kept &= ~self.assigned
        blocks = [block for block, _ in search.metric.blocks]
        self.positions, self.velocities = (np.zeros(len(search.guess), dtype=bool) for _ in range(2))
        if len(blocks) == 2:
            self.positions[blocks[0]], self.velocities[blocks[1]] = True, True

    def found(self) -> Behind:
        nothing = np.zeros(len(self.search.guess), dtype=bool)
        everything = self.assigned | self.kept
        outcome = self.search.run(everything, thorough=False)
        if outcome.solved:
            return Behind(self.search, outcome.values, everything, nothing)
        movable = self._movable()
        held = self.assigned | (self.kept & movable)
        outcome = self._run(held)
        if outcome.solved:
            return Behind(self.search, outcome.values, held, nothing)
        return self._by_mass(held) or self._refused(held, movable)

    def _run(self, held: np.ndarray) -> SearchOutcome:
        return self.search.run(held, thorough=False)

    def _movable(self) -> np.ndarray:
        """What the equations leave open where nothing is given but what the reset assigns.

        Positions of a mechanism follow from positions alone: no velocity moves them.
        """
        if np.count_nonzero(~self.assigned) > FULL_NULL_SPACE:
            return np.ones(len(self.search.guess), dtype=bool)
        matrix = self.search.jacobian(self.search.guess)
        movable = np.linalg.norm(null_over(matrix, ~self.assigned), axis=1) > STILL
        if self.velocities.any():
            orders = np.array([order for _, order in self.search.equations.unknowns])
            fast = np.flatnonzero(self.velocities | (orders > 0))
            slow = np.asarray(np.abs(matrix[:, fast]).sum(axis=1)).ravel() == 0
            alone = np.linalg.norm(null_over(matrix[slow], ~self.assigned), axis=1) > STILL
            movable = np.where(self.positions, alone, movable)
        return movable

    def _feasible(self, held: np.ndarray) -> SearchOutcome:
        """The search with nothing given but what the reset assigns, and positions of a mechanism that stay."""
        return self._run(self.assigned | (held & self.positions))

    def _by_mass(self, held: np.ndarray) -> Behind | None:
        """Velocities moved in the metric of the masses, then those that were assigned too, then positions."""
        if not self.velocities.any():
            return None
        free = [held & ~(self.velocities & self.kept)]
        if (self.assigned & (self.velocities | self.positions)).any() and not self._feasible(held).solved:
            free.append(held & ~self.velocities)
            if (self.assigned & self.positions).any():
                free.append(held & ~self.velocities & ~self.positions)
        for held in free:
            outcome = self._run(held)
            if outcome.solved:
                search = _with_guess(self.search, self.search.guess)
                at = replace(search, metric=_with_guess(search, outcome.values).metric)
                last = at.run(held, thorough=False)
                return Behind(at, last.values if last.solved else outcome.values, held, self.place_of_free(held))
        return None

    def place_of_free(self, held: np.ndarray) -> np.ndarray:
        """Positions and velocities that moved in the metric of the masses."""
        return (self.velocities | (self.positions & self.assigned)) & ~held

    def _refused(self, held: np.ndarray, movable: np.ndarray) -> Behind:
        rule, number = self.rule, self.event
        event, names = ("", []) if number is None else (rule.system.events[number].name, rule.names(number))
        free = self._feasible(held)
        if free.solved:
            candidates, outcome = self._candidates(held, movable), self._run(held)
            worst = np.argsort(-np.abs(np.nan_to_num(outcome.scaled)))[:2]
            rows = [self.search.equations.rows[int(k)].name for k in worst if abs(outcome.scaled[k]) > 1e-9]
            raise leaves_choice(event, names, candidates, rows or ["the equations"])
        near = self._run(np.zeros_like(held))
        size = np.maximum(self.search.sizes, np.abs(self.search.guess))
        change = (np.abs(near.values - self.search.guess) / size)[self.assigned | (self.kept & movable)]
        if near.solved and change.max(initial=0.0) <= self.allowed:
            return Behind(self.search, near.values, np.zeros_like(held), np.zeros_like(held))
        found = explain(self.search, self.assigned, free)
        raise contradicts(event, names, found if isinstance(found, InconsistentStartError) else None)

    def _candidates(self, held: np.ndarray, movable: np.ndarray) -> list[str]:
        """States that could move to make the equations hold: together with those that have to move with them."""
        eq, loose = self.search.equations, np.flatnonzero(self.kept & movable)
        basis = null_over(self.search.jacobian(self.search.guess), ~self.assigned)[loose]
        rows = np.abs(row_reduced(basis.T)) > STILL
        group = np.arange(len(loose))
        for row in rows:
            group[np.isin(group, group[row])] = group[row].min(initial=0)
        found: list[str] = []
        for own in np.unique(group):
            members = loose[group == own]
            free = held.copy()
            free[members] = False
            if self._run(free).solved:
                found += [eq.label(int(k)) for k in members]
        return found or [eq.label(int(k)) for k in loose]
