"""Stored energy that changes at once: what events, clocks and impacts take from the parts of a run, or give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from daedalus.model.switching.schedule import SAME_INSTANT
from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.transitions import moments, transition_times

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
            total += (energies(moments(piece, chosen, "right")) - energies(moments(piece, chosen - 1, "left"))).sum(
                axis=0
            )
        # Where the next piece begins everything may have changed: its equations too.
        if k + 1 < len(runs):
            first, t = runs[k + 1], ends[-1:]
            told = np.any(_instants(piece, t)) or np.any(_instants(first, t))
            if told and np.all(_within(t, window, forward)):
                after, before = moments(first, np.array([0]), "right"), moments(piece, np.array([-1]), "left")
                total += (energies(after) - energies(before))[0]
    return total


def _within(times: np.ndarray, window: tuple[float, float], forward: float) -> np.ndarray:
    found: np.ndarray = (forward * (times - window[0]) > 0) & (forward * (times - window[1]) <= 0)
    return found


def _instants(piece: RecordedRun, times: np.ndarray) -> np.ndarray:
    """Which of times are those of an event, a clock or a change of a discrete variable."""
    instants = transition_times(piece, *((float(times.min()), float(times.max())) if len(times) else (0.0, 0.0)))
    if not len(instants):
        return np.zeros(len(times), dtype=bool)
    place = np.searchsorted(instants, times)
    nearest = np.minimum(
        np.abs(instants[np.minimum(place, len(instants) - 1)] - times),
        np.abs(instants[np.maximum(place - 1, 0)] - times),
    )
    close: np.ndarray = nearest <= SAME_INSTANT * np.maximum(np.abs(times), 1e-300)
    return close
