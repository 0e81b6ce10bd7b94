"""The choice of states of a system: what it says about x', how good it is at a point, and which one is best there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, weakest
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import SingularModelError
from daedalus.model.expressions import concatenate, elements
from daedalus.model.names import listed
from daedalus.model.system.equation_row import Role, free_name, level_name
from daedalus.model.system.once import once
from daedalus.model.system.state_choice import StateChoice
from daedalus.model.system.system import System
from daedalus.reduction.reduction_record import FormOf, Reduction
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.reduction.selection.dominant_columns import BOUND, dominant_columns, partners, worst_rate


@dataclass(frozen=True, eq=False)
class ChoicePositions:
    """One choice in positions: states (levels, m) in x, flags in p, and (constraint, state) of each flag."""

    states: np.ndarray
    flags: np.ndarray
    pairs: np.ndarray  # (flags, 2)
    choice: StateChoice

    @property
    def count(self) -> int:
        """The number of constraints in a level."""
        return len(self.choice.constraints[0])

    @property
    def allowed(self) -> np.ndarray:
        """Which state each constraint may be solved for."""
        found = np.zeros((self.count, self.states.shape[1]), dtype=bool)
        found[self.pairs[:, 0], self.pairs[:, 1]] = True
        return found

    def dependent(self, p: np.ndarray) -> list[int]:
        """The dependent states of a level, by their place in it, in the order of their constraints."""
        taken = self.pairs[p[self.flags] > 0.5]
        return [int(a) for _, a in taken[np.argsort(taken[:, 0], kind="stable")]]


class SelectedStates:
    """The choices of a system; `selected_states(system)` makes it once.

    Example
    -------
    >>> import daedalus as dd, casadi as ca, numpy as np
    >>> m = dd.Model("pendulum")
    >>> q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0, 0])
    >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q))); m.potential_energy(9.81 * q[1])
    >>> rod = m.constraint("rod", ca.sumsqr(q) - 1)
    >>> own = selected_states(dd.reduce(m, stabilise="dummy_derivatives").freeze())
    >>> p = own.chosen(0.0, np.array([1.0, 0.1, 0.0, 0.0]), np.zeros(0), np.array([0.0, 0.0]))
    >>> own.labels(p)
    (('q[1]', 'q_rate[1]'), ('q[0]', 'q_rate[0]'))
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.groups = [_group(system, choice) for choice in system.choices]
        flags = np.concatenate([group.flags for group in self.groups])
        p = system.symbol("p")
        switched_off = elements(p)
        for k in flags.tolist():
            switched_off[k] = ca.SX(0)
        self._tied = ca.densify(ca.substitute(system.residual, p, concatenate(switched_off)))
        chosen = {int(state) for group in self.groups for state in group.states.ravel()}
        self._rows = _rows_of_states(system, flags, chosen)
        # Where all flags are zero, the equation of a state says x' - value = 0.
        rates, residual = elements(system.symbol("xdot")), elements(self._tied)
        for state, row in self._rows.items():
            rates[state] = rates[state] - residual[row]
        self.rates = concatenate(rates)
        self._constraints = {
            (g, level): _constraints(system, group, group.states[level], self._rows)
            for g, group in enumerate(self.groups)
            for level in range(len(group.states))
        }
        symbols = system.symbols(("t", "x", "u", "p"))
        matrices = [
            ca.densify(ca.jacobian(self._constraints[g, 0], system.symbol("x")[group.states[0].tolist()]))
            for g, group in enumerate(self.groups)
        ]
        self._matrices = ca.Function("matrices", symbols, matrices)

    @property
    def constraints(self) -> list[list[ca.SX]]:
        """For each group, level after level, what its states have to keep at zero."""
        return [[self._constraints[g, k] for k in range(len(group.states))] for g, group in enumerate(self.groups)]

    def matrices(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
        """For each group the constraints by its states, in nominal values."""
        found = self._matrices.call([t, x, u, p])
        nominal = self.system.nominal["x"]
        return [part.full() * nominal[group.states[0]] for part, group in zip(found, self.groups)]

    def worst_rates(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> list[float]:
        """For each group how much faster than a selected state, in nominal values, a dependent one may move."""
        matrices = self.matrices(t, x, u, p)
        return [
            worst_rate(matrix, group.dependent(p)) if len(group.dependent(p)) == group.count else float("inf")
            for matrix, group in zip(matrices, self.groups)
        ]

    def chosen(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, renewed: str = "") -> np.ndarray:
        """p with the choice for this point: the one in p where it is good enough, else a dominant one near it.

        `renewed` is the event of a choice that is made anew however good it is.
        """
        p = np.array(p, dtype=float)
        for group, matrix, rate in zip(self.groups, self.matrices(t, x, u, p), self.worst_rates(t, x, u, p)):
            before = group.dependent(p) if len(group.dependent(p)) == group.count else None
            if rate < BOUND and not (renewed and group.choice.event == renewed):
                continue
            columns = dominant_columns(matrix, before)
            if columns is None:
                raise self._singular(group, t)
            partner = partners(matrix, columns, group.allowed)
            p[group.flags] = [float(partner[i] == a) for i, a in group.pairs]
        return p

    def weakest(self, before: list[np.ndarray], now: list[np.ndarray]) -> tuple[float, ChoicePositions]:
        """The group nearest to a singular configuration, and how near: 1 is as far as at a point before, 0 is there.

        `before` and `now` are the matrices at the two points.
        """
        shares = [
            min(_independence(new) / _independence(old), float(np.min(_lengths(new) / _lengths(old))))
            for old, new in zip(before, now)
        ]
        worst = int(np.argmin(shares))
        return shares[worst], self.groups[worst]

    def places(self, p: np.ndarray) -> tuple[list[int], list[int]]:
        """The dependent states of a choice, and the equations that are constraints then."""
        states = [int(level[a]) for group in self.groups for level in group.states for a in sorted(group.dependent(p))]
        return states, [self._rows[state] for state in states]

    def labels(self, p: np.ndarray) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the selected and of the dependent states."""
        names, dependent = self.system.labels["x"], set(self.places(p)[0])
        every = [int(state) for group in self.groups for level in group.states for state in level]
        return (
            tuple(names[s] for s in every if s not in dependent),
            tuple(names[s] for s in every if s in dependent),
        )

    def without_choice(self) -> System:
        """The system in which x' = value holds for all states and constraints are invariants, in the same vectors."""
        system = self.system
        kept: dict[str, ca.SX] = {}
        origins = []
        for (g, level), constraints in self._constraints.items():
            for row, constraint in zip(self.groups[g].choice.constraints[level], elements(constraints)):
                name = free_name(level_name(row.equation, row.times), {*kept, *system.invariants})
                kept[name] = constraint
                origins.append(replace(row, label=name))
        own = {choice.event for choice in system.choices}
        events = [k for k, event in enumerate(system.events) if event.name not in own]
        written = [replace(row, role=Role.WRITTEN) if row.role is Role.SELECTED else row for row in system.rows]
        return system.changed(
            residual=self._tied, rows=written, events=[system.events[k] for k in events],
            guards=system.guards[events], resets=system.resets[events, :],
            assigned=system.assigned[events, :], choices=(),
            invariants={**kept, **system.invariants}, invariant_rows=(*origins, *system.invariant_rows),
            watched={}, watched_rows=(), parts=system.parts(Reduction, FormOf, Redundancy),
        )  # fmt: skip

    def _singular(self, group: ChoicePositions, t: float) -> SingularModelError:
        names = [row.label for row in group.choice.constraints[0]]
        labels = [self.system.labels["x"][s] for s in group.states[0]]
        return SingularModelError(
            f"No choice of states is regular at t = {t:.6g}.",
            f"{listed(names)} {'does' if len(names) == 1 else 'do'} not determine any {group.count} of "
            f"{listed(labels)} there",
            because="the constraints depend on each other at this point: a singular configuration.",
            remedy="another start or other parameters, so that the motion does not pass this point",
        )


def selected_states(system: System) -> SelectedStates:
    """The choices of a system, made once and kept with it."""
    return once(system, SelectedStates)


def without_choice(system: System) -> System:
    """The system without a choice of states, for what does not depend on it, such as a start; kept with it."""
    return once(system, _without_choice) if system.choices else system


def _without_choice(system: System) -> System:
    return selected_states(system).without_choice()


def _lengths(matrix: np.ndarray) -> np.ndarray:
    return np.maximum(np.linalg.norm(matrix, axis=1), NOT_ZERO)


def _independence(matrix: np.ndarray) -> float:
    """The smallest singular value of the rows, each divided by its length."""
    values = weakest((matrix / _lengths(matrix)[:, None])[None]).values
    return float(max(values[0], NOT_ZERO))


def _group(system: System, choice: StateChoice) -> ChoicePositions:
    positions = system.places
    states = np.array([[positions[name].positions[k] for name, k in level] for level in choice.states], dtype=int)
    flags = positions[choice.parameter].positions[[entry for entry, _, _ in choice.entries]]
    return ChoicePositions(states, flags, np.array([(i, a) for _, a, i in choice.entries], dtype=int), choice)


def _rows_of_states(system: System, flags: np.ndarray, states: set[int]) -> dict[int, int]:
    """State of a choice -> its equation: the one that contains its derivative and a flag."""
    with_flag = set(ca.jacobian_sparsity(system.residual, system.symbol("p")[flags.tolist()]).row())
    pattern = structure_of(system).pattern("xdot")
    return {int(s): int(r) for r, s in zip(*pattern.get_triplet()) if r in with_flag and s in states}


def _constraints(system: System, group: ChoicePositions, states: np.ndarray, rows: dict[int, int]) -> ca.SX:
    """The constraints of a level: what the equation of a state is where one flag is set."""
    p, residual = system.symbol("p"), system.residual
    found: dict[int, ca.SX] = {}
    for flag, (i, a) in zip(group.flags.tolist(), group.pairs.tolist()):
        if i not in found:
            alone = elements(p)
            for k in group.flags.tolist():
                alone[k] = ca.SX(float(k == flag))
            found[i] = ca.substitute(residual[rows[int(states[a])]], p, concatenate(alone))
    return concatenate(ca.simplify(found[i]) for i in range(group.count))
