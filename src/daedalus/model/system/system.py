"""A frozen model: 0 = F(t, x', x, z, u, p) in first order, with every name's place in the vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import elements
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import (
    Shape,
    counted,
    derivative_name,
    did_you_mean,
    element_label,
    element_labels,
    flat_index,
    is_inside,
    listed,
    shape_text,
    split_derivative,
    split_index,
)
from daedalus.model.system.formulas import formulas_of
from daedalus.model.system.place import Place, state_order
from daedalus.model.system.plain_record import PlainRecord, canonical_text, checksum, misfit, parsed
from daedalus.model.system.system_content import SystemContent
from daedalus.model.system.system_record import ARGUMENTS, LETTERS, VERSION, read_content
from daedalus.model.unit_labels import rate_unit
from daedalus.model.variables import PLAIN, Variable

Kind = TypeVar("Kind")


class System:
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
        self.rows = tuple(content.rows)  # where each equation comes from
        self.equation_labels = tuple(row.label for row in self.rows)
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

    # -- sizes and names ---------------------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of entries of each vector."""
        return {letter: int(self._content.symbols[letter].numel()) for letter in LETTERS}

    def of_kind(self, kind: str) -> list[Variable]:
        """The declared variables of a kind."""
        return [v for v in self.variables if v.kind == kind]

    @cached_property
    def places(self) -> dict[str, Place]:
        """The place of every name in x, z, u and p, derivatives included."""
        places: dict[str, Place] = {}
        for kinds, letter in ((("algebraic",), "z"), (("input",), "u"), (("parameter", "discrete"), "p")):
            offset = 0
            for v in [v for kind in kinds for v in self.of_kind(kind)]:
                own = np.arange(offset, offset + v.size)
                places[v.name] = Place(v.name, v.shape, (letter,) * v.size, own, v.unit)
                offset += v.size
        if self._is_plain:
            offset = 0
            for v in self.of_kind("state"):
                own = np.arange(offset, offset + v.size)
                for order, letter in enumerate(("x", "xdot")):
                    name = derivative_name(v.name, order)
                    places[name] = Place(name, v.shape, (letter,) * v.size, own, rate_unit(v.unit, order))
                offset += v.size
            return places
        position = {entry: k for k, entry in enumerate(self.entries)}
        for v in self.of_kind("state"):
            for order in range(max(self.orders[v.name]) + 1):
                entries = [
                    ("x", position[v.name, k, order])
                    if order < self.orders[v.name][k]
                    else ("xdot", position.get((v.name, k, order - 1), -1))
                    for k in range(v.size)
                ]
                if all(place >= 0 for _, place in entries):
                    name = derivative_name(v.name, order)
                    letters = tuple(letter for letter, _ in entries)
                    own = np.array([place for _, place in entries])
                    places[name] = Place(name, v.shape, letters, own, rate_unit(v.unit, order))
        return places

    @cached_property
    def plain_places(self) -> dict[str, dict[str, tuple[int, int]]]:
        """By letter, the first entry and the size (0 for a scalar) of names whose entries follow each other."""
        found: dict[str, dict[str, tuple[int, int]]] = {letter: {} for letter in LETTERS}
        for name, place in self.places.items():
            if place.letter is not None and len(place.shape) < 2 and isinstance(place.span, slice):
                found[place.letter][name] = place.span.start, len(place.positions) if place.shape else 0
        return found

    @cached_property
    def _is_plain(self) -> bool:
        """Whether x holds the states as they were declared: no derivative is a state of its own."""
        return all(min(order) == max(order) == 1 for order in self.orders.values())

    @cached_property
    def entries(self) -> list[tuple[str, int, int]]:
        """What stands in x: (name, element, order of derivative)."""
        return state_order(self.of_kind("state"), self.orders)

    def place(self, name: str) -> Place:
        """The position of a name; `"x[1]"` gives that element only. Raises an InputError for unknown names."""
        known = self.places.get(name)
        if known is not None:
            return known
        if name in self.aliases:
            return self.place(self.aliases[name])
        stem, index = split_index(name)
        origin, order = split_derivative(stem)
        if stem in self.aliases or origin in self.aliases:
            return self.place(self._target(stem, origin, order) + name[len(stem) :])
        known = self.places.get(stem)
        if index is None or (known is None and stem not in self._partial):
            raise self.unknown_name(name)
        shape = self._partial[stem] if known is None else known.shape
        k = flat_index(shape, index)
        if k is None:
            raise InputError(
                f"{name} does not exist.",
                f"{stem} is {shape_text(shape)}",
                because="elements count from 0, rows before columns.",
                remedy=element_label(stem, shape, 0),
            )
        if known is not None:
            return known.element(k)
        label = element_label(stem, shape, k)
        for letter in ("x", "xdot"):
            if label in self.labels[letter]:
                return Place(label, (), (letter,), np.array([self.labels[letter].index(label)]))
        raise self.unknown_name(label)

    def _target(self, stem: str, origin: str, order: int) -> str:
        """The name behind a further name, or behind the derivative of one."""
        if stem in self.aliases:
            return self.aliases[stem]
        own, before = split_derivative(self.aliases[origin])
        return derivative_name(own, before + order)

    @cached_property
    def _partial(self) -> dict[str, Shape]:
        """Derivatives that only some elements of a state have, with the shape of the state."""
        return {
            derivative_name(v.name, order): v.shape
            for v in self.of_kind("state")
            for order in range(min(self.orders[v.name]) + 1, max(self.orders[v.name]) + 1)
        }

    def unknown_name(self, name: str) -> InputError:
        """The error for a name that the model does not have."""
        names = [*self.places, *self.aliases, *self._content.outputs]
        origin, order = split_derivative(split_index(name)[0])
        facts = f"it has {listed(names, 10) or 'no variables'}"
        if order and origin in self.orders:
            shape = self.places[origin].shape
            highest = [element_label(derivative_name(origin, n), shape, k) for k, n in enumerate(self.orders[origin])]
            if len(set(self.orders[origin])) == 1:
                highest = [derivative_name(origin, self.orders[origin][0])]
            facts = f"{origin} has derivatives up to {', '.join(highest[:8])}"
        elif order and origin in self.places:
            facts = f"{origin} has no derivative"
        if name in self._content.outputs:
            every = (*self.labels["x"], *self.labels["z"])
            own = [label for label in every if is_inside(label, name)] or every
            facts, remedy = f"states and unknowns of {self.name!r} are {listed(own, 10)}", "a value for one of these"
            joins = "what parts are joined to determines it." if self.aliases else "it is an output."
            return InputError(f"{name} follows from other variables.", facts, because=joins, remedy=remedy)
        return InputError(
            f"The model {self.name!r} has no variable {name!r}.",
            facts,
            because="only declared variables have names.",
            remedy=did_you_mean(name, names),
        )

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The name of every entry of every vector."""
        shapes = {v.name: v.shape for v in self.variables}
        labels = {
            letter: tuple(s for kind in kinds for v in self.of_kind(kind) for s in element_labels(v.name, v.shape))
            for letter, kinds in (("z", ("algebraic",)), ("u", ("input",)), ("p", ("parameter", "discrete")))
        }
        for letter, step in (("x", 0), ("xdot", 1)):
            if self._is_plain:
                states = ((derivative_name(v.name, step), v.shape) for v in self.of_kind("state"))
                labels[letter] = tuple(s for name, shape in states for s in element_labels(name, shape))
                continue
            labels[letter] = tuple(
                element_label(derivative_name(name, order + step), shapes[name], k) for name, k, order in self.entries
            )
        return labels

    # -- values that the model was written with ----------------------------------------------------------------

    @cached_property
    def start(self) -> dict[str, np.ndarray]:
        """Written start values of x, z and values of p (read-only); NaN where nothing was written."""
        written = {v.name: v for v in self.variables}
        values: dict[str, list[float | None]] = {}
        if self._is_plain:
            values["x"] = [entry for v in self.of_kind("state") for entry in v.start or (None,) * v.size]
        else:
            x = [{0: written[name].start, 1: written[name].rate}.get(order, ()) for name, _, order in self.entries]
            values["x"] = [entries[k] if entries else None for entries, (_, k, _) in zip(x, self.entries)]
        for letter, kind in (("z", "algebraic"), ("p", "parameter")):
            values[letter] = [entry for v in self.of_kind(kind) for entry in v.start]
        values["p"] += [0.0 if entry is None else entry for v in self.of_kind("discrete") for entry in v.start]
        return {letter: _frozen_array(entries) for letter, entries in values.items()}

    @cached_property
    def default_start(self) -> np.ndarray:
        """The start values of x that the model declares, and where it declares none the guesses, else zero."""
        written, guessed = self.start["x"], self.guessed_start
        return _frozen_array(np.nan_to_num(np.where(np.isnan(written), guessed, written)).tolist())

    @cached_property
    def guessed_start(self) -> np.ndarray:
        """The guesses for states without a given start value; NaN where there is none (read-only)."""
        x = np.full(self.sizes["x"], np.nan)
        for variable in (v for v in self.of_kind("state") if v.guess):
            x[self.places[variable.name].positions] = variable.guess
        return _frozen_array(x.tolist())

    @cached_property
    def complete_parameters(self) -> bool:
        """Whether every parameter has a value."""
        return not bool(np.isnan(self.start["p"]).any())

    @cached_property
    def nominal(self) -> dict[str, np.ndarray]:
        """The usual sizes of x, z, u and p (read-only); a derivative has that of its state."""
        written = {v.name: v for v in self.variables}
        values: dict[str, list[float | None]] = {}
        if self._is_plain:
            values["x"] = [entry for v in self.of_kind("state") for entry in v.nominal]
        else:
            values["x"] = [written[name].nominal[k] for name, k, _ in self.entries]
        for letter, kinds in (("z", ("algebraic",)), ("u", ("input",)), ("p", ("parameter", "discrete"))):
            own = [v for kind in kinds for v in self.of_kind(kind)]
            values[letter] = [entry for v in own for entry in v.nominal or (1.0,) * v.size]
        return {letter: _frozen_array(entries) for letter, entries in values.items()}

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
        return f"System({self.name!r}: {counted(len(self.equation_labels), 'equation')}, {counts})"


def _unpickled(text: object, digest: object) -> System:
    """A system from its text, which has this checksum."""
    if not isinstance(text, str) or checksum(text) != digest:
        raise misfit("the text of a system", "its checksum", digest)
    system = System.from_record(parsed(text))
    vars(system)["digest"] = digest
    return system


def _frozen_array(entries: Sequence[float | None]) -> np.ndarray:
    array = np.array([np.nan if entry is None else entry for entry in entries], dtype=float)
    array.setflags(write=False)
    return array
