"""The model that connections come to: equal unknowns are one, what follows from others is an output of its old name.

Joined potentials become one unknown, balances and differences are solved exactly (`relations`), laws that give a
current, torque or signal are put in where it stands. What is left is a plain model of a few unknowns, with the same
symbols, that every later stage takes as if it had been written so. States keep their names, so that start values find
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.assembly.domains import DOMAINS
from daedalus.model.assembly.flattening import Flattening, ScalarRow
from daedalus.model.assembly.joined_ports import exposed_ports
from daedalus.model.assembly.ledger import Account, Entry, Ledger
from daedalus.model.assembly.put_in_laws import Replacement, chosen_laws, law_values
from daedalus.model.assembly.solved_laws import solved_laws
from daedalus.model.assembly.written_assembly import WrittenAssembly
from daedalus.model.assembly.wrong_networks import check_sources, check_structure, check_sums, check_voltages
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.mechanics.mechanical_ledger import mechanical_energy
from daedalus.model.names import derivative_name, listed
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.freeze import highest_orders
from daedalus.model.unit_labels import rate_unit
from daedalus.model.written import Equation

if TYPE_CHECKING:
    from daedalus.model.doors.inner_parts import PartDoor


def flattened(book: PartDoor, still: bool = False) -> tuple[PartDoor, bool]:
    """The flat model of one with parts; its ledger and the names of what is gone travel with it.

    still: as at rest, where sources over time stand still. Also told: whether that makes a difference.
    """
    check_sources(book)
    entries = ledger_entries(book)
    work = Flattening(book, still)
    work.collect()
    work.solve_sums()
    check_sums(work)
    known = Replacement.of(*work.mapped())
    laws = chosen_laws(work, known)
    used = {place for place, *_ in laws}
    values = law_values(work, laws)
    known = known.then(_given_by(work, values).then(_at_anchors(work)))
    rest = [
        *work.left_sums(),
        *((work.rows[k], work.rows[k].residual) for n, k in enumerate(work.laws) if n not in used),
    ]
    rows, residuals = [row for row, _ in rest], known.each([r for _, r in rest])  # type: ignore[misc]
    keys = list(map(symbol_key, elements(known.gone)))
    check_voltages(work, residuals, set(keys))
    laws = solved_laws(work, residuals)
    used = {place for place, *_ in laws}
    further = law_values(work, laws)
    solved = _given_by(work, further)
    left = [k for k in range(len(rows)) if k not in used]
    kept = list(zip((rows[k] for k in left), solved.each([residuals[k] for k in left])))
    keys += [work.unknowns.keys[x] for x in further]
    flat = _Writer(work, known.then(solved), keys, kept, entries, [*values, *further]).written()
    return flat, work.is_moved


def _given_by(work: Flattening, values: dict[int, ca.SX]) -> Replacement:
    """Unknowns that laws give."""
    return Replacement.of([work.unknowns.symbols[x] for x in values], list(values.values()))


def _at_anchors(work: Flattening) -> Replacement:
    """Positions that ports of the model's mechanics have, with their derivatives."""
    book, written = work.book, work.book.written.assembly
    places, positions = [], []
    for name, position in written.anchors.items():
        shared = written.ports[name].shared
        places.append(book.written.symbols[shared])
        positions.append(position)
        for symbol in book.written.derivatives.get(shared, ()):
            position = book.der(position)  # type: ignore[attr-defined]
            places.append(symbol)
            positions.append(position)
    return Replacement.of(places, positions)


