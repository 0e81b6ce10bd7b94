"""Values of formulas for the test whether they are identical, whatever the sizes of their symbols are.

Two polynomials that agree at random points are the same (J. T. Schwartz, Fast probabilistic algorithms for verification
of polynomial identities, Journal of the ACM 27, 1980). That does not hold for exp(-6000 / T) or max(0, x - 10), which
are zero at all points of an ordinary size. Here such functions are unknown functions: each has a random value of its
own, and the same one wherever it is applied to the same values. What agrees then, agrees for any such function.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements

# Digits to which the values that a function is applied to are compared: sums in another order are rounded otherwise.
DIGITS = 9


def values_of_formulas(formulas: ca.SX, count: int, decades: float = 0.2) -> np.ndarray:
    """Values at so many random points, (formulas, points); sizes of symbols spread over so many decades around one.

    Example
    -------
    >>> import casadi as ca
    >>> T, x = ca.SX.sym("T"), ca.SX.sym("x")
    >>> first, second = values_of_formulas(ca.vertcat(x * ca.exp(-6000 / T), ca.exp(-6000 / T) * x), 3)
    >>> bool((first == second).all() and (first != 0).all())
    True
    """
    symbols = ca.symvar(formulas)
    function = ca.Function("formulas", symbols, [formulas])
    draw, unknown = np.random.default_rng(7), dict[tuple[object, ...], np.ndarray]()
    sizes = 10.0 ** draw.uniform(-decades, decades, (len(symbols), count))
    inputs = sizes * draw.choice([-1.0, 1.0], sizes.shape)
    places = formulas.sparsity().find()
    found, work = np.zeros((len(elements(formulas)), count)), [np.zeros(count)] * max(1, function.sz_w())
    for k in range(function.n_instructions()):
        operation, into, of = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if operation == ca.OP_CONST:
            work[into[0]] = np.full(count, function.instruction_constant(k))
        elif operation == ca.OP_INPUT:
            work[into[0]] = inputs[of[0]]
        elif operation == ca.OP_OUTPUT:
            found[places[into[1]]] = work[of[0]]
        else:
            values = [work[place] for place in of]
            if operation in RATIONAL:
                work[into[0]] = _computed(operation, values)
                continue
            key = (operation, *(tuple(f"{v:.{DIGITS}e}" for v in value) for value in values))
            if key not in unknown:
                unknown[key] = 10.0 ** draw.uniform(-decades, decades, count)
            work[into[0]] = unknown[key]
    return found


# Operations whose results are computed: sums, products and quotients.
RATIONAL = (ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_INV)


def _computed(operation: int, values: list[np.ndarray]) -> Any:
    first, last = values[0], values[-1]
    with np.errstate(all="ignore"):
        if operation in (ca.OP_ADD, ca.OP_SUB):
            return first + last if operation == ca.OP_ADD else first - last
        if operation in (ca.OP_MUL, ca.OP_SQ):
            return first * last
        if operation in (ca.OP_DIV, ca.OP_INV):
            return first / last if operation == ca.OP_DIV else 1.0 / first
        return -first if operation == ca.OP_NEG else 2.0 * first
