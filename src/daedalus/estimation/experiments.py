"""Measurements as they come (DataFrame, xarray, dict, CSV file, a list of these), read into experiments.

Columns named like inputs drive the model, those named like states, algebraic variables or outputs are compared with it;
NaN is a missing sample. Other columns are left aside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import listed
from daedalus.model.plain_numbers import plain_array
from daedalus.model.signals import Signal, signal
from daedalus.model.system.system import System
from daedalus.model.values import unit_of

HOLDS = ("linear", "hold")


@dataclass(frozen=True, eq=False)
class Experiment:
    """One run of measurements: when, what drove the model, and what was seen, (times, elements), NaN for nothing.

    begin: when the run starts; None for the first of the times.
    """

    times: np.ndarray
    inputs: dict[str, Signal]
    measured: dict[str, np.ndarray]
    begin: float | None = None

    @property
    def span(self) -> tuple[float, float]:
        """From when to when the model runs."""
        return float(self.times[0] if self.begin is None else self.begin), float(self.times[-1])

    @property
    def samples(self) -> int:
        """How many numbers were measured."""
        return int(sum(np.count_nonzero(np.isfinite(values)) for values in self.measured.values()))


def read_experiments(
    system: System, data: object, time: str, hold: str, begin: float | None = None
) -> list[Experiment]:
    """The experiments in data of any kind; what cannot be compared with the model is refused by name."""
    if hold not in HOLDS:
        raise InputError(f"hold={hold!r} is not valid.", remedy='hold="linear" or hold="hold"')
    several = data if isinstance(data, (list, tuple)) else [data]
    if not several:
        raise InputError("There is no data to fit to.", "got an empty list", remedy="a DataFrame, or a list of them")
    numbers = range(len(several)) if len(several) > 1 else (None,)
    return [_experiment(system, one, time, hold, begin, k) for k, one in zip(numbers, several)]


def _experiment(
    system: System, data: object, time: str, hold: str, begin: float | None, number: int | None
) -> Experiment:
    where = "" if number is None else f" of experiment {number}"
    columns = _columns(data, time)
    if time not in columns:
        raise InputError(
            f"The data{where} has no column {time!r}.",
            f"its columns are {', '.join(list(columns)[:8])}",
            because="samples are compared at their times.",
            remedy='dd.fit(..., time="name of the column")',
        )
    times = plain_array(columns.pop(time), f"The times{where}", unit="s").ravel()
    _check_times(times, where)
    if begin is not None and not begin <= times[0]:
        raise InputError(
            f"The data{where} begin before the run.",
            f"begin={begin:g}, and the first time is {times[0]:g}",
            because="samples are compared with a run that has started.",
            remedy="an earlier begin, or later samples",
        )
    inputs, measured, aside = {}, {}, []
    for name, column in columns.items():
        kind = _kind(system, name)
        if kind == "input":
            inputs[name] = signal(times, _numbers(system, column, name, len(times), where), hold)
        elif kind == "measured":
            measured[name] = _numbers(system, column, name, len(times), where).reshape(len(times), -1)
        else:
            aside.append(name)
    _check_measured(system, measured, aside, where)
    return Experiment(times, inputs, measured, begin)


def _columns(data: object, time: str) -> dict[str, Any]:
    if isinstance(data, (str, Path)):
        import pandas

        data = pandas.read_csv(data)
    table: Any = data
    if isinstance(data, Mapping) and not hasattr(data, "data_vars"):
        return {str(name): values for name, values in data.items()}
    if hasattr(table, "data_vars"):  # xarray: times are a coordinate
        names = [*table.data_vars, *([time] if time in table.coords else [])]
        return {str(name): np.asarray(table[name]) for name in names}
    if hasattr(table, "columns"):
        found = {str(name): np.asarray(table[name]) for name in table.columns}
        index = getattr(table, "index", None)
        return {time: np.asarray(index), **found} if index is not None and index.name == time else found
    raise InputError(
        "The data has an unknown type.",
        f"got {type(data).__name__}",
        remedy='a DataFrame, an xarray Dataset, {"time": [...], "x": [...]}, a CSV file, or a list of these',
    )


def _kind(system: System, name: str) -> str:
    if name.split("[")[0] in system.output_names:
        return "measured"
    try:
        letter = system.place(name).letter
    except InputError:
        return ""
    # A voltage that is given by a source is measured like any other.
    given_by_parameter = letter == "p" and name in system.aliases
    return "input" if letter == "u" else "measured" if letter in ("x", "z", "xdot") or given_by_parameter else ""


def _numbers(system: System, column: object, name: str, count: int, where: str) -> np.ndarray:
    values = plain_array(column, f"The column {name}{where}", unit_of(system, name))
    if not values.ndim:
        raise InputError(f"The column {name}{where} is one number.", f"there are {count} times")
    if values.shape[:1] != (count,):
        raise InputError(f"The column {name}{where} has {values.shape[0]} rows.", f"there are {count} times")
    if np.isinf(values).any():
        raise InputError(
            f"The column {name}{where} has an infinite value.",
            f"in row {int(np.flatnonzero(np.isinf(values).reshape(count, -1).any(axis=1))[0])}",
            because="nothing can be compared with it, and NaN alone marks a missing sample.",
            remedy="NaN where a sample is missing",
        )
    return values


def _check_times(times: np.ndarray, where: str) -> None:
    if len(times) < 2:
        raise InputError(
            f"The data{where} has {'one sample' if len(times) else 'no samples'}.",
            because="a run starts at the first sample, and the others are compared.",
            remedy="at least two times",
        )
    steps = np.diff(times)
    if not np.all(steps > 0):
        k = int(np.flatnonzero(~(steps > 0))[0])
        raise InputError(
            f"The times{where} do not increase.",
            f"row {k + 1} is at t = {times[k + 1]:g}, the row before it at t = {times[k]:g}",
            because="a run goes forward in time.",
            remedy="sort the rows by time, or give several experiments as a list",
        )


def _check_measured(system: System, measured: Mapping[str, np.ndarray], aside: Sequence[str], where: str) -> None:
    if not measured:
        names = [v.name for kind in ("state", "algebraic") for v in system.of_kind(kind)]
        names += system.output_names
        raise InputError(
            f"No column{where} is a variable of the model.",
            [f"columns: {', '.join(aside[:8]) or 'none'}", f"the model has {listed(names, 8)}"],
            because="data is compared with states, algebraic variables and outputs of the same name.",
            remedy=f"data.rename(columns={{{aside[0]!r}: {names[0]!r}}})" if aside else f"a column {names[0]!r}",
        )
    empty = [name for name, values in measured.items() if not np.any(np.isfinite(values))]
    if len(empty) == len(measured):
        raise InputError(
            f"All samples{where} are missing.",
            f"{', '.join(empty)}: nothing but NaN",
            because="NaN marks a missing sample.",
            remedy="columns with numbers",
        )
