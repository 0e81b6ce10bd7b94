"""The numbers of a block of cases as a kernel reads them: what all share once, what each brings along as columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.ensembles.cases import Cases


class CaseNumbers(NamedTuple):
    """Number k of a case is values[offset + stride · case], with offset and stride in row k of `rows`."""

    values: np.ndarray
    rows: np.ndarray  # (numbers, 2)
    cases: int

    def all(self) -> np.ndarray:
        """All numbers, (numbers, cases)."""
        places = self.rows[:, :1] + self.rows[:, 1:] * np.arange(self.cases)
        return self.values[places]


def case_numbers(shared: np.ndarray, cases: Cases, block: range, sizes: tuple[int, int]) -> CaseNumbers:
    """The numbers of a block; `shared` are start, inputs and parameters, `sizes` how many the first two are."""
    first = {"x": 0, "u": sizes[0], "p": sizes[0] + sizes[1]}
    rows = np.zeros((len(shared), 2), dtype=np.int64)
    rows[:, 0] = np.arange(len(shared))
    parts, offset = [shared], len(shared)
    for axis, positions in zip(cases.axes, cases.positions_of(block)):
        values = axis.values[positions]
        columns = values[:, None] if values.ndim == 1 else values
        for k, place in enumerate(np.asarray(axis.place.positions).tolist()):
            parts.append(columns[:, k])
            rows[first[str(axis.place.letter)] + place] = offset, 1
            offset += len(block)
    return CaseNumbers(np.concatenate(parts), rows, len(block))


def whole_numbers(every: np.ndarray) -> CaseNumbers:
    """Numbers that every case brings along itself, (numbers, cases)."""
    count = every.shape[1]
    rows = np.stack([np.arange(len(every)) * count, np.ones(len(every), dtype=np.int64)], axis=1).astype(np.int64)
    return CaseNumbers(np.ascontiguousarray(every).ravel(), np.ascontiguousarray(rows), count)