@dataclass
class _Writer:
    """Writes the flat model: `gone` are keys of the symbols that are, `defined` the unknowns that laws give."""

    work: Flattening
    known: Replacement
    gone: list[int]
    rest: list[tuple[ScalarRow, ca.SX]]
    entries: list[Entry]
    defined: list[int]

    def __post_init__(self) -> None:
        self.book = self.work.book
        self.keys = self.book.written.first_keys()
        # What stands for a symbol that is gone, by its key.
        self.values = dict(zip(self.gone, elements(self.known.put)))

    def written(self) -> PartDoor:
        """The flat model."""
        book = self.book
        flat: PartDoor = book._blank(book.name)
        flat.written.reset_labels(book.written.time)
        self._declare(flat)
        # All that is written beside equations and parts, in what stands for the symbols that are gone.
        layout = book._layout()
        first, last = len(book.written.equations), len(layout["expressions"]) - len(book.written.assembly.expressions())
        expressions = self.known.each(layout["expressions"][first:last])
        nothing = {"equations": (), "assembly": WrittenAssembly().outline()}
        flat._write_expressions({**layout, **nothing, "expressions": expressions})
        for name, event in flat.written.events.items():
            resets = dict(self._target(name, target, new) for target, new in event.resets.items())
            flat.written.events[name] = replace(event, resets=resets)
        self._write_equations(flat)
        parts = dict.fromkeys([*book.written.assembly.parts, *(path for path, *_ in self.entries)])
        charges = tuple(book.written.assembly.charges)
        flat.written.ledger = Ledger(tuple(parts), tuple(self.entries), *self.known, charges)
        self._keep_derivatives(flat)
        if not any(variable.kind in ("state", "algebraic") for variable in flat.written.variables.values()):
            self._keep_one(flat)
        self._name(flat)
        check_structure(self.work, flat)
        return flat

    def _declare(self, flat: PartDoor) -> None:
        """The variables that are left; joined inputs are unknowns of the model."""
        book = self.book
        joined = {*book.written.assembly.sources, *book.written.assembly.defaults}
        for name, variable in book.written.variables.items():
            if self.keys[name] in self.values:
                continue
            if name in joined:
                empty = (None,) * variable.size
                variable = replace(variable, kind="algebraic", start=empty, rate=empty)
            flat.written.enter(variable, book.written.symbols[name])
            if variable.kind == "state":
                flat.written.derivatives[name] = book.written.derivatives.setdefault(name, [])
                flat.written.register_chain(name)

    def _keep_derivatives(self, flat: PartDoor) -> None:
        """Keep what contains a derivative that no equation has any more: the torque of an inertia at a given speed."""
        if all(len(chain) < 2 for chain in self.book.written.derivatives.values()):
            return
        known, left = self.book.written.known, concatenate(e.residual for e in flat.all_equations().values())
        highest: dict[tuple[str, int], int] = {}
        for symbol in ca.symvar(left):
            if (key := symbol_key(symbol)) in known:
                name, k, order = known[key]
                highest[name, k] = max(order, highest.get((name, k), 1))

        def is_new(symbol: ca.SX) -> bool:
            if (key := symbol_key(symbol)) not in known:
                return False
            name, k, order = known[key]
            return order > highest.get((name, k), 1)

        if not any(map(is_new, ca.symvar(self.known.put))):
            return
        for x in self.defined:
            name = self.work.unknowns.names[x]
            value = self.values[self.keys[name]]
            new = [s for s in ca.symvar(value) if is_new(s)]
            if new:
                self._restore(flat, name, value)
                for other in new:
                    variable, k, order = known[symbol_key(other)]
                    highest[variable, k] = order

    def _restore(self, flat: PartDoor, name: str, value: ca.SX) -> None:
        """Let an unknown stay, with the equation that gives it."""
        variable, symbol = self.book.written.variables[name], self.book.written.symbols[name]
        flat._adopt(replace(variable, kind="algebraic", rate=()), symbol)
        flat.written.equations[name] = Equation(name, symbol - value)

    def _keep_one(self, flat: PartDoor) -> None:
        """Where everything follows from parameters and time, one unknown stays for the others to be seen with."""
        for name in sorted(self.book.written.assembly.fluid):
            value = self.values.get(self.keys[name])
            if value is not None:
                self._restore(flat, name, value)
                return

    def _write_equations(self, flat: PartDoor) -> None:
        """What is left of every written equation under its name, and balances under the names of their ports."""
        grouped: dict[str, list[tuple[ScalarRow, ca.SX]]] = {}
        for row, residual in self.rest:
            label = row.equation
            if row.ports:
                ports = listed(row.ports, 4)
                label = f"{row.equation or 'equal'} at {ports}"
                self.work.ports_of[label] = row.ports
            grouped.setdefault(label, []).append((row, residual))
        for name, own in grouped.items():
            written = self.book.written.equations.get(name)
            origins: tuple[EquationRow, ...] = ()
            if written is not None and len(own) < written.residual.numel():
                origins = tuple(written.rows[row.element] for row, _ in own)
            elif written is not None:
                origins = written.origins
            flat.written.equations[name] = Equation(
                name, own[0][1] if len(own) == 1 else ca.vertcat(*(r for _, r in own)), origins
            )

    def _target(self, event: str, name: str, value: ca.SX) -> tuple[str, ca.SX]:
        """What a reset sets, under the name that it has now."""
        if name not in self.work.unknowns.by_name or self.book.written.variables[name].kind == "discrete":
            return name, value
        root, sign = self.work.sums.root(self.work.unknowns.by_name[name])
        if root in self.work.value or not self.work.unknowns.states[root]:
            raise ModelError(
                f"Event {event!r} resets {name}, which the connections determine.",
                f"{name} follows from what its part is joined to",
                because="only states keep the value that an event gives them.",
                remedy="reset a state of the part",
            )
        return self.work.unknowns.names[root], value if sign > 0 else -value

    def _name(self, flat: PartDoor) -> None:
        """Names of what is gone: another name of a variable where it is equal to one, else an output."""
        book, unknowns = self.book, self.work.unknowns
        flat.written.output_units = {
            **{v.name: v.unit for v in book.written.variables.values()},
            **book.written.output_units,
        }
        for k in range(1, len(unknowns.symbols)):
            name = unknowns.names[k]
            if name not in flat.written.variables and k not in unknowns.driven:
                root, sign = self.work.sums.root(k)
                if sign > 0 and unknowns.names[root] in flat.written.variables:
                    flat.written.aliases[name] = unknowns.names[root]
                else:
                    flat.written.outputs[name] = self.values[unknowns.keys[k]]
        name_derivatives(book, flat, self.values)
        for name, (variable, order) in book.written.assembly.names.items():
            known = flat.written.aliases.get(variable, variable)
            if known in flat.written.variables:
                if flat.written.variables[known].kind == "state":
                    flat.written.aliases[name] = derivative_name(known, order)
                elif not order:
                    flat.written.aliases[name] = known
            elif not order and variable in flat.written.outputs:
                flat.written.outputs[name] = flat.written.outputs[variable]
                flat.written.output_units.setdefault(name, flat.written.output_units.get(variable, ""))
            elif order and len(book.written.derivatives.get(variable, ())) >= order:
                symbol = book.written.derivatives[variable][order - 1]
                flat.written.outputs[name] = self.values.get(symbol_key(symbol), symbol)
                flat.written.output_units.setdefault(
                    name, rate_unit(flat.written.output_units.get(variable, ""), order)
                )


