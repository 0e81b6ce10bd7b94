"""The steps of a run as a table: where each begins, how long it is, and what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daedalus import _core
from daedalus.integrators.methods import METHODS
from daedalus.simulation.result.outcome import COUNTED
from daedalus.simulation.result.recorded_run import RecordedRun


@dataclass(frozen=True, eq=False)
class Steps:
    """The accepted steps of a run, as arrays of one entry per step; `tr.steps` makes it.

    time: where a step begins. size: its length, positive in either direction. rejected: the attempts that were
    refused before it. newton: Newton's iterations for it, with those of the refused attempts; 0 for explicit methods.
    order: the order of the method in it; 0 where it is not known.

    Example
    -------
    >>> import daedalus as dd
    >>> tr = dd.simulate(dd.catalogue.load("van_der_pol").model, 2.0, method="bdf")
    >>> steps = tr.steps
    >>> len(steps) == tr.work.steps, int(steps.newton.sum()) == tr.work.newton
    (True, True)
    >>> [int(order) for order in sorted(set(steps.order.tolist()))]
    [1, 2, 3, 4, 5]
    """

    time: np.ndarray
    size: np.ndarray
    rejected: np.ndarray
    newton: np.ndarray
    order: np.ndarray

    def __len__(self) -> int:
        return len(self.time)


def steps_of(pieces: Sequence[RecordedRun]) -> Steps:
    """The steps of the pieces of a run, one after the other."""
    columns = zip(*(_columns(piece) for piece in pieces))
    time, size, rejected, newton, order = (np.concatenate(column) for column in columns)
    return Steps(time, size, *(part.astype(int) for part in (rejected, newton, order)))


def _whole_steps(starts: np.ndarray, ends: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps whose dense output is several polynomials, one behind the other, as the steps that they were."""
    if not len(times) or not len(starts):
        return starts, ends
    begins = np.isin(starts, times)
    begins[0] = True
    return starts[begins], ends[np.append(np.flatnonzero(begins)[1:] - 1, len(ends) - 1)]


def _spans(piece: RecordedRun) -> tuple[np.ndarray, np.ndarray]:
    """Where each step begins and ends; a run of the core knows them without its dense output."""
    source = piece.run_data.source
    if not isinstance(source, _core.Run):
        return piece.dense_spans
    times = source.at_steps()[0]
    return times[:-1], times[1:]


def _columns(piece: RecordedRun) -> tuple[np.ndarray, ...]:
    starts, ends = _spans(piece)
    moves = starts != ends
    starts, ends = _whole_steps(starts[moves], ends[moves], piece.outcome.step_times)
    totals = np.zeros((len(starts), COUNTED))
    # A piece that was cut keeps the counts of the steps it had.
    told = piece.outcome.step_counts[: len(starts)]
    totals[: len(told)] = told
    rejected, newton = (np.diff(totals[:, k], prepend=0.0) for k in (0, 1))
    rejected[len(told) :], newton[len(told) :] = 0.0, 0.0
    known = METHODS.get(piece.method)
    order = np.where(totals[:, 2] > 0, totals[:, 2], 0 if known is None else known.order)
    return starts, np.abs(ends - starts), rejected, newton, order
