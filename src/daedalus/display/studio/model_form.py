"""What can be edited of a model: its parameters, start values, inputs and span, with the values it has now."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.integrators.methods import methods
from daedalus.model.signals import Signal

# More fields than these are not laid out: nobody edits them one by one.
MOST_FIELDS = 400


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
        field = {"name": name, "unit": v.unit or "", "size": int(v.size), "preset": preset, **_shown(value)}
        groups[group].append(field)
        if group == "start" and any(r is not None for r in v.rate):
            rate = start.get(f"{name}_dot", v.rate)
            groups[group].append({**field, "name": f"{name}_dot", "unit": "", **_shown(rate)})
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
        return {"text": "", "hint": "as it is written"}
    if not np.all(np.isfinite(flat)):
        return {"text": "", "hint": "computed"}
    return {"text": ", ".join(_number(v) for v in flat.tolist()), "hint": ""}


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")
