"""The results of a sweep as arrays of Dask: nothing is run before somebody asks, and that alone is brought here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.ensembles.cases import Cases
from daedalus.ensembles.collected import CaseResults, Variables, case_variables
from daedalus.ensembles.columns import Column


def dask_variables(
    blocks: Sequence[tuple[int, Any]],
    cases: Cases,
    columns: Sequence[Column],
    times: int,
    finished: str,
    end_only: bool,
) -> tuple[Variables, Variables]:
    """The variables and the coordinates of a Dataset.

    blocks: (cases, their results to be) in the order of the cases. finished: how runs end that reach their end.
    """
    from dask import array, delayed

    def joined(parts: list[Any], shape: tuple[int, ...], kind: Any) -> Any:
        arrays = [array.from_delayed(part, (count, *shape), kind) for (count, _), part in zip(blocks, parts)]
        return array.concatenate(arrays).reshape(*cases.shape, *shape)

    results, reasons = [part for _, part in blocks], delayed(_reasons)
    rows = [joined([p.rows[k] for p in results], (times, *column.shape), float) for k, column in enumerate(columns)]
    success = joined([part.success for part in results], (), bool)
    texts = joined([reasons(part, finished) for part in results], (), object)
    ends = joined([part.ends for part in results], (), float) if end_only else None
    return case_variables(cases, columns, rows, success, texts, ends)


def _reasons(results: CaseResults, finished: str) -> np.ndarray:
    """How the cases of a block ended."""
    texts = np.full(len(results.success), finished, dtype=object)
    for k, reason in results.reasons.items():
        texts[k] = reason
    return texts
