"""The constraints that solutions obey beside the written equations, as expressions in the user's names.

The equations f_i and their derivatives up to f_i^(c_i) contain the derivatives x_j', ..., x_j^(d_j) of the unknowns. As
many of them as there are such derivatives are solved for them, written ones before differentiated ones; what the others
say after substitution is a condition on the unknowns themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.analysis.structure.consistent_jet import Jet
from daedalus.analysis.structure.derivative_array import DerivativeArray
from daedalus.analysis.structure.structural_repair import (
    Repair,
    Structure,
    is_singular,
    random_arguments,
    without_vanishing,
)
from daedalus.analysis.structure.symbolic_solve import solved_for


@dataclass(frozen=True, eq=False)
class FoundConstraint:
    """A condition on the unknowns: the equation it comes from, how often that was differentiated, and the expression.

    hidden: whether it is none of the written equations. free: whether it is free of derivatives.
    """

    source: str
    times: int
    expression: ca.SX
    text: str
    hidden: bool
    free: bool


def constraints_of(array: DerivativeArray, structure: Structure, jet: Jet) -> list[FoundConstraint]:
    """All conditions on the unknowns that the structure implies, written and hidden ones."""
    s = structure.signature
    replaced = {repair.replaced: repair for repair in structure.repairs}
    stack, origin = [], []
    for i in range(s.size):
        expression = structure.equations[i]
        for times in range(int(s.c[i]) + 1):
            stack.append(expression)
            origin.append((i, times))
            if times < s.c[i]:
                expression = array.differentiated(expression)
    derivatives = [(j, k) for j in range(s.size) for k in range(1, int(s.d[j]) + 1)]
    symbols = [array.unknowns(k)[j] for j, k in derivatives]
    for k in range(int(s.d.max(initial=0)) + 2):
        array.unknowns(k)
    partner = _partners(stack, symbols, origin)
    solved = []
    if partner:
        solved = solved_for([stack[r] for r in partner], symbols, lambda matrix: _always_singular(array, jet, matrix))
    matched = set(partner or [])
    found = []
    for r, (i, times) in enumerate(origin):
        if r in matched or (partner is None and times == 0 and i not in replaced):
            continue
        expression = stack[r]
        if solved:
            old, new = (ca.vertcat(*side) for side in zip(*solved))
            expression = without_vanishing(array, ca.substitute(expression, old, new), jet)
        source = _source(array, i, replaced)
        hidden = times > 0 or i in replaced
        free = array.highest_order(expression, array.y) <= 0
        found.append(FoundConstraint(source, times, expression, _text(array, expression), hidden, free))
    return found


def _text(array: DerivativeArray, expression: ca.SX) -> str:
    # CasADi keeps `a - (-7)` as it was combined; one reads `a + 7`.
    return re.sub(r" - \(-([0-9.]+(?:e[+-]?[0-9]+)?)\)", r" + \1", array.text(expression)) + " = 0"


def _source(array: DerivativeArray, i: int, replaced: dict[int, Repair]) -> str:
    labels = array.system.equation_labels
    if i not in replaced:
        return labels[i]
    others = [labels[k] for k in replaced[i].involved if k != i]
    return f"{labels[i]} combined with {', '.join(others)}"


def _partners(stack: list[ca.SX], symbols: list[ca.SX], origin: list[tuple[int, int]]) -> list[int] | None:
    """For each derivative the equation that is solved for it, the cheapest full assignment; None when there is none."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    if not symbols:
        return []
    pattern = ca.jacobian_sparsity(ca.vertcat(*stack), ca.vertcat(*symbols))
    rows, columns = (np.array(k, dtype=int) for k in pattern.get_triplet())
    # Written equations come first, then those differentiated least; equations with many derivatives come later.
    count = np.bincount(rows, minlength=len(stack))
    cost = np.array([1.0 + 10.0 * origin[r][1] + min(count[r], 9) for r in rows])
    graph = csr_matrix((cost, (columns, rows)), shape=(len(symbols), len(stack)))
    try:
        derivative, equation = min_weight_full_bipartite_matching(graph)
    except ValueError:
        return None
    partner = np.empty(len(symbols), dtype=int)
    partner[derivative] = equation
    return partner.tolist()


def _always_singular(array: DerivativeArray, jet: Jet, slopes: ca.SX) -> bool:
    order = len(array.y) - 1
    function = ca.Function("slopes", array.arguments(order), [slopes])
    return all(is_singular(function(*a).full()) for a in random_arguments(array, jet, order))
