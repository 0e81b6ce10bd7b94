"""Whether x' = A x + B u, y = C x + D u is positive real: a storage ½ xᵀ P x by Kalman, Yakubovich and Popov.

The system is passive if a P ≥ 0 makes

    [ AᵀP + P A    P B − Cᵀ  ]
    [ BᵀP − C     −(D + Dᵀ)  ]  ≤ 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# D + Dᵀ of a system without feedthrough is raised to this share of the gain while P is looked for.
REGULAR = 1e-8


class StorageMatrix(NamedTuple):
    """The verdict, P, the largest eigenvalue of the matrix above, and a sentence with a place for {names}."""

    passive: bool | None
    P: np.ndarray | None
    worst: float
    sentence: str


def storage_matrix(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> StorageMatrix:
    """P by the Riccati equation of a slightly raised D, judged by the matrix of Kalman, Yakubovich and Popov."""
    from scipy.linalg import solve_continuous_are

    gain = max(1.0, float(np.abs(C).max(initial=0.0)) * float(np.abs(B).max(initial=0.0)))
    spectrum = _least_real_part(A, B, C, D)
    if spectrum < -1e-9 * gain:
        text = (
            f"Not passive {{names}}: the Hermitian part of the transfer function falls to {spectrum:.3g} on the axis."
        )
        return StorageMatrix(False, None, -spectrum, text)
    if np.linalg.eigvals(A).real.max(initial=-1.0) > 1e-9 * max(1.0, float(np.abs(A).max(initial=0.0))):
        return StorageMatrix(False, None, np.inf, "Not passive {names}: it is unstable.")
    best: tuple[float, np.ndarray] | None = None
    for share in (REGULAR, 1e-6, 1e-4):
        raised = D + D.T + 2 * share * gain * np.eye(len(D))
        try:
            P = solve_continuous_are(A, B, np.zeros_like(A), -raised, s=-C.T)
        except (np.linalg.LinAlgError, ValueError):
            continue
        P = (P + P.T) / 2
        matrix = np.block([[A.T @ P + P @ A, P @ B - C.T], [B.T @ P - C, -(D + D.T)]])
        worst = float(np.linalg.eigvalsh(matrix).max())
        if best is None or worst < best[0]:
            best = (worst, P)
    if best is None:
        text = "Positive real {names} at all sampled frequencies; no storage matrix was found."
        return StorageMatrix(None, None, np.nan, text)
    worst, P = best
    size = max(1.0, float(np.abs(P).max()))
    if worst <= 1e-3 * gain * size and float(np.linalg.eigvalsh(P).min()) >= -1e-6 * size:
        text = "Passive {names} with the storage ½ x'P x: the matrix of Kalman, Yakubovich and Popov has no eigenvalue "
        return StorageMatrix(True, P, worst, f"{text}above {worst:.1g}.")
    text = f"Undecided {{names}}: the best storage matrix leaves an eigenvalue of {worst:.2g}."
    return StorageMatrix(None, P, worst, text)


def _least_real_part(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> float:
    """The least eigenvalue of G(iω) + G(iω)* over many frequencies."""
    rates = np.abs(np.linalg.eigvals(A)) if len(A) else np.ones(1)
    scale = max(float(rates.max(initial=0.0)), 1e-3)
    least = float(np.linalg.eigvalsh(D + D.T).min()) if D.size else 0.0
    for w in np.concatenate([np.linspace(0.0, 3 * scale, 400), scale * np.logspace(-4, 4, 400)]):
        matrix = 1j * w * np.eye(len(A)) - A
        if len(A) and np.linalg.cond(matrix) > 1e10:
            continue
        G = C @ np.linalg.solve(matrix, B) + D if len(A) else D
        least = min(least, float(np.linalg.eigvalsh(G + G.conj().T).min()))
    return least / 2
