"""How long a formula is: the operations one counts on paper."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from daedalus.model.expressions import symbol_key

# Steps that compute nothing.
VALUES = (ca.OP_INPUT, ca.OP_PARAMETER, ca.OP_CONST)


def _steps(name: str, expression: ca.SX) -> ca.Function:
    """A function whose instructions are the steps of all entries; its symbols need no looking for: they stay free."""
    entries = expression if expression.is_dense() and expression.is_column() else ca.densify(ca.vec(expression))
    return ca.Function(name, [], [entries], {"allow_free": True})


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
    function = _steps("length", expression)
    lengths, total = [0] * function.sz_w(), 0
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation == ca.OP_OUTPUT:
            total += lengths[function.instruction_input(k)[0]]
        elif operation in VALUES:
            lengths[function.instruction_output(k)[0]] = 0
        else:
            own = sum(lengths[place] for place in function.instruction_input(k))
            lengths[function.instruction_output(k)[0]] = own + (operation != ca.OP_NEG)
    return total


def depth(expression: ca.SX) -> int:
    """How deep sums in brackets stand inside each other: one in a*(b + c), two in a*(b + c*(d + e)).

    Example
    -------
    >>> import casadi as ca
    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> depth(x + y), depth(x * (y + 1)), depth(x * (y + ca.sin(y) * (x + 1)))
    (0, 1, 2)
    """
    function = _steps("depth", expression)
    # Of every value the depth inside, and whether it is a sum, which a product puts in brackets.
    found, most = [(0, False)] * function.sz_w(), 0
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation == ca.OP_OUTPUT:
            most = max(most, found[function.instruction_input(k)[0]][0])
            continue
        own = 0, False
        if operation not in VALUES:
            parts = [found[place] for place in function.instruction_input(k)]
            if operation in (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG):
                own = max(d for d, _ in parts), operation != ca.OP_NEG or parts[0][1]
            elif operation in (ca.OP_MUL, ca.OP_SQ, ca.OP_CONSTPOW, ca.OP_POW, ca.OP_TWICE):
                own = max(d + is_sum for d, is_sum in parts), False
            else:
                own = max(d for d, _ in parts), False
        found[function.instruction_output(k)[0]] = own
    return most


def letters(entry: ca.SX, labels: Mapping[int, str]) -> int:
    """About how many letters a scalar takes when it is written: names, numbers, signs and brackets.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> letters(x, {symbol_key(x): "speed"}), letters(2 * ca.sin(x), {symbol_key(x): "speed"})
    (5, 12)
    """
    if entry.is_constant():
        return len(f"{float(entry):.12g}")
    symbols = ca.symvar(entry)
    function = ca.Function("letters", [ca.vertcat(*symbols)], [entry])
    found, total = [0] * function.sz_w(), 0
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation == ca.OP_OUTPUT:
            total = found[function.instruction_input(k)[0]]
            continue
        if operation == ca.OP_INPUT:
            symbol = symbols[function.instruction_input(k)[1]]
            own = len(labels.get(symbol_key(symbol), symbol.name()))
        elif operation == ca.OP_CONST:
            own = len(f"{function.instruction_constant(k):.6g}")
        else:
            parts = [found[place] for place in function.instruction_input(k)]
            own = sum(parts) + _SIGNS.get(operation, len(parts) + 4)
        found[function.instruction_output(k)[0]] = own
    return total


# Letters of operations beside what they are applied to; of functions the name and two brackets.
_SIGNS = {ca.OP_ADD: 3, ca.OP_SUB: 3, ca.OP_MUL: 1, ca.OP_DIV: 1, ca.OP_NEG: 1, ca.OP_SQ: 2, ca.OP_CONSTPOW: 1,
          ca.OP_TWICE: 2}  # fmt: skip
