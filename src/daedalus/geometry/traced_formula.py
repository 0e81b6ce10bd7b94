"""Formulas that are written once for symbols and then put in: one CasADi call in place of dozens from Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import casadi as ca

Formula = Callable[..., tuple[ca.SX, ...]]


def traced(formula: Formula) -> Formula:
    """The same formula, written out once for every combination of sizes and substituted from then on.

    Zeros and ones among the arguments simplify the result as they do in the formula itself. Results are dense where
    the formula's are.
    """
    kept: dict[tuple[tuple[int, int], ...], ca.Function] = {}

    @wraps(formula)
    def put_in(*arguments: ca.SX) -> tuple[ca.SX, ...]:
        given = [x if isinstance(x, ca.SX) else ca.SX(x) for x in arguments]
        sizes = tuple((x.size1(), x.size2()) for x in given)
        function = kept.get(sizes)
        if function is None:
            symbols = [ca.SX.sym(f"x{k}", *size) for k, size in enumerate(sizes)]
            function = kept[sizes] = ca.Function("formula", symbols, [ca.SX(x) for x in formula(*symbols)])
        return tuple(function.call(given))

    return put_in
