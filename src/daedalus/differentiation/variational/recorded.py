"""What a run of the variational equations leaves behind: y at the steps and between them, and what ended it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.variational.finished import check_finished
from daedalus.model.lazy_values import cached_property
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.result.ending import ENDINGS, Ending
from daedalus.simulation.result.outcome import Work


@dataclass(frozen=True, eq=False)
class Recorded:
    """y at the steps, its dense output on demand, the guards that ended the run, and what it cost."""

    t: np.ndarray
    y: np.ndarray
    make_dense: Callable[[], Dense]
    status: Ending
    work: Work
    ended_by: tuple[int, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _kept_record, (self.t, self.y, self.dense, self.status, self.work, self.ended_by)

    @cached_property
    def dense(self) -> Dense:
        """The dense output of y."""
        return self.make_dense()

    def at(self, times: np.ndarray) -> np.ndarray:
        """y at times within the run, (times, size); at a joint the later values."""
        if not self.ended_by and np.array_equal(times, self.t):
            return self.y
        dense = self.dense
        return dense.at(times) if len(dense.starts) else np.repeat(self.y[-1:], len(times), axis=0)


@dataclass(frozen=True, eq=False)
class RunPart:
    """A part of a run: what was run, its variational equations, what came of it, and ∂x⁺/∂(x, u, p) of what follows."""

    case: Case
    augmented: Any
    recorded: Recorded
    joint: np.ndarray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        variational = self.augmented.variational
        return _run_part, (self.case, variational.directions, variational.order, self.recorded, self.joint)


def _run_part(
    case: Case, directions: Directions, order: int, recorded: Recorded, joint: np.ndarray | None = None
) -> RunPart:
    """A part of a run as pickles hold it: its variational equations are made anew."""
    from daedalus.differentiation.variational.augmented import augmented_of

    return RunPart(case, augmented_of(case.plant, directions, order), recorded, joint)


def _kept_record(
    t: np.ndarray, y: np.ndarray, dense: Dense, status: Ending, work: Work, ended_by: tuple[int, ...]
) -> Recorded:
    """A record as pickles hold it, with its dense output."""
    return Recorded(t, y, lambda: dense, status, work, ended_by)


def at_rest(t: float, y: np.ndarray) -> Recorded:
    """What a run over no time leaves behind, such as that between an instant and the end at the same time."""
    return Recorded(np.array([t]), y[None].copy(), partial(Dense.joined, (), len(y)), Ending.FINISHED, Work())


def joined_record(parts: Sequence[RunPart]) -> Recorded:
    """What runs that follow each other leave behind, as one; the moment of a joint is that of the later part."""
    records = [part.recorded for part in parts]
    if len(records) == 1:
        return records[0]
    kept = [record.t != record.t[-1] for record in records[:-1]] + [np.ones(len(records[-1].t), bool)]
    return Recorded(
        np.concatenate([record.t[rows] for record, rows in zip(records, kept)]),
        np.concatenate([record.y[rows] for record, rows in zip(records, kept)]),
        lambda: Dense.joined([record.dense for record in records if len(record.dense.starts)]),
        records[-1].status,
        sum((record.work for record in records), Work()),
        records[-1].ended_by,
    )


def recorded_run(
    case: Case, run: Any, unpacked: Callable[[np.ndarray], np.ndarray], entry: Callable[[int], int], width: int
) -> Recorded:
    """What a core run leaves behind; unpacked: y of its rows, entry: where an unknown of the core stands in y."""
    check_finished(case, run, entry(run.culprit), width)
    ended_by = tuple(guard for guard, t, *_ in run.events if run.status == Ending.EVENT and t == run.t[-1])
    dense = partial(dense_of, run, unpacked)
    return Recorded(run.t, unpacked(run.x), dense, ENDINGS[run.status], work_of(run), ended_by)


def work_of(run: Any) -> Work:
    """What a core run cost."""
    counts = ("steps", "rejected", "rhs_calls", "jacobians", "factorisations", "newton", "seconds")
    return Work(*(getattr(run, name) for name in counts))


def dense_of(run: Any, unpacked: Callable[[np.ndarray], np.ndarray]) -> Dense:
    """The dense output of y."""
    starts, ends, coefficients = run.dense()
    return Dense(starts, ends, np.ascontiguousarray(unpacked(coefficients)))