# Derivatives of states of parts that connections took away: they stay readable beside the values themselves.


def name_derivatives(book: PartDoor, flat: PartDoor, values: Mapping[int, ca.SX]) -> None:
    """Write outputs for derivatives of states that are gone, as far as the flat model determines them.

    values: what stands for a symbol that is gone, by its key.
    """
    states = [v for v in flat.written.variables.values() if v.kind == "state"]
    residual = concatenate(e.residual for e in flat.all_equations().values())
    orders = highest_orders(flat, states, residual)
    for state in book.written.variables.values():
        if state.kind != "state" or state.shape != () or state.name in flat.written.variables:
            continue
        other = flat.written.variables.get(flat.written.aliases.get(state.name, ""))
        if other is not None and other.kind == "state":
            continue  # derivatives of another name of a state are found behind it
        value = values.get(symbol_key(book.written.symbols[state.name]))
        for order in range(1, max(1, len(book.written.derivatives.get(state.name, ()))) + 1):
            value = None if value is None else _rate(flat, orders, value)
            if value is None:
                break
            flat.written.outputs[derivative_name(state.name, order)] = value


def _rate(flat: PartDoor, orders: Mapping[str, tuple[int, ...]], value: ca.SX) -> ca.SX | None:
    """The time derivative of an expression; None where nothing in the flat model determines it."""
    total = ca.SX(0)
    for symbol in ca.symvar(value):
        name, k, order = flat.written.known.get(symbol_key(symbol), ("", 0, 0))
        kind = "time" if name == "t" else flat.written.variables[name].kind if name in flat.written.variables else ""
        if kind in ("parameter", "discrete"):
            continue
        if kind == "time":
            total += ca.jacobian(value, symbol)
        elif kind == "state" and order < orders[name][k]:
            total += ca.jacobian(value, symbol) * flat.written.derivative_scalar(name, k, order + 1)
        else:
            return None
    return ca.densify(total)


# What the ledger counts of every part: power in at its ports, stored energy and lost power.


def ledger_entries(book: PartDoor) -> list[Entry]:
    """What is known of every part that has ports of its own equations, or says what it stores or loses."""
    written = book.written.assembly
    exposed = exposed_ports(written)
    found: list[Entry] = []
    for port in written.ports.values():
        if port.name in exposed:
            continue
        domain, factors = DOMAINS[port.domain], (book.written.symbols[port.balanced],)
        if domain.is_mechanical:
            factors = (*factors, book.written.derivative_symbol(port.shared, 1))  # type: ignore[assignment]
        elif not domain.carries_power:
            factors = (*factors, book.written.symbols[port.shared])  # type: ignore[assignment]
        found.append((port.owner, Account.RECEIVED, factors))
    found += [(path, Account.STORED, (value,)) for path, value in written.stored]
    found += [(path, Account.LOST, (value,)) for path, value in written.lost]
    if written.anchors:
        energy, lost = mechanical_energy(book)
        found += [("", Account.STORED, (energy,)), ("", Account.LOST, (lost,))]
    return found
