"""Time derivatives of equations along the motion, derivatives that an equation gives put in at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca
import numpy as np

from daedalus.analysis.structure.signature import Signature
from daedalus.deadline import poll
from daedalus.errors import ModelError
from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.input_rates import rates_of
from daedalus.model.model import Model
from daedalus.model.names import split_derivative, times_text
from daedalus.model.system.equation_row import EquationRow
from daedalus.reduction.index.offsets import SolvedDerivatives, Unknown
from daedalus.reduction.rewriting import equation_rows, scalar_rows


class DifferentiatedInputError(ModelError):
    """An input that the reduction needs derivatives of was left open; `needed` says how often each."""

    needed: dict[str, int]


class Differentiation:
    """Total derivatives in the symbols of a notebook; `flow` gives the derivatives that are expressions already.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.reduction.index.offsets import SolvedDerivatives
    >>> m = dd.Model("m"); q = m.state("q"); v = m.state("v")
    >>> along = Differentiation(m, [("q", 0), ("v", 0)], SolvedDerivatives({0: 0}, {0: 1}, {0: v}))      # q' = v
    >>> along.derivative(q**2)
    SX(...)
    """

    def __init__(self, book: Model, unknowns: list[Unknown], flow: SolvedDerivatives) -> None:
        self.book = book
        self.flow = flow
        self._unknowns = unknowns
        self._place = {u: j for j, u in enumerate(unknowns)}

    def derivative(self, expressions: ca.SX) -> ca.SX:
        """d/dt of a column of expressions."""
        symbols, rates = [self.book.written.time], [ca.SX(1)]
        for symbol in ca.symvar(expressions):
            name, k, order = self.book.written.known[symbol_key(symbol)]
            if (name, k) in self._place:
                symbols.append(symbol)
                rates.append(self._rate(name, k, order))
        return ca.densify(column(ca.jtimes(column(expressions), concatenate(symbols), concatenate(rates))))

    def _rate(self, name: str, k: int, order: int) -> ca.SX:
        j = self._place[name, k]
        if order + 1 == self.flow.order.get(j):
            return self.flow.value[j]
        return self.book.written.derivative_scalar(name, k, order + 1)

    def without_solved(self, expressions: ca.SX) -> ca.SX:
        """The expressions with derivatives that an equation gives put in; higher ones too."""
        while True:
            poll("reducing the index")
            old, new = [], []
            for symbol in ca.symvar(expressions):
                name, k, order = self.book.written.known[symbol_key(symbol)]
                j = self._place.get((name, k), -1)
                if order >= self.flow.order.get(j, np.inf):
                    value = self.flow.value[j]
                    for _ in range(order - self.flow.order[j]):
                        value = self.derivative(value)
                    old.append(symbol)
                    new.append(value)
            if not old:
                return expressions
            expressions = ca.densify(ca.substitute(expressions, concatenate(old), concatenate(new)))

    def levels(self, residual: ca.SX, s: Signature) -> dict[tuple[int, int], ca.SX]:
        """(equation, times) -> expression, for every equation 0 to c times; solved ones stay as written."""
        rows = elements(residual)
        found = {(i, 0): row for i, row in enumerate(rows)}
        solved = set(self.flow.row.values())
        for i in self._rows_above(s) - solved:
            found[i, 0] = self.without_solved(rows[i])
        own = [i for i in range(len(rows)) if s.c[i] >= 1 and i not in solved]
        if not own:
            return found
        level = self.without_solved(concatenate(rows[i] for i in own))
        found.update({(i, 0): row for i, row in zip(own, elements(level))})
        for times in range(1, int(s.c.max()) + 1):
            keep = [k for k, i in enumerate(own) if s.c[i] >= times]
            own = [own[k] for k in keep]
            if not own:
                break
            level = self.derivative(level[keep])
            found.update({(i, times): row for i, row in zip(own, elements(level))})
        return found

    def _rows_above(self, s: Signature) -> set[int]:
        """Equations with a derivative above one that an equation gives."""
        above = [order > self.flow.order.get(j, np.inf) for j, order in zip(s.columns.tolist(), s.orders.tolist())]
        return set(s.rows[np.array(above, dtype=bool)].tolist())


def differentiated_inputs(book: Model, residual: ca.SX, s: Signature) -> dict[str, int]:
    """How often each input is differentiated: as often as the equations that contain it."""
    names = [v.name for v in book.written.variables.values() if v.kind == "input"]
    counts = {}
    for name in names:
        rows = np.array(
            sorted(set(ca.jacobian_sparsity(residual, column(book.written.symbols[name])).row())), dtype=int
        )
        counts[name] = int(s.c[rows].max(initial=0))
    return counts


def check_inputs(
    counts: dict[str, int], rows: Sequence[EquationRow], book: Model, residual: ca.SX, s: Signature
) -> None:
    """Refuse what would need the derivative of a signal from outside."""
    name = next((name for name, times in counts.items() if times), None)
    if name is None:
        return
    needed = _by_origin(counts)
    own = sorted(set(ca.jacobian_sparsity(residual, column(book.written.symbols[name])).row()))
    where = [rows[i].label for i in own if s.c[i]]
    error = DifferentiatedInputError(
        f"The input {name} would have to be differentiated {times_text(counts[name])}.",
        [
            f"it stands in {', '.join(where[:6])}, which {'is' if len(where) == 1 else 'are'} differentiated",
            *(f"the input {n} too: {times_text(t)}" for n, t in counts.items() if t and n != name),
        ],
        because="a signal from outside may jump, and its derivative would be an impulse.",
        remedy=f'dd.reduce(m, inputs={{"{name}": expression of m.time}}), or make {name} a state with an equation for '
        "its derivative",
    )
    error.needed = needed
    raise error


def _by_origin(counts: dict[str, int]) -> dict[str, int]:
    """Which derivative of each input the reduction needs, derivatives that are inputs themselves counted in."""
    found = dict[str, int]()
    for name, times in counts.items():
        origin, order = split_derivative(name)
        origin, order = (origin, order) if origin in counts else (name, 0)
        found[origin] = max(found.get(origin, 0), order + times if times else 0)
    for name, rates in rates_of(list(counts)).items():
        if found[name]:
            found[name] = max(found[name], len(rates))
    return {name: times for name, times in found.items() if times}


def given_input_counts(book: Model, names: Iterable[str], rows: Sequence[EquationRow], s: Signature) -> dict[str, int]:
    """How often inputs that were given as expressions are differentiated: as often as the equations they stood in.

    Equations that were combined for this reduction count with all inputs of the combined ones.
    """
    residual, old = concatenate(scalar_rows(book)), equation_rows(book)
    combined = [i for i, row in enumerate(old) if rows[i] != row]
    parts = {i: {*combined, *(j for j, row in enumerate(old) if row.source in rows[i].combined)} for i in combined}
    counts, rates = {}, rates_of(book.inputs)
    for name in names:
        counts[name] = 0
        for order, level in enumerate((name, *rates.get(name, ()))):
            if level in book.written.symbols:
                own = set(ca.jacobian_sparsity(residual, column(book.written.symbols[level])).row())
                own |= {i for i in combined if own & parts[i]}
                counts[name] = max(counts[name], max((int(s.c[i]) + order for i in own), default=0))
    return counts
