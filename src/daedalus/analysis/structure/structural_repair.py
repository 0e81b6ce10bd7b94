"""The repair of a structure that its system Jacobian shows to be misleading.

Where J is singular for all values, a combination u with uᵀ J = 0 hides an equation of lower order: f_l is
replaced by Σ u_i f_i^(c_i - θ) with θ = min c_i (G. Tan, N. S. Nedialkov, J. D. Pryce, Conversion methods for improving
structural analysis of differential-algebraic equation systems, BIT 57, 2017: the linear combination method). Where its
coefficients contain derivatives that are too high, unknowns are combined instead (`expression_substitution`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import CLEAR_GAP, RankDecision, null_space
from daedalus.analysis.structure.block_form import Block, blocks_in_order
from daedalus.analysis.structure.cancelled_terms import constant_of, without_vanishing
from daedalus.analysis.structure.dependence.symbolic_null_vector import left_null_vector
from daedalus.analysis.structure.expression_substitution import (
    LARGEST_BLOCK,
    MOST_SUBSTITUTIONS,
    Substitution,
    substituted,
    substitutions,
)
from daedalus.analysis.structure.jets.consistent_jet import Jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import Signature, signature
from daedalus.analysis.structure.system_jacobian import (
    random_arguments,
    regularity,
    system_jacobian,
    with_other_parameters,
)
from daedalus.deadline import poll
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.system.equation_row import definition_row
from daedalus.model.system.open_algebraics import EQUAL, as_fractions

# Each repair lowers the value of the signature, so their number is bounded; this bounds the passes over all blocks.
MOST_REPAIRS = 12


@dataclass(frozen=True, eq=False)
class Repair:
    """One replaced equation: which, from which others, what it became and what it says if it folded to a number."""

    replaced: int
    involved: tuple[int, ...]
    equation: ca.SX
    times: int  # how often an equation was differentiated for it
    constant: float | None = None
    holds_for: tuple[str, ...] = ()  # parameters whose present values alone make derivatives vanish in it


@dataclass(frozen=True, eq=False)
class Combination:
    """One new unknown: its position, what it stands for in the user's unknowns, how often that is differentiated."""

    position: int
    definition: ca.SX
    times: int


@dataclass(frozen=True, eq=False)
class Structure:
    """Equations with the signature that belongs to them, after as many repairs as were needed.

    array: what they are written in, with the unknowns of `combinations` behind the system's. jet: with values of these.
    singular: blocks of the system Jacobian that stay singular everywhere. at_point: blocks that are singular at the jet
    alone. folded: repairs that left a number, 0 for a redundant equation. rank: of the system Jacobian at the jet.
    """

    array: DerivativeArray
    jet: Jet
    equations: ca.SX
    signature: Signature
    repairs: tuple[Repair, ...] = ()
    combinations: tuple[Combination, ...] = ()
    singular: tuple[Block, ...] = ()
    at_point: tuple[Block, ...] = ()
    folded: tuple[Repair, ...] = ()
    blocks: tuple[Block, ...] = field(default=())
    rank: RankDecision | None = None

    @property
    def trusted(self) -> bool:
        """Whether the offsets are proved right at the jet by a regular system Jacobian."""
        return self.signature.regular and not (self.singular or self.at_point or self.folded)

    @property
    def times(self) -> int:
        """How often equations were differentiated for the repairs, which the offsets do not count."""
        return sum(repair.times for repair in self.repairs) + sum(own.times for own in self.combinations)

    @property
    def value(self) -> float:
        """Σ d - Σ c, which every repair lowers; infinite for a singular structure."""
        freedom = self.signature.degrees_of_freedom
        return float("inf") if freedom is None else float(freedom)


