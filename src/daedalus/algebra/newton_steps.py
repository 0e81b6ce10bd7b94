"""Newton's method where the caller knows how to solve for a correction: full steps, or steps halved until they help.

`damped_newton` is for equations of which nothing else is known. Here the unknowns may be any array, many problems side
by side included; the matrix may have a structure of its own, a border, or factors that the caller needs afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from daedalus._core import shared_numbers
from daedalus.algebra.newton_record import new_record
from daedalus.deadline import poll

# A shorter correction is followed where the next one is shorter by this part of it, as in core/model/damped_newton.hpp.
SHORTENING = shared_numbers["shortening"]
# Corrections that are longer than this share of the one before do not converge; below `stalled` this is rounding.
CONTRACTION = 0.5
# Shortest share of a correction that is tried.
LEAST_PART = 1e-3

# v -> the correction there; None where there is none.
Correction = Callable[[np.ndarray], np.ndarray | None]
# A correction and the values it leads to -> its length in sizes of the unknowns.
Length = Callable[[np.ndarray, np.ndarray], float]
Solve = Callable[[np.ndarray], np.ndarray | None]
# v -> F(v), and what makes b -> J⁻¹ b at v; it is called where a step is taken, not where one is tried.
Linearised = Callable[[np.ndarray], tuple[np.ndarray, Callable[[], Solve | None]]]


class NewtonSteps(NamedTuple):
    """Where the steps ended; solve: b -> J⁻¹ b there, of halved steps alone; step: the last correction."""

    values: np.ndarray
    converged: bool
    iterations: int
    step: np.ndarray
    solve: Any = None
    residual: Any = None


def largest_entry(step: np.ndarray, values: np.ndarray) -> float:
    """The length of a step in units of the unknowns, whatever the values are."""
    return float(np.abs(step).max(initial=0.0))


def full_newton(
    correction: Correction, guess: np.ndarray, length: Length, *, most: int, tolerance: float, stalled: float = 0.0,
    contracts: bool = False, moved: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.add,
) -> NewtonSteps:  # fmt: skip
    """Full steps from a guess until one is at most `tolerance` long, or below `stalled` and no longer shrinking.

    contracts: end, without it, at a step that is longer than half the one before. moved: where a correction leads from
    some values; it may have fewer entries than these.

    Example
    -------
    >>> import numpy as np
    >>> roots = full_newton(lambda v: (2 - v**2) / (2 * v), np.ones(1), lambda s, v: abs(s[0]), most=8, tolerance=1e-9)
    >>> roots.values.round(9).tolist(), roots.converged
    ([1.414213562], True)
    """
    v, before, step = guess, np.inf, np.zeros_like(guess)
    record = new_record("correction", max(tolerance, stalled))
    for count in range(1, most + 1):
        poll("a root of the equations")
        change = correction(v)
        if change is None:
            return NewtonSteps(v, False, count, step)
        after = moved(v, change)
        size = length(change, after)
        if record is not None:
            record.at(v, size)
        slow = size > CONTRACTION * before
        if contracts and slow and size > stalled:
            return NewtonSteps(v, False, count, change)
        v, step = after, change
        if size <= tolerance or (slow and size <= stalled):
            return NewtonSteps(v, True, count, step)
        before = size
    return NewtonSteps(v, False, most, step)


def halved_newton(
    linearised: Linearised, guess: np.ndarray, length: Length, *, most: int, tolerance: float, stalled: float,
    longest: Callable[[np.ndarray], float] = lambda step: 1.0, least: float = LEAST_PART, forced: bool = False,
) -> NewtonSteps:  # fmt: skip
    """NewtonSteps that are halved until the next correction, with the same factors, would be shorter.

    P. Deuflhard, Newton Methods for Nonlinear Problems, 2004, section 3.3. The last correction is not applied; `step`
    is it. longest, least: the shares of a correction to begin and to end with. forced: the last is taken if none helps.

    Example
    -------
    >>> import numpy as np
    >>> def arctangent(v):          # full steps from 2 lead away
    ...     return np.arctan(v), lambda: lambda right: right * (1 + v**2)
    >>> halved_newton(arctangent, np.array([2.0]), lambda s, v: abs(s[0]), most=9, tolerance=1e-9, stalled=0).converged
    True
    """
    v, before, step = guess, np.inf, np.zeros_like(guess)
    residual, factors = linearised(v)
    record, part = new_record("correction", max(tolerance, stalled)), 1.0
    for count in range(most):
        poll("a root of the equations")
        solve = factors() if np.all(np.isfinite(residual)) else None
        change = None if solve is None else solve(-residual)
        if solve is None or change is None or not np.all(np.isfinite(change)):
            return NewtonSteps(v, False, count, step, solve, residual)
        step, size = change, length(change, v)
        if record is not None:
            record.at(v, size, part)
        if size <= tolerance or (size <= stalled and size > CONTRACTION * before):
            return NewtonSteps(v, True, count, step, solve, residual)
        part = longest(step)
        while True:
            poll("a root of the equations")
            trial = v + part * step
            after = linearised(trial)
            last = part <= least
            again = solve(-after[0]) if np.all(np.isfinite(after[0])) else None
            helps = again is not None and (size <= stalled or length(again, v) <= (1 - SHORTENING * part) * size)
            if helps or (last and forced):
                break
            if last:
                return NewtonSteps(v, False, count, step, solve, residual)
            part /= 2
        v, (residual, factors), before = trial, after, size if part == 1.0 else np.inf
    return NewtonSteps(v, False, most, step, None, residual)


def newton_of_many(
    equations: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], guess: np.ndarray, *, most: int, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Full steps for many systems side by side: where they end, (k, n), and how long the last ones are, (k,).

    equations: rows (k, n) -> F (k, n) and its slopes (k, n, n). A length is a share of the largest unknown of its row,
    or of one; it is not a number where a row has no solution.

    Example
    -------
    >>> import numpy as np
    >>> def roots(v):
    ...     return v**2 - np.array([[4.0], [9.0]]), 2 * v[:, :, None]
    >>> newton_of_many(roots, np.ones((2, 1)), most=20, tolerance=1e-9)[0].ravel().round(9).tolist()
    [2.0, 3.0]
    """

    def correction(rows: np.ndarray) -> np.ndarray:
        residual, matrices = equations(rows)
        try:
            return np.asarray(-np.linalg.solve(matrices, residual[:, :, None])[:, :, 0])
        except np.linalg.LinAlgError:  # one of them is singular
            return np.array([_solved(matrix, -right) for matrix, right in zip(matrices, residual)])

    def sizes(change: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.asarray(
            np.abs(change).max(axis=1, initial=0.0) / np.maximum(1.0, np.abs(rows).max(axis=1, initial=0.0))
        )

    def largest(change: np.ndarray, rows: np.ndarray) -> float:
        each = sizes(change, rows)
        return float(each[np.isfinite(each)].max(initial=0.0))

    done = full_newton(correction, guess, largest, most=most, tolerance=tolerance)
    return done.values, sizes(done.step, done.values)


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return np.full(matrix.shape[1], np.nan)
