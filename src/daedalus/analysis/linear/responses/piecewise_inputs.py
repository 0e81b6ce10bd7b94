"""Inputs of a linear system as one list of polynomials: numbers, samples, signals and functions of time alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from daedalus.analysis.linear.axis_names import Names, positions
from daedalus.analysis.linear.responses.fitted_function import Pieces, fit_function
from daedalus.errors import InputError
from daedalus.model.signals import Signal, signal
from daedalus.model.switching.schedule import same_instant


@dataclass(frozen=True)
class PiecewiseInputs:
    """u on intervals [grid[i], grid[i+1]] as Σ coefficients[i, k] θᵏ; sample[j] is where times[j] is in the grid."""

    grid: np.ndarray  # (k + 1,)
    coefficients: np.ndarray  # (k, degree + 1, nu)
    sample: np.ndarray  # (nt,)
    values: np.ndarray  # (nt, nu) at the times
    notes: tuple[str, ...] = ()


def read_inputs(given: object, times: np.ndarray, names: Names, sampled: str) -> PiecewiseInputs:
    """What the user gave for the inputs, on a grid of `times` and all breakpoints."""
    if sampled not in ("linear", "hold"):
        raise InputError(
            f"{sampled!r} is not a way to interpolate samples.", remedy='sampled="linear" or sampled="hold"'
        )
    values = np.zeros((len(times), len(names)))
    parts: list[tuple[list[int], Pieces]] = []
    notes: list[str] = []
    for slots, name, item in _by_slots(given, names):
        source = item if callable(item) else _as_signal(item, times, len(slots), name, sampled)
        if isinstance(source, Signal):
            _check_signal(source, times, len(slots), name)
            parts.append((slots, _signal_pieces(source, times)))
            values[:, slots] = source.flat(times)
        else:
            pieces = fit_function(source, times, len(slots), name)
            parts.append((slots, pieces))
            values[:, slots] = [np.ravel(source(float(t)), order="F") for t in times]
            notes.append(_describe(name, pieces))
    grid, sample = _common_grid(times, [pieces for _, pieces in parts])
    degree = max((pieces.coefficients.shape[1] - 1 for _, pieces in parts), default=0)
    coefficients = np.zeros((len(grid) - 1, degree + 1, len(names)))
    for slots, pieces in parts:
        part = _on_grid(pieces, grid)
        coefficients[:, : part.shape[1], slots] = part
    return PiecewiseInputs(grid, coefficients, sample, values, tuple(notes))


def _by_slots(given: object, names: Names) -> list[tuple[list[int], str, Any]]:
    """(columns of u, name, value) for every input that was given; the others stay zero."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        taken = [(positions(names, name, "input"), str(name), value) for name, value in given.items()]
        used = [slot for slots, *_ in taken for slot in slots]
        twice = sorted({names[slot] for slot in used if used.count(slot) > 1})
        if twice:
            raise InputError(
                "An input has two values.", f"twice: {', '.join(twice)}", remedy="one value for each input"
            )
        return taken
    if not names:
        raise InputError(
            "The system has no inputs.", f"got {given!r}"[:120], remedy="dd.LTI(A, B, ...) with a matrix B"
        )
    return [(list(range(len(names))), names[0].split("[")[0] if len(names) > 1 else names[0], given)]


def _as_signal(value: Any, times: np.ndarray, size: int, name: str, sampled: str) -> Signal:
    """A number, a vector or samples at `times` as a signal."""
    if isinstance(value, Signal):
        return value
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"The value for input {name} is not usable.",
            f"got {type(value).__name__}",
            remedy="a number, samples at the times, dd.signal(times, values), or a function of time",
        ) from None
    if array.ndim == 0 and size == 1:
        array = array.reshape(1)
    if array.shape == (size,):
        return signal(times[:1], array[None, :])
    if array.shape == (len(times), size) or (size == 1 and array.shape == (len(times),)):
        return signal(times, array.reshape(len(times), size), sampled)
    raise InputError(
        f"The value for input {name} has the wrong shape.",
        f"it has shape {array.shape}; there are {len(times)} times and {size} input{'s' if size > 1 else ''}",
        remedy=f"{'a number' if size == 1 else f'{size} numbers'}, or samples of shape ({len(times)}, {size})",
    )


