"""Dense output of a grid: on every step the polynomial through the rows nearest to it, of the order of the method."""

from __future__ import annotations

import numpy as np

from daedalus.simulation.result.recorded_run import Dense


def interpolated(times: np.ndarray, rows: np.ndarray, order: int) -> Dense:
    """The dense output of rows (k + 1, width) at equal steps; polynomials of the order, or through all rows if fewer.

    Example
    -------
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> dense = interpolated(t, (t**3)[:, None], 3)
    >>> bool(np.allclose(dense.coefficients[1].sum(axis=0), 0.5**3))
    True
    """
    count = len(times) - 1
    degree = min(order, count)
    first = np.clip(np.arange(count) - (degree - 1) // 2, 0, count - degree)
    # Nodes in steps from the beginning of each step: one Vandermonde matrix for every place of the window.
    coefficients = np.empty((count, degree + 1, rows.shape[1]))
    for shift in np.unique(np.arange(count) - first):
        own = np.flatnonzero(np.arange(count) - first == shift)
        powers = np.vander(np.arange(degree + 1.0) - shift, increasing=True)
        window = rows[first[own][:, None] + np.arange(degree + 1)]
        coefficients[own] = np.linalg.solve(powers[None], window)
    return Dense(times[:-1].copy(), times[1:].copy(), coefficients)
