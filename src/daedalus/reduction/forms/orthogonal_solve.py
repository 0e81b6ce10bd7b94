"""A x = b as expressions, by orthogonal factors: no pivots to choose, so that no state makes it unstable.

Modified Gram–Schmidt on the columns of (A, b): the coefficients that b loses on the way are Qᵀb, and taken from there
the solution is as good as that of Householder's method, which with Qᵀ b as a product it is not (Å. Björck, Solving
linear least squares problems by Gram-Schmidt orthogonalization, BIT 7, 1967). Rows and columns are scaled by powers of
two first: the mass matrix and the constraints of a mechanism may differ by many orders of magnitude.
"""

from __future__ import annotations

import casadi as ca
import numpy as np


def solve_orthogonal(matrix: ca.SX, right: ca.SX, sample: np.ndarray | None = None) -> ca.SX:
    """The solution of a square system, a column for each right side; `sample` is the matrix at a typical state, for its
    scales."""
    n, sides = matrix.shape[0], right.shape[1]
    if n == 1:  # whose direction would be a sign
        return ca.densify(right) / ca.densify(matrix)
    rows, columns = power_of_two_scales(sample) if sample is not None else (np.ones(n), np.ones(n))
    scaled = ca.mtimes(ca.mtimes(ca.diag(ca.DM(rows)), ca.densify(matrix)), ca.diag(ca.DM(columns)))
    work = [scaled[:, k] for k in range(n)] + [ca.densify(right[:, k]) * ca.DM(rows) for k in range(sides)]
    upper = ca.SX.zeros(n, n + sides)
    for k in range(n):
        length = ca.norm_2(work[k])
        upper[k, k] = length
        direction = work[k] / length
        for j in range(k + 1, n + sides):
            share = ca.dot(direction, work[j])
            upper[k, j] = share
            work[j] -= share * direction
    found = []
    for side in range(n, n + sides):
        solution = ca.SX.zeros(n, 1)
        for k in reversed(range(n)):
            known = ca.mtimes(upper[k, k + 1 : n], solution[k + 1 :, 0])
            solution[k] = (upper[k, side] - known) / upper[k, k]
        found.append(solution * ca.DM(columns))
    return ca.horzcat(*found)


def power_of_two_scales(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors for rows and columns that bring the largest entry of each near one (Ruiz's iteration, rounded)."""
    size = np.abs(sample)
    if not np.all(np.isfinite(size)):
        return np.ones(size.shape[0]), np.ones(size.shape[1])
    rows, columns = np.ones(size.shape[0]), np.ones(size.shape[1])
    for _ in range(5):
        scaled = rows[:, None] * size * columns
        rows /= np.sqrt(_largest(scaled, 1))
        scaled = rows[:, None] * size * columns
        columns /= np.sqrt(_largest(scaled, 0))
    return 2.0 ** np.round(np.log2(rows)), 2.0 ** np.round(np.log2(columns))


def _largest(values: np.ndarray, axis: int) -> np.ndarray:
    found = values.max(axis=axis)
    return np.where(found > 0, found, 1.0)