def _check_signal(table: Signal, times: np.ndarray, size: int, name: str) -> None:
    if table.values.shape[1] != size:
        raise InputError(
            f"The signal for input {name} has the wrong shape.",
            f"it gives {table.values.shape[1]} values, the input takes {size}",
            remedy="one column of values for each input",
        )
    slack = 1e-12 * max(abs(times[0]), abs(times[-1]))
    late = not table.covers_later_times and times[-1] > table.times[-1] + slack
    if times[0] < table.times[0] - slack or late:
        raise InputError(
            f"The signal for input {name} does not cover the response.",
            f"times from {times[0]:g} to {times[-1]:g}, the table from {table.times[0]:g} to {table.times[-1]:g}",
            because="the table has no values outside its times"
            + (", and a line ends at its last point." if late else "."),
            remedy='more points, or kind="hold", which keeps the last value',
        )


def _signal_pieces(table: Signal, times: np.ndarray) -> Pieces:
    inside = table.times[(table.times > times[0]) & (table.times < times[-1])]
    breaks = np.unique(np.concatenate([times[:1], inside, times[-1:]]))
    if table.coefficients is not None:
        return Pieces(breaks, _on_grid(_whole_pieces(table), breaks))
    starts = table.flat(breaks[:-1])
    if table.kind == "hold":
        return Pieces(breaks, starts[:, None, :])
    return Pieces(breaks, np.stack([starts, table.flat(breaks[1:]) - starts], axis=1))


def _whole_pieces(table: Signal) -> Pieces:
    """All polynomials of a spline, in the part θ of each piece."""
    assert table.coefficients is not None
    powers = np.diff(table.times)[:, None] ** np.arange(table.order + 1)
    return Pieces(table.times, table.coefficients * powers[:, :, None])


def _common_grid(times: np.ndarray, parts: list[Pieces]) -> tuple[np.ndarray, np.ndarray]:
    """All times and breakpoints; a breakpoint within rounding of a time is that time."""
    slack = same_instant(times[0], times[-1])
    others = np.unique(np.concatenate([times[:0], *(pieces.breaks for pieces in parts)]))
    nearest = (
        np.clip(np.searchsorted(times, others), 1, len(times) - 1) if len(times) > 1 else np.zeros(len(others), int)
    )
    distance = np.minimum(np.abs(others - times[nearest]), np.abs(others - times[nearest - 1]))
    grid = np.unique(np.concatenate([times, others[distance > slack]])) if len(times) > 1 else times
    return grid, np.searchsorted(grid, times)


def _on_grid(pieces: Pieces, grid: np.ndarray) -> np.ndarray:
    """The polynomials on the finer grid: θ on a piece is a + b θ on a part of it, expanded by the binomial theorem."""
    middles = 0.5 * (grid[1:] + grid[:-1])
    parent = np.clip(np.searchsorted(pieces.breaks, middles, side="right") - 1, 0, len(pieces.coefficients) - 1)
    lengths = np.diff(pieces.breaks)[parent]
    a = (grid[:-1] - pieces.breaks[parent]) / lengths
    b = np.diff(grid) / lengths
    old = pieces.coefficients[parent]
    new = np.zeros_like(old)
    for j in range(old.shape[1]):
        for k in range(j, old.shape[1]):
            new[:, j] += comb(k, j) * (a ** (k - j) * b**j)[:, None] * old[:, k]
    return new


def _describe(name: str, pieces: Pieces) -> str:
    text = f"input {name} is a function: followed by {len(pieces.coefficients)} polynomials"
    if pieces.jumps:
        text += f", with jumps near t = {', '.join(f'{t:.6g}' for t in pieces.jumps[:6])}"
    return text
