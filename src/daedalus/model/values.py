"""Values by name into flat vectors: parameters, and the given part of a start."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from daedalus.errors import InputError, ModelError
from daedalus.model.system import Place, System
from daedalus.model.variables import flatten_values

_ELSEWHERE = {
    "p": ("a parameter", "parameters={{{0!r}: ...}}"),
    "u": ("an input", "inputs={{{0!r}: ...}}"),
    "x": ("a state", "start={{{0!r}: ...}}"),
    "xdot": ("a derivative", "start={{{0!r}: ...}}"),
    "z": ("an algebraic variable", "start={{{0!r}: ...}}"),
}


def flat_values(
    place: Place, value: object, what: str, *, allow_none: bool = False
) -> np.ndarray | tuple[float | None, ...]:
    """Numbers for a place, column-major; an InputError names it when they do not fit."""
    quick = _plain_numbers(place, value)
    if quick is not None:
        return quick
    try:
        return flatten_values(value, place.shape, place.name, what, allow_none=allow_none)
    except ModelError as error:
        raise InputError(error.what, error.facts, error.because, error.remedy) from None


def _plain_numbers(place: Place, value: object) -> np.ndarray | None:
    """The usual case, finite numbers of the right shape, without a look at every one; None when it is not that."""
    try:
        array = np.asarray(value, dtype=float)
        if array.shape != place.shape or not math.isfinite(array.sum()):
            return None
    except (TypeError, ValueError, RuntimeError):
        return None
    if isinstance(value, (str, bytes)) or array.ndim == 0:
        return array.reshape(1) if isinstance(value, (int, float)) else None
    return array if array.ndim == 1 else array.ravel(order="F")


def check_mapping(values: object, argument: str) -> Mapping[str, object]:
    """A mapping from names, or an InputError that shows how to write one."""
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
    if values:
        p = p.copy()
        for name, value in check_mapping(values, "parameters").items():
            place = system.place(name)
            if place.letter != "p":
                raise wrong_kind(system, name, place, "a parameter")
            p[place.positions] = flat_values(place, value, "value")
    if p.size and math.isnan(p.sum()):
        missing = [system.labels["p"][k] for k in np.flatnonzero(np.isnan(p))]
        raise InputError(
            f"{', '.join(missing[:6])} {'has' if len(missing) == 1 else 'have'} no value.",
            because="the parameter was declared without one.",
            remedy=f"parameters={{{missing[0]!r}: 1.0}}",
        )
    return p


def wrong_kind(system: System, name: str, place: Place, wanted: str) -> InputError:
    """The error for a name that exists but belongs into another argument."""
    what, remedy = _ELSEWHERE[place.letters[0]]
    return InputError(f"{name} is {what}, not {wanted}.", remedy=remedy.format(name))


def given_start(system: System, values: Mapping[str, object] | None) -> dict[str, np.ndarray]:
    """The start values of x, z and xdot: the model's own with `values` written over them; NaN where none is given.

    `None` inside a vector takes the model's value away, so that the element is free again. Of the model's own values
    those of x count; written starts of algebraic variables are guesses. Vectors without a given value are left out.
    """
    start = {"x": system.start["x"]}
    if not values:
        return start
    start["x"] = start["x"].copy()
    for name, value in check_mapping(values, "start").items():
        place = system.place(name)
        if place.letters[0] in ("p", "u"):
            raise wrong_kind(system, name, place, "a variable with a start value")
        numbers = flat_values(place, value, "start value", allow_none=True)
        for letter in set(place.letters) - start.keys():
            start[letter] = np.full(system.sizes[letter], np.nan)
        for letter, position, number in zip(place.letters, place.positions, numbers):
            start[letter][position] = np.nan if number is None else number
    return start
