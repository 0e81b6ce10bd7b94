"""Solve equations for symbols as expressions, block by block, as far as the blocks are linear and small."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from daedalus.analysis.structure.block_form import triangular_blocks
from daedalus.model.expressions import elements, symbol_key

# A symbolic solve of a block of this size gives expressions that can still be handled.
LARGEST_BLOCK = 12


def solved_for(
    equations: list[ca.SX], symbols: list[ca.SX], is_singular: Callable[[ca.SX], bool]
) -> list[tuple[ca.SX, ca.SX]]:
    """(symbol, expression) for every symbol of a block that is linear in its own symbols; the others are left out.

    Example
    -------
    >>> import casadi as ca
    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> solved_for([2 * x - 6, y - x], [x, y], lambda matrix: False)
    [(SX(x), SX(3)), (SX(y), SX(3))]
    """
    column, unknowns = ca.vertcat(*equations), ca.vertcat(*symbols)
    solved: dict[int, ca.SX] = {}  # by the key of the symbol
    for rows, columns in triangular_blocks(ca.jacobian_sparsity(column, unknowns)):
        if len(rows) != len(columns) or len(rows) > LARGEST_BLOCK:
            continue
        own = ca.vertcat(*(symbols[c] for c in columns))
        block = ca.vertcat(*(equations[r] for r in rows))
        slopes = ca.densify(ca.jacobian(block, own))
        if ca.depends_on(slopes, own) or is_singular(slopes):
            continue
        rest = ca.substitute(block, own, ca.SX.zeros(own.shape))
        values = ca.densify(-rest / slopes if len(rows) == 1 else -ca.solve(slopes, rest))
        known = [s for s in ca.symvar(values) if symbol_key(s) in solved]
        if known:
            values = ca.substitute(values, ca.vertcat(*known), ca.vertcat(*(solved[symbol_key(s)] for s in known)))
        solved.update((symbol_key(symbols[c]), value) for c, value in zip(columns, elements(ca.densify(values))))
    return [(symbol, solved[key]) for symbol in symbols if (key := symbol_key(symbol)) in solved]
