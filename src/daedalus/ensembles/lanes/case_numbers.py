"""The numbers of a block of cases as a kernel reads them: what all share once, what each brings along as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from daedalus.ensembles.cases import Cases
from daedalus.ensembles.gpu.device_array import DeviceArray


class CaseNumbers(NamedTuple):
    """Number k of a case is values[offset + stride · case], with offset and stride in row k of `rows`."""

    values: np.ndarray
    rows: np.ndarray  # (numbers, 2)
    cases: int

    def all(self, first: int = 0) -> np.ndarray:
        """All numbers from one on, (numbers, cases)."""
        found = np.empty((len(self.rows) - first, self.cases))
        for row, (offset, stride) in zip(found, self.rows[first:].tolist()):
            row[:] = self.values[offset : offset + self.cases * stride : stride] if stride else self.values[offset]
        return found


class LaterNumbers(NamedTuple):
    """The numbers of a block that a GPU has; they are brought together here where somebody asks."""

    made: Callable[[], CaseNumbers]
    cases: int

    def all(self, first: int = 0) -> np.ndarray:
        """All numbers from one on, (numbers, cases)."""
        return self.made().all(first)


def case_numbers(shared: np.ndarray, cases: Cases, block: range, sizes: tuple[int, int]) -> CaseNumbers:
    """The numbers of a block; `shared` are start, inputs and parameters, `sizes` how many the first two are."""
    parts = [(slots_of(cases, k, sizes), _values(cases, k, block)) for k in range(len(cases.axes))]
    values = np.concatenate([shared, *(part.ravel() for _, part in parts)])
    return CaseNumbers(values, rows_of(shared, [slots for slots, _ in parts], len(block)), len(block))


def mixed_parts(cases: Cases, block: range, sizes: tuple[int, int]) -> list[tuple[list[int], np.ndarray | DeviceArray]]:
    """What is swept: the numbers that an axis gives with its values, (cases, numbers), as they lie in memory.

    Columns of a GPU are left there, one by one behind the others.
    """
    here: list[tuple[list[int], np.ndarray | DeviceArray]] = []
    there: list[tuple[list[int], np.ndarray | DeviceArray]] = []
    for k, axis in enumerate(cases.axes):
        slots, place = slots_of(cases, k, sizes), cases.places_of(block, k)
        if isinstance(axis.given, np.ndarray) or not isinstance(place, slice):
            here.append((slots, _values(cases, k, block)))
        else:
            held = axis.given[place]
            there += [([slot], held if axis.is_scalar else held[:, j]) for j, slot in enumerate(slots)]
    return here + there


def _values(cases: Cases, k: int, block: range) -> np.ndarray:
    """The values of an axis for every case of a block, (cases, numbers)."""
    values: np.ndarray = cases.axes[k].values[cases.places_of(block, k)]
    return values.reshape(len(block), -1)


def rows_of(shared: np.ndarray, parts: Sequence[Sequence[int]], count: int) -> np.ndarray:
    """Offset and stride of every number: the shared ones, and behind them what the cases bring along part by part."""
    rows = np.zeros((len(shared), 2), dtype=np.int64)
    rows[:, 0] = np.arange(len(shared))
    begin = len(shared)
    for slots in parts:
        rows[list(slots)] = [(begin + j, len(slots)) for j in range(len(slots))]
        begin += len(slots) * count
    return rows


def slots_of(cases: Cases, k: int, sizes: tuple[int, int]) -> list[int]:
    """Which numbers of a case an axis gives."""
    place = cases.axes[k].place
    first = {"x": 0, "u": sizes[0], "p": sizes[0] + sizes[1]}[str(place.letter)]
    return [first + position for position in np.asarray(place.positions).tolist()]


def whole_numbers(every: np.ndarray) -> CaseNumbers:
    """Numbers that every case brings along itself, (numbers, cases)."""
    count = every.shape[1]
    rows = np.stack([np.arange(len(every)) * count, np.ones(len(every), dtype=np.int64)], axis=1).astype(np.int64)
    return CaseNumbers(np.ascontiguousarray(every).ravel(), np.ascontiguousarray(rows), count)
