"""Values as one types them into the studio: numbers, one an element, and tables of an input over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean, flat_index, shape_text, split_index
from daedalus.model.signals import signal

KINDS = {"parameters": "parameter", "start": "state", "inputs": "input"}


def typed_group(model: Model, group: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of a group by name; what cannot be read is refused by name."""
    variables = model.variables
    known = [name for name, v in variables.items() if _group_of(v.kind) == group]
    found = {}
    for name, text in texts.items():
        stem = split_index(name)[0]
        stem = stem if stem in variables else stem.removesuffix("_dot")
        if stem not in known:
            raise InputError(
                f"The model has no {KINDS[group]} {name!r}.",
                f"it has {', '.join(known[:8])}" if known else f"it has no {KINDS[group]}s",
                remedy=did_you_mean(name, known) if known else "",
            )
        place = split_index(name)[1]
        shape = variables[stem].shape if place is None else ()
        own = variables[stem].start if split_index(name)[0] == stem else ()
        if place is not None and own:
            k = flat_index(variables[stem].shape, place)
            own = () if k is None else (own[k],)
        if group == "inputs" and ":" in text:
            found[name] = _table(name, text, shape)
        else:
            found[name] = typed_value(name, text, shape, own)
    return found


def _group_of(kind: str) -> str:
    return {"parameter": "parameters", "input": "inputs"}.get(kind, "start")


def typed_number(name: str, text: str) -> float:
    """One finite number."""
    value = typed_value(name, text, ())
    assert isinstance(value, float)
    return value


def typed_value(name: str, text: str, shape: tuple[int, ...], own: tuple[float | None, ...] = ()) -> Any:
    """A number, or an array of a shape from numbers with commas or spaces between, columns one after the other.

    own: the model's value, which a mistake is answered with.
    """
    words = text.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
    count = int(np.prod(shape, dtype=int))
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = []
    if len(values) != count or not np.all(np.isfinite(values)):
        raise InputError(
            f"{name} = {text.strip()[:60] or 'nothing'} cannot be read.",
            f"{name} is {shape_text(shape)}",
            because="a value is a finite number, or one number per element, separated by commas.",
            remedy=", ".join(f"{0.0 if value is None else value:g}" for value in (own or (0.0,) * count)[:6]),
        )
    return values[0] if shape == () else np.reshape(values, shape, order="F")


def _table(name: str, text: str, shape: tuple[int, ...]) -> Any:
    """`0: 1, 2: 0` as a signal that holds each value from its time on; elements of a column have spaces between."""
    if len(shape) > 1:
        raise InputError(f"A table of {name} cannot be typed.", "it is a matrix", remedy="a constant")
    pairs = [part.partition(":") for part in text.split(",") if part.strip()]
    times, rows = [], []
    for begin, _, value in pairs:
        times.append(typed_number(f"the time of {name}", begin))
        rows.append(typed_value(name, value, shape))
    try:
        return signal(times, rows, "hold")
    except InputError as error:
        raise InputError(
            f"The table of {name} cannot be read.", [error.what, *error.facts], remedy="0: 1, 2: 0 (time: value)"
        ) from error
