"""What can be edited of a model: its parameters, start values, inputs and span, with the values it has now."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import unit_text
from daedalus.integrators.methods import methods
from daedalus.model.names import element_label
from daedalus.model.signals import Signal

# More fields than these are not laid out: nobody edits them one by one. Larger arrays have one field.
MOST_FIELDS, LARGEST = 400, 16


def model_form(source: Any) -> dict[str, Any]:
    """Fields by group; each has a name, a unit, a shape in words, and its value as text (None: as it is written)."""
    variables, start = source.model.variables, {str(name): source.start[name] for name in source.start}
    groups: dict[str, list[dict[str, Any]]] = {"parameters": [], "start": [], "inputs": []}
    for name, v in variables.items():
        group = {"parameter": "parameters", "input": "inputs", "state": "start", "coordinate": "start"}.get(v.kind)
        if group is None:
            continue
        given = {"parameters": source.parameters, "start": start, "inputs": source.inputs}[group]
        preset = group == "inputs" and name not in given  # nothing is known of it: zero, to begin with
        value = given[name] if name in given else ((0.0,) * v.size if preset else v.start)
        groups[group] += _fields(name, v.shape, v.unit or "", value, preset)
        if group == "start" and any(r is not None for r in v.rate):
            rate = start.get(f"{name}_dot", v.rate)
            groups[group] += _fields(f"{name}_dot", v.shape, f"{v.unit}/s" if v.unit else "", rate, preset)
    span = source.until(None)
    begin, end = (0.0, float(span)) if np.ndim(span) == 0 else span
    return {
        "title": source.model.name,
        "fields": {group: fields[:MOST_FIELDS] for group, fields in groups.items()},
        "left_out": sum(max(0, len(fields) - MOST_FIELDS) for fields in groups.values()),
        "begin": _number(begin),
        "end": _number(end),
        "methods": ["auto", *(m.name for m in methods() if m.adaptive)],
    }


def _fields(name: str, shape: tuple[int, ...], unit: str, value: Any, preset: bool) -> list[dict[str, Any]]:
    """One field for each element of a small array whose values are numbers, else one for all of it."""
    size = int(np.prod(shape, dtype=int))
    told = {"unit": unit_text(unit), "preset": preset}
    elements = _elements(value, size) if 1 < size <= LARGEST else None
    if elements is None:
        return [{"name": name, **told, **_shown(value)}]
    labels = [element_label(name, shape, k) for k in range(size)]
    return [{"name": label, **told, **_shown(element)} for label, element in zip(labels, elements)]


def _elements(value: Any, size: int) -> list[float | None] | None:
    """The elements of a value, column by column; None where it is not an array of numbers."""
    flat: Any = value
    if not isinstance(value, tuple | list):
        try:
            flat = np.ravel(np.asarray(value, dtype=float), order="F").tolist()
        except (TypeError, ValueError):
            return None
    if len(flat) == 1:
        flat = list(flat) * size
    plain = all(element is None or isinstance(element, int | float) for element in flat)
    return (
        [None if e is None or not np.isfinite(e) else float(e) for e in flat] if plain and len(flat) == size else None
    )


def _shown(value: Any) -> dict[str, Any]:
    """The text of a value, and what stands in an empty field."""
    if value is None:
        return {"text": "", "hint": "computed"}
    if isinstance(value, Signal) and value.kind == "hold" and value.values.shape[1] == 1 and len(value.times) <= 40:
        pairs = zip(value.times.tolist(), value.values[:, 0].tolist())
        return {"text": ", ".join(f"{_number(t)}: {_number(y)}" for t, y in pairs), "hint": ""}
    try:
        flat = np.ravel(np.asarray(value, dtype=float), order="F")
    except (TypeError, ValueError):
        return {"text": "", "hint": "the model's own value"}
    if not np.all(np.isfinite(flat)):
        return {"text": "", "hint": "computed"}
    return {"text": ", ".join(_number(v) for v in flat.tolist()), "hint": ""}


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")
