"""Values by name into flat vectors: parameters, and the given part of a start."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from daedalus import _core
from daedalus.errors import InputError, ModelError
from daedalus.model.names import did_you_mean, split_derivative, split_index
from daedalus.model.plain_numbers import by_name
from daedalus.model.system.named_vectors import Place
from daedalus.model.system.system import System
from daedalus.model.unit_labels import rate_unit
from daedalus.model.variables import flatten_values

_ELSEWHERE = {
    "p": ("a parameter", "parameters={{{0!r}: ...}}"),
    "u": ("an input", "inputs={{{0!r}: ...}}"),
    "x": ("a state", "start={{{0!r}: ...}}"),
    "xdot": ("a derivative", "start={{{0!r}: ...}}"),
    "z": ("an algebraic variable", "start={{{0!r}: ...}}"),
}


def unit_of(system: System, name: str) -> str:
    """The unit label of a variable, an element, an output, another name or a derivative; empty where it has none."""
    stem = split_index(name)[0]
    units = {**{v.name: v.unit for v in system.variables}, **system.output_units}
    if units.get(stem):
        return units[stem]
    if stem in system.aliases:
        return unit_of(system, system.aliases[stem])
    origin, order = split_derivative(stem)
    return rate_unit(unit_of(system, origin) if order else "", order)


def flat_values(place: Place, value: object, what: str, *, allow_none: bool = False) -> tuple[float | None, ...]:
    """Numbers for a place, column-major; an InputError names it when they do not fit."""
    try:
        return flatten_values(value, place.shape, place.name, what, allow_none=allow_none, unit=place.unit)
    except ModelError as error:
        raise InputError(error.what, error.facts, error.because, error.remedy) from None


def write_plain(target: np.ndarray, system: System, letter: str, values: dict[str, object]) -> int:
    """Write values into a vector in the usual case, plain finite numbers of the right size for whole names.

    Returns how many entries were written, or -1 when anything is out of the ordinary, among it an entry of the vector
    that is not finite: the caller then looks closer and finds the words. A run in a loop reads its numbers here.
    """
    return _core.write_plain(target, system.plain_places[letter], values)


def check_mapping(values: object, argument: str) -> Mapping[str, object]:
    """A mapping from names, or an InputError that shows how to write one."""
    values = by_name(values)
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InputError(
            f"{argument}= takes values by name.", f"got {type(values).__name__}", remedy=f'{argument}={{"name": value}}'
        )
    return values


def parameter_values(system: System, values: Mapping[str, object] | None) -> np.ndarray:
    """The vector p: the model's values with `values` written over them; every parameter must have one."""
    p = system.start["p"]
    if not values and system.complete_parameters:
        return p
    if values:
        p = p.copy()
        if isinstance(values, dict) and write_plain(p, system, "p", values) >= 0:
            return p
        for name, value in check_mapping(values, "parameters").items():
            place = _place_of_parameter(system, name)
            if place.letter != "p":
                raise wrong_kind(system, name, place, "a parameter")
            p[place.positions] = flat_values(place, value, "value")
    if not math.isfinite(p.dot(p)) and np.isnan(p).any():
        missing = [system.labels["p"][k] for k in np.flatnonzero(np.isnan(p))]
        raise InputError(
            f"{', '.join(missing[:6])} {'has' if len(missing) == 1 else 'have'} no value.",
            because="the parameter was declared without one.",
            remedy=f"parameters={{{missing[0]!r}: 1.0}}",
        )
    return p


def _place_of_parameter(system: System, name: str) -> Place:
    """The place of a name among the parameters; what the model does not have at all is said of parameters."""
    try:
        return system.place(name)
    except InputError:
        names = [v.name for v in system.of_kind("parameter")]
        if split_index(name)[0] in system.places:
            raise
        raise InputError(
            f"The model {system.name!r} has no parameter {name!r}.",
            f"its parameters are {', '.join(names[:10])}" if names else "it has no parameters",
            remedy=did_you_mean(name, names) if names else f"m.parameter({name!r}, ...) first",
        ) from None


def wrong_kind(system: System, name: str, place: Place, wanted: str) -> InputError:
    """The error for a name that exists but belongs into another argument."""
    what, remedy = _ELSEWHERE[place.letters[0]]
    return InputError(f"{name} is {what}, not {wanted}.", remedy=remedy.format(name))


def plain_start(system: System, values: dict[str, object] | None) -> np.ndarray | None:
    """x where plain numbers for whole states are written over the start of the model; None for anything else."""
    if not values:
        return system.default_start
    x = system.start["x"].copy()
    return x if write_plain(x, system, "x", values) >= 0 else None


def given_start(system: System, values: Mapping[str, object] | None) -> dict[str, np.ndarray]:
    """The start values of x, z and xdot: the model's own with `values` written over them; NaN where none is given.

    `None` inside a vector takes the model's value away, so that the element is free again. Of the model's own values
    those of x count; written starts of algebraic variables are guesses. Vectors without a given value are left out.
    """
    start = {"x": system.start["x"]}
    if not values:
        return start
    start["x"] = start["x"].copy()
    if isinstance(values, dict) and write_plain(start["x"], system, "x", values) >= 0:
        return start
    for name, value in system.translated("start", check_mapping(values, "start")).items():
        place = system.place(name)
        if place.letters[0] in ("p", "u"):
            raise wrong_kind(system, name, place, "a variable with a start value")
        numbers = flat_values(place, value, "start value", allow_none=True)
        for letter in set(place.letters) - start.keys():
            start[letter] = np.full(system.sizes[letter], np.nan)
        for letter, position, number in zip(place.letters, place.positions, numbers):
            start[letter][position] = np.nan if number is None else number
    return start


def different_starts(first: str, value: float, second: str, other: float, is_opposite: bool) -> ModelError:
    """The error for two states that connections make one, with start values that differ.

    value: of the first one. other: as given for the second one, which counts the other way round where `is_opposite`.
    """
    equal = "minus the other" if is_opposite else "the other"
    return ModelError(
        f"{first} and {second} are one state and start at different values.",
        f"{first} = {value:g}, {second} = {other:g}",
        because=f"their parts are joined so that one is always {equal}.",
        remedy=f"start={{{first!r}: {value:g}}}; capacitors that are joined while charged settle at "
        "(C1 v1 + C2 v2) / (C1 + C2)",
    )
