"""One Gauss step over a place where x' = f(t, x) is singular and its solution is not: no stage lies at that place.

With an even number of stages the nodes of a step lie on both sides of its middle. The collocation polynomial obeys the
equations at all of them at once, so that what the past does not tell at the singular place the nodes behind it do: of
s β'' + 2 β' = 0, what is left of a dead centre at s = 0, the solutions 1/s are not polynomials, and the condition of
the stage equations does not depend on the length of the step (Gauss collocation: E. Hairer, G. Wanner, Solving Ordinary
Differential Equations II, section IV.5). The error is what the last Legendre coefficients of x' leave: they fall like
(h/4R)^k for a motion that is analytic within R, and do not fall for one that has a kink.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from daedalus.algebra.newton_steps import full_newton
from daedalus.algebra.rank_decision import ONE_SIDED

# Of order 16. Even, so that no node lies in the middle.
STAGES = 8
# Newton's method for the stages: corrections at most, the last of which is so much below the tolerance, or below the
# tolerance and no longer falling, which is rounding.
MOST_CORRECTIONS, SOLVED = 10, 1e-2

Slopes = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Nodes(NamedTuple):
    """Nodes in 0 … 1, the matrix that integrates up to them, Legendre coefficients and powers of θ of x by x'."""

    places: np.ndarray
    integral: np.ndarray
    spectrum: np.ndarray
    powers: np.ndarray


class GaussStep(NamedTuple):
    """x along a step as powers of θ in 0 … 1, the error and the motion in tolerances."""

    coefficients: np.ndarray
    error: float
    motion: float


@cache
def gauss_nodes() -> Nodes:
    """The constants of the method."""
    points, _ = legendre.leggauss(STAGES)
    spectrum = np.linalg.inv(legendre.legvander(points, STAGES - 1))
    places = 0.5 * (points + 1)
    powers = np.linalg.inv(np.vander(places, increasing=True)) / np.arange(1, STAGES + 1)[:, None]
    return Nodes(places, np.vander(places, STAGES + 1, increasing=True)[:, 1:] @ powers, spectrum, powers)


def gauss_step(
    f: Slopes, t: float, x: np.ndarray, length: float, guess: np.ndarray, size: np.ndarray, rtol: float
) -> GaussStep | None:
    """A step of x' = f(t, x); None where Newton's method does not find its stages from a guess of x' at the nodes.

    size: that of each state; the tolerance is rtol times that.

    Example
    -------
    >>> import numpy as np
    >>> def f(t, x):
    ...     return np.stack([x[:, 1], -2 * (x[:, 1] - 1) / t], axis=1)          # singular at 0, where x = t is smooth
    >>> step = gauss_step(f, -0.5, np.array([-0.5, 1.0]), 1.0, np.zeros((8, 2)), np.ones(2), 1e-9)
    >>> step.coefficients.sum(axis=0).round(9), step.error < 1e-3
    (array([0.5, 1. ]), True)
    """
    nodes = gauss_nodes()
    times, n = t + nodes.places * length, len(x)
    tolerance = rtol * size
    identity = np.eye(STAGES * n)

    def correction(slopes: np.ndarray) -> np.ndarray | None:
        stages = x + length * (nodes.integral @ slopes)
        left = f(times, stages) - slopes
        matrices = _matrices(f, times, stages, left + slopes, size)
        if not (np.isfinite(left).all() and np.isfinite(matrices).all()):
            return None
        # The rows of block (i, j) are h a_ij ∂f/∂x at stage i.
        blocks = length * np.einsum("ij,ikl->ikjl", nodes.integral, matrices).reshape(STAGES * n, STAGES * n)
        try:
            return np.asarray(np.linalg.solve(identity - blocks, left.ravel()).reshape(slopes.shape))
        except np.linalg.LinAlgError:
            return None

    def moved(change: np.ndarray, slopes: np.ndarray) -> float:
        return float(np.max(np.abs(length * change) / tolerance))

    done = full_newton(correction, guess, moved, most=MOST_CORRECTIONS, tolerance=SOLVED, stalled=1.0)
    if not done.converged:
        return None
    slopes = done.values
    tail = np.abs(length * (nodes.spectrum[-2:] @ slopes)).sum(axis=0)
    coefficients = np.vstack([x, length * (nodes.powers @ slopes)])
    return GaussStep(coefficients, float(np.max(tail / tolerance)), moved(slopes, slopes))


def _matrices(f: Slopes, times: np.ndarray, stages: np.ndarray, values: np.ndarray, size: np.ndarray) -> np.ndarray:
    """∂f/∂x at every stage, (stages, n, n), by differences."""
    s, n = stages.shape
    steps = ONE_SIDED * size
    moved = stages[:, None, :] + np.diag(steps)
    found = f(np.repeat(times, n), moved.reshape(s * n, n)).reshape(s, n, n)
    return np.asarray(((found - values[:, None, :]) / steps[:, None]).transpose(0, 2, 1))
