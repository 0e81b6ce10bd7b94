"""Among which states the constraints of a reduction leave a choice, group by group.

The k-th derivative of constraint i is solved for the derivatives of order d_j - c_i + k of the unknowns in it: their
matrix is a part of the system Jacobian (S. E. Mattsson, G. Söderlind, Index reduction in differential-algebraic
equations using dummy derivatives, SIAM J. Sci. Comput. 14, 1993). Constraints that share such unknowns form a group;
positions and velocities of a mechanism have the same matrix and hence one choice for both.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.model.expressions import at_values, concatenate, elements, symbol_key
from daedalus.model.system.equation_row import EquationRow, Role
from daedalus.reduction.reduction_plan import ReductionPlan

# (unknown, order of its derivative): an entry of the state.
Entry = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Level:
    """Constraints of one level, where they come from, and the entries of the state that they can be solved for."""

    rows: tuple[EquationRow, ...]
    constraints: ca.SX
    entries: tuple[Entry, ...]
    symbols: ca.SX

    @property
    def names(self) -> list[str]:
        """The constraints by name."""
        return [row.label for row in self.rows]

    @property
    def matrix(self) -> ca.SX:
        """The derivatives of the constraints by the entries, sparse."""
        return ca.jacobian(self.constraints, self.symbols)


def choice_groups(plan: ReductionPlan, with_invariants: bool = True) -> list[list[Level]]:
    """The groups, each with its levels; `with_invariants` counts what the model keeps beside its equations."""
    rows, constraints, leading = _rows(plan, with_invariants)
    levels = [_level(plan, rows, constraints, part, leading) for part in _connected(leading)]
    draws = [_drawn(level) for level in levels]
    groups: list[list[Level]] = []
    first: list[int] = []
    for k, level in enumerate(levels):
        alike = [g for g, f in enumerate(first) if _same(draws[f], draws[k])]
        if alike:
            groups[alike[0]].append(level)
        else:
            groups.append([level])
            first.append(k)
    return groups


def invariant_entries(plan: ReductionPlan, expression: ca.SX) -> list[Entry] | None:
    """The entries of the state in what a model keeps; None where it contains anything else that moves."""
    place = {u: j for j, u in enumerate(plan.unknowns)}
    found = []
    for symbol in ca.symvar(expression):
        name, k, order = plan.book.written.known[symbol_key(symbol)]
        if (name, k) in place:
            if order >= plan.order(place[name, k]):
                return None
            found.append((place[name, k], order))
    return found or None


def _rows(plan: ReductionPlan, with_invariants: bool) -> tuple[list[EquationRow], list[ca.SX], list[list[Entry]]]:
    """Every constraint with its lower derivatives: origins, expressions, and the entries each is solved for."""
    rows: list[EquationRow] = []
    constraints: list[ca.SX] = []
    leading: list[list[Entry]] = []
    c, d = plan.signature.c, plan.signature.d
    place = {u: j for j, u in enumerate(plan.unknowns)}
    for i, times in plan.lower_levels:
        constraint = plan.levels[i, times]
        inside = [plan.book.written.known[symbol_key(s)] for s in ca.symvar(constraint)]
        entries = [(place[name, k], order) for name, k, order in inside if (name, k) in place]
        rows.append(plan.level(i, times))
        constraints.append(constraint)
        leading.append([(j, r) for j, r in entries if r == d[j] - c[i] + times and r < plan.order(j)])
    for kept in plan.book.written.invariants.values() if with_invariants else ():
        for row, constraint in zip(kept.rows, elements(kept.residual)):
            own = invariant_entries(plan, constraint)
            # What somebody declared need not determine a state everywhere: an energy does not where nothing moves.
            if own is not None and row.role is not Role.DECLARED:
                rows.append(row)
                constraints.append(constraint)
                leading.append(own)
    return rows, constraints, leading


def _connected(leading: list[list[Entry]]) -> list[list[int]]:
    """Rows that share an entry, directly or through others, together."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    columns = {entry: k for k, entry in enumerate(sorted({e for own in leading for e in own}))}
    pairs = [(i, len(leading) + columns[e]) for i, own in enumerate(leading) for e in own]
    size = len(leading) + len(columns)
    ends = np.array(pairs, dtype=int).reshape(-1, 2)
    _, part = connected_components(csr_matrix((np.ones(len(ends)), ends.T), shape=(size, size)), directed=False)
    found: dict[int, list[int]] = {}
    for i, number in enumerate(part[: len(leading)].tolist()):
        found.setdefault(number, []).append(i)
    return list(found.values())


def _level(
    plan: ReductionPlan, rows: list[EquationRow], constraints: list[ca.SX], part: list[int], leading: list[list[Entry]]
) -> Level:
    entries = sorted({e for i in part for e in leading[i]})
    symbols = concatenate(plan.book.written.derivative_scalar(*plan.unknowns[j], r) for j, r in entries)
    return Level(tuple(rows[i] for i in part), concatenate(constraints[i] for i in part), tuple(entries), symbols)


def _drawn(level: Level) -> np.ndarray:
    """The matrix at values drawn at random, the same for the same symbols."""

    def value_of(symbol: ca.SX) -> float:
        return np.random.default_rng(symbol_key(symbol) % 2**32).uniform(0.4, 1.6)

    return at_values(ca.densify(level.matrix), value_of).full()


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-12, atol=0.0))
