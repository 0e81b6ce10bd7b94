"""Solve F(v) = 0 from a guess and, where more is free than determined, with the smallest change of the guess.

The change is measured in a norm ‖S⁻¹ (v - guess)‖ given by a spread S: the sizes of the unknowns, or a factor of the
inverse mass matrix. Newton's method with pseudo-inverse arrives near the guess; steps along the null space of the
Jacobian then lead to the nearest point: at it the change is orthogonal to the null space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import SOLVED, Equations, Root, damped_newton
from daedalus.algebra.rank_decision import FULL_MATRIX, FULL_NULL_SPACE, KNOWN, SINGULAR, STILL, singular_share
from daedalus.algebra.shortened_steps import sparse_steps
from daedalus.deadline import poll

# Moves along the solutions towards the target at most, by judgement: most starts take a few.
POLISHING = 40
# A guess this many times larger than the solution costs digits.
FAR = 100.0


@dataclass(frozen=True, eq=False)
class Arrival:
    """Where a search ended: the values, the scaled residuals, whether they vanish, and how many steps it took.

    insensitive: rows that no unknown changes. finite: whether the equations have values at the guess.
    """

    values: np.ndarray
    scaled: np.ndarray
    solved: bool
    iterations: int
    insensitive: frozenset[int] = frozenset()
    finite: bool = True

    @property
    def worst(self) -> float:
        """The largest scaled residual."""
        return float(np.abs(self.scaled).max(initial=0.0)) if np.all(np.isfinite(self.scaled)) else float("inf")


def least_change(
    equations: Equations,
    guess: np.ndarray,
    spread: np.ndarray,
    anchor: np.ndarray | None = None,
    leading: np.ndarray | None = None,
) -> Arrival:
    """The root nearest to the anchor (the guess itself if None), as far as it can be found from the guess.

    Parameters
    ----------
    equations: v -> F (m,), ∂F/∂v (m, n) as a full or sparse matrix, and the size of each equation (m,).
    spread: S, a vector (n,) of sizes or a matrix (n, n).
    leading: which unknowns the distance counts, (n,) bool; all of them if None.

    Example
    -------
    >>> import numpy as np
    >>> def circle(v):
    ...     return np.array([v @ v - 1]), 2 * v[None, :], np.ones(1)
    >>> least_change(circle, np.array([0.6, 1.2]), np.ones(2)).values.round(6).tolist()
    [0.447214, 0.894427]
    """
    scaled = Scaled(equations, guess, spread)
    m, n = scaled.shape
    if n > FULL_NULL_SPACE and m < n:
        return by_sparse_steps(scaled)
    if n > FULL_MATRIX and m >= n and not _regular(scaled(np.zeros(n))[1]):
        arrival = by_sparse_steps(scaled)
        if arrival.solved:
            return arrival
    root = damped_newton(scaled, np.zeros(n), np.ones(n))
    if root.solved and root.null.shape[1] and n <= FULL_NULL_SPACE:
        target = np.zeros(n) if anchor is None else scaled.back(anchor)
        root = _nearest(scaled, root, target, np.ones(n, dtype=bool) if leading is None else leading)
    if root.solved and not root.null.shape[1] and np.any(np.abs(guess) > FAR * np.abs(scaled.forth(root.values))):
        # A difference to a far guess has lost digits: the last step is taken from near by.
        near = Scaled(equations, scaled.forth(root.values), spread)
        last = damped_newton(near, np.zeros(n), np.ones(n), limit=3)
        scaled, root = (near, last) if last.solved else (scaled, root)
    finite = bool(np.all(np.isfinite(root.residual)))
    return Arrival(scaled.forth(root.values), root.scaled, root.solved, root.iterations, root.insensitive, finite)


class Scaled:
    """Equations in w with v = guess + S w."""

    def __init__(self, equations: Equations, guess: np.ndarray, spread: np.ndarray) -> None:
        self.equations, self.guess, self.spread = equations, guess, spread
        self._last: tuple[np.ndarray, Any] | None = None
        first = self(np.zeros(len(guess)))
        self.shape = len(first[0]), len(guess)

    def forth(self, w: np.ndarray) -> np.ndarray:
        """v of w."""
        return self.guess + (self.spread @ w if self.spread.ndim == 2 else self.spread * w)

    def back(self, v: np.ndarray) -> np.ndarray:
        """w of v."""
        change = v - self.guess
        return np.linalg.solve(self.spread, change) if self.spread.ndim == 2 else change / self.spread

    def __call__(self, w: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        """F, ∂F/∂w and the sizes of the equations."""
        if self._last is not None and np.array_equal(self._last[0], w):
            return self._last[1]
        residual, jacobian, scale = self.equations(self.forth(w))
        if self.spread.ndim == 2:
            jacobian = np.asarray(jacobian @ self.spread)
        elif isinstance(jacobian, np.ndarray):
            jacobian = jacobian * self.spread
        else:
            from scipy.sparse import diags

            jacobian = (jacobian @ diags(self.spread)).tocsc()
        self._last = (w.copy(), (residual, jacobian, scale))
        return self._last[1]


def _nearest(equations: Callable[[np.ndarray], Any], root: Root, target: np.ndarray, leading: np.ndarray) -> Root:
    """Slide along the solutions towards the target while that brings the leading unknowns nearer."""
    best, ones, share = root, np.ones(len(target)), 1.0
    for _ in range(POLISHING):
        poll("a consistent start")
        # The null space of a root counts in sizes of the unknowns there.
        basis, _ = np.linalg.qr(np.maximum(ones, np.abs(best.values))[:, None] * best.null)
        away = (target - best.values)[leading]
        pull = basis @ np.linalg.lstsq(basis[leading], away, rcond=STILL)[0]
        if np.abs(pull[leading]).max(initial=0.0) <= KNOWN or share < 1e-3:
            return best
        trial = damped_newton(equations, best.values + share * pull, ones, limit=10)
        closer = np.linalg.norm((target - trial.values)[leading]) < np.linalg.norm(away)
        if trial.solved and closer:
            best, share = trial, min(1.0, 2 * share)
        else:
            share /= 2
    return best


def _regular(jacobian: Any) -> bool:
    """Whether a matrix is square, and safely invertible if it is sparse."""
    if jacobian.shape[0] != jacobian.shape[1]:
        return False
    return isinstance(jacobian, np.ndarray) or singular_share(jacobian) > SINGULAR


def by_sparse_steps(equations: Scaled) -> Arrival:
    """Shortest corrections of a large system with more unknowns than equations."""
    n = len(equations.guess)
    w, scaled, count = sparse_steps(equations, np.zeros(n), np.ones(n))
    finite = bool(np.all(np.isfinite(scaled)))
    solved = finite and float(np.abs(scaled).max(initial=0.0)) <= SOLVED
    return Arrival(equations.forth(w), scaled, solved, count, frozenset(), finite)
