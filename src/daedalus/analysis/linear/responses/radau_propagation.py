"""Propagate a linear system that varies in time, E(t) x' = A(t) w + f(t) with w = (x, z), from knot to knot.

Each step is the Radau IIA method of three stages, order 5 (E. Hairer, G. Wanner, Solving Ordinary Differential
Equations II, 2nd ed. 1996, table IV.5.6): its stages are the solution of one linear system, whether E is invertible or
not, so nothing is eliminated and stiffness does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daedalus.algebra.batches import batches
from daedalus.integrators.tableaux.collocation import radau_iia

_RADAU = radau_iia(3)
NODES, WEIGHTS = _RADAU.c, _RADAU.A
# Of Radau IIA with three stages.
ORDER = 5


@dataclass(frozen=True, eq=False)
class Slopes:
    """E (k, n + m, n), A (k, n + m, n + m) and f (k, n + m) at k times; n states, m algebraic variables."""

    E: np.ndarray
    A: np.ndarray
    f: np.ndarray


def stage_times(knots: np.ndarray) -> np.ndarray:
    """(steps, 3) the times of the stages; the last one lies just before the knot, on this side of a jump."""
    begin, end = knots[:-1], knots[1:]
    times = begin[:, None] + (end - begin)[:, None] * NODES
    times[:, -1] = np.nextafter(end, begin)
    return times


def propagate(slopes_at: Callable[[np.ndarray], Slopes], knots: np.ndarray, start: np.ndarray) -> np.ndarray:
    """w at the knots but the first, (steps, n + m), from the states at the first.

    Raises numpy.linalg.LinAlgError where E and A leave something undetermined.

    Example
    -------
    >>> import numpy as np
    >>> decay = lambda t: Slopes(np.ones((len(t), 1, 1)), -np.ones((len(t), 1, 1)), np.zeros((len(t), 1)))
    >>> float(propagate(decay, np.linspace(0, 1, 11), np.ones(1))[-1, 0].round(8))
    0.36787944
    """
    times, steps = stage_times(knots), np.diff(knots)
    x = np.array(start, dtype=float)
    if not len(steps):
        return np.zeros((0, len(x)))
    values, size = [], slopes_at(times[:1, 0]).A.shape[-1]
    for batch in batches(len(steps), (3 * size) ** 2):
        slopes = slopes_at(times[batch].ravel())
        for matrix, load in zip(*_transitions(slopes, steps[batch], len(x))):
            w = matrix @ x + load
            x = w[: len(x)]
            values.append(w)
    return np.array(values).reshape(len(steps), -1)


def _transitions(slopes: Slopes, steps: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """For every step the matrix and vector with w(end) = matrix x(begin) + vector."""
    count, size = len(steps), slopes.A.shape[-1]
    E = slopes.E.reshape(count, 3, size, n)
    A = slopes.A.reshape(count, 3, size, size)
    f = slopes.f.reshape(count, 3, size)
    # Unknowns of a stage: its derivative x' (n) and its algebraic variables z.
    system = np.zeros((count, 3, size, 3, size))
    for i in range(3):
        for j in range(3):
            system[:, i, :, j, :n] = -steps[:, None, None] * WEIGHTS[i, j] * A[:, i, :, :n]
        system[:, i, :, i, :n] += E[:, i]
        system[:, i, :, i, n:] -= A[:, i, :, n:]
    right = np.concatenate([A[..., :n], f[..., None]], axis=-1).reshape(count, 3 * size, n + 1)
    stages = _solve(system.reshape(count, 3 * size, 3 * size), right).reshape(count, 3, size, n + 1)
    # The method is stiffly accurate: the last stage is the end of the step.
    ends = np.empty((count, size, n + 1))
    ends[:, :n] = steps[:, None, None] * np.einsum("j,cjnk->cnk", WEIGHTS[2], stages[:, :, :n])
    ends[:, :n, :n] += np.eye(n)
    ends[:, n:] = stages[:, 2, n:]
    return ends[..., :n], ends[..., n]


def _solve(matrices: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve many systems; rows and columns are scaled first and the result corrected once.

    With a higher index the rows of constraints shrink with the step, and rounding would spoil small steps.
    """
    rows = np.abs(matrices).max(axis=2, keepdims=True)
    rows[rows == 0] = 1.0
    scaled, right = matrices / rows, right / rows
    columns = np.abs(scaled).max(axis=1, keepdims=True)
    columns[columns == 0] = 1.0
    scaled = scaled / columns
    solution = np.linalg.solve(scaled, right)
    solution += np.linalg.solve(scaled, right - scaled @ solution)
    return solution / columns.swapaxes(1, 2)
