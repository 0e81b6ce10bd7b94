"""Measured states for a controller: a vector in the order of its labels, or values by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.system.system import System


def measured_states(system: System, x: object) -> np.ndarray:
    """The states of the controller's model, (n,)."""
    labels = system.labels["x"]
    if isinstance(x, np.ndarray) and x.shape == (len(labels),) and x.dtype == float:
        found = x
    elif isinstance(x, Mapping):
        found = _by_name(system, x)
    elif hasattr(x, "keys") and hasattr(x, "__getitem__"):
        found = np.array([float(np.asarray(x[label])) for label in labels])
    else:
        found = np.asarray(x, dtype=float).ravel()
        if found.shape != (len(labels),):
            raise InputError(
                "The measured states do not fit.",
                f"{len(labels)} states, {found.size} values",
                because="a vector has the order of controller.labels['x'].",
                remedy='values by name, {"x": 0.0, ...}, or one number for each label',
            )
    if not np.isfinite(found).all():
        k = int(np.argmin(np.isfinite(found)))
        raise InputError(f"The measured {labels[k]} is not finite.", f"it is {found[k]}", remedy="a finite number")
    return np.ascontiguousarray(found)


def _by_name(system: System, values: Mapping[Any, Any]) -> np.ndarray:
    found = np.full(system.sizes["x"], np.nan)
    for name, value in values.items():
        place = system.place(name)
        if place.letter != "x":
            continue
        numbers = np.asarray(value, dtype=float).ravel(order="F")
        found[place.positions] = numbers if numbers.size > 1 or len(place.positions) == 1 else numbers[0]
    missing = [system.labels["x"][k] for k in np.flatnonzero(np.isnan(found))]
    if missing:
        raise InputError(
            f"Not measured: {', '.join(missing[:6])}{', …' if len(missing) > 6 else ''}.",
            because="a controller plans from all states of its model.",
            remedy="a value for each, or dd.Estimator for those that no sensor sees",
        )
    return found
