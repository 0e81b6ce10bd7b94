"""A combination of equations with constant coefficients, found by numbers: the same at whatever point one looks.

Elimination on expressions gives coefficients such as (a + b) / (b + a), which nothing recognises as one. Left null
vectors of the matrix at several points, parameters changed too, tell constants from what varies.
"""

from __future__ import annotations

import numpy as np

# Singular values below this share of the largest are zero, those above the second number are not.
ZERO, NOT_ZERO = 1e-10, 1e-7
# Coefficients at two points that differ by less are equal; they are taken for fractions with these denominators.
EQUAL, DENOMINATORS = 1e-8, 12


def constant_null_vector(matrices: list[np.ndarray]) -> np.ndarray | None:
    """u with uᵀ M = 0 for all matrices, its largest entry 1; None where there is none, or more than one direction.

    Example
    -------
    >>> import numpy as np
    >>> draw = np.random.default_rng(1)
    >>> rows = [draw.standard_normal((2, 3)) for _ in range(3)]
    >>> constant_null_vector([np.vstack([r, r[0] - 2 * r[1]]) for r in rows]).tolist()
    [-0.5, 1.0, 0.5]
    """
    found: list[np.ndarray] = []
    for matrix in matrices:
        vector = _null_vector(matrix)
        if vector is None:
            return None
        found.append(vector / vector[np.argmax(np.abs(found[0] if found else vector))])
    first = found[0]
    if any(not np.allclose(vector, first, rtol=EQUAL, atol=0.0) for vector in found[1:]):
        return None
    multiples = np.round(first[:, None] * np.arange(1, DENOMINATORS + 1)) / np.arange(1, DENOMINATORS + 1)
    near = np.abs(multiples - first[:, None]) <= EQUAL * np.abs(first[:, None])
    return np.where(near.any(axis=1), multiples[np.arange(len(first)), near.argmax(axis=1)], first)


def _null_vector(matrix: np.ndarray) -> np.ndarray | None:
    if not np.all(np.isfinite(matrix)):
        return None
    rows = np.abs(matrix).max(axis=1, keepdims=True)
    columns = np.abs(matrix / np.where(rows > 0, rows, 1.0)).max(axis=0, keepdims=True)
    if not (np.all(rows > 0) and np.all(columns > 0)):
        return None
    left, values, _ = np.linalg.svd(matrix / rows / columns)
    if values[-1] > ZERO * values[0] or (len(values) > 1 and values[-2] < NOT_ZERO * values[0]):
        return None
    vector = left[:, -1]
    return np.where(np.abs(vector) > EQUAL * np.abs(vector).max(), vector, 0.0) / rows.ravel()
