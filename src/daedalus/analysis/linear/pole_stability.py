"""Whether x' = A x returns to rest, with the margin and how far rounding could move it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.analysis.linear.system_text import complex_text


@dataclass(frozen=True)
class Stability:
    """The result of `lin.stability()`: true in an `if` when the margin is larger than its uncertainty.

    Attributes
    ----------
    margin: minus the largest real part of the poles: the slowest rate of decay when positive, of growth when negative.
    uncertainty: how far rounding of A can move the pole that decides: ε ‖A‖ over the cosine between its left and right
        eigenvectors, large for nearly multiple poles.
    pole: the pole that decides; None for a system without states.

    Example
    -------
    >>> import daedalus as dd
    >>> print(dd.LTI([[0, 1], [-1, -0.2]]).stability())
    stable: margin 0.1, decided by pole -0.1 + 0.995j
    """

    stable: bool
    margin: float
    uncertainty: float
    pole: complex | None

    def __bool__(self) -> bool:
        return self.stable

    def __str__(self) -> str:
        if self.pole is None:
            return "stable: no states"
        if self.stable:
            verdict = "stable"
        else:
            verdict = "unstable" if self.margin < -self.uncertainty else "not asymptotically stable"
        margin = self.margin if abs(self.margin) > self.uncertainty else 0.0
        return f"{verdict}: margin {margin:.4g}, decided by pole {complex_text(self.pole)}"


def judge(A: np.ndarray) -> Stability:
    """The stability of x' = A x."""
    from scipy.linalg import eig

    if A.size == 0:
        return Stability(True, float("inf"), 0.0, None)
    poles, left, right = eig(A, left=True, right=True)
    cosines = np.abs(np.sum(left.conj() * right, axis=0))
    doubts = EPSILON * len(A) * np.linalg.norm(A) / np.maximum(cosines, np.sqrt(EPSILON))
    # A pole that could lie at or beyond the axis within its own doubt decides against stability.
    last = int(np.argmax(poles.real + doubts))
    margin = -float(poles.real.max())
    if poles[last].real + doubts[last] < 0:
        last = int(np.argmax(poles.real))
    stable = bool(np.all(poles.real < -doubts))
    pole = complex(poles[last].real, abs(poles[last].imag))
    return Stability(stable, margin, float(doubts[last]), pole)
