"""Repair of a misleading structure by new names for combinations of derivatives: the expression substitution method.

Where the system Jacobian J is singular everywhere, J v = 0, the derivatives x_j^(d_j - c_i) with v_j ≠ 0 enter the
equations through fewer combinations than there are unknowns. With C the largest offset c_i of these equations and one
unknown l among them, the combinations y_j = x_j^(d_j - C) - (v_j/v_l) x_l^(d_l - C) become unknowns, and each
x_j^(d_j - c_i) becomes (y_j + (v_j/v_l) x_l^(d_l - C))^(C - c_i). Solutions stay the same, and the value Σ d - Σ c of
the structure falls (G. Tan, N. S. Nedialkov, J. D. Pryce, BIT 57, 2017).
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.analysis.structure.block_form import Block
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.structural_repair import is_rounding, left_null_vector
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.variables import Variable
from daedalus.reduction.differentiate import Differentiation
from daedalus.reduction.offsets import Flow, Unknown, signature_of, unknown_label, unknowns_of
from daedalus.reduction.regularity import SystemJacobian, always_singular
from daedalus.reduction.rewriting import ReducedModel, rewritten, row_labels, scalar_rows, write_rows

# A symbolic null vector is looked for in blocks up to this size.
LARGEST_BLOCK = 10
MOST_SUBSTITUTIONS = 6
ANY_VALUE = 0.7310585786300049
NOTHING_SOLVED = Flow({}, {}, {})


def with_substitution(
    work: ReducedModel, residual: ca.SX, s: Signature, unknowns: list[Unknown], labels: list[str]
) -> tuple[ReducedModel, str] | None:
    """The model with a combination of unknowns named, and what was done; None where no such step lowers the value."""
    jacobian = SystemJacobian(work, residual, s, unknowns)
    before = int(s.d.sum() - s.c.sum())
    for block in always_singular(work, jacobian):
        null = _null_vector(jacobian, block) if len(block.unknowns) <= LARGEST_BLOCK else None
        v = dict(zip(block.unknowns.tolist(), null or ()))
        # A constant to divide by is better than one that may vanish.
        for leader in sorted((j for j in v if not v[j].is_zero()), key=lambda j: not v[j].is_constant()):
            found = _substituted(work, residual, s, unknowns, labels, block, v, leader)
            if found is not None and _value(found[0]) < before:
                return found
    return None


def _value(book: Model) -> float:
    """Σ d - Σ c of the structure; infinite where it is singular."""
    s = signature_of(book, concatenate(scalar_rows(book)), unknowns_of(book), row_labels(book))
    return float(s.d.sum() - s.c.sum()) if s.regular else float("inf")


def _null_vector(jacobian: SystemJacobian, block: Block) -> list[ca.SX] | None:
    """v with J v = 0 on a block, as expressions."""
    matrix = ca.densify(jacobian.matrix[block.equations.tolist(), block.unknowns.tolist()])
    symbols = ca.symvar(matrix)
    draw = np.random.default_rng(2017).uniform(0.4, 1.6, len(symbols))
    shadow = ca.Function("block", [concatenate(symbols)], [matrix])(draw).full()
    return left_null_vector(matrix.T, shadow.T)


def _substituted(
    work: ReducedModel, residual: ca.SX, s: Signature, unknowns: list[Unknown], labels: list[str], block: Block,
    v: dict[int, ca.SX], leader: int,
) -> tuple[ReducedModel, str] | None:  # fmt: skip
    """The equations of a block with new unknowns for combinations with a leading one; None where orders forbid it."""
    chosen = [j for j in block.unknowns.tolist() if not v[j].is_zero()]
    tight = {(int(i), int(j)) for i, j, flag in zip(s.rows, s.columns, s.tight) if flag}
    rows = [i for i in block.equations.tolist() if any((i, j) in tight for j in chosen)]
    top = int(s.c[rows].max())
    # Factors that numerator and denominator share are in the formula still; any value of theirs will do.
    ratios = {j: _without_vanishing(work, v[j] / v[leader], ANY_VALUE) for j in chosen if j != leader}
    low = {j: int(s.d[j]) - top for j in chosen}
    if min(low.values()) < 0 or not _orders_allow(work, list(ratios.values()), s, unknowns, set(chosen), top):
        return None
    new = rewritten(work, {})
    names = {j: _declared(new, work, unknowns[j], unknowns[leader]) for j in ratios}
    along = Differentiation(new, unknowns_of(new), NOTHING_SOLVED)
    leading = _symbol(new, unknowns[leader], low[leader])
    whole = {j: new._symbols[names[j]] + ratios[j] * leading for j in ratios}
    equations = elements(residual)
    for i in rows:
        old = [j for j in ratios if (i, j) in tight]
        if not old:
            continue
        put = concatenate(whole[j] for j in old)
        for _ in range(top - int(s.c[i])):
            put = along.derivative(put)
        symbols = concatenate(_symbol(work, unknowns[j], int(s.d[j] - s.c[i])) for j in old)
        equations[i] = _without_vanishing(new, ca.substitute(equations[i], symbols, put))
    definitions = [_symbol(new, unknowns[j], low[j]) - whole[j] for j in ratios]
    write_rows(new, [*labels, *(f"definition of {name}" for name in names.values())], [*equations, *definitions])
    told = "; ".join(f"{names[j]} stands for {_text(work, unknowns, j, low[j], leader, low[leader])}" for j in ratios)
    return new, f"{told}: the derivatives enter through fewer combinations than unknowns"


def _symbol(book: Model, unknown: Unknown, order: int) -> ca.SX:
    name, k = unknown
    return book._derivative_scalar(name, k, order)


def _orders_allow(
    work: Model, ratios: list[ca.SX], s: Signature, unknowns: list[Unknown], chosen: set[int], top: int
) -> bool:
    """Whether the coefficients contain only derivatives that are low enough for the value to fall."""
    place = {u: j for j, u in enumerate(unknowns)}
    for symbol in ca.symvar(concatenate(ratios)) if ratios else ():
        name, k, order = work._known[symbol_key(symbol)]
        j = place.get((name, k))
        if name != "t" and work._variables[name].kind == "input":
            return False  # the coefficients are differentiated, and a signal has no derivative
        if j is not None and order > int(s.d[j]) - top - (1 if j in chosen else 0):
            return False
    return True


def _declared(new: ReducedModel, work: Model, unknown: Unknown, leader: Unknown) -> str:
    """A state for a combination, named after the two unknowns in it."""
    stems = [name if work._variables[name].size == 1 else f"{name}{k}" for name, k in (unknown, leader)]
    name = f"{stems[0]}_with_{stems[1].rpartition('.')[2]}"
    while name in new._variables or name in new._outputs or name in new._events:
        name += "_"
    old = work._variables[unknown[0]]
    nominal = (old.nominal[unknown[1]],)
    new._declare(Variable(name, "state", (), "", (None,), (None,), nominal, (-float("inf"),), (float("inf"),), (0.0,)))
    return name


def _without_vanishing(book: Model, row: ca.SX, value: float = 0.0) -> ca.SX:
    """An expression with a value for what cancels in it, found at random values and confirmed by rounding bounds."""
    symbols = ca.symvar(row)
    movable = [k for k, symbol in enumerate(symbols) if _is_unknown(book, symbol)]
    if not movable:
        return row
    every = concatenate(symbols)
    slopes = ca.densify(ca.gradient(row, concatenate(symbols[k] for k in movable)))
    draw = np.random.default_rng(2017)
    points: Sequence[np.ndarray] = [draw.uniform(0.4, 1.6, len(symbols)) for _ in range(3)]
    function = ca.Function("slopes", [every], [slopes])
    samples = np.array([function(point).full().ravel() for point in points])
    size = max(float(np.abs(samples).max(initial=0.0)), 1.0)
    small = [k for k in range(len(movable)) if np.abs(samples[:, k]).max() <= 1e-12 * size]
    arguments = [[point] for point in points]
    gone = [k for k in small if is_rounding(ca.Function("slope", [every], [slopes[k]]), arguments)]
    if not gone:
        return row
    return ca.substitute(row, concatenate(symbols[movable[k]] for k in gone), ca.SX(value * np.ones(len(gone))))


def _is_unknown(book: Model, symbol: ca.SX) -> bool:
    name = book._known[symbol_key(symbol)][0]
    return name != "t" and book._variables[name].kind == "state"


def _text(work: Model, unknowns: list[Unknown], j: int, low: int, leader: int, leading: int) -> str:
    first, second = unknown_label(work, unknowns[j], low), unknown_label(work, unknowns[leader], leading)
    return f"a combination of {first} and {second}"
