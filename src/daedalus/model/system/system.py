"""A frozen model: 0 = F(t, x', x, z, u, p) in first order, with every name's place in the vectors."""

from __future__ import annotations

from collections.abc import KeysView, Mapping, Sequence
from typing import Any, Literal, TypeVar

import casadi as ca

from daedalus.errors import InputError
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import elements
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import (
    counted,
)
from daedalus.model.system.equation_rows import EquationRows
from daedalus.model.system.formulas import formulas_of
from daedalus.model.system.named_vectors import NamedVectors
from daedalus.model.system.plain_record import PlainRecord, canonical_text, checksum, misfit, parsed
from daedalus.model.system.system_content import SystemContent
from daedalus.model.system.system_record import ARGUMENTS, VERSION, read_content
from daedalus.model.variables import PLAIN, Variable

Kind = TypeVar("Kind")


class System(NamedVectors):
    """An immutable, hashable, picklable snapshot of a model. `m.freeze()` returns it, and every result keeps it.

    The unknown vectors are flattened column-major in order of declaration: x (the states, then the derivatives that are
    states themselves because the equations are of higher order), xdot, z, u, p.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> y = m.state("y", start=1.0)
    >>> m.equation(m.der(m.der(y)), -y)
    >>> s = m.freeze()
    >>> s.labels["x"], s.labels["xdot"]
    (('y', 'y_dot'), ('y_dot', 'y_ddot'))
    >>> s == m.freeze(), hash(s) == hash(m.freeze())
    (True, True)
    """

    def __init__(self, content: SystemContent) -> None:
        self._content, self.is_rewritten = content, content.rewritten
        self.name = content.name
        self.variables = tuple(content.variables)
        self.orders = {key: tuple(value) for key, value in content.orders.items()}
        self.rows = EquationRows([content.rows])  # where each equation comes from
        self.events = tuple(content.events)
        self.aliases = dict(content.aliases)  # further names of variables and of their derivatives
        self.choices = tuple(content.choices)  # of states, where parameters say which of them are integrated
        # Units in results: of outputs, and of reactions, whose equations know none where masses are plain numbers.
        named = {*content.outputs, *(v.name for v in self.variables if not v.unit)}
        self.output_units = {name: unit for name, unit in content.output_units.items() if unit and name in named}
        self.on_request = tuple(content.on_request)  # outputs and unknowns that pictures show if asked
        self.invariant_rows = tuple(content.invariant_rows)  # the same for each element of what is kept at zero
        self.watched_rows = tuple(content.watched_rows)
        if len({type(part) for part in content.parts}) < len(content.parts):
            raise ValueError("a system keeps one part of a type")
        # What was computed of the system, by what made it; read and written by `once` alone.
        self._memory: dict[Any, dict[tuple[Any, ...], Any]] = {}

    def __setattr__(self, name: str, value: object) -> None:
        if "_memory" in self.__dict__:
            raise AttributeError("a System is a frozen snapshot: change the Model and freeze it again")
        super().__setattr__(name, value)

    # -- expressions -------------------------------------------------------------------------------------------
    # Copies, so that a user's in-place write changes nothing; +e is one, in a fourteenth of the time of SX(e), which
    # searches for the overload that fits.

    def symbol(self, letter: str) -> ca.SX:
        """The column of symbols of t, xdot, x, z, u or p."""
        return +self._content.symbols[letter]

    def symbols(self, letters: Sequence[str] = ARGUMENTS) -> list[ca.SX]:
        """The columns of symbols of some letters; of all, in the order of F(t, xdot, x, z, u, p), if none are given.

        Example
        -------
        >>> import daedalus as dd
        >>> system = dd.catalogue.load("pendulum_3d").model.freeze()
        >>> [column.numel() for column in system.symbols(("t", "x"))]
        [1, 6]
        """
        return [+self._content.symbols[letter] for letter in letters]

    @property
    def residual(self) -> ca.SX:
        """F as an expression, one row per equation."""
        return +self._content.residual

    @property
    def outputs(self) -> dict[str, ca.SX]:
        """The output expressions by name."""
        return {name: +value for name, value in self._content.outputs.items()}

    @property
    def output_names(self) -> KeysView[str]:
        """The names of the outputs, without copies of their expressions.

        Example
        -------
        >>> import daedalus as dd
        >>> system = dd.catalogue.load("mass_spring").model.freeze()
        >>> list(system.output_names), system.output("energy").numel()
        (['energy'], 1)
        """
        return self._content.outputs.keys()

    def output(self, name: str) -> ca.SX:
        """The expression of one output."""
        return +self._content.outputs[name]

    @property
    def guards(self) -> ca.SX:
        """The guards of the events, one row per event."""
        return +self._content.guards

    @property
    def resets(self) -> ca.SX:
        """The states after each event: (number of events) rows of x, as a matrix."""
        return +self._content.resets

    @property
    def assigned(self) -> ca.SX:
        """The discrete variables after each event: (number of events) rows, as a matrix."""
        given = self._content.assigned
        return ca.SX(len(self.events), 0) if given is None or not self.discrete_count else +given

    @cached_property
    def equation_labels(self) -> tuple[str, ...]:
        """The name of each equation, as it is printed."""
        return tuple(row.label for row in self.rows)

    @cached_property
    def written_starts(self) -> dict[str, float]:
        """Start values that were written for states that a reduction replaced, by name; files keep them."""
        known = dict(self._content.written_starts)
        for part in self._content.parts:
            known.update(getattr(part, "written_starts", {}))
        own = set(self.labels["x"]) if known else set()
        return {label: value for label, value in known.items() if label not in own}

    @cached_property
    def discrete_count(self) -> int:
        """How many entries discrete variables have; they are the last ones of p."""
        return sum(v.size for v in self.of_kind("discrete"))

    @cached_property
    def delayed(self) -> tuple[Variable, ...]:
        """The inputs that are delayed signals, which a run writes itself."""
        return tuple(v for v in self.variables if v.delayed)

    @cached_property
    def noises(self) -> tuple[Variable, ...]:
        """The inputs that are drawn: white and sampled noise."""
        return tuple(v for v in self.variables if v.noise is not None)

    @property
    def invariants(self) -> dict[str, ca.SX]:
        """Quantities that solutions keep at zero, by name, for example the norm of a quaternion minus one."""
        return {name: +value for name, value in self._content.invariants.items()}

    @property
    def has_invariants(self) -> bool:
        """Whether the system has invariants, without a copy of their expressions."""
        return bool(self._content.invariants)

    @property
    def watched(self) -> dict[str, ca.SX]:
        """Quantities that are zero along exact solutions but not enforced, by name: constraints that may drift."""
        return {name: +value for name, value in self._content.watched.items()}

    @property
    def constrains_start(self) -> bool:
        """Whether a start has to satisfy more than the equations: invariants that are enforced or only monitored."""
        return bool(self._content.invariants) or bool(self._content.watched)

    @cached_property
    def function(self) -> ca.Function:
        """F(t, xdot, x, z, u, p) as a CasADi function."""
        return ca.Function("F", self.symbols(), [self._content.residual], list(ARGUMENTS), ["F"])

    def to_latex(self) -> str:
        """All equations in first order in LaTeX, terms collected, as an `aligned` block."""
        from daedalus.display.formulas.object_latex import system_latex

        return system_latex(self)

    # -- how it was made ---------------------------------------------------------------------------------------

    def part(self, kind: type[Kind]) -> Kind | None:
        """The record of how the system was made, by its type, such as `system.part(Reduction)`; None if there is none.

        A reduction leaves its record and its redundant constraints, a model its mechanics, a closed loop the system
        that it closed. Files and pickles hold the equations alone: parts stay in the process.
        """
        return next((part for part in self._content.parts if type(part) is kind), None)

    def parts(self, *kinds: type) -> tuple[object, ...]:
        """The parts of some types, or all of them, to pass them on."""
        return tuple(part for part in self._content.parts if not kinds or type(part) in kinds)

    def translated(self, what: Literal["start", "expression"], value: Any) -> Any:
        """A start or an expression in names of this system: parts replace what became formulas, bodies by joints."""
        for reader in (getattr(part, f"read_{what}", None) for part in self._content.parts):
            value = value if reader is None else reader(self, value)
        return value

    def changed(self, **changes: Any) -> System:
        """A copy of the system with some fields replaced; parts are dropped unless you pass them."""
        return System(self._content.changed(changes))

    # -- identity and files ------------------------------------------------------------------------------------

    def to_record(self) -> dict[str, Any]:
        """The whole system as plain data (JSON). Raises an InputError if its formulas are more than arithmetic."""
        return {**self._described(), "formulas": formulas_of(self.symbols(), self._expressions())}

    def _described(self) -> dict[str, Any]:
        """All fields but the formulas; `system_record.py` reads them back."""
        purposes = {e.name: e.purpose.value for e in self.events if e.purpose is not EventPurpose.MODEL}
        rare = {
            "event_purposes": purposes,
            "event_manners": {e.name: e.manner.to_record() for e in self.events if e.manner != PLAIN},
            "aliases": self.aliases,
            "choices": [choice.to_record() for choice in self.choices],
            "output_units": dict(self.output_units),
            "on_request": list(self.on_request),
            "written_starts": self.written_starts,
        }
        return {
            "version": VERSION,
            "name": self.name,
            "variables": [v.to_record() for v in self.variables],
            "orders": {name: list(order) for name, order in self.orders.items()},
            "symbols": {k: [s.name() for s in elements(self._content.symbols[k])] for k in ARGUMENTS},
            "equations": [row.to_record() for row in self.rows],
            "outputs": list(self._content.outputs),
            "invariants": list(self._content.invariants),
            "watched": list(self._content.watched),
            "invariant_rows": [row.to_record() for row in self.invariant_rows],
            "watched_rows": [row.to_record() for row in self.watched_rows],
            "events": [[e.name, e.direction, e.terminal, list(e.resets)] for e in self.events],
            **{field: entries for field, entries in rare.items() if entries},
        }

    def _expressions(self) -> list[ca.SX]:
        """The expressions in the order in which the record names them."""
        content = self._content
        named = (content.outputs, content.invariants, content.watched)
        own = [content.residual, content.guards, content.resets, *([self.assigned] if self.discrete_count else [])]
        return [*own, *(value for group in named for value in group.values())]

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> System:
        """The inverse of `to_record`, with fresh symbols. Raises an InputError for an inconsistent record."""
        return System(read_content(PlainRecord(record, "system")))

    @cached_property
    def digest(self) -> str:
        """A hash of the whole description of the system, the same in every process."""
        try:
            return checksum(canonical_text(self.to_record()))
        except InputError:
            # Formulas that call functions cannot be saved, but CasADi's text of them tells one from another.
            function = ca.Function("system", self.symbols(), self._expressions())
            return checksum(canonical_text({**self._described(), "serialised": function.serialize()}))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, System) and self.digest == other.digest)

    def __hash__(self) -> int:
        return int(self.digest[:15], 16)

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        text = canonical_text(self.to_record())
        return _unpickled, (text, checksum(text))

    def __copy__(self) -> System:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> System:
        return self

    def _repr_html_(self) -> str:
        from daedalus.display.cards.tool_cards import system_card

        return system_card(self)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {letter}" for letter, n in self.sizes.items() if letter != "xdot")
        return f"System({self.name!r}: {counted(len(self.rows), 'equation')}, {counts})"


def _unpickled(text: object, digest: object) -> System:
    """A system from its text, which has this checksum."""
    if not isinstance(text, str) or checksum(text) != digest:
        raise misfit("the text of a system", "its checksum", digest)
    system = System.from_record(parsed(text))
    vars(system)["digest"] = digest
    return system
