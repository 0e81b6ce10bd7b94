"""From a notebook to a System: equations counted, higher orders reduced to the first, everything put into vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.errors import ModelError
from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.mechanics.trees import nothing_moves
from daedalus.model.names import counted, derivative_name, element_label, listed
from daedalus.model.notebook import Notebook
from daedalus.model.switching.force_margins import with_force_margins
from daedalus.model.system.conservation import repeated
from daedalus.model.system.equation_row import EquationRow, Role, derivative_row
from daedalus.model.system.equation_rows import EquationRows
from daedalus.model.system.named_vectors import state_order
from daedalus.model.system.structure_parts import structure_parts
from daedalus.model.system.system import System
from daedalus.model.system.system_content import SystemContent
from daedalus.model.variables import Event, Variable
from daedalus.model.written import Equation


def freeze(book: Notebook, *, square: bool = True) -> System:
    """Take a snapshot of what is written; `square` refuses a count of equations that does not fit the unknowns."""
    states = [v for v in book.written.variables.values() if v.kind == "state"]
    named = book.all_equations()
    equations = named.values()
    residual = concatenate(equation.residual for equation in equations)
    orders = highest_orders(book, states, residual)
    if square:
        _check_count(book, residual)
        _check_frictions_act(book, named)
    _check_orders(book, orders)

    x, xdot, links, added = _first_order(book, states, orders)
    symbols = {"t": book.written.time, "x": concatenate(x), "xdot": concatenate(xdot)}
    for letter, kind in (("z", "algebraic"), ("u", "input"), ("p", "parameter")):
        symbols[letter] = concatenate(
            book.written.symbols[v.name] for v in book.written.variables.values() if v.kind == kind
        )
    discrete = concatenate(
        book.written.symbols[v.name] for v in book.written.variables.values() if v.kind == "discrete"
    )
    symbols["p"] = concatenate([symbols["p"], discrete])
    unknowns = {v.name for v in book.written.variables.values() if v.kind == "algebraic"}
    events = with_force_margins(book, named)
    content = SystemContent(
        name=book.name,
        variables=tuple(book.written.variables.values()),
        orders=orders,
        symbols=symbols,
        residual=concatenate([residual, *links]),
        rows=EquationRows([*(equation.rows for equation in equations), added]),
        outputs=book.written.outputs,
        events=[Event(e.name, e.direction, e.terminal, tuple(e.resets), e.purpose, e.manner) for e in events],
        guards=concatenate(event.guard for event in events),
        resets=_reset_matrix(book, symbols["x"], symbols["x"]),
        **_kept(book.written.invariants, book._watched()),
        choices=book.written.choices,
        parts=book._parts(),
        aliases=book.written.aliases,
        output_units=book.written.output_units,
        on_request=sorted(book.written.on_request & (book.written.outputs.keys() | unknowns)),
        assigned=_reset_matrix(book, discrete, symbols["x"]),
    )
    return _without_repeated(book, System(content))


def _check_frictions_act(book: Notebook, equations: Mapping[str, Equation]) -> None:
    """Refuse a friction whose force stands in no equation but its own law: it would brake nothing, in silence."""
    for event in book.written.events.values():
        contact = event.manner.contact
        if contact is None or not contact.is_friction:
            continue
        others = [equation.residual for name, equation in equations.items() if name != f"{contact.name}.law"]
        if others and not ca.depends_on(concatenate(others), book.written.symbols[contact.name]):
            raise ModelError(
                f"The force of the friction {contact.name!r} enters no equation.",
                because="m.friction returns a force, which acts where you add it.",
                remedy=f"force = m.friction({contact.name!r}, ...) and + force in an equation of motion, or "
                "m.force(force, at=...) for a coordinate",
            )


def _first_order(
    book: Notebook, states: list[Variable], orders: Mapping[str, tuple[int, ...]]
) -> tuple[list[ca.SX], list[ca.SX], list[ca.SX], list[EquationRow]]:
    """The entries of x, for each the symbol of its derivative, and x' = x_dot where that is a state of its own, with
    the rows of these."""
    if all(max(order) == 1 for order in orders.values()):
        return (
            [book.written.symbols[v.name] for v in states],
            [book.written.derivative_symbol(v.name, 1) for v in states],
            [],
            [],
        )
    entries = state_order(states, orders)
    x = [book.written.derivative_scalar(name, k, order) for name, k, order in entries]
    xdot, links, rows = [], [], []
    for (name, k, order), symbol in zip(entries, x):
        next_symbol = book.written.derivative_scalar(name, k, order + 1)
        if order + 1 < orders[name][k]:
            # A state of its own: x' = x_dot is an equation of the first-order system.
            own = ca.SX.sym(f"d({symbol.name()})/dt")
            links.append(own - next_symbol)
            rows.append(derivative_row(next_symbol.name(), symbol.name()))
            next_symbol = own
        xdot.append(next_symbol)
    return x, xdot, links, rows


def _kept(held: Mapping[str, Any], watched: Mapping[str, Any]) -> dict[str, Any]:
    """What solutions keep at zero, held to it or watched only, with its rows."""
    return {
        "invariants": {name: kept.residual for name, kept in held.items()},
        "invariant_rows": [row for kept in held.values() for row in kept.rows],
        "watched": {name: kept.residual for name, kept in watched.items()},
        "watched_rows": [row for kept in watched.values() for row in kept.rows],
    }


def _without_repeated(book: Notebook, system: System) -> System:
    """The system with declared invariants that follow from what else it keeps watched only: nothing is to be held."""
    names = repeated(system)
    if not names:
        return system
    held = {name: kept for name, kept in book.written.invariants.items() if name not in names}
    seen = book._watched() | {name: book.written.invariants[name] for name in names}
    return system.changed(**_kept(held, seen), parts=book._parts())


def highest_orders(book: Notebook, states: list[Variable], residual: ca.SX) -> dict[str, tuple[int, ...]]:
    """For every element of every state, the highest derivative in the equations (at least 1)."""
    orders = {v.name: np.ones(v.size, dtype=int) for v in states}
    if any(len(chain) > 1 for chain in book.written.derivatives.values()):
        for scalar in ca.symvar(residual):
            name, k, order = book.written.known[symbol_key(scalar)]
            if order > 1:
                orders[name][k] = max(orders[name][k], order)
    return {name: tuple(order.tolist()) for name, order in orders.items()}


def _check_orders(book: Notebook, orders: dict[str, tuple[int, ...]]) -> None:
    """Outputs and events may use the derivatives that the equations determine, and no higher ones."""
    used = [(f"Output {name!r}", expression) for name, expression in book.written.outputs.items()]
    for event in book.written.events.values():
        used.append((f"The guard of event {event.name!r}", event.guard))
        used += [(f"The reset of {target} in event {event.name!r}", new) for target, new in event.resets.items()]
    # All at once first: a large model has thousands of outputs, and nothing is wrong with them as a rule.
    met = {key: book.written.known[key] for s in ca.symvar(concatenate(e for _, e in used)) if (key := symbol_key(s))}
    if not any(name in orders and order > orders[name][k] for name, k, order in met.values()):
        return
    for where, expression in used:
        for scalar in ca.symvar(expression):
            name, k, order = book.written.known[symbol_key(scalar)]
            if name in orders and order > orders[name][k]:
                highest = element_label(derivative_name(name, orders[name][k]), book.written.variables[name].shape, k)
                raise ModelError(
                    f"{where} contains {book.written.labels()[symbol_key(scalar)]}, which nothing determines.",
                    f"the highest derivative in the equations is {highest}",
                    because="outputs and events read what the equations determine.",
                    remedy=f"m.der of the expression that the equations give for {highest}",
                )


def _reset_matrix(book: Notebook, symbols: ca.SX, states: ca.SX) -> ca.SX:
    """Row i: the states, or the discrete variables, after event i."""
    if not book.written.events:
        return ca.SX(0, symbols.numel())
    position = {symbol_key(s): k for k, s in enumerate(elements(symbols))}
    known = {symbol_key(s) for s in elements(states)}
    rows = []
    for event in book.written.events.values():
        after = elements(symbols)
        for target, value in event.resets.items():
            for symbol, new in zip(elements(book._lookup(target)), elements(column(value))):
                is_discrete = book.written.variables[book.written.known[symbol_key(symbol)][0]].kind == "discrete"
                if symbol_key(symbol) not in known and not is_discrete:
                    raise ModelError(
                        f"Event {event.name!r} resets {target}, which is not a state of this model.",
                        f"{book.written.labels()[symbol_key(symbol)]} follows from the equations",
                        because="the equations contain no higher derivative of it.",
                        remedy="reset a state, or write the equations in second order",
                    )
                if symbol_key(symbol) in position:
                    after[position[symbol_key(symbol)]] = new
        rows.append(ca.vertcat(*after).T if after else ca.SX(1, 0))
    return ca.densify(ca.vertcat(*rows))


def _check_count(book: Notebook, residual: ca.SX) -> None:
    unknowns = [v for v in book.written.variables.values() if v.kind in ("state", "algebraic")]
    wanted, written = sum(v.size for v in unknowns), residual.numel()
    if not unknowns and book.written.mechanics.frames:
        raise nothing_moves(book.name, book.written.mechanics)
    if not unknowns:
        raise ModelError(
            f"The model {book.name!r} is empty.",
            "no state and no algebraic variable is declared",
            because="there is nothing to solve for.",
            remedy='x = m.state("x", start=1.0); m.equation(m.der(x), -x)',
        )
    if wanted == written:
        return
    gap = abs(wanted - written)
    count = {1: "one equation", 2: "two equations"}.get(gap, f"{gap} equations")
    unfelt = sum(row.role is Role.SMALLEST for e in book.all_equations().values() for row in e.rows)
    fact = f"{counted(wanted, 'unknown')}, {counted(written - unfelt, 'equation')}"
    if written < wanted:
        culprits, absent, affected = _undetermined(book, unknowns, residual)
        facts = [f"{fact}; undetermined: {listed(culprits, 12)}"]
        if affected:
            facts.append(f"the motion is not determined: {listed(affected, 12)} stand in too few equations")
        reason = "the equations that contain them are used up by other unknowns."
        if absent:
            reason = f"no equation contains {' or '.join(absent[:4])}."
        raise ModelError(
            f"The model has {count} too few.",
            facts,
            because=reason,
            remedy="m.equation(...) for each of them, or declare what comes from outside as m.input(...)",
        )
    raise ModelError(
        f"The model has {count} too many.",
        f"{fact}: {', '.join(_superfluous(book, unknowns, residual))} over-determine the model together",
        because="there are more equations than unknowns: some follow from the others, or contradict them.",
        remedy="remove redundant equations (dd.analyse(m) lists them), or declare an input as m.algebraic(...)",
    )


def incidence(book: Notebook, unknowns: list[Variable], residual: ca.SX) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Which equations contain which unknowns, at any order of derivative, row by row; and the labels of these."""
    symbols, owners, labels = [], list[int](), list[str]()
    for v in unknowns:
        for k in range(v.size):
            for order in range(len(book.written.derivatives.get(v.name, ())) + 1):
                symbols.append(
                    book.written.derivative_scalar(v.name, k, order) if order else book.written.scalars[v.name, 0][k]
                )
                owners.append(len(labels))
            labels.append(v.label(k))
    rows, columns = ca.jacobian_sparsity(residual, ca.vertcat(*symbols)).get_triplet()
    entries = np.unique(np.array(rows, dtype=int) * len(labels) + np.array(owners, dtype=int)[list(columns)])
    return *np.divmod(entries, len(labels)), labels


