"""Stored energy that changes at once: what events, clocks and impacts take from the parts of a run, or give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.samples import Samples

# Two times that differ by less than this share of the later one are one instant.
SAME = 8 * float(np.finfo(float).eps)

Energies = Callable[[Samples], np.ndarray]


def jumped_energy(
    pieces: Sequence[RecordedRun], energies: Energies, window: tuple[float, float], parts: int
) -> np.ndarray:
    """The sum of what instants inside a window add to the stored energy of every part, (parts,).

    energies: the stored energies at samples, (times, parts).

    An instant at the beginning of the window is over there already; one at its end counts.
    """
    total = np.zeros(parts)
    forward = 1.0 if window[1] >= window[0] else -1.0
    runs = [piece for piece in pieces if len(piece.dense_spans[0])]
    for k, piece in enumerate(runs):
        starts, ends = piece.dense_spans
        inside = _instants(piece, starts[1:])
        chosen = 1 + np.flatnonzero(inside & _within(starts[1:], window, forward))
        if len(chosen):
            total += (energies(_begins(piece, chosen)) - energies(_finishes(piece, chosen - 1))).sum(axis=0)
        # Where the next piece begins everything may have changed: its equations too.
        if k + 1 < len(runs):
            first, t = runs[k + 1], ends[-1:]
            told = np.any(_instants(piece, t)) or np.any(_instants(first, t))
            if told and np.all(_within(t, window, forward)):
                after, before = energies(_begins(first, np.array([0]))), energies(_finishes(piece, np.array([-1])))
                total += (after - before)[0]
    return total


def _within(times: np.ndarray, window: tuple[float, float], forward: float) -> np.ndarray:
    found: np.ndarray = (forward * (times - window[0]) > 0) & (forward * (times - window[1]) <= 0)
    return found


def _instants(piece: RecordedRun, times: np.ndarray) -> np.ndarray:
    """Which of times are those of an event, a clock or a change of a discrete variable."""
    known = [np.array([t for _, t, *_ in piece.outcome.events], dtype=float)]
    if piece._held_values is not None:
        known.append(piece._held_values.times)
    if len(times):
        low, high = float(times.min()), float(times.max())
        schedules = (event.manner.schedule for event in piece.system.events)
        known += [schedule.ticks(low, high) for schedule in schedules if schedule is not None]
    instants = np.unique(np.concatenate(known))
    if not len(instants):
        return np.zeros(len(times), dtype=bool)
    place = np.searchsorted(instants, times)
    nearest = np.minimum(
        np.abs(instants[np.minimum(place, len(instants) - 1)] - times),
        np.abs(instants[np.maximum(place - 1, 0)] - times),
    )
    close: np.ndarray = nearest <= SAME * np.maximum(np.abs(times), 1e-300)
    return close


def _begins(piece: RecordedRun, spans: np.ndarray) -> Samples:
    """The moments that steps begin with."""
    dense, times = piece.dense, piece.dense_spans[0][spans]
    return _moments(piece, times, dense.coefficients[spans, 0], "right")


def _finishes(piece: RecordedRun, spans: np.ndarray) -> Samples:
    """The moments that steps end with."""
    dense, times = piece.dense, piece.dense_spans[1][spans]
    return _moments(piece, times, dense.coefficients[spans].sum(axis=1), "left")


def _moments(piece: RecordedRun, times: np.ndarray, x: np.ndarray, side: Literal["left", "right"]) -> Samples:
    held = None if piece._held_values is None else piece._held_values.beside(times, side)
    return Samples(piece._plant, piece._drive, piece._parameters, times, np.ascontiguousarray(x), held=held)
