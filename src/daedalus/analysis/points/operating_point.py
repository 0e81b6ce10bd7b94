"""A point that a system is looked at: values of t, x', x, z, u and p, found by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import concatenate, plain_shape
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import flat_index, split_index
from daedalus.model.plain_numbers import by_name, result_at
from daedalus.model.system.named_vectors import Place
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS, LETTERS
from daedalus.model.values import check_mapping, flat_values, parameter_values, wrong_kind


class OperatingPoint(Mapping[str, "float | np.ndarray"]):
    """Values by name at one point: `point["q"]`, `point["q_dot"]`, `point["u"]`, `point["t"]`.

    Iterating gives the states and algebraic variables, so that a point serves as `start=` of `dd.simulate` and as `at=`
    of `dd.linearise`; inputs, parameters, derivatives and the time are found by name too.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=2.0); q = m.input("q")
    >>> m.equation(m.der(h), q - 0.5 * h)
    >>> point = dd.linearise(m, inputs={"q": 1.0}).point
    >>> dict(point), point["h_dot"], point.inputs
    ({'h': 2.0}, 0.0, {'q': 1.0})
    """

    def __init__(self, system: System, vectors: Mapping[str, np.ndarray]) -> None:
        self.system = system
        self.vectors = {letter: _read_only(vectors[letter]) for letter in ARGUMENTS}
        self._names = (*names_of(system, "x"), *names_of(system, "z"))

    def __getitem__(self, name: str) -> float | np.ndarray:
        if name == "t" and "t" not in self.system.places:
            return self.time
        stem, index = split_index(name)
        if stem not in self.system.places and stem in once(self.system, _output_places):
            return self._output(stem, index)
        place = self.system.place(name)
        flat = np.array([self.vectors[letter][k] for letter, k in zip(place.letters, place.positions)])
        return float(flat[0]) if place.shape == () else flat.reshape(place.shape, order="F")

    def _output(self, name: str, index: tuple[int, ...] | None) -> float | np.ndarray:
        """The value of an output, or of one element of it."""
        first, shape = once(self.system, _output_places)[name]
        flat = self._output_values[first : first + int(np.prod(shape, dtype=int))]
        if index is not None:
            k = flat_index(shape, index)
            if k is None:
                raise InputError(f"{name} has no element {list(index)}.", f"{name} has shape {shape}")
            return float(flat[k])
        return float(flat[0]) if shape == () else flat.reshape(shape, order="F")

    @cached_property
    def _output_values(self) -> np.ndarray:
        """All outputs below each other."""
        return np.array(once(self.system, _outputs)(*(self.vectors[letter] for letter in ARGUMENTS))).ravel()

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except InputError:
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        try:
            return self[name]
        except InputError:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def time(self) -> float:
        """The time of the point."""
        return float(self.vectors["t"][0])

    @property
    def inputs(self) -> dict[str, float | np.ndarray]:
        """The inputs by name, as `dd.simulate(..., inputs=...)` takes them."""
        return {v.name: self[v.name] for v in self.system.of_kind("input")}

    @property
    def parameters(self) -> dict[str, float | np.ndarray]:
        """The parameters by name, as `dd.simulate(..., parameters=...)` takes them."""
        return {v.name: self[v.name] for v in self.system.of_kind("parameter")}

    def __repr__(self) -> str:
        values = ", ".join(
            f"{name} = {np.array2string(np.asarray(self[name]), precision=6)}" for name in list(self)[:8]
        )
        more = ", …" if len(self) > 8 else ""
        return f"{type(self).__name__}({self.system.name!r}: {values}{more})"


def _output_places(system: System) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Where each output begins among all of them, and its shape."""
    found, first = dict[str, tuple[int, tuple[int, ...]]](), 0
    for name, expression in system.outputs.items():
        found[name] = (first, plain_shape(expression))
        first += int(expression.numel())
    return found


def _outputs(system: System) -> ca.Function:
    """All outputs below each other."""
    arguments = system.symbols()
    return ca.Function("outputs", arguments, [ca.densify(concatenate(system.outputs.values()))])