def _undetermined(book: Notebook, unknowns: list[Variable], residual: ca.SX) -> tuple[list[str], list[str], list[str]]:
    """Unknowns left over by a maximum matching, those among them that no equation mentions, and all that they affect.

    Those that nothing mentions come first, and are all there is to say then; nothing is affected unless a state is.
    """
    rows, columns, labels = incidence(book, unknowns, residual)
    partner = _core.maximum_matching(residual.numel(), len(labels), rows, columns).columns
    parts = structure_parts(residual.numel(), len(labels), rows, columns, partner)
    absent = [labels[k] for k in np.setdiff1d(np.arange(len(labels)), columns)]
    loose = np.intersect1d(parts.loose_unknowns, columns)
    states = {v.label(k) for v in unknowns if v.kind == "state" for k in range(v.size)}
    affected = [labels[k] for k in parts.undetermined_unknowns]
    culprits = [*absent, *(labels[k] for k in loose)][: max(len(absent), len(labels) - residual.numel())]
    told = not absent and len(affected) > len(loose) and bool(states & set(affected))
    return culprits, absent, affected if told else []


def _superfluous(book: Notebook, unknowns: list[Variable], residual: ca.SX) -> list[str]:
    """The equations among which at least one is superfluous: those a maximum matching leaves over, by name."""
    rows, columns, labels = incidence(book, unknowns, residual)
    names = [e.name for e in book.all_equations().values() for _ in range(e.residual.numel())]
    partner = _core.maximum_matching(len(labels), len(names), columns, rows).columns
    loose = np.setdiff1d(np.arange(len(names)), partner)
    # Equations that share unknowns with a left-over one are candidates too.
    touched = columns[np.isin(rows, loose)]
    involved = [*loose, *rows[np.isin(columns, touched)]]
    return sorted({names[k] for k in involved}, key=names.index)[:6]
