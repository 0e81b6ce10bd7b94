"""The numbers of a block of cases as a kernel reads them: what all share once, what each brings along as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from daedalus.ensembles.cases import Cases
from daedalus.ensembles.gpu.device_array import DeviceArray


class CaseNumbers(NamedTuple):
    """Number k of a case is values[offset + stride · case], with offset and stride in row k of `rows`."""

    values: np.ndarray
    rows: np.ndarray  # (numbers, 2)
    cases: int

    def all(self) -> np.ndarray:
        """All numbers, (numbers, cases)."""
        places = self.rows[:, :1] + self.rows[:, 1:] * np.arange(self.cases)
        return self.values[places]


class LaterNumbers(NamedTuple):
    """The numbers of a block that a GPU has; they are brought together here where somebody asks."""

    made: Callable[[], CaseNumbers]
    cases: int

    def all(self) -> np.ndarray:
        """All numbers, (numbers, cases)."""
        return self.made().all()


def case_numbers(shared: np.ndarray, cases: Cases, block: range, sizes: tuple[int, int]) -> CaseNumbers:
    """The numbers of a block; `shared` are start, inputs and parameters, `sizes` how many the first two are."""
    slots, columns = zip(*case_columns(cases, block, sizes))
    return CaseNumbers(np.concatenate([shared, *columns]), rows_of(shared, slots, len(block)), len(block))


def case_columns(cases: Cases, block: range, sizes: tuple[int, int]) -> Iterator[tuple[int, np.ndarray]]:
    """(number, its values of every case of a block) of all that is swept."""
    for k, axis in enumerate(cases.axes):
        values = axis.values[cases.places_of(block, k)]
        columns = values[:, None] if values.ndim == 1 else values
        yield from ((slot, columns[:, j]) for j, slot in enumerate(slots_of(cases, k, sizes)))


def mixed_columns(cases: Cases, block: range, sizes: tuple[int, int]) -> list[tuple[int, np.ndarray | DeviceArray]]:
    """As `case_columns`, with those of a GPU left there, behind the others."""
    here: list[tuple[int, np.ndarray | DeviceArray]] = []
    there: list[tuple[int, np.ndarray | DeviceArray]] = []
    for k, axis in enumerate(cases.axes):
        slots, place = slots_of(cases, k, sizes), cases.places_of(block, k)
        if isinstance(axis.given, np.ndarray) or not isinstance(place, slice):
            values = axis.values[place].reshape(len(block), -1)
            here += [(slot, values[:, j]) for j, slot in enumerate(slots)]
        else:
            held = axis.given[place]
            there += [(slot, held if axis.is_scalar else held[:, j]) for j, slot in enumerate(slots)]
    return here + there


def rows_of(shared: np.ndarray, slots: Sequence[int], count: int) -> np.ndarray:
    """Offset and stride of every number: the shared ones, over which columns of `count` values are written in turn."""
    rows = np.zeros((len(shared), 2), dtype=np.int64)
    rows[:, 0] = np.arange(len(shared))
    for k, slot in enumerate(slots):
        rows[slot] = len(shared) + k * count, 1
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
