"""Second derivatives in laws of contacts, where states are written in first order: x' = v gives x'' = v'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca

from daedalus.model.expressions import elements, symbol_key
from daedalus.model.notebook import Equation, Notebook

# What an equation for a rate may contain, to be differentiated once more.
KNOWN = ("state", "parameter", "discrete")


def with_rates_put_in(book: Notebook, equations: dict[str, Equation], laws: Sequence[str]) -> dict[str, Equation]:
    """The equations with the rates that others give put into some laws, so that no state needs a second order for them.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("ball")
    >>> h = m.state("h", start=1.0); v = m.state("v", start=0.0)
    >>> push = m.unilateral("table", h)
    >>> m.equation(m.der(h), v); m.equation(m.der(v), -9.81 + push)
    >>> m.equations["table.law"]
    ['table.mode*v_dot + (1 - table.mode)*table = 0']
    """
    rates = _given_rates(book, [e for name, e in equations.items() if name not in laws])
    changed = dict(equations)
    for name in laws:
        old, new = [], []
        for symbol in ca.symvar(equations[name].residual):
            variable, k, order = book._known[symbol_key(symbol)]
            if order and (variable, k) in rates:
                value = rates[variable, k]
                old.append(symbol)
                new.append(value if order == 1 else book.der(value))  # type: ignore[attr-defined]
        if old:
            residual = ca.substitute(equations[name].residual, ca.vertcat(*old), ca.vertcat(*new))
            changed[name] = replace(equations[name], residual=residual)
    return changed


def _given_rates(book: Notebook, equations: Sequence[Equation]) -> dict[tuple[str, int], ca.SX]:
    """What x' is by an equation x' = e(x, t) alone, of states that are of first order in all equations."""
    highest: dict[tuple[str, int], int] = {}
    given: dict[tuple[str, int], ca.SX] = {}
    for equation in equations:
        for residual in elements(equation.residual):
            symbols = ca.symvar(residual)
            known = [book._known[symbol_key(symbol)] for symbol in symbols]
            for variable, k, order in known:
                highest[variable, k] = max(order, highest.get((variable, k), 0))
            rates = [n for n, (_, _, order) in enumerate(known) if order]
            kinds = {"t" if v == "t" else book._variables[v].kind for v, _, _ in known}
            if len(rates) != 1 or known[rates[0]][2] != 1 or not kinds <= {"t", *KNOWN}:
                continue
            slope = ca.jacobian(residual, symbols[rates[0]])
            if slope.is_constant() and float(slope) != 0:
                given[known[rates[0]][:2]] = ca.simplify(symbols[rates[0]] - residual / slope)
    return {place: value for place, value in given.items() if highest[place] == 1}
