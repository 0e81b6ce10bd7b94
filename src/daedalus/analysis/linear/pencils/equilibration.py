"""Scale the rows and columns of a pencil s E - A so that no choice of units hides a number.

Rows, columns and s are multiplied by powers of two, which is exact and changes neither structure nor index. First the
logarithms of all numbers in E and A come as near to zero as they can in the sense of least squares (A. Curtis and
J. Reid, "On the automatic scaling of matrices for Gaussian elimination", 1972), then the largest number of every row
and column comes near one (D. Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices", 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.algebra.rank_decision import EPSILON

# Sweeps of the least squares at most, which end where rows rest, and then of making the largest numbers one.
MOST_SWEEPS = 50
LARGEST_NUMBER_SWEEPS = 2


@dataclass(frozen=True)
class Equilibrated:
    """The scaled pencil: E = speed · rows E₀ columns, A = rows A₀ columns.

    Its eigenvalues times speed are those of s E₀ - A₀.
    """

    E: np.ndarray
    A: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    speed: float


def equilibrate(E: np.ndarray, A: np.ndarray) -> Equilibrated:
    """The pencil with numbers of size about one.

    Example
    -------
    >>> import numpy as np
    >>> scaled = equilibrate(np.diag([1e-9, 1.0]), np.array([[1e3, 0.0], [0.0, 1e-4]]))
    >>> bool(np.abs(scaled.A).max() <= 2)
    True
    """
    if E.size == 0:
        return Equilibrated(E, A, np.ones(E.shape[0]), np.ones(E.shape[1]), 1.0)
    row_logs, column_logs, speed_log = _least_squares(E, A)
    rows, columns, speed = np.exp2(np.round(row_logs)), np.exp2(np.round(column_logs)), float(2.0 ** round(speed_log))
    for _ in range(LARGEST_NUMBER_SWEEPS):
        largest = np.maximum(np.abs(E) * speed, np.abs(A)) * rows[:, None] * columns
        rows = rows * _shrink(largest.max(axis=1))
        columns = columns * _shrink(largest.max(axis=0))
    scale = rows[:, None] * columns
    return Equilibrated(E * speed * scale, A * scale, rows, columns, speed)


def _least_squares(E: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Logarithms to base two of rows, columns and speed, one group after the other until they rest."""
    numbers = np.stack([np.abs(E), np.abs(A)])
    counts = numbers > _rounding_level(numbers)
    logs = np.log2(np.where(counts, numbers, 1.0))
    per_row, per_column = (np.maximum(counts.sum(axis=(0, k)), 1) for k in (2, 1))
    rows, columns, speed = np.zeros(E.shape[0]), np.zeros(E.shape[1]), 0.0
    for _ in range(MOST_SWEEPS):
        before = rows
        left = logs + np.array([speed, 0.0])[:, None, None]
        rows = -np.sum(np.where(counts, left + columns, 0.0), axis=(0, 2)) / per_row
        columns = -np.sum(np.where(counts, left + rows[:, None], 0.0), axis=(0, 1)) / per_column
        inner = np.where(counts[0], logs[0] + rows[:, None] + columns, 0.0)
        speed = -float(inner.sum()) / max(int(counts[0].sum()), 1) if counts[1].any() else 0.0
        if np.abs(rows - before).max() < 0.1:
            break
    return rows, columns, speed


def _rounding_level(numbers: np.ndarray) -> np.ndarray:
    """What a number must exceed to be more than rounding beside the largest ones of its row and column.

    Those are the ones of its own matrix: between E and A lie the units of time.
    """
    beside = np.maximum(numbers.max(axis=2, keepdims=True), numbers.max(axis=1, keepdims=True))
    floor = numbers.max() * np.finfo(float).tiny / EPSILON
    return np.maximum(EPSILON * max(numbers.shape[1:]) * beside, floor)


def _shrink(largest: np.ndarray) -> np.ndarray:
    """Powers of two towards a largest number of one; what is already small stays so."""
    return np.exp2(np.round(-0.5 * np.log2(np.maximum(largest, 1.0))))
