"""Inputs given as tables over time: `dd.signal(times, values, kind="hold" | "linear" | "spline")`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.plain_numbers import is_quantity, plain_array, seconds, without_unit

KINDS = ("hold", "linear", "spline")
# The degree of a spline.
CUBIC = 3


@dataclass(frozen=True, eq=False)
class Signal:
    """A table over time; `dd.signal` makes it. Calling it evaluates it, `derivative()` differentiates it.

    Example
    -------
    >>> import daedalus as dd
    >>> path = dd.signal([0, 1, 2, 3], [0, 1, 8, 27], kind="spline")      # t³
    >>> path.derivative()([0.5, 2.0]).round(9).tolist()
    [0.75, 12.0]
    """

    times: np.ndarray  # (k,) increasing; of a spline, where its polynomials meet
    values: np.ndarray  # (k, m), one column an element
    kind: str  # one of KINDS
    shape: tuple[int, ...]
    coefficients: np.ndarray | None = None  # of a spline: (k - 1, order + 1, m) in powers of t - times[j], lowest first

    @property
    def order(self) -> int:
        """The order of the polynomials between two times: 0 held, 1 linear, 3 for a cubic spline."""
        if self.coefficients is None:
            return {"hold": 0, "linear": 1}[self.kind]
        return int(self.coefficients.shape[1] - 1)

    @property
    def covers_later_times(self) -> bool:
        """Whether it has a value behind its last time: a held one keeps it."""
        return self.kind == "hold"

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
        if self.coefficients is None:
            return self.values[np.clip(index, 0, len(self.times) - 1)]
        inside = np.clip(t, self.times[0], self.times[-1])
        piece = np.clip(index, 0, len(self.times) - 2)
        shift, rows = (inside - self.times[piece])[:, None], self.coefficients[piece]
        total = np.zeros_like(rows[:, 0])
        for k in range(self.order, -1, -1):
            total = total * shift + rows[:, k]
        return total

    def derivative(self) -> Signal:
        """The derivative as a table: held slopes of a linear one, one order less of a spline; refused where it jumps.

        The steps of a held table have impulses for a derivative, unless all its values are equal.
        """
        if self.kind == "hold" or len(self.times) < 2:
            if np.any(self.values != self.values[0]):
                raise InputError(
                    "A table that jumps has no derivative.",
                    f"{self!r}",
                    because="each step of the table would become an impulse.",
                    remedy='dd.signal(times, values, kind="spline"), or kind="linear" where one derivative is enough',
                )
            return replace(self, values=_sealed(np.zeros_like(self.values)), kind="hold", coefficients=None)
        if self.coefficients is None:
            slopes = np.diff(self.values, axis=0) / np.diff(self.times)[:, None]
            return Signal(_sealed(self.times[:-1]), _sealed(slopes), "hold", self.shape)
        rows = self.coefficients[:, 1:] * np.arange(1.0, self.order + 1)[None, :, None]
        if rows.shape[1] == 1:
            return Signal(_sealed(self.times[:-1]), _sealed(rows[:, 0]), "hold", self.shape)
        return _of_pieces(self.times, rows, self.shape)

    def element(self, k: int) -> Signal:
        """The table of one element."""
        own = None if self.coefficients is None else _sealed(self.coefficients[:, :, [k]])
        return Signal(self.times, self.values[:, [k]], self.kind, (), own)

    def __repr__(self) -> str:
        kind = f"spline of order {self.order}" if self.kind == "spline" else self.kind
        return f"signal({len(self.times)} times from {self.times[0]:g} to {self.times[-1]:g}, {kind})"


def _sealed(array: np.ndarray) -> np.ndarray:
    own = np.ascontiguousarray(array)
    own.setflags(write=False)
    return own


def _of_pieces(breaks: np.ndarray, rows: np.ndarray, shape: tuple[int, ...]) -> Signal:
    """A spline from polynomials between breaks, (k - 1, order + 1, m)."""
    powers = np.diff(breaks)[-1] ** np.arange(rows.shape[1])
    values = np.concatenate([rows[:, 0], (rows[-1] * powers[:, None]).sum(axis=0)[None]])
    return Signal(_sealed(breaks), _sealed(values), "spline", shape, _sealed(rows))


def _spline(times: np.ndarray, values: np.ndarray, order: int, shape: tuple[int, ...]) -> Signal:
    """The spline of an order through points, without a knot next to each end (SciPy's `make_interp_spline`)."""
    from scipy.interpolate import make_interp_spline

    if len(times) <= order:
        raise InputError(
            f"A spline of order {order} needs {order + 1} points.",
            f"got {len(times)}",
            because="fewer points do not determine its polynomials.",
            remedy=f"order={len(times) - 1}" if len(times) > 1 else "more points",
        )
    curve: Any = make_interp_spline(times, values, k=order)
    breaks = np.unique(curve.t)
    rows = np.stack([curve(breaks[:-1], nu=k) / factorial(k) for k in range(order + 1)], axis=1)
    return _of_pieces(breaks, rows, shape)


@dataclass(frozen=True, eq=False)
class SignalInUnits:
    """A table whose values are quantities; what it drives says which unit they are converted to.

    Example
    -------
    >>> import daedalus as dd, pint
    >>> kilonewtons = pint.UnitRegistry().kilonewton
    >>> push = dd.signal([0.0, 1.0], [0.0, 5.0] * kilonewtons)
    >>> push.in_unit("N", "push")([0.5, 1.0]).tolist()
    [0.0, 5000.0]
    """

    times: object
    values: Any  # with a unit
    kind: str
    spline_order: int | None

    def in_unit(self, unit: str, name: str) -> Signal:
        """The table in the unit of what it drives, or refused by its name."""
        return signal(self.times, without_unit(self.values, unit, name), self.kind, order=self.spline_order)

    def __repr__(self) -> str:
        return f"{self.in_unit(str(self.values.units), 'signal')!r}"[:-1] + f" in {self.values.units})"


def in_unit(value: Any, unit: str, name: str) -> Any:
    """A value for an input or a guess in the unit of what it is for: numbers, and tables of quantities."""
    return value.in_unit(unit, name) if isinstance(value, SignalInUnits) else without_unit(value, unit, name)


def signal(times: object, values: object, kind: str = "hold", *, order: int | None = None) -> Signal:
    """An input as a table: constant between the times, linear between them, or a smooth spline through them.

    Integration restarts at every time of the table, so jumps and kinks do not reduce the accuracy. Derivatives of an
    input, `m.der(u)`, come from the table: a linear one has the first derivative, a spline as many as its order.

    Parameters
    ----------
    times: (k,) increasing, in the unit of the model's time; dates count in seconds from the first, durations and
        quantities of time in seconds.
    values: (k,) for a scalar input, (k, n) for a column, (k, rows, columns) for a matrix. Quantities are converted to
        the unit of the input that the table is given for.
    kind: "hold" keeps each value until the next time (the last one forever). "linear" interpolates linearly and
        "spline" by smooth polynomials; both are only defined between the first and the last time.
    order: the order of the spline polynomials, 3 by default. Derivatives below it are continuous; the one of this order
        is constant between the points and jumps there.

    Example
    -------
    >>> import daedalus as dd
    >>> step = dd.signal([0.0, 1.0], [0.0, 5.0])
    >>> step([0.5, 1.0, 9.0]).tolist()
    [0.0, 5.0, 5.0]
    >>> dd.signal([0, 1, 2, 3, 4, 5], [0, 1, 16, 81, 256, 625], kind="spline", order=4)(2.5).round(9).item()     # t⁴
    39.0625
    """
    values = _one_quantity(values)
    if is_quantity(values):
        plain = signal(times, values.magnitude, kind, order=order)  # type: ignore[attr-defined]
        return SignalInUnits(plain.times if kind != "spline" else times, values, kind, order)  # type: ignore[return-value]
    grid, table = _checked_table(times, values)
    if kind not in KINDS:
        raise InputError(f"{kind!r} is not a kind of signal.", remedy='kind="hold", kind="linear" or kind="spline"')
    degree = _checked_order(order, kind)
    shape = table.shape[1:]
    columns = table.swapaxes(1, 2) if table.ndim == 3 else table
    flat = np.ascontiguousarray(columns.reshape(len(grid), -1))
    if kind == "spline":
        return _spline(grid, flat, degree, shape)
    return Signal(_sealed(grid), _sealed(flat), kind, shape)


def _one_quantity(values: Any) -> Any:
    """A list of quantities as one, in the unit of the first; all else as it is."""
    if not isinstance(values, (list, tuple)) or not any(map(is_quantity, values)):
        return values
    first = next(value for value in values if is_quantity(value))
    unit = str(first.units)
    return np.array([without_unit(value, unit, "A value of the signal") for value in values], dtype=float) * first.units


def _checked_table(times: object, values: object) -> tuple[np.ndarray, np.ndarray]:
    """Increasing times and one row of finite values for each."""
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
            remedy="sort the table and keep one value per time",
        )
    if table.ndim == 0 or table.shape[0] != len(grid) or table.ndim > 3:
        raise InputError(
            "Times and values of a signal do not fit.",
            f"{len(grid)} times, values of shape {table.shape}",
            remedy="one row of values for each time",
        )
    return grid, table


def _checked_order(order: object, kind: str) -> int:
    if order is None:
        return CUBIC
    if kind != "spline":
        raise InputError(
            f"A table of kind {kind!r} takes no order=.",
            because="only the polynomials of a spline have an order to choose.",
            remedy=f'kind="spline", order={order}',
        )
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise InputError(
            f"order={order!r} is not a valid order of a spline.",
            because="it is the degree of the polynomials between two points.",
            remedy="order=3, or 5 where more derivatives are asked for",
        )
    return int(order)
