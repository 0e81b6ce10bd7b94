"""The exact step of x' = A x + B u over an interval on which u is a polynomial.

With u(t + θ h) = Σ cₖ θᵏ the exponential of one block matrix holds everything (C. Van Loan, "Computing integrals
involving the matrix exponential", IEEE Transactions on Automatic Control 23 (1978) 395-404):

        [h A  h B  0 ]     [Φ  G₀  G₁]
    exp [ 0    0   I ]  =  [0  I   I ]      x(t + h) = Φ x(t) + Σ k! Gₖ cₖ
        [ 0    0   0 ]     [0  0   I ]
"""

from __future__ import annotations

from math import factorial

import numpy as np

from daedalus.analysis.linear.system_text import complex_text
from daedalus.errors import SolverError


def exact_step(A: np.ndarray, B: np.ndarray, h: float, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Φ (n, n) and Γ (degree + 1, n, nu) with x(t + h) = Φ x(t) + Σ Γₖ cₖ for u(t + θ h) = Σ cₖ θᵏ.

    Example
    -------
    >>> import numpy as np
    >>> step, forced = exact_step(np.zeros((1, 1)), np.ones((1, 1)), 2.0, 1)     # x' = u
    >>> step.tolist(), forced[:, 0, 0].tolist()
    ([[1.0]], [2.0, 1.0])
    """
    n, inputs = B.shape
    if inputs > n:
        step, forced = exact_step(A, np.eye(n), h, degree)
        return step, forced @ B
    # Columns of B near one in size: a large B must not cost accuracy in exp(h A).
    sizes = np.abs(h * B).max(axis=0, initial=0.0)
    scale = np.exp2(np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))
    size = n + inputs * (degree + 1)
    block = np.zeros((size, size))
    block[:n, :n] = h * A
    block[:n, n : n + inputs] = h * B / scale
    for k in range(degree):
        first = n + inputs * k
        block[first : first + inputs, first + inputs : first + 2 * inputs] = np.eye(inputs)
    exponential = _exponential(block, A, h)
    forced = np.empty((degree + 1, n, inputs))
    for k in range(degree + 1):
        first = n + inputs * k
        forced[k] = factorial(k) * exponential[:n, first : first + inputs] * scale
    return exponential[:n, :n], forced


def _exponential(block: np.ndarray, A: np.ndarray, h: float) -> np.ndarray:
    from scipy.linalg import eigvals, expm

    if block.size == 0:
        return block
    with np.errstate(over="ignore", invalid="ignore"):
        result = expm(block)
    if not np.all(np.isfinite(result)):
        fastest = max(np.atleast_1d(eigvals(A)), key=lambda value: value.real)
        raise SolverError(
            "The response grows beyond the largest number.",
            f"pole {complex_text(fastest)} over an interval of {h:.4g}",
            because="exp(A t) overflows.",
            remedy="times closer together and a shorter span, or a stable system",
        )
    return result
