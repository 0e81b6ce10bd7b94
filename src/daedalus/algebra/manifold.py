"""The points at which what a system keeps vanishes, c(x) = 0, and how to come back onto them by the shortest way.

Lengths count in sizes of the unknowns. Constraints may repeat each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daedalus.algebra.damped_newton import Equations, Root, damped_newton, sizes_of_equations
from daedalus.algebra.least_change import Arrival, Scaled, by_sparse_steps, least_change
from daedalus.algebra.newton_steps import full_newton
from daedalus.algebra.rank_decision import FULL_IN_LOOPS, NOT_ZERO

# A share of the squares of slopes: their rounding errors are a ten-thousandth of it.
REPEATED = 1e-12

# Equations, the point to begin at and the sizes of its entries -> where they vanish.
Search = Callable[[Equations, np.ndarray, np.ndarray], Arrival | Root]


@dataclass(frozen=True, eq=False)
class Corrected:
    """Where a correction ended: the whole point, whether it lies on the manifold, and how many steps it took."""

    values: np.ndarray
    solved: bool
    steps: int


@dataclass(frozen=True, eq=False)
class Manifold:
    """c(x) = 0, given by x -> c (m,) and ∂c/∂x (m, n); sizes: (n,), those of the unknowns.

    Example
    -------
    >>> import numpy as np
    >>> circle = Manifold(lambda x: (np.array([x @ x - 1.0]), 2 * x[None, :]), np.ones(2))
    >>> circle.nearest(np.array([3.0, 4.0])).values.round(6).tolist()
    [0.6, 0.8]
    >>> circle.nearest(np.array([0.6, 2.0]), free=np.array([1])).values.round(6).tolist()
    [0.6, 0.8]
    """

    kept: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    sizes: np.ndarray

    def nearest(self, x: np.ndarray, free: np.ndarray | None = None) -> Corrected:
        """The point of the manifold nearest to x, as far as steps from there lead to it; only entries `free` move."""
        moving = np.arange(len(x)) if free is None else np.asarray(free)
        # Null spaces of many unknowns would cost too much: shortest steps end near the nearest point.
        few = len(moving) <= FULL_IN_LOOPS
        return self._corrected(x, moving, least_change if few else _by_shortest_steps)

    def near(self, x: np.ndarray) -> Corrected:
        """A point of the manifold near x, where any will do: the nearest one costs many times as much."""
        return self._corrected(x, np.arange(len(x)), _by_newton if len(x) <= FULL_IN_LOOPS else _by_shortest_steps)

    def _corrected(self, x: np.ndarray, moving: np.ndarray, search: Search) -> Corrected:
        def whole(values: np.ndarray) -> np.ndarray:
            point = np.array(x, dtype=float)
            point[moving] = values
            return point

        def equations(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            point = whole(values)
            residual, slopes = self.kept(point)
            return residual, slopes[:, moving], sizes_of_equations(slopes, point, self.sizes)

        arrival = search(equations, np.asarray(x, dtype=float)[moving], self.sizes[moving])
        return Corrected(whole(arrival.values), arrival.solved, arrival.iterations)


def _by_newton(equations: Equations, begin: np.ndarray, sizes: np.ndarray) -> Root:
    return damped_newton(equations, begin, sizes)


def _by_shortest_steps(equations: Equations, begin: np.ndarray, sizes: np.ndarray) -> Arrival:
    return by_sparse_steps(Scaled(equations, begin, sizes))


def rows_onto(
    kept: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], rows: np.ndarray, sizes: np.ndarray, tolerance: float,
    most: int,
) -> np.ndarray:  # fmt: skip
    """Many points (K, n) moved onto a manifold side by side, by at most so many shortest steps.

    kept: rows (K, n) -> c (K, m) and ∂c/∂x (K, m, n). Those whose c is at most `tolerance`, or no number, stay.

    Example
    -------
    >>> import numpy as np
    >>> def circle(x):
    ...     return (x**2).sum(axis=1, keepdims=True) - 1.0, 2 * x[:, None, :]
    >>> rows_onto(circle, np.array([[3.0, 4.0], [0.0, 2.0]]), np.ones(2), 1e-10, 8).round(9).tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """

    def correction(points: np.ndarray) -> np.ndarray | None:
        residual, slopes = kept(points)
        moving = np.abs(residual).max(axis=1) > tolerance
        steps = np.zeros_like(points)
        steps[moving] = _shortest_steps(slopes[moving] * sizes, -residual[moving]) * sizes
        return steps if moving.any() else None

    return full_newton(correction, rows, lambda step, points: np.inf, most=most, tolerance=0.0).values


def _shortest_steps(slopes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The shortest s with slopes · s = wanted, for many matrices (K, c, n) at once; rows may repeat each other.

    s = Aᵀ (A Aᵀ + ε I)⁻¹ b, where ε is small beside A and large beside its rounding errors.
    """
    across = slopes.transpose(0, 2, 1)
    products = slopes @ across
    size = np.trace(products, axis1=1, axis2=2)[:, None, None] + NOT_ZERO
    weights = np.linalg.solve(products + REPEATED * size * np.eye(products.shape[1]), wanted[..., None])
    return np.asarray((across @ weights)[..., 0])
