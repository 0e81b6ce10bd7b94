"""The transfer function C (s E - A)⁻¹ B + D at complex numbers s."""

from __future__ import annotations

import numpy as np

from daedalus.algebra.batches import batches
from daedalus.algebra.rank_decision import ROUNDING, is_singular
from daedalus.analysis.linear.system_text import complex_text
from daedalus.errors import InputError


def transfer_values(
    E: np.ndarray | None, A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, s: object
) -> np.ndarray:
    """C (s E - A)⁻¹ B + D, (..., outputs, inputs) for s of any shape; E is the identity when None."""
    points = np.asarray(s, dtype=complex)
    if not np.all(np.isfinite(points)):
        raise InputError("The transfer function is evaluated at finite s.", f"got {s!r}"[:120])
    flat = points.reshape(-1)
    n = A.shape[0]
    mass = np.eye(n) if E is None else E
    values = np.empty((len(flat), *D.shape), dtype=complex)
    for batch in batches(len(flat), n * n):
        values[batch] = C @ _solve(flat[batch], mass, A, B) + D
    return values.reshape(*points.shape, *D.shape)


def _solve(batch: np.ndarray, E: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    matrices = batch[:, None, None] * E - A
    try:
        return np.linalg.solve(matrices, np.broadcast_to(B, (len(batch), *B.shape)))
    except np.linalg.LinAlgError:
        for point, one in zip(batch, matrices):
            if is_singular(one, ROUNDING):
                raise InputError(
                    f"The transfer function has a pole at s = {complex_text(point)}.",
                    because="s E - A is singular there.",
                    remedy="another s; system.poles() lists the poles",
                ) from None
        raise
