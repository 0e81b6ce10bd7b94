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
    stable: every pole is left of the imaginary axis, the closest at -0.1 + 0.995j (margin 0.1)
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
            return (
                "stable: every pole is left of the imaginary axis, the closest at "
                f"{complex_text(self.pole)} (margin {self.margin:.4g})"
            )
        if self.margin < -self.uncertainty:
            pole = complex_text(self.pole)
            return f"unstable: the pole {pole} is right of the imaginary axis (margin {self.margin:.4g})"
        on_axis = complex_text(complex(0.0, self.pole.imag if abs(self.pole.imag) > self.uncertainty else 0.0))
        return f"not asymptotically stable: the pole {on_axis} is on the imaginary axis up to rounding (margin 0)"


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
