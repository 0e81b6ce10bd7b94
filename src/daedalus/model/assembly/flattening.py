"""All scalar equations of a model with parts: signed sums among them are solved, laws are left as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from daedalus.model.assembly.hidden_cuts import write_hanging_cuts, write_hidden_cuts
from daedalus.model.assembly.joined_ports import PortSide, joined_sets
from daedalus.model.assembly.relations import ZERO, SignedSums
from daedalus.model.assembly.signed_terms import signed_terms, sums_of
from daedalus.model.assembly.unknowns import KNOWN, MOVING, SHARED, Unknowns, unknowns_of
from daedalus.model.expressions import column, combined, concatenate, dense, elements, symbol_key

if TYPE_CHECKING:
    from daedalus.model.doors.inner_parts import PartDoor


# A loop of more charges than this is left as a constraint between states.
LONGEST_LOOP = 400


class ScalarRow(NamedTuple):
    """A scalar equation: which written one it is an element of, or the ports of a balance."""

    equation: str
    element: int
    residual: ca.SX | None
    ports: tuple[str, ...] = ()


class Flattening:
    """One model on its way to the flat one."""

    def __init__(self, book: PartDoor, still: bool = False) -> None:
        self.book, self.still = book, still
        self.is_moved = False  # whether a source over time moves a state that follows from others
        self.unknowns: Unknowns = unknowns_of(book)
        self.sums = SignedSums(self.unknowns.rank, self.unknowns.merges)
        self.rows: list[ScalarRow] = []
        self.of_sum: list[int] = []  # the row of each signed sum
        self.laws: list[int] = []  # the rows that are more than signed sums
        self.value: dict[int, ca.SX] = {}  # of unknowns that follow from sums
        self.ports_of: dict[str, tuple[str, ...]] = {}  # of equations that connections write, by name
        self.flows: set[int] = set()
        self.sets = joined_sets(book.written.assembly)

    # -- rows --------------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """All scalar equations; signed sums among them are told from laws."""
        ports = self.book.written.assembly.ports
        for sides in self.sets:
            self._join(sides)
        number, sums = self.unknowns.by_name, sums_of(self.book)
        for name, equation in self.book.written.equations.items():
            rows = sums[name]
            residuals = elements(equation.residual) if None in rows else [None] * len(rows)
            for k, (terms, residual) in enumerate(zip(rows, residuals)):
                if terms is None and (driven := self._driven(name, residual)) is not None:
                    self._sum(ScalarRow(name, k, None), driven)
                elif terms is None:
                    self._law(ScalarRow(name, k, residual))
                else:
                    self._sum(ScalarRow(name, k, None), [(number[variable], sign) for variable, sign in terms])
        for name in {**self.book.written.assembly.sources, **self.book.written.assembly.defaults}:
            source = self.book.written.assembly.sources.get(name)
            if source is None:
                source = ca.SX(self.book.written.assembly.defaults[name])
            pairs = zip(elements(self.book.written.symbols[name]), elements(column(source)))
            for k, (own, value) in enumerate(pairs):
                row = ScalarRow(f"signal to {name}", k, own - value)
                signal = signed_terms(own - value, self.unknowns.number)
                if signal is None:
                    self._law(row)
                else:
                    self._sum(row, signal)
        self.flows = {self.unknowns.by_name[port.balanced] for port in ports.values()}

    def _driven(self, name: str, residual: ca.SX | None) -> list[tuple[int, int]] | None:
        """A law that holds a signed sum at an expression of time, as sources do; only beside loops of charges."""
        if residual is None or not self.book.written.assembly.inner or residual.op() != ca.OP_SUB:
            return None
        terms, expression = signed_terms(residual.dep(0), self.unknowns.number), residual.dep(1)
        if not terms or any(self.unknowns.rank[x] >= KNOWN for x, _ in terms) or not self._is_of_time(expression):
            return None
        number = self.unknowns.add_driven(name, expression)
        self.sums.add_unknown()
        return [*terms, (number, -1)]

    def _is_discrete(self, number: int) -> bool:
        variable = self.book.written.variables.get(self.unknowns.names[number])
        return variable is not None and variable.kind == "discrete"

    def _is_of_time(self, expression: ca.SX) -> bool:
        """Whether time and parameters alone decide an expression."""
        for symbol in ca.symvar(expression):
            own = self.unknowns.number.get(symbol_key(symbol))
            is_time = own is None and ca.is_equal(symbol, self.book.written.time)
            if not is_time and (own is None or not self.unknowns.steady[own] or self._is_discrete(own)):
                return False
        return True

    def _join(self, sides: list[PortSide]) -> None:
        """Equal potentials and one balance."""
        ports, number = self.book.written.assembly.ports, self.unknowns.by_name
        notes = [ports[side.port] for side in sides]
        for note in notes[1:]:
            self._sum(ScalarRow("", 0, None, (notes[0].name, note.name)),
                      [(number[notes[0].shared], 1), (number[note.shared], -1)])  # fmt: skip
        terms = [(number[note.balanced], -1 if side.inside else 1) for note, side in zip(notes, sides)]
        self._sum(ScalarRow("balance", 0, None, tuple(note.name for note in notes)), terms)

    def _sum(self, row: ScalarRow, terms: list[tuple[int, int]]) -> None:
        self.rows.append(row)
        self.of_sum.append(len(self.rows) - 1)
        self.sums.add(terms)

    def _law(self, row: ScalarRow) -> None:
        self.rows.append(row)
        self.laws.append(len(self.rows) - 1)

    # -- signed sums -------------------------------------------------------------------------------------------

    def solve_sums(self) -> None:
        """Equal unknowns, then potentials along what stores, differences, flows that no law gives, and hidden cuts."""
        sums, rank = self.sums, self.unknowns.rank
        sums.equate()
        self._solve_along_states()
        lawful = self._lawful()
        flows = {sums.root(flow)[0] for flow in self.flows}
        for number in range(len(sums.rows)):
            own = [x for x in sums.rows[number] or () if rank[x] < MOVING and x not in flows and rank[x] != SHARED]
            if own:
                sums.solve_for(min(own, key=lambda x: len(sums.at[x])), number)
        sums.equate()
        free = [x for x in {sums.root(f)[0] for f in self.flows} if rank[x] < MOVING and x not in lawful and x != ZERO]
        for x in sorted(free, key=lambda x: (len(sums.at[x]), x)):
            held = [k for k in sums.at[x] if sums.rows[k] is not None]
            if held:
                sums.solve_for(x, min(held, key=lambda k: (len(sums.rows[k] or ()), k)))
        sums.equate()
        given = {sums.root(flow)[0] for flow in self.flows}
        if write_hidden_cuts(sums, lambda x: x in given and rank[x] < MOVING, lambda x: rank[x] >= MOVING):
            sums.equate()
        leaks = self._leaks()
        if leaks and write_hanging_cuts(
            sums, lambda x: x in given and rank[x] < MOVING, leaks.__contains__, lambda x: rank[x] >= MOVING
        ):
            sums.equate()
        self._solve_inner_states()

    def _leaks(self) -> set[int]:
        """The flows of parts that may block but for a leak: those with junctions."""
        assembly, unknowns = self.book.written.assembly, self.unknowns
        parts = {assembly.innermost(name) for name in assembly.junctions}
        flows = (unknowns.by_name[port.balanced] for port in assembly.ports.values() if port.owner in parts)
        return {self.sums.root(flow)[0] for flow in flows}

    def _solve_inner_states(self) -> None:
        """Let loops of charges give the states that are no more than parts of them."""
        sums, unknowns = self.sums, self.unknowns
        inner = {unknowns.by_name[name] for name in self.book.written.assembly.inner if name in unknowns.by_name}
        if not inner:
            return
        self._solve_along_states()
        for number in range(len(sums.rows)):
            row = sums.rows[number]
            if not row or not all(unknowns.states[x] or unknowns.steady[x] or x in unknowns.driven for x in row):
                continue
            own = [x for x in row if x in inner and unknowns.rank[x] == MOVING and abs(row[x]) == 1]
            if own:
                sums.solve_for(min(own, key=lambda x: (len(sums.at[x]), x)), number, LONGEST_LOOP)
        sums.equate()

    def _solve_along_states(self) -> None:
        """Potentials that follow from what is integrated or known."""
        for _ in range(4):
            if not sum(self._along_states(number) for number in range(len(self.sums.rows))):
                break
            self.sums.equate()

    def _along_states(self, number: int) -> bool:
        """Let a sum of potentials and of what is integrated or known give one potential."""
        row, rank = self.sums.rows[number], self.unknowns.rank
        if not row:
            return False
        potentials = [x for x in row if rank[x] == SHARED]
        if not potentials or any(rank[x] < MOVING for x in row if rank[x] != SHARED):
            return False
        return self.sums.solve_for(min(potentials, key=lambda x: len(self.sums.at[x])), number)

    def _lawful(self) -> set[int]:
        """The unknowns that stand in laws, energies or forces: they cannot be told from the balances alone."""
        used = [residual for k in self.laws if (residual := self.rows[k].residual) is not None]
        number = self.unknowns.number
        keys = [
            int(s.element_hash()) for s in ca.symvar(concatenate([*used, *self.book.written.mechanics.expressions()]))
        ]
        return {self.sums.root(number[key])[0] for key in keys if key in number}

    def mapped(self) -> tuple[list[ca.SX], list[ca.SX]]:
        """Symbols that the sums replace, derivatives too, and what stands for them."""
        self._evaluate_sums()
        old, new = [], []
        for k in range(1, len(self.unknowns.symbols)):
            root, sign = self.sums.root(k)
            if root == k and k not in self.value:
                continue
            value = self.value[root] if root in self.value else self.unknowns.symbols[root]
            old.append(self.unknowns.symbols[k])
            new.append(value if sign > 0 else -value)
            name = self.unknowns.names[k]
            for order, symbol in enumerate(self.book.written.derivatives.get(name, ()), 1):
                old.append(symbol)
                if root in self.value and self.unknowns.states[root]:
                    new.append(self._rate_of_sum(root, order) * sign)
                elif self.unknowns.steady[root] or root == ZERO:
                    new.append(ca.SX(0))
                else:
                    rate = self.book.written.derivative_symbol(self.unknowns.names[root], order)
                    new.append(rate if sign > 0 else -rate)
        return old, new

    def _rate_of_sum(self, root: int, order: int) -> ca.SX:
        """The derivative of a state that follows from others."""
        value, total = self.value[root], ca.SX(0)
        for symbol in ca.symvar(value):
            slope, number = ca.jacobian(value, symbol), self.unknowns.number.get(symbol_key(symbol))
            if number is None:  # of time
                self.is_moved = True
                total += 0 if self.still else slope
            elif self.unknowns.states[number]:
                total += slope * self.book.written.derivative_symbol(self.unknowns.names[number], order)
        return total

    def _evaluate_sums(self) -> None:
        """Expressions of what follows from sums; what was found last stands in what was found before it."""
        for x in reversed(list(self.sums.given)):
            total = ca.SX(0)
            for y, factor in self.sums.given[x].items():
                root, sign = self.sums.root(y)
                term = self.value.get(root, self.unknowns.symbols[root])
                factor *= sign
                if abs(factor) != 1:
                    term = abs(factor) * term
                total = combined(ca.OP_ADD if factor > 0 else ca.OP_SUB, total, term)
            self.value[x] = total

    # -- what is left ------------------------------------------------------------------------------------------

    def left_sums(self) -> list[tuple[ScalarRow, ca.SX]]:
        """The signed sums that remain as equations."""
        left = [number for number, row in enumerate(self.sums.rows) if row]
        places: dict[int, int] = {}  # of the unknowns in them
        entries: list[tuple[int, int, int]] = []
        for place, number in enumerate(left):
            for x, factor in (self.sums.rows[number] or {}).items():
                root, sign = self.sums.root(x)
                entries.append((place, places.setdefault(root, len(places)), sign * factor))
        if not entries:
            return []
        rows, columns, values = (list(own) for own in zip(*entries))
        factors = ca.DM.triplet(rows, columns, values, len(left), len(places))
        totals = ca.mtimes(factors, ca.vertcat(*(self.unknowns.symbols[x] for x in places)))
        return list(zip((self.rows[self.of_sum[number]] for number in left), elements(dense(totals))))
