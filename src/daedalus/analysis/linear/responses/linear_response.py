"""March x' = A x + B u exactly from breakpoint to breakpoint of its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.analysis.linear.responses.matrix_exponential import exact_step
from daedalus.analysis.linear.responses.piecewise_inputs import PiecewiseInputs
from daedalus.errors import InputError
from daedalus.model.names import counted
from daedalus.model.plain_numbers import plain_times
from daedalus.model.switching.schedule import same_instant


def march(A: np.ndarray, B: np.ndarray, inputs: PiecewiseInputs, start: np.ndarray) -> np.ndarray:
    """The states at the times of the inputs, (nt, n)."""
    x = np.empty((len(inputs.grid), len(A)))
    x[0] = start
    degree = inputs.coefficients.shape[1] - 1
    steps, members = _equal_steps(inputs.grid)
    transitions = []
    forcing = np.zeros((len(inputs.grid) - 1, len(A)))
    for number, h in enumerate(steps):
        transition, forced = exact_step(A, B, float(h), degree)
        transitions.append(transition)
        mine = members == number
        forcing[mine] = np.einsum("knu,iku->in", forced, inputs.coefficients[mine])
    for i, number in enumerate(members):
        x[i + 1] = transitions[number] @ x[i] + forcing[i]
    return x[inputs.sample]


def _equal_steps(grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Step lengths and which of them each interval has; lengths within the rounding of the times are one length."""
    lengths = np.diff(grid)
    if len(lengths) == 0:
        return lengths, np.zeros(0, dtype=int)
    order = np.argsort(lengths)
    rounding = same_instant(grid[0], grid[-1])
    new_group = np.diff(lengths[order]) > rounding
    group = np.empty(len(lengths), dtype=int)
    group[order] = np.concatenate([[0], np.cumsum(new_group)])
    # The mean keeps the sum of the steps, so rounding does not pile up over the span.
    means = np.bincount(group, weights=lengths) / np.bincount(group)
    return means, group


def check_times(times: object) -> np.ndarray:
    """The times of a response as an array, (nt,), increasing."""
    try:
        values = np.array(plain_times(times, "The times"))
    except InputError:
        values = np.full(1, np.nan)
    if values.ndim != 1 or len(values) == 0 or not np.all(np.isfinite(values)):
        raise InputError(
            "The times of a response are a list of finite numbers.",
            f"got {times!r}"[:120],
            because="the first time is where the start values hold.",
            remedy="np.linspace(0, 10, 101)",
        )
    if np.any(np.diff(values) <= 0):
        k = int(np.flatnonzero(np.diff(values) <= 0)[0])
        raise InputError(
            "The times of a response do not increase.",
            f"time {k + 1} is {values[k + 1]:g}, after {values[k]:g}",
            remedy="np.unique(times)",
        )
    return values


def start_numbers(value: Any, count: int, name: str, names: str = "") -> np.ndarray:
    """The start of some states: as many finite numbers, or one for all; names: what they belong to, in words."""
    try:
        numbers = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.full(1, np.nan)
    if numbers.size not in (1, count) or not np.all(np.isfinite(numbers)):
        remedy = counted(count, "finite number") + (f", {names}" if names else "")
        raise InputError(f"The start of {name} is not usable.", f"got {value!r}"[:120], remedy=remedy)
    return np.broadcast_to(numbers, (count,)).copy()


def settling_times(poles: np.ndarray, count: int = 301) -> np.ndarray:
    """Times until the slowest decaying pole is down to 0.1 %; a few periods when none decays."""
    rates, sizes = np.abs(poles.real), np.abs(poles)
    moving = rates[rates > 1e-6 * sizes.max(initial=0.0)]
    if len(moving):
        return np.linspace(0.0, 7.0 / moving.min(), count)
    slowest = sizes[sizes > 0].min(initial=np.inf)
    return np.linspace(0.0, 6.0 * np.pi / slowest if np.isfinite(slowest) else 1.0, count)
