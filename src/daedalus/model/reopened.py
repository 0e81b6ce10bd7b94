"""A snapshot as a notebook again: every verb takes a Model or the System that was frozen from one.

The notebook has the symbols of the snapshot, so that expressions of either are valid in both. What was written as
energies, bodies and joints is there again where the snapshot was made in this process; from a file or another process
it has the equations that came of them.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.assembly.ledger import Ledger
from daedalus.model.expressions import column, elements
from daedalus.model.mechanics.mechanics_part import Mechanics
from daedalus.model.model import Model, as_system
from daedalus.model.names import derivative_name, matrix_of_shape
from daedalus.model.system.equation_row import Role
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Variable
from daedalus.model.written import Equation, WrittenEvent, by_equation, new_symbol


class ReopenedModel(Model):
    """The notebook of a snapshot; it knows what the snapshot watches."""

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)
        self._seen: dict[str, Equation] = {}

    def _watched(self) -> dict[str, Equation]:
        return self._seen


def as_model(model: Model | System) -> Model:
    """The notebook behind a model, to read in or to copy, never to write in; that of a snapshot is kept with it.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); y = m.state("y", start=1.0, rate=0.0)
    >>> m.equation(m.der(m.der(y)), -y, name="force")
    >>> as_model(m) is m, as_model(m.freeze()).equations
    (True, {'force': ['y_ddot + y = 0']})
    >>> as_model(m.freeze()).freeze() is m.freeze()
    True
    """
    return model if isinstance(model, Model) else once(as_system(model), _reopened)


def _reopened(system: System) -> Model:
    mechanics = system.part(Mechanics)
    book = mechanics.book if mechanics is not None and not system.is_rewritten else None
    model = book if isinstance(book, Model) else _written_again(system)
    model._frozen = system
    return model


def _written_again(system: System) -> Model:
    """The notebook with the equations of a system."""
    book = ReopenedModel(system.name)
    book.written.reset_labels(system.symbol("t"))
    for variable in system.variables:
        place = system.places[variable.name]
        scalars = [system.symbol(letter)[int(k)] for letter, k in zip(place.letters, place.positions)]
        book._adopt(variable, _shaped(scalars, variable))
    for variable in system.of_kind("state"):
        book.written.derivatives[variable.name] = _chain(system, variable)
        book.written.register_chain(variable.name)
    # Rows that say that one state is the derivative of another are made anew by every snapshot.
    links = sum(order - 1 for orders in system.orders.values() for order in orders)
    first = len(system.rows) - links  # they stand behind all others, one for each rate that is a state
    written = [k for k, row in enumerate(system.rows) if row.role is not Role.DERIVATIVE or k < first]
    rows, residual = [system.rows[k] for k in written], elements(system.residual)
    book.written.equations = by_equation(rows, [residual[k] for k in written])
    book.written.outputs, book.written.output_units = system.outputs, dict(system.output_units)
    book.written.on_request = set(system.on_request)
    book.written.events = _events(system)
    book.written.invariants = _kept(system.invariants, system.invariant_rows)
    book._seen = _kept(system.watched, system.watched_rows)
    book.written.choices = system.choices
    book.written.aliases, book.written.ledger = dict(system.aliases), system.part(Ledger)
    return book


def _shaped(scalars: list[ca.SX], variable: Variable) -> ca.SX:
    return ca.reshape(ca.vertcat(*scalars), *matrix_of_shape(variable.shape))


def _chain(system: System, variable: Variable) -> list[ca.SX]:
    """The derivatives of a state in the symbols of the system; elements of lower order get new ones at the end."""
    x, rates = elements(system.symbol("x")), elements(system.symbol("xdot"))
    place = {entry: k for k, entry in enumerate(system.entries)}
    orders, chain = system.orders[variable.name], []
    for order in range(1, max(orders) + 1):
        scalars = elements(column(new_symbol(derivative_name(variable.name, order), variable.shape)))
        for k, highest in enumerate(orders):
            if order < highest:
                scalars[k] = x[place[variable.name, k, order]]
            elif order == highest:
                scalars[k] = rates[place[variable.name, k, order - 1]]
        chain.append(_shaped(scalars, variable))
    return chain


def _kept(expressions: dict[str, ca.SX], rows: tuple[object, ...]) -> dict[str, Equation]:
    """What solutions keep at zero, with where each element comes from."""
    found, first = {}, 0
    for name, residual in expressions.items():
        count = int(residual.numel())
        found[name] = Equation(name, residual, tuple(rows[first : first + count]))  # type: ignore[arg-type]
        first += count
    return found


def _events(system: System) -> dict[str, WrittenEvent]:
    guards, after, held = system.guards, system.resets, system.assigned
    events = {}
    for k, event in enumerate(system.events):
        resets = {}
        for target in event.resets:
            place = system.place(target)
            discrete = place.letter == "p"
            first = system.sizes["p"] - system.discrete_count if discrete else 0
            row = (held if discrete else after)[k, (np.asarray(place.positions) - first).tolist()]
            new = ca.SX(row)
            resets[target] = ca.reshape(ca.densify(new), *(*place.shape, 1, 1)[:2])
        fields = (resets, event.terminal, event.purpose, event.manner)
        events[event.name] = WrittenEvent(event.name, guards[k], event.direction, *fields)
    return events
