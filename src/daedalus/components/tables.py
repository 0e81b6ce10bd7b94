"""Tables as formulas: sums of hinges, linear between the points and beyond them."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError


def interpolated(at: ca.SX, x: np.ndarray, values: np.ndarray) -> ca.SX:
    """y_0 + s_0 (x − x_0) + Σ (s_k − s_(k−1)) max(x − x_k, 0) with the slopes s."""
    slopes = np.diff(values) / np.diff(x)
    total = values[0] + slopes[0] * (at - x[0])
    for k in range(1, len(slopes)):
        if slopes[k] != slopes[k - 1]:
            total = total + (slopes[k] - slopes[k - 1]) * ca.fmax(at - x[k], 0)
    return total


def interpolated_2d(at: ca.SX, other: ca.SX, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> ca.SX:
    """Σ z_ij φ_i(x) φ_j(y), each φ one at its own point and zero at all others."""
    rows = [interpolated(at, x, row) for row in np.eye(len(x))]
    columns = [interpolated(other, y, column) for column in np.eye(len(y))]
    total = ca.SX(0)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            if values[i, j]:
                total = total + values[i, j] * row * column
    return total


def check_table(name: str, x: Any, y: Any, values: Any) -> None:
    """Refuse points that do not increase, and values that do not fit them."""
    wanted = (x.size,) if y is None else (x.size, y.size)
    if any(points is not None and points.ndim != 1 for points in (x, y)) or values.shape != wanted or min(wanted) < 2:
        raise ModelError(
            f"The table of {name} does not fit its points.",
            f"{' × '.join(map(str, wanted))} values expected, shape {values.shape} given",
            because="every point has one value, and a line needs two points.",
            remedy="x=[0.0, 1.0], values=[0.0, 2.0]",
        )
    for points in (x, y):
        if points is not None and np.any(np.diff(points) <= 0):
            raise ModelError(
                f"The points of the table of {name} do not increase.",
                f"got {np.array2string(points, threshold=8)}",
                because="the values are interpolated.",
                remedy="sorted points, each once",
            )
