"""How long a formula is: the operations one counts on paper."""

from __future__ import annotations

import casadi as ca


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
    column = ca.densify(ca.vec(expression))
    function = ca.Function("length", [ca.vertcat(*ca.symvar(column))], [column])
    lengths, total = [0] * function.sz_w(), 0
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation == ca.OP_OUTPUT:
            total += lengths[function.instruction_input(k)[0]]
        elif operation in (ca.OP_INPUT, ca.OP_CONST):
            lengths[function.instruction_output(k)[0]] = 0
        else:
            own = sum(lengths[place] for place in function.instruction_input(k))
            lengths[function.instruction_output(k)[0]] = own + (operation != ca.OP_NEG)
    return total
