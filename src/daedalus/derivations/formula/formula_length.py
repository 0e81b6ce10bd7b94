"""How long a formula is: the operations one counts on paper."""

from __future__ import annotations

import casadi as ca

from daedalus.model.expressions import elements, folded, symbol_key


def operations(expression: ca.SX) -> int:
    """The additions, multiplications, divisions, powers and functions of all entries; a sign alone is none.

    Repeated parts count every time, as they are written every time.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> operations(-ca.sin(x) ** 2 + 3 * x)
    4
    """
    kept: list[ca.SX] = []
    known: dict[int, int] = {}

    def made(node: ca.SX, operands: list[ca.SX]) -> int:
        kept.append(node)
        own = 0 if node.is_constant() or node.is_symbolic() or node.op() == ca.OP_NEG else 1
        return own + sum(known[symbol_key(operand)] for operand in operands)

    return sum(folded(entry, known, made) for entry in elements(ca.densify(expression)))
