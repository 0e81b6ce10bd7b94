"""A function of time as polynomials of degree five on intervals short enough to follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.errors import InputError, SolverError
from daedalus.model.plain_numbers import result_at

# Of the polynomials, by judgement: intervals are halved until they fit.
DEGREE = 5
# Relative to the largest value of the function met so far.
TOLERANCE = 1e-11
# Fewer intervals than this at the start could step over what happens between the times asked for.
LEAST_INTERVALS, MOST_FIRST_INTERVALS = 32, 1024
# Beyond these a table costs less than following the function.
MOST_INTERVALS, MOST_JUMPS = 20_000, 200
# An interval halved this often holds a jump; it is then 1e-12 of its first length.
MOST_HALVINGS = 40

# Chebyshev-Lobatto points on [0, 1] carry the polynomial; the points half way between them in angle test it.
_ANGLES = np.linspace(0.0, np.pi, 2 * DEGREE + 1)
_POINTS = (1.0 - np.cos(_ANGLES)) / 2.0
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_POINTS[::2], increasing=True))
_AT_TESTS = np.vander(_POINTS[1::2], DEGREE + 1, increasing=True)


@dataclass(frozen=True)
class Pieces:
    """Polynomials on consecutive intervals: Σ coefficients[i, k] θᵏ with θ from 0 to 1 on interval i."""

    breaks: np.ndarray  # (k + 1,)
    coefficients: np.ndarray  # (k, degree + 1, m)
    jumps: tuple[float, ...] = ()


def fit_function(function: Callable[[float], Any], times: np.ndarray, size: int, name: str) -> Pieces:
    """Polynomials that follow a function of time from times[0] to times[-1] to 1e-11 of its largest value.

    The function is sampled, so a pulse that fits between two samples is not seen; a jump is located to 1e-12 of the
    interval between two times.

    Example
    -------
    >>> import numpy as np
    >>> pieces = fit_function(np.sin, np.array([0.0, 1.0]), 1, "u")
    >>> bool(abs(pieces.coefficients[-1].sum() - np.sin(1.0)) < 1e-11)
    True
    """
    waiting = [(a, b, MOST_HALVINGS) for a, b in _first_intervals(times)][::-1]
    breaks, coefficients, jumps = [float(times[0])], [], []
    largest = np.full(size, NOT_ZERO)
    while waiting:
        start, end, halvings = waiting.pop()
        values = np.array([_value(function, start + point * (end - start), size, name) for point in _POINTS])
        largest = np.maximum(largest, np.abs(values).max(axis=0))
        fitted = _TO_COEFFICIENTS @ values[::2]
        wrong = np.any(np.abs(_AT_TESTS @ fitted - values[1::2]) > TOLERANCE * largest)
        middle = 0.5 * (start + end)
        if wrong and halvings and start < middle < end:
            waiting += [(middle, end, halvings - 1), (start, middle, halvings - 1)]
            continue
        if wrong:
            jumps.append(middle)
        breaks.append(end)
        coefficients.append(fitted)
        if len(coefficients) > MOST_INTERVALS or len(jumps) > MOST_JUMPS:
            raise SolverError(
                f"The function for input {name} changes too fast to follow.",
                f"{len(coefficients)} intervals with {len(jumps)} jumps reach from t = {times[0]:g} to {end:g}",
                because="it is represented by polynomials to 1e-11 of its largest value.",
                remedy="dd.signal(times, values) with the values to use",
            )
    return Pieces(np.array(breaks), np.array(coefficients).reshape(-1, DEGREE + 1, size), tuple(jumps))


def _first_intervals(times: np.ndarray) -> list[tuple[float, float]]:
    """The intervals between the times, thinned when there are very many and divided when there are few."""
    stride = max(1, len(times) // MOST_FIRST_INTERVALS)
    chosen = np.unique(np.append(times[::stride], times[-1]))
    if len(chosen) < 2:
        return []
    parts = -(-LEAST_INTERVALS // (len(chosen) - 1))
    fine = np.concatenate([np.linspace(a, b, parts, endpoint=False) for a, b in pairwise(chosen)])
    grid = np.unique(np.append(fine, chosen[-1]))
    return [(float(a), float(b)) for a, b in pairwise(grid)]


def _value(function: Callable[[float], Any], t: float, size: int, name: str) -> np.ndarray:
    remedy = "a function of one number, the time, or dd.signal(times, values)"
    value = result_at(function, t, name, remedy).ravel(order="F")
    if value.size != size or not np.all(np.isfinite(value)):
        wanted = "a finite number" if size == 1 else f"{size} finite numbers"
        raise InputError(
            f"The function for input {name} does not give {wanted}.",
            f"f({t:g}) is {value.tolist()}"[:160],
            remedy="a function of time, or dd.signal(times, values)",
        )
    return value
