"""By how much the force of a contact passes its limit before the contact changes: a share of its usual size.

A row of the equations of motion, M q'' + ... = g λ, has the usual size a = |M| q_n of what gives its states an
acceleration of their nominal values q_n in a second squared. The usual size of λ, which enters some rows, is

    1 / √(Σ (g / a)²),

that of the lightest one it moves. Where a row has algebraic variables alone, their usual sizes give that of λ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import casadi as ca

from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.notebook import Notebook
from daedalus.model.written import Equation, WrittenEvent

# A contact changes where a gap, a speed or a force has passed zero by this share of its usual size: what touches
# without a force would else leave zero by rounding alone.
MARGIN = 1e-12


def with_force_margins(book: Notebook, equations: Mapping[str, Equation]) -> list[WrittenEvent]:
    """The events, those of contacts with margins of their forces; once those have them they are as they were."""
    events = list(book.written.events.values())
    contacts = [event.manner.contact for event in events]
    if all(contact is None or contact.weighed for contact in contacts):
        return events
    laws = {f"{contact.name}.law" for contact in contacts if contact is not None}
    sizes = _UsualForces(book, (e.residual for name, e in equations.items() if name not in laws))
    return [_with_margin(book, event, sizes) for event in events]


def _with_margin(book: Notebook, event: WrittenEvent, sizes: _UsualForces) -> WrittenEvent:
    contact = event.manner.contact
    if contact is None or contact.weighed:
        return event
    symbols = book.written.symbols
    size = sizes.of(symbols[contact.name]) if contact.name in symbols else None
    mode = symbols[f"{contact.name}.mode"]
    is_force = 1 - mode**2 if contact.is_friction else mode
    guard = event.guard + is_force * (MARGIN if size is None else MARGIN * size)
    return replace(event, guard=guard, manner=replace(event.manner, contact=replace(contact, weighed=True)))


class _UsualForces:
    """The usual sizes of algebraic variables, by the rows that they enter."""

    def __init__(self, book: Notebook, residuals: Iterable[ca.SX]) -> None:
        self.book = book
        self.rows: list[tuple[ca.SX, list[ca.SX]]] = []
        self.places: dict[int, list[int]] = {}
        for residual in residuals:
            for row in elements(ca.densify(residual)):
                symbols = ca.symvar(row)
                for symbol in symbols:
                    self.places.setdefault(symbol_key(symbol), []).append(len(self.rows))
                self.rows.append((row, symbols))
        self.seen: set[int] = set()

    def of(self, symbol: ca.SX) -> ca.SX | None:
        """The usual size of a variable, an expression of parameters; None where no row tells."""
        key = symbol_key(symbol)
        if key in self.seen:
            return None
        self.seen.add(key)
        total = ca.SX(0)
        for k in self.places.get(key, []):
            row, symbols = self.rows[k]
            size = self._of_row(row, symbols)
            if size is None:
                size = self._of_others(row, symbols, key)
            if size is not None:
                share = self._at_start(ca.jacobian(row, symbol)) / size
                total += ca.if_else(size > 0, share**2, 0)
        self.seen.discard(key)
        total = ca.simplify(total)
        return None if total.is_zero() else ca.simplify(ca.if_else(total > 0, 1 / ca.sqrt(total), 1))

    def _of_row(self, row: ca.SX, symbols: list[ca.SX]) -> ca.SX | None:
        """What gives the states of a row an acceleration of nominal size; None where it has no rates."""
        book = self.book.written
        places = [(symbol, *book.known[symbol_key(symbol)]) for symbol in symbols]
        highest = max((order for _, _, _, order in places), default=0)
        rates = [(symbol, name, k) for symbol, name, k, order in places if order and order == highest]
        if not rates:
            return None
        nominal = [book.variables[name].nominal[k] or 1.0 for _, name, k in rates]
        masses = [ca.fabs(self._at_start(ca.jacobian(row, symbol))) * n for (symbol, *_), n in zip(rates, nominal)]
        return ca.SX(sum(masses))

    def _of_others(self, row: ca.SX, symbols: list[ca.SX], key: int) -> ca.SX | None:
        """What the other algebraic variables of a row come to."""
        book, total, found = self.book.written, ca.SX(0), False
        for symbol in symbols:
            name = book.known[symbol_key(symbol)][0]
            if symbol_key(symbol) == key or name == "t" or book.variables[name].kind != "algebraic":
                continue
            size = self.of(symbol)
            if size is not None:
                total, found = total + ca.fabs(self._at_start(ca.jacobian(row, symbol))) * size, True
        return total if found else None

    def _at_start(self, expression: ca.SX) -> ca.SX:
        """An expression with all but parameters at the values that they start with."""
        book, old, new = self.book.written, [], []
        for symbol in ca.symvar(expression):
            name, k, order = book.known[symbol_key(symbol)]
            variable = None if name == "t" else book.variables[name]
            if variable is not None and variable.kind == "parameter":
                continue
            start = variable.start[k] if variable is not None and not order and k < len(variable.start) else None
            old.append(symbol)
            new.append(0.0 if start is None else start)
        found = ca.substitute(expression, concatenate(old), ca.SX(ca.DM(new))) if old else expression
        return ca.densify(found)
