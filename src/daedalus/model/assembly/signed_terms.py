"""Reads equations as signed sums of symbols, where they are nothing else; of equal parts once for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import casadi as ca

from daedalus.model.assembly.written_assembly import SumRows
from daedalus.model.expressions import elements, symbol_key

if TYPE_CHECKING:
    from daedalus.model.notebook import Notebook

Known = TypeVar("Known")


def signed_terms(row: ca.SX, known: Mapping[int, Known], most: int = 64) -> list[tuple[Known, int]] | None:
    """(unknown, ±1) of every symbol in the sum; None where it is more than that, or a symbol is not in `known`.

    Example
    -------
    >>> a, b = ca.SX.sym("a"), ca.SX.sym("b")
    >>> known = {symbol_key(a): 1, symbol_key(b): 2}
    >>> signed_terms(a - (b - a), known), signed_terms(a * b, known)
    ([(1, 1), (2, -1), (1, 1)], None)
    """
    found: list[tuple[Known, int]] = []
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


def sums_of(book: Notebook) -> dict[str, SumRows]:
    """Every written equation as signed sums of scalar variables; what a part has in common with others is known."""
    found: dict[str, SumRows] = {}
    for path, rows in book.written.assembly.sums.items():
        start = path + "."
        for name, own in rows.items():
            found[start + name] = tuple(
                None if terms is None else tuple([(start + variable, sign) for variable, sign in terms])
                for terms in own
            )
    missing = [equation for name, equation in book.written.equations.items() if name not in found]
    if missing:
        scalar = {
            key: name
            for name, key in book.written.first_keys().items()
            if name != "t" and book.written.variables[name].shape == ()
        }
        for equation in missing:
            terms = [signed_terms(row, scalar) for row in elements(equation.residual)]
            found[equation.name] = tuple(None if own is None else tuple(own) for own in terms)
    return found
