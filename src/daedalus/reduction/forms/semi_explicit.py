"""`dd.to_semi_explicit(m)`: x' = f(t, x, z, u, p) and 0 = g(t, x, z, u, p)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.notebook import declare
from daedalus.model.system.equation_row import Role
from daedalus.model.system.system import System
from daedalus.model.written import Equation
from daedalus.reduction.forms.first_order import rate_variable, to_first_order
from daedalus.reduction.forms.linearity import is_linear
from daedalus.reduction.rewriting import (
    ReducedModel,
    as_algebraic,
    equation_rows,
    read_model,
    rewritten,
    scalar_rows,
    write_rows,
)


def to_semi_explicit(model: Model | System) -> ReducedModel:
    """The model in the form x' = f(t, x, z, u, p), 0 = g(t, x, z, u, p).

    An equation that gives one derivative, with a factor free of unknowns, becomes x' = f. Every other derivative gets a
    name: 0 = F(x', x, z) becomes x' = x_rate, 0 = F(x_rate, x, z) with the algebraic variable x_rate. This is always
    possible; the index rises by one if ∂F/∂x' is singular. States whose derivative appears nowhere, in no equation,
    output, event or invariant, become algebraic variables.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("switched"); x = m.state("x", start=1.0); u = m.input("u")
    >>> m.equation(u * m.der(x) + x, name="balance")
    >>> dd.to_semi_explicit(m).equations
    {'balance': ['u*x_rate + x = 0'], 'rate of x': ['x_dot - x_rate = 0']}
    """
    first = to_first_order(read_model(model, "to_semi_explicit"))
    rows, rates = scalar_rows(first), _derivatives(first)
    names, symbols = list(rates), list(rates.values())
    pattern = ca.jacobian_sparsity(concatenate(rows), concatenate(symbols))
    explicit = _explicit_rows(first, rows, symbols, pattern)
    present = {names[j] for j in pattern.get_triplet()[1]}
    given = {names[j] for j, _ in explicit.values()}
    for i, (j, right) in explicit.items():
        rows[i] = symbols[j] - right
    states = [v for v in first.written.variables.values() if v.kind == "state"]
    present |= _read_elsewhere(first)
    silent = {v.name for v in states if not any((v.name, k) in present for k in range(v.size))}
    n = rewritten(first, {v.name: as_algebraic(v) for v in states if v.name in silent})
    stands: list[tuple[ca.SX, ca.SX]] = []
    links: dict[str, ca.SX] = {}
    for v in states:
        chosen = [k for k in range(v.size) if (v.name, k) not in given]
        if v.name not in silent and chosen:
            new = elements(column(declare(n, rate_variable(n, v, 1, chosen, "algebraic"))))
            stands += [(rates[v.name, k], symbol) for k, symbol in zip(chosen, new)]
            links[f"rate of {v.name}"] = concatenate(rates[v.name, k] - symbol for k, symbol in zip(chosen, new))
    if stands:
        old, put = (concatenate(side) for side in zip(*stands))
        rows = [ca.substitute(row, old, put) for row in rows]
    write_rows(n, equation_rows(first), rows)
    for name, residual in links.items():
        free = name if name not in n.written.equations else f"{name}, again"
        n.written.equations[free] = Equation(free, residual, role=Role.DERIVATIVE)
    return n


def _derivatives(book: Model) -> dict[tuple[str, int], ca.SX]:
    """The first derivatives by state and element."""
    return {
        (v.name, k): book.written.derivative_scalar(v.name, k, 1)
        for v in book.written.variables.values()
        if v.kind == "state"
        for k in range(v.size)
    }


def _read_elsewhere(book: Model) -> set[tuple[str, int]]:
    """States, with the element, whose derivatives outputs, events or invariants read."""
    read = [*book.written.outputs.values(), *(kept.residual for kept in book.written.invariants.values())]
    for event in book.written.events.values():
        read += [event.guard, *event.resets.values()]
    known = (book.written.known[symbol_key(symbol)] for symbol in ca.symvar(concatenate(read)))
    return {(name, k) for name, k, order in known if order}


def _explicit_rows(
    book: Model, rows: list[ca.SX], rates: list[ca.SX], pattern: ca.Sparsity
) -> dict[int, tuple[int, ca.SX]]:
    """Equation -> (derivative, right side) where an equation gives one derivative that stands in no other equation."""
    entries = np.array(pattern.get_triplet(), dtype=int).reshape(2, -1)
    by_row = np.bincount(entries[0], minlength=len(rows))
    by_column = np.bincount(entries[1], minlength=len(rates))
    found = {}
    for i, j in entries.T.tolist():
        if by_row[i] != 1 or by_column[j] != 1:
            continue
        slope = ca.jacobian(rows[i], rates[j])
        inside = {book.written.known[symbol_key(s)][0] for s in ca.symvar(slope)}
        free = all(name != "t" and book.written.variables[name].kind == "parameter" for name in inside)
        if free and is_linear(rows[i], rates[j], slope):
            right = -ca.substitute(rows[i], rates[j], 0) / slope
            found[i] = (j, ca.densify(right))
    return found
