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

from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.names import element_label
from daedalus.reduction.plan import Plan
from daedalus.reduction.rewriting import level_name

# (unknown, order of its derivative): an entry of the state.
Entry = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Level:
    """Constraints of one level, named, and the entries of the state that they can be solved for."""

    names: tuple[str, ...]
    constraints: ca.SX
    entries: tuple[Entry, ...]
    symbols: ca.SX

    @property
    def matrix(self) -> ca.SX:
        """The derivatives of the constraints by the entries, sparse."""
        return ca.jacobian(self.constraints, self.symbols)


def choice_groups(plan: Plan, with_invariants: bool = True) -> list[list[Level]]:
    """The groups, each with its levels; `with_invariants` counts what the model keeps beside its equations."""
    names, rows, leading = _rows(plan, with_invariants)
    levels = [_level(plan, names, rows, part, leading) for part in _connected(leading)]
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


def invariant_entries(plan: Plan, expression: ca.SX) -> list[Entry] | None:
    """The entries of the state in what a model keeps; None where it contains anything else that moves."""
    place = {u: j for j, u in enumerate(plan.unknowns)}
    found = []
    for symbol in ca.symvar(expression):
        name, k, order = plan.book._known[symbol_key(symbol)]
        if (name, k) in place:
            if order >= plan.order(place[name, k]):
                return None
            found.append((place[name, k], order))
    return found or None


def _rows(plan: Plan, with_invariants: bool) -> tuple[list[str], list[ca.SX], list[list[Entry]]]:
    """Every constraint with its lower derivatives: names, expressions, and the entries each is solved for."""
    names: list[str] = []
    rows: list[ca.SX] = []
    leading: list[list[Entry]] = []
    c, d = plan.signature.c, plan.signature.d
    place = {u: j for j, u in enumerate(plan.unknowns)}
    for times in range(int(c[plan.constraints].max(initial=0)) if plan.constraints else 0):
        for i in (i for i in plan.constraints if c[i] > times):
            row = plan.levels[i, times]
            inside = [plan.book._known[symbol_key(s)] for s in ca.symvar(row)]
            entries = [(place[name, k], order) for name, k, order in inside if (name, k) in place]
            names.append(level_name(plan.labels[i], times))
            rows.append(row)
            leading.append([(j, r) for j, r in entries if r == d[j] - c[i] + times and r < plan.order(j)])
    for name, value in plan.book._invariants.items() if with_invariants else ():
        for k, row in enumerate(elements(value)):
            own = invariant_entries(plan, row)
            if own is not None:
                names.append(element_label(name, () if value.is_scalar() else (value.numel(),), k))
                rows.append(row)
                leading.append(own)
    return names, rows, leading


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


def _level(plan: Plan, names: list[str], rows: list[ca.SX], part: list[int], leading: list[list[Entry]]) -> Level:
    entries = sorted({e for i in part for e in leading[i]})
    symbols = concatenate(plan.book._derivative_scalar(*plan.unknowns[j], r) for j, r in entries)
    return Level(tuple(names[i] for i in part), concatenate(rows[i] for i in part), tuple(entries), symbols)


def _drawn(level: Level) -> np.ndarray:
    """The matrix at values drawn at random, the same for the same symbols."""
    matrix = level.matrix
    symbols = ca.symvar(matrix)
    values = [np.random.default_rng(symbol_key(s) % 2**32).uniform(0.4, 1.6) for s in symbols]
    return ca.Function("matrix", [concatenate(symbols)], [ca.densify(matrix)])(np.array(values)).full()


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-12, atol=0.0))