def repaired_structure(array: DerivativeArray, jet: Jet, substitute: bool = True) -> Structure:
    """The signature of a system, its equations combined until the system Jacobian is regular.

    `substitute` allows unknowns to be combined too.
    """
    now = Structure(array, jet, array.level(0), _signature(array, array.level(0)))
    for passes in range(MOST_REPAIRS + MOST_SUBSTITUTIONS):
        poll("the structure of the equations")
        if not now.signature.regular:
            return now
        jacobian = system_jacobian(now.array, now.equations, now.signature)
        blocks = blocks_in_order(now.signature, tight=True)
        found = regularity(now.array, jacobian, now.jet, blocks)
        now = replace(now, blocks=tuple(blocks), singular=found.always, at_point=found.here, rank=found.rank)
        if not now.singular:
            return now
        repairs = [repair for block in now.singular if (repair := _combined(now, jacobian, block))]
        folded = tuple(repair for repair in repairs if repair.constant is not None)
        if folded:
            return replace(now, folded=folded, at_point=())
        if repairs and passes < MOST_REPAIRS:
            # Blocks have no equation in common: all are repaired in one pass.
            rows = elements(now.equations)
            for repair in repairs:
                rows[repair.replaced] = repair.equation
            now = _with_signature(replace(now, equations=ca.vertcat(*rows), repairs=(*now.repairs, *repairs)))
            continue
        other = _substituted(now, jacobian) if substitute and len(now.combinations) < MOST_SUBSTITUTIONS else None
        if other is None:
            return now
        now = other
    return now


def _with_signature(now: Structure) -> Structure:
    s = _signature(now.array, now.equations)
    return replace(now, signature=s, singular=(), at_point=(), blocks=(), rank=None)


def _signature(array: DerivativeArray, equations: ca.SX) -> Signature:
    if array.written is not None and equations is array.level(0):
        return array.written.signature
    top = max(array.highest_order(equations), 1)
    return signature(equations, [array.unknowns(k) for k in range(top + 1)])


# -- combinations of equations ---------------------------------------------------------------------------------


def _combined(now: Structure, jacobian: ca.SX, block: Block) -> Repair | None:
    """The repair of a singular block, or None when no combination with coefficients of low order exists."""
    if len(block.equations) > LARGEST_BLOCK:
        return None
    array, s, jet = now.array, now.signature, now.jet
    matrix = ca.densify(jacobian[block.equations.tolist(), block.unknowns.tolist()])
    points = random_arguments(array, jet, max(len(array.y) - 1, 1), 3)
    u = _constant_combination(array, matrix, points)
    if u is None:
        u = left_null_vector(matrix, _block_at(array, matrix, points[0]))
    if u is None:
        return None
    involved = [k for k, entry in enumerate(u) if not entry.is_zero()]
    rows = block.equations[involved]
    least = int(s.c[rows].min())
    # The coefficients may only contain derivatives below d_j - θ, or the combination does not lower the order.
    for symbol in ca.symvar(concatenate(u[k] for k in involved)):
        letter, order, j = array.place(symbol)
        if letter == "y" and order >= s.d[j] - least:
            return None
    replaced = int(max(row for row in rows if s.c[row] == least))
    pivot = u[involved[rows.tolist().index(replaced)]]
    total = ca.SX(0)
    for k, row in zip(involved, rows):
        total += (u[k] / pivot) * array.differentiated(now.equations[int(row)], int(s.c[row]) - least)
    total = without_vanishing(array, total, jet, lambda order, j: False)
    written, total = total, without_vanishing(array, total, jet, lambda order, j: order >= s.d[j] - least)
    constant = constant_of(array, total, jet)
    held = _parameters_lost(array, written, total)
    return Repair(replaced, tuple(int(r) for r in rows), total, int(s.c[rows].max()) - least, constant, held)


def _parameters_lost(array: DerivativeArray, before: ca.SX, after: ca.SX) -> tuple[str, ...]:
    """The parameters in the slopes of an expression by what was removed from it."""
    left = {symbol_key(symbol) for symbol in ca.symvar(after)}
    gone = [symbol for symbol in ca.symvar(before) if symbol_key(symbol) not in left and array.place(symbol)[0] == "y"]
    if not gone:
        return ()
    places = [array.place(symbol) for symbol in ca.symvar(ca.gradient(before, ca.vertcat(*gone)))]
    return tuple(array.system.labels["p"][position] for letter, _, position in places if letter == "p")


def _block_at(array: DerivativeArray, matrix: ca.SX, point: list[Any]) -> np.ndarray:
    return array.values(ca.vec(matrix), [point])[0].reshape(matrix.shape, order="F")


def _constant_combination(array: DerivativeArray, matrix: ca.SX, points: list[list[Any]]) -> list[ca.SX] | None:
    """A left null vector that depends neither on the unknowns nor on the parameters."""
    moved = map(with_other_parameters, points)
    vector = constant_null_vector([_block_at(array, matrix, a) for a in (*points, *moved)])
    return None if vector is None else [ca.SX(float(entry)) for entry in vector]


