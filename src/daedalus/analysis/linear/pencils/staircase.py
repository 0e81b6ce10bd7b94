"""The staircase form of a pencil s E - A: its infinite, singular and finite parts by orthogonal transformations.

Each step compresses the columns of what is left of E, then the rows of A in front of the zero columns, by singular
value decompositions: P. Van Dooren, "The computation of Kronecker's canonical form of a singular pencil", Linear
Algebra and its Applications 27 (1979) 103-140. Widths n₁, n₂, ... and heights r₁, r₂, ... of the steps give the
structure: nⱼ - rⱼ right minimal indices j - 1 and rⱼ - nⱼ₊₁ infinite blocks of size j.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from daedalus.algebra.rank_decision import (
    RankDecision,
    amplified,
    decide_rank,
    largest_singular_value,
    singular_values,
)
from daedalus.model.names import counted


@dataclass
class Staircase:
    """Uᵀ (s E - A) V: infinite and right singular steps first, the finite part, left singular steps last."""

    E: np.ndarray
    A: np.ndarray
    U: np.ndarray
    V: np.ndarray
    tolerance: float
    # Steps from the left: (width, height); from the right: (height, width).
    right_steps: list[tuple[int, int]] = field(default_factory=list)
    left_steps: list[tuple[int, int]] = field(default_factory=list)
    decisions: list[RankDecision] = field(default_factory=list)
    amplification: float = 1.0
    # The finite part is E[top:bottom, left:right].
    top: int = 0
    bottom: int = 0
    left: int = 0
    right: int = 0

    @property
    def finite_E(self) -> np.ndarray:
        """E of the finite part: square and nonsingular."""
        return self.E[self.top : self.bottom, self.left : self.right]

    @property
    def finite_A(self) -> np.ndarray:
        """A of the finite part."""
        return self.A[self.top : self.bottom, self.left : self.right]


def staircase(E: np.ndarray, A: np.ndarray, tolerance: float) -> Staircase:
    """Transform the pencil; `tolerance` is relative to the largest singular values of E and of A."""
    rows, columns = E.shape
    form = Staircase(E.copy(), A.copy(), np.eye(rows), np.eye(columns), tolerance, bottom=rows, right=columns)
    sizes = (largest_singular_value(E), largest_singular_value(A))
    while _step_from_left(form, *sizes):
        pass
    # Square and of full column rank means invertible; otherwise rows are left over.
    while form.bottom - form.top > form.right - form.left and _step_from_right(form, *sizes):
        pass
    return form


def _step_from_left(form: Staircase, size_E: float, size_A: float) -> bool:
    """Split off the null columns of what is left of E, and the rows they determine."""
    columns = form.right - form.left
    done = counted(len(form.right_steps), "step")
    rank = _decide(form, form.finite_E, size_E, f"E after {done}")
    width = columns - rank
    if width == 0:
        return False
    # Null vectors first.
    _, Vt = _bases(form.finite_E)
    _turn_columns(form, np.concatenate([Vt[rank:], Vt[:rank]]).T)
    form.E[form.top :, form.left : form.left + width] = 0.0
    block = form.A[form.top : form.bottom, form.left : form.left + width]
    height = _decide(form, block, size_A, f"A in front of null columns after {done}")
    _turn_rows(form, _bases(block)[0])
    form.A[form.top + height :, form.left : form.left + width] = 0.0
    form.right_steps.append((width, height))
    form.left += width
    form.top += height
    return True


def _step_from_right(form: Staircase, size_E: float, size_A: float) -> bool:
    """Split off the null rows of what is left of E, and the columns they determine."""
    done = counted(len(form.left_steps), "step")
    rank = _decide(form, form.finite_E, size_E, f"E from below after {done}")
    height = form.bottom - form.top - rank
    if height == 0:
        return False
    _turn_rows(form, _bases(form.finite_E)[0])
    form.E[form.bottom - height : form.bottom, form.left : form.right] = 0.0
    block = form.A[form.bottom - height : form.bottom, form.left : form.right]
    width = _decide(form, block, size_A, f"A beside null rows after {done}")
    # Null vectors first: what the rows determine goes to the end.
    _, Vt = _bases(block)
    _turn_columns(form, np.concatenate([Vt[width:], Vt[:width]]).T)
    form.A[form.bottom - height : form.bottom, form.left : form.right - width] = 0.0
    form.left_steps.append((height, width))
    form.bottom -= height
    form.right -= width
    return True


def _bases(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthogonal bases (U, Vᵀ) of rows and columns, by falling singular value."""
    from scipy.linalg import LinAlgError, svd

    if block.size == 0:
        return np.eye(block.shape[0]), np.eye(block.shape[1])
    try:
        U, _, Vt = svd(block, full_matrices=True)
    except LinAlgError:
        # The divide and conquer method fails on rare matrices; the QR iteration does not.
        U, _, Vt = svd(block, full_matrices=True, lapack_driver="gesvd")
    return U, Vt


def _decide(form: Staircase, block: np.ndarray, size: float, matrix: str) -> int:
    values = singular_values(block)
    decision = decide_rank(values, block.shape, size, form.tolerance, matrix, form.amplification)
    form.amplification = amplified(form.amplification, decision, size)
    if len(values):
        form.decisions.append(decision)
    return decision.rank


def _turn_columns(form: Staircase, turn: np.ndarray) -> None:
    span = slice(form.left, form.right)
    for matrix in (form.E, form.A, form.V):
        matrix[:, span] = matrix[:, span] @ turn


def _turn_rows(form: Staircase, turn: np.ndarray) -> None:
    span = slice(form.top, form.bottom)
    form.E[span] = turn.T @ form.E[span]
    form.A[span] = turn.T @ form.A[span]
    form.U[:, span] = form.U[:, span] @ turn
