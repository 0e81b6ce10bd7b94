"""The vectors of a system: what stands where in x, x', z, u and p by name, and the values written in the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import (
    Shape,
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
from daedalus.model.system.system_content import SystemContent
from daedalus.model.system.system_record import LETTERS
from daedalus.model.unit_labels import rate_unit
from daedalus.model.variables import Variable


@dataclass(frozen=True, eq=False)
class Place:
    """Where the elements of a name live: a letter (xdot, x, z, u, p) and a position each."""

    name: str
    shape: Shape
    letters: tuple[str, ...]
    positions: np.ndarray
    unit: str = ""

    @cached_property
    def letter(self) -> str | None:
        """The letter shared by all elements, or None when a derivative is partly a state."""
        return self.letters[0] if len(set(self.letters)) == 1 else None

    @cached_property
    def span(self) -> slice | np.ndarray:
        """The positions as a slice where they follow each other, which is quicker to index with."""
        first, count = int(self.positions[0]), len(self.positions)
        together = count == 1 or np.array_equal(self.positions, np.arange(first, first + count))
        return slice(first, first + count) if together else self.positions

    def element(self, k: int) -> Place:
        """The place of one element."""
        return Place(
            element_label(self.name, self.shape, k), (), (self.letters[k],), self.positions[k : k + 1], self.unit
        )


def state_order(states: Sequence[Variable], orders: Mapping[str, Sequence[int]]) -> list[tuple[str, int, int]]:
    """The entries of x in order: (name, element, order of derivative); all states first, then their derivatives."""
    highest = max((max(orders[v.name]) for v in states), default=0)
    return [
        (v.name, k, order)
        for order in range(highest)
        for v in states
        for k in range(v.size)
        if order < orders[v.name][k]
    ]


class NamedVectors:
    """The part of a System that finds entries of its vectors by the names of the model."""

    name: str
    variables: tuple[Variable, ...]
    orders: dict[str, tuple[int, ...]]
    aliases: dict[str, str]
    _content: SystemContent

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


def _frozen_array(entries: Sequence[float | None]) -> np.ndarray:
    array = np.array([np.nan if entry is None else entry for entry in entries], dtype=float)
    array.setflags(write=False)
    return array