# -- combinations of unknowns ----------------------------------------------------------------------------------


def _substituted(now: Structure, jacobian: ca.SX) -> Structure | None:
    """The structure with combinations of unknowns as new unknowns; None where no such step lowers its value."""
    for block in now.singular:
        for step in substitutions(now.array, now.signature, jacobian, block):
            other = _with_signature(_with_unknowns(now, step))
            if other.value < now.value:
                return other
    return None


def _with_unknowns(now: Structure, step: Substitution) -> Structure:
    old = now.array
    # What was combined before may be inside.
    own = [in_own_unknowns(now.combinations, old, step.definition(old, j)) for j in step.ratios]
    names = [f"{old.label(j, step.low[j])}_with_{old.label(step.leader, step.low[step.leader])}" for j in step.ratios]
    wide = old.extended(names)
    equations, definitions = substituted(old, wide, elements(now.equations), now.signature, step, old.size)
    column = concatenate([*equations, *definitions])
    wide.rewrite(column, [*old.rows, *map(definition_row, names)])
    times = step.top - int(now.signature.c[list(step.rows)].min())
    new = [Combination(old.size + k, e, times if k == 0 else 0) for k, e in enumerate(own)]
    return replace(
        now,
        array=wide,
        jet=_with_values(old, now.jet, own),
        equations=column,
        combinations=(*now.combinations, *new),
    )


def in_own_unknowns(combinations: tuple[Combination, ...], array: DerivativeArray, expression: ca.SX) -> ca.SX:
    """An expression with every combination written out again."""
    of = {own.position: own.definition for own in combinations}
    inside = [(s, array.place(s)) for s in ca.symvar(expression)]
    put = [(s, array.differentiated(of[j], order)) for s, (letter, order, j) in inside if letter == "y" and j in of]
    if not put:
        return expression
    old, new = (ca.vertcat(*side) for side in zip(*put))
    return ca.substitute(expression, old, new)


def _with_values(array: DerivativeArray, jet: Jet, definitions: list[ca.SX]) -> Jet:
    """The jet with the values of new unknowns behind the others."""
    rows = []
    for order in range(len(jet.y)):
        if order:
            definitions = [array.differentiated(e) for e in definitions]
        depth = max(array.highest_order(concatenate(definitions)), 0)
        rows.append(array.values(concatenate(definitions), [jet.arguments(depth)])[0])
    return replace(jet, y=np.hstack([jet.y, np.array(rows)]))


# A combination of equations with constant coefficients, found by numbers: the same at whatever point one looks.
#
# Elimination on expressions gives coefficients such as (a + b) / (b + a), which nothing recognises as one. Left null
# vectors of the matrix at several points, parameters changed too, tell constants from what varies.


def constant_null_vector(matrices: list[np.ndarray]) -> np.ndarray | None:
    """u with uᵀ M = 0 for all matrices, its largest entry 1; None where there is none, or more than one direction.

    Example
    -------
    >>> import numpy as np
    >>> draw = np.random.default_rng(1)
    >>> rows = [draw.standard_normal((2, 3)) for _ in range(3)]
    >>> constant_null_vector([np.vstack([r, r[0] - 2 * r[1]]) for r in rows]).tolist()
    [-0.5, 1.0, 0.5]
    """
    found: list[np.ndarray] = []
    for matrix in matrices:
        vector = _null_vector(matrix)
        if vector is None:
            return None
        found.append(vector / vector[np.argmax(np.abs(found[0] if found else vector))])
    first = found[0]
    if any(not np.allclose(vector, first, rtol=EQUAL, atol=0.0) for vector in found[1:]):
        return None
    return as_fractions(first)


def _null_vector(matrix: np.ndarray) -> np.ndarray | None:
    if not np.all(np.isfinite(matrix)) or not all(np.all(np.any(matrix, axis=axis)) for axis in (0, 1)):
        return None
    null, decision = null_space(matrix.T, "equations")
    if null.shape[1] != 1 or decision.gap < CLEAR_GAP:
        return None
    terms = np.abs(null[:, 0]) * np.abs(matrix).max(axis=1)
    return np.where(terms > EQUAL * terms.max(), null[:, 0], 0.0)