def names_of(system: System, letter: str) -> list[str]:
    """The names whose elements all live in one vector; single elements where a derivative is a state in part."""
    whole = [name for name, place in system.places.items() if place.letter == letter]
    covered = {k for name in whole for k in system.places[name].positions}
    return [*whole, *(label for k, label in enumerate(system.labels[letter]) if k not in covered)]


def _read_only(vector: object) -> np.ndarray:
    array = np.array(vector, dtype=float).reshape(-1)
    array.setflags(write=False)
    return array


# -- reading what users give -----------------------------------------------------------------------------------


def read_point(
    system: System,
    at: object,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
    argument: str = "at",
) -> dict[str, np.ndarray]:
    """The vectors t, xdot, x, z, u, p with what was given, later arguments over earlier ones; NaN where nothing was.

    `at` is a mapping from names, a point, or `tr.at(t)` of a run. Parameters fall back on the model's values.
    """
    vectors = {letter: np.full(system.sizes[letter], np.nan) for letter in LETTERS}
    vectors["t"] = np.zeros(1)
    if at is not None:
        _read_named(system, vectors, at, argument)
    own = {**_written_parameters(system, vectors["p"]), **check_mapping(parameters, "parameters")}
    vectors["p"] = np.array(parameter_values(system, own))
    for name, value in check_mapping(inputs, "inputs").items():
        place = system.place(name)
        if place.letter != "u":
            raise wrong_kind(system, name, place, "an input")
        put(vectors, place, _input_value(place, value, float(vectors["t"][0])))
    return vectors


def _written_parameters(system: System, p: np.ndarray) -> dict[str, object]:
    return {system.labels["p"][k]: float(p[k]) for k in np.flatnonzero(~np.isnan(p))}


def _read_named(system: System, vectors: dict[str, np.ndarray], at: object, argument: str) -> None:
    at = by_name(at)
    if isinstance(at, OperatingPoint) and at.system == system:
        for letter, values in at.vectors.items():
            vectors[letter] = np.array(values)
        return
    if isinstance(at, Mapping) and not isinstance(at, OperatingPoint):
        for name, value in at.items():
            if name in ("t", "time") and name not in system.places:
                vectors["t"] = np.array(flat_values(Place("t", (), ("t",), np.zeros(1, int), "s"), value, "value"))
            else:
                put(vectors, system.place(name), value)
        return
    if not hasattr(at, "__getitem__") or not hasattr(at, "time"):
        check_mapping(at, argument)
    # A moment of a run: whatever it knows of this system, by name.
    moment: Any = at
    if np.ndim(moment.time):
        raise InputError(
            f"{argument}= takes one moment of a run.",
            f"got {np.size(moment.time)} times",
            remedy=f"{argument}=tr.at(t)",
        )
    vectors["t"] = np.array([float(moment.time)])
    for name, place in system.places.items():
        if name in moment:
            put(vectors, place, moment[name])


def put(vectors: Mapping[str, np.ndarray], place: Place, value: object) -> None:
    """Write a value by name into the vectors; `None` inside it takes the value of that element away."""
    for letter, k, number in zip(place.letters, place.positions, flat_values(place, value, "value", allow_none=True)):
        vectors[letter][k] = np.nan if number is None else number


def _input_value(place: Place, value: object, t: float) -> object:
    """The value of an input at a time: a number or vector as it is, a function of time or a table at that time."""
    if not callable(value):
        return value
    return result_at(value, t, place.name, "a number, or a function of time alone: lambda t: ...")


def sizes_of(system: System, vectors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The usual size of every entry: its nominal value, or the value it has if that is larger."""
    nominal = {**system.nominal, "xdot": system.nominal["x"], "p": np.zeros(system.sizes["p"])}
    sizes = {letter: np.maximum(nominal[letter], np.abs(vectors[letter])) for letter in LETTERS}
    return {**sizes, "p": np.where(sizes["p"] > 0, sizes["p"], 1.0)}
