"""The results of cases put together as they come in: all of them side by side, or only statistics over them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from daedalus.ensembles.cases import Cases
from daedalus.ensembles.columns import Column
from daedalus.ensembles.quantile_sketch import levels_needed, places_for
from daedalus.ensembles.statistics import Statistic, Statistics
from daedalus.errors import InputError
from daedalus.model.system.named_vectors import Place

# Cases that statistics take in at once, whatever the number of threads.
_BLOCK = 64
NOT_RUN = "not run: interrupted by the user"
Variables = dict[str, tuple[Any, ...]]


class CaseResults(NamedTuple):
    """What is left of the runs of a block of cases.

    rows: one array (cases, times, ...) a column; NaN where a case has no data.
    complete: which cases have a value at every time. reasons: how cases ended, by their place in the block, where it is
    not how all runs end that reach their end. left: how many cases lanes left to the scalar core.
    """

    rows: list[np.ndarray]
    success: np.ndarray
    complete: np.ndarray
    reasons: dict[int, str]
    ends: np.ndarray
    left: int = 0


def joined_results(found: list[CaseResults]) -> CaseResults:
    """Blocks of results that follow each other as one."""
    reasons: dict[int, str] = {}
    offset = 0
    for results in found:
        reasons.update((offset + k, reason) for k, reason in results.reasons.items())
        offset += len(results.success)
    rows = [np.concatenate(parts) for parts in zip(*(results.rows for results in found))]
    success, complete, ends = (
        np.concatenate([getattr(results, name) for results in found]) for name in ("success", "complete", "ends")
    )
    return CaseResults(rows, success, complete, reasons, ends, sum(results.left for results in found))


class KeptCases:
    """All results side by side, taken in block by block in the order of the cases; NaN where a case has no data."""

    def __init__(self, cases: Cases, columns: Sequence[Column], times: np.ndarray) -> None:
        self.cases, self.columns = cases, columns
        width = sum(column.width for column in columns)
        check_memory(
            8 * cases.count * len(times) * (width + 1),
            f"{cases.count:.3g} cases, {len(times)} times, {width} numbers each",
            'summary=("mean", "std", 0.05, 0.95), save_at="end", outputs=[...], or fewer combinations',
        )
        self._shapes = [(cases.count, len(times), *column.shape) for column in columns]
        self._values: list[np.ndarray] = []
        self._success = np.zeros(cases.count, dtype=bool)
        self._end = np.full(cases.count, np.nan)
        self._reasons: dict[int, str] = {}
        self._taken = 0  # cases come in their order

    def take(self, block: range, results: CaseResults) -> None:
        """Take in the results of some cases."""
        place = slice(block.start, block.stop)
        if len(block) == self.cases.count:  # all of them at once are kept as they came
            self._values = list(results.rows)
        else:
            self._values = self._values or [np.empty(shape) for shape in self._shapes]
            for values, rows in zip(self._values, results.rows):
                values[place] = rows
        self._success[place], self._end[place], self._taken = results.success, results.ends, block.stop
        self._reasons.update((block.start + k, reason) for k, reason in results.reasons.items())

    def variables(self, finished: str) -> tuple[Variables, Variables]:
        """The variables and the coordinates of the Dataset; `finished` is how runs end that reach their end."""
        shape = self.cases.shape
        self._values = self._values or [np.empty(shape) for shape in self._shapes]
        for values in self._values:
            values[self._taken :] = np.nan
        rows = [values.reshape(*shape, *values.shape[1:]) for values in self._values]
        ends = self._end.reshape(shape)
        reasons = self._reason_texts(finished).reshape(shape)
        return case_variables(self.cases, self.columns, rows, self._success.reshape(shape), reasons, ends)

    def _reason_texts(self, finished: str) -> np.ndarray:
        """How every case ended; one text for all where all ended alike."""
        count = self.cases.count
        if not self._reasons and self._taken in (0, count):
            return np.broadcast_to(np.array(finished if self._taken else NOT_RUN), (count,))
        longest = max(map(len, (finished, NOT_RUN, *self._reasons.values())))
        reasons = np.full(count, finished, dtype=f"U{longest}")
        reasons[self._taken :] = NOT_RUN
        for k, reason in self._reasons.items():
            reasons[k] = reason
        return reasons


class SummarisedCases:
    """Statistics over the cases that have a value at every time; the others are listed with their reasons."""

    def __init__(
        self, cases: Cases, columns: Sequence[Column], times: np.ndarray, statistics: Sequence[Statistic]
    ) -> None:
        self.cases, self.columns, self.times = cases, columns, len(times)
        channels = len(times) * sum(column.width for column in columns)
        quantiles = any(isinstance(s, float) for s in statistics)
        places = places_for(cases.count) if quantiles else 0
        check_memory(
            8 * channels * (4 + places * (levels_needed(cases.count, max(places, 1)) + 1 if quantiles else 0)),
            f"{cases.count:.3g} cases, {channels} numbers with {places} places each",
            "fewer times, outputs=[...], or no quantiles",
        )
        self._summary = Statistics(statistics, channels, cases.count)
        self._left_out: list[tuple[int, str]] = []
        self._waiting = np.zeros((0, channels))
        self._taken = 0

    def take(self, block: range, results: CaseResults) -> None:
        """Take in the results of some cases."""
        counts = results.success & results.complete
        flat = np.concatenate([rows.reshape(len(block), -1) for rows in results.rows], axis=1)
        waiting = np.concatenate([self._waiting, flat if counts.all() else flat[counts]])
        whole = len(waiting) // _BLOCK * _BLOCK
        for begin in range(0, whole, _BLOCK):
            self._summary.add(waiting[begin : begin + _BLOCK])
        self._waiting = waiting[whole:]
        for k in np.flatnonzero(~counts).tolist():
            self._left_out.append((block.start + k, results.reasons.get(k, "it has no value at the last times")))
        self._taken += len(block)

    def variables(self, finished: str) -> tuple[Variables, Variables]:
        """The variables and the coordinates of the Dataset."""
        self._summary.add(self._waiting)
        self._waiting = self._waiting[:0]
        values, found, begin = np.stack(self._summary.values()), Variables(), 0
        for column in self.columns:
            end = begin + self.times * column.width
            block = values[:, begin:end].reshape(len(values), self.times, *column.shape)
            found[column.name] = (["summary", "time", *column.dims], block, units_of(column))
            begin = end
        labels = np.empty(len(values), dtype=object)
        labels[:] = self._summary.statistics
        found["cases"] = ((), self._summary.count)
        found["not_run"] = ((), self.cases.count - self._taken)
        numbers = np.array([k for k, _ in self._left_out], dtype=int)
        found["failed_case"] = (["failure"], numbers)
        found["failed_reason"] = (["failure"], np.array([reason for _, reason in self._left_out], dtype=str))
        values_of = [self.cases.values(int(k)) for k in numbers]
        for axis in self.cases.axes:
            if axis.is_scalar:
                of_axis = np.array([values[axis.name] for values in values_of], dtype=float)
                found[f"failed_{axis.name}"] = (["failure"], of_axis)
        return found, {"summary": (["summary"], labels)}


def units_of(what: Column | Place) -> dict[str, str]:
    """The attributes of a variable, or of a swept name."""
    return {"units": what.unit} if what.unit else {}


def case_variables(
    cases: Cases, columns: Sequence[Column], rows: Sequence[Any], success: Any, reasons: Any, ends: Any
) -> tuple[Variables, Variables]:
    """Variables over the cases, and the values of every axis along its dimension as coordinates."""
    dims, coordinates = list(cases.dims), Variables()
    found: Variables = {c.name: ([*dims, "time", *c.dims], values, units_of(c)) for c, values in zip(columns, rows)}
    found |= {"success": (dims, success), "stop_reason": (dims, reasons), "end_time": (dims, ends)}
    for k, axis in enumerate(cases.axes):
        inner = [] if axis.is_scalar else [f"{axis.name}_index"]
        attributes = units_of(axis.place)
        coordinates[cases.names[k]] = ([dims[k] if cases.product else "case", *inner], axis.values, attributes)
    return found, coordinates


# Results that cannot be held in memory are refused before anything runs.

# So much is to be had everywhere.
ALWAYS = 2**24


def available_bytes() -> int | None:
    """The memory that can be had without swapping, None where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(needed: int, fact: str, remedy: str) -> None:
    """Refuse a result of so many bytes where they are not to be had."""
    if needed <= ALWAYS:
        return
    free = available_bytes()
    if free is not None and needed > free:
        raise InputError(
            "The result of the sweep does not fit into memory.",
            f"{fact}: {needed / 2**30:.3g} GiB, {free / 2**30:.3g} GiB are free",
            remedy=remedy,
        )
