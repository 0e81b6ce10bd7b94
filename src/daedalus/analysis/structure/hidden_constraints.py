"""The constraints that solutions obey beside the written equations, as expressions in the user's names.

The equations f_i and their derivatives up to f_i^(c_i) contain the derivatives x_j', ..., x_j^(d_j) of the unknowns. As
many of them as there are such derivatives are solved for them, written ones before differentiated ones; what the others
say after substitution is a condition on the unknowns themselves. Unknowns that a repair of the structure brought in are
solved for likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import SAME_FORMULA, is_singular
from daedalus.analysis.structure.cancelled_terms import without_vanishing
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.structural_repair import Structure, in_own_unknowns
from daedalus.analysis.structure.symbolic_solve import solved_for
from daedalus.analysis.structure.system_jacobian import matrices_at, random_arguments
from daedalus.deadline import poll
from daedalus.model.expressions import symbol_key
from daedalus.model.system.equation_row import Role


@dataclass(frozen=True, eq=False)
class FoundConstraint:
    """A condition on the unknowns: the equation it comes from, how often that was differentiated, and the expression.

    others: equations that it was combined with, but those that say what a derivative is. source: all that by name.
    hidden: whether it is none of the written equations. free: whether it is free of derivatives.
    """

    equation: int
    others: tuple[int, ...]
    source: str
    times: int
    expression: ca.SX
    hidden: bool
    free: bool


def constraints_of(structure: Structure) -> list[FoundConstraint]:
    """All conditions on the unknowns that the structure implies, written and hidden ones."""
    array, s, jet = structure.array, structure.signature, structure.jet
    stack, origin = array.stack(structure.equations, s.c)
    new = [own.position for own in structure.combinations]
    asked = [(j, k) for j in range(s.size) for k in range(0 if j in new else 1, int(s.d[j]) + 1)]
    symbols = [array.symbol(j, k) for j, k in asked]
    for k in range(int(s.d.max(initial=0)) + 2):
        array.unknowns(k)
    definitions = set(range(array.system.sizes["x"] + array.system.sizes["z"], array.count))
    partner = _partners(stack, symbols, origin, definitions)
    solved: list[tuple[ca.SX, ca.SX]] = []
    if partner:
        needed = _needed(stack, symbols, partner)
        rows, own = [stack[partner[k]] for k in needed], [symbols[k] for k in needed]
        solved = solved_for(rows, own, _always_singular(structure)) if needed else []
    value_of = {symbol_key(symbol): value for symbol, value in solved}
    source_of = {symbol_key(symbol): origin[r][0] for symbol, r in zip(symbols, partner or [])}
    replaced = {repair.replaced for repair in structure.repairs if len(repair.involved) > 1}
    matched = set(partner or [])
    found = []
    for r, (i, times) in enumerate(origin):
        written = times == 0 and i not in replaced and i not in definitions
        if r in matched or (partner is None and written):
            continue
        expression = _put_in(stack[r], value_of)
        if expression is not stack[r]:
            expression = without_vanishing(array, expression, jet, lambda order, _: order > 0)
        expression = in_own_unknowns(structure.combinations, array, expression)
        written = written and (not new or _is_written(structure, i, expression))
        if i in definitions and _vanishes(structure, expression):
            continue
        if new and written:
            expression = array.system.residual[i]
        with_rows = [source_of[symbol_key(s)] for s in ca.symvar(stack[r]) if symbol_key(s) in source_of] if new else []
        with_rows = [k for k in with_rows if k not in definitions and times == 0 and not written]
        others = _others(structure, i, with_rows)
        free = array.highest_order(expression) <= 0
        source = _source(array, i, others)
        found.append(FoundConstraint(i, others, source, times, expression, not written, free))
    return found


def _needed(stack: list[ca.SX], symbols: list[ca.SX], partner: list[int]) -> list[int]:
    """The symbols that stand in the rows left over, or in the rows that are solved for these."""
    position = {symbol_key(symbol): k for k, symbol in enumerate(symbols)}
    matched = set(partner)
    found: set[int] = set()
    waiting = [r for r in range(len(stack)) if r not in matched]
    while waiting:
        poll("the structure of the equations")
        inside = {position[key] for s in ca.symvar(stack[waiting.pop()]) if (key := symbol_key(s)) in position}
        waiting += [partner[k] for k in inside - found]
        found |= inside
    return sorted(found)


def _is_written(structure: Structure, i: int, expression: ca.SX) -> bool:
    """Whether what became of an equation is that equation again."""
    return _vanishes(structure, expression - structure.array.system.residual[i])


def _vanishes(structure: Structure, expression: ca.SX) -> bool:
    array = structure.array
    depth = max(array.highest_order(expression), 0)
    values = array.values(expression, random_arguments(array, structure.jet, depth, 3))
    return bool(np.all(np.abs(values) < SAME_FORMULA))


def _put_in(expression: ca.SX, value_of: dict[int, ca.SX]) -> ca.SX:
    """An expression with values for the symbols that have one."""
    inside = [s for s in ca.symvar(expression) if symbol_key(s) in value_of]
    if not inside:
        return expression
    return ca.substitute(expression, ca.vertcat(*inside), ca.vertcat(*(value_of[symbol_key(s)] for s in inside)))


def _others(structure: Structure, i: int, others: list[int]) -> tuple[int, ...]:
    """The equations that one was combined with."""
    rows = structure.array.rows
    involved = [k for repair in structure.repairs if repair.replaced == i for k in repair.involved]
    # That q_dot is the derivative of q goes without saying.
    return tuple(dict.fromkeys(k for k in [*involved, *others] if k != i and rows[k].role is not Role.DERIVATIVE))


def _source(array: DerivativeArray, i: int, others: tuple[int, ...]) -> str:
    """The name of an equation, with those it was combined with."""
    names = [array.rows[k].label for k in (i, *others)]
    return f"{names[0]} combined with {', '.join(names[1:])}" if others else names[0]


def _partners(
    stack: list[ca.SX], symbols: list[ca.SX], origin: list[tuple[int, int]], definitions: set[int]
) -> list[int] | None:
    """For each symbol the equation that is solved for it, the cheapest full assignment; None when there is none."""
    if not symbols:
        return []
    pattern = ca.jacobian_sparsity(ca.vertcat(*stack), ca.vertcat(*symbols))
    rows, columns = (np.array(k, dtype=int) for k in pattern.get_triplet())
    # Definitions and written equations come first, then those differentiated least; those with many symbols later.
    # What an equation costs is its own and no two cost the same: one choice of equations alone is the cheapest.
    count = np.bincount(rows, minlength=len(stack))
    first = np.array([i not in definitions for i, _ in origin], dtype=int)
    # Rows that are not linear in the symbols cannot be solved as expressions.
    bent = np.array(ca.which_depends(ca.vertcat(*stack), ca.vertcat(*symbols), 2, True), dtype=int)
    times = np.array([order for _, order in origin], dtype=int)
    cost = (first + 10 * times + np.minimum(count, 9) + 20 * bent) * len(stack) + np.arange(len(stack))
    partner = _core.cheapest_matching(len(symbols), len(stack), columns, rows, cost[rows]).columns
    return None if np.any(partner < 0) else partner.tolist()


def _always_singular(structure: Structure) -> Callable[[ca.SX], bool]:
    """Whether a matrix of expressions is singular at values drawn at random."""
    array = structure.array
    points = random_arguments(array, structure.jet, len(array.y) - 1)

    def singular(slopes: ca.SX) -> bool:
        if slopes.is_scalar() and slopes.is_constant():
            return bool(slopes.is_zero())
        return all(map(is_singular, matrices_at(array, slopes, points)))

    return singular
