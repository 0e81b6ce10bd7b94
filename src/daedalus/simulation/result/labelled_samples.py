"""The samples of a run as labelled arrays: xarray and pandas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from daedalus.model.names import element_label
from daedalus.model.system.system import System
from daedalus.model.values import unit_of
from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.samples import Samples

if TYPE_CHECKING:
    import pandas
    import xarray


def recorded_names(samples: Samples) -> list[str]:
    """States, algebraic variables, inputs and outputs, not parameters, derivatives and what is shown on request."""
    if samples.saved is not None:
        return list(samples.saved)
    system = samples._plant.system
    known = set(samples.keys()).difference(system.on_request)
    names = [v.name for v in system.variables if v.kind != "parameter"]
    rates = [n for n, place in system.places.items() if place.letter == "x" and n not in names]
    return [name for name in (*names, *rates, *samples._plant.output_slices) if name in known]


def readable_names(samples: Samples) -> list[str]:
    """What a data frame holds: also variables of parts that are equal to others, and what is shown on request."""
    system = samples._plant.system
    further = (*system.aliases, *system.on_request)
    return [*recorded_names(samples), *(name for name in further if name in samples)]


def to_dataset(tr: RecordedRun) -> xarray.Dataset:
    """The samples as labelled arrays."""
    import xarray

    variables = {name: labelled_values(tr.system, name, tr[name]) for name in readable_names(tr)}
    attributes = {
        "title": tr.system.name,
        "method": tr.method,
        "success": int(tr.success),
        "stop_reason": tr.stop_reason,
    }
    return xarray.Dataset(variables, coords={"time": ("time", tr.time, {"units": "s"})}, attrs=attributes)


def labelled_values(system: System, name: str, values: np.ndarray) -> tuple[list[str], np.ndarray, dict[str, str]]:
    """Values over time with their dimensions and their unit, as a Dataset takes them."""
    words = ("index",) if values.ndim == 2 else ("row", "column", "layer")[: values.ndim - 1]
    axes = [f"{name}_{word}" for word in words]
    unit = unit_of(system, name)
    return ["time", *axes], values, {"units": unit} if unit else {}


def to_dataframe(tr: RecordedRun) -> pandas.DataFrame:
    """The samples as a data frame, one column an element."""
    import pandas

    columns: dict[str, np.ndarray] = {}
    for name in readable_names(tr):
        columns.update(element_columns(name, tr[name]))
    return pandas.DataFrame(columns, index=pandas.Index(tr.time, name="time"))


def element_columns(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """The elements of a name, (times,) each, by their labels; values are (times, ...) in its shape."""
    shape = values.shape[1:]
    flat = values.transpose(0, *range(len(shape), 0, -1)).reshape(len(values), math.prod(shape))
    return {element_label(name, shape, k): flat[:, k] for k in range(flat.shape[1])}
