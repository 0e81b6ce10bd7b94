"""Reads an expression as a signed sum of symbols, where it is nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from daedalus.model.expressions import symbol_key


def signed_terms(row: ca.SX, known: Mapping[int, int], most: int = 64) -> list[tuple[int, int]] | None:
    """(unknown, ±1) of every symbol in the sum; None where it is more than that, or a symbol is not in `known`.

    Example
    -------
    >>> a, b = ca.SX.sym("a"), ca.SX.sym("b")
    >>> known = {symbol_key(a): 1, symbol_key(b): 2}
    >>> signed_terms(a - (b - a), known), signed_terms(a * b, known)
    ([(1, 1), (2, -1), (1, 1)], None)
    """
    found: list[tuple[int, int]] = []
    open_nodes = [(row, 1)]
    while open_nodes:
        node, sign = open_nodes.pop()
        operation = node.op()
        if operation == ca.OP_PARAMETER:
            number = known.get(symbol_key(node))
            if number is None or len(found) >= most:
                return None
            found.append((number, sign))
        elif operation == ca.OP_CONST:
            if not node.is_zero():
                return None
        elif operation == ca.OP_ADD:
            open_nodes += [(node.dep(1), sign), (node.dep(0), sign)]
        elif operation == ca.OP_SUB:
            open_nodes += [(node.dep(1), -sign), (node.dep(0), sign)]
        elif operation == ca.OP_NEG:
            open_nodes.append((node.dep(0), -sign))
        else:
            return None
    return found
