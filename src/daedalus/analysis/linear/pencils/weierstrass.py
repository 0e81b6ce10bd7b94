"""Take a regular pencil apart: coordinates in which E x' = A x + B u is an ODE beside a chain of derivatives.

From the staircase form

    Uᵀ (s E - A) V = [s E₁ - A₁   s E₁₂ - A₁₂]        E₁ nilpotent against A₁, E₂ invertible
                     [     0      s E₂  - A₂ ]

the corner is removed by R and L with E₁ R + L E₂ = -E₁₂ and A₁ R + L A₂ = -A₁₂. Because A₁⁻¹E₁ is nilpotent, R is a
finite sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.analysis.linear.pencils.equilibration import Equilibrated
from daedalus.analysis.linear.pencils.staircase import Staircase
from daedalus.errors import SingularModelError
from daedalus.model.names import counted

# Corrections to R and L after the first solution; one suffices unless the two parts nearly touch.
REFINEMENTS = 2


@dataclass(frozen=True, eq=False)
class Weierstrass:
    """x = slow s + fast f with s' = M s + left_slow B u and N f' = f + left_fast B u, N nilpotent.

    In matrices: left E right = diag(I, N) and left A right = diag(M, I), with left and right stacked slow first.
    """

    M: np.ndarray
    N: np.ndarray
    slow: np.ndarray
    fast: np.ndarray
    left_slow: np.ndarray
    left_fast: np.ndarray
    # What numbers amount to before cancellation, for telling zeros from rounding: of fast by states, of slow by states,
    # of left_fast by equations.
    fast_size: np.ndarray
    slow_size: np.ndarray
    left_fast_size: np.ndarray

    @property
    def index(self) -> int:
        """The number of steps after which the powers of N are zero."""
        power, count = np.eye(len(self.N)), 0
        while np.any(power):
            power, count = power @ self.N, count + 1
        return count


def separate(form: Staircase, scaled: Equilibrated) -> Weierstrass:
    """The Weierstrass form of a regular pencil from its staircase."""
    from scipy.linalg import solve

    if form.left_steps or any(width != height for width, height in form.right_steps) or form.top != form.left:
        raise _singular(form)
    k = form.left
    (E1, _, E2), (A1, _, A2) = _blocks(form.E, k), _blocks(form.A, k)
    N = _nilpotent(solve(A1, E1) if k else E1, form)
    M = solve(E2, A2) if len(E2) else A2
    R, L = _corner(form, N, M)
    right = scaled.columns[:, None] * form.V
    left = form.U.T * scaled.rows
    upper = left[:k] + L @ left[k:]
    solved = solve(A1, upper) if k else upper
    return Weierstrass(
        M=M * scaled.speed,
        N=N / scaled.speed,
        slow=right[:, k:] + right[:, :k] @ R,
        fast=np.ascontiguousarray(right[:, :k]),
        left_slow=(solve(E2, left[k:]) if len(E2) else left[k:]) * scaled.speed,
        left_fast=solved,
        fast_size=scaled.columns,
        slow_size=scaled.columns * np.hypot(1.0, np.linalg.norm(R) if R.size else 0.0),
        left_fast_size=scaled.rows * (np.linalg.norm(solved / scaled.rows) if k else 0.0),
    )


def _nilpotent(N: np.ndarray, form: Staircase) -> np.ndarray:
    """N with its zero blocks exactly zero: strictly block upper triangular with the widths of the steps."""
    clean = np.zeros_like(N)
    start = 0
    for width, _ in form.right_steps:
        clean[:start, start : start + width] = N[:start, start : start + width]
        start += width
    return clean


def _blocks(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix[:k, :k], matrix[:k, k:], matrix[k:, k:]


def _corner(form: Staircase, N: np.ndarray, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R and L with E₁ R + L E₂ = -E₁₂, A₁ R + L A₂ = -A₁₂."""
    from scipy.linalg import solve

    (E1, E12, E2), (A1, A12, A2) = _blocks(form.E, form.left), _blocks(form.A, form.left)
    R, L = np.zeros_like(E12), np.zeros_like(E12)
    if E12.size == 0:
        return R, L
    for _ in range(1 + REFINEMENTS):
        first = -(E12 + E1 @ R + L @ E2)
        second = -(A12 + A1 @ R + L @ A2)
        # Eliminating L leaves R - N R M = A₁⁻¹ (second - first M).
        term = solve(A1, second - first @ M)
        correction = term.copy()
        for _ in range(len(form.right_steps) - 1):
            term = N @ term @ M
            correction += term
        R = R + correction
        L = L + solve(E2.T, (first - E1 @ correction).T).T
    return R, L


def _singular(form: Staircase) -> SingularModelError:
    rows, columns = form.E.shape
    return SingularModelError(
        "The pencil s E - A is singular.",
        f"{counted(rows, 'equation')}, {counted(columns, 'unknown')}; det(s E - A) is zero for every s",
        because="the equations leave a combination of unknowns undetermined, or contradict each other.",
        remedy="dd.pencil(E, A).right_indices and .left_indices, or dd.analyse(model) for the names",
    )
