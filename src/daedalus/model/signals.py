"""Inputs given as tables over time: `dd.signal(times, values, kind="hold" | "linear")`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.errors import InputError
from daedalus.model.plain_numbers import is_quantity, plain_array, seconds

KINDS = ("hold", "linear")


@dataclass(frozen=True, eq=False)
class Signal:
    """A table over time; `dd.signal` makes it. Calling it evaluates it."""

    times: np.ndarray  # (k,) increasing
    values: np.ndarray  # (k, m), one column an element
    kind: str  # one of KINDS
    shape: tuple[int, ...]

    def __call__(self, t: object) -> np.ndarray:
        """The values at t (a number or an array); a held value holds from its own time on."""
        at = np.asarray(t, dtype=float)
        flat = self.flat(at.reshape(-1))
        out = flat.reshape((*at.shape, *self.shape[::-1]))
        return out.swapaxes(-1, -2) if len(self.shape) == 2 else out

    def flat(self, t: np.ndarray) -> np.ndarray:
        """The values at times (N,) as (N, m), column-major elements."""
        if self.kind == "linear":
            return np.stack([np.interp(t, self.times, column) for column in self.values.T], axis=1)
        index = np.searchsorted(self.times, t, side="right") - 1
        return self.values[np.clip(index, 0, len(self.times) - 1)]

    def __repr__(self) -> str:
        return f"signal({len(self.times)} times from {self.times[0]:g} to {self.times[-1]:g}, {self.kind})"


def signal(times: object, values: object, kind: str = "hold") -> Signal:
    """An input as a table: held from each time to the next, or linear between them.

    Integration restarts at every time of the table, so jumps and kinks cost no accuracy.

    Parameters
    ----------
    times: (k,) increasing, in the unit of the model's time; dates count in seconds from the first, durations and
        quantities of time in seconds.
    values: (k,) for a scalar input, (k, n) for a column, (k, rows, columns) for a matrix.
    kind: "hold" keeps each value until the next time (the last for ever); "linear" joins them by straight lines and
        is defined between the first and the last time only.

    Example
    -------
    >>> import daedalus as dd
    >>> step = dd.signal([0.0, 1.0], [0.0, 5.0])
    >>> step([0.5, 1.0, 9.0]).tolist()
    [0.0, 5.0, 5.0]
    """
    if is_quantity(values):
        raise InputError(
            "A signal takes plain numbers.",
            f"got values in {values.units}",  # type: ignore[attr-defined]
            because="it does not know which input it drives, nor the unit of that.",
            remedy='values.m_as("Pa") with the unit of the input',
        )
    grid = np.array(seconds(times, "The times of a signal"))
    table = np.array(plain_array(values, "The values of a signal"))
    if grid.ndim != 1 or len(grid) == 0:
        raise InputError("The times of a signal are a list of numbers.", f"got an array of shape {grid.shape}")
    if not (np.all(np.isfinite(grid)) and np.all(np.isfinite(table))):
        raise InputError("A signal contains NaN or infinity.", remedy="finite times and values")
    if np.any(np.diff(grid) <= 0):
        k = int(np.flatnonzero(np.diff(grid) <= 0)[0])
        raise InputError(
            "The times of a signal do not increase.",
            f"time {k + 1} is {grid[k + 1]:g}, after {grid[k]:g}",
            because="each value begins at its own time.",
            remedy="sort the table and keep one value a time",
        )
    if table.ndim == 0 or table.shape[0] != len(grid) or table.ndim > 3:
        raise InputError(
            "Times and values of a signal do not fit.",
            f"{len(grid)} times, values of shape {table.shape}",
            remedy="one row of values for each time",
        )
    if kind not in KINDS:
        raise InputError(f"{kind!r} is no kind of signal.", remedy='kind="hold" or kind="linear"')
    shape = table.shape[1:]
    columns = table.swapaxes(1, 2) if table.ndim == 3 else table
    flat = np.ascontiguousarray(columns.reshape(len(grid), -1))
    grid.setflags(write=False)
    flat.setflags(write=False)
    return Signal(grid, flat, kind, shape)
