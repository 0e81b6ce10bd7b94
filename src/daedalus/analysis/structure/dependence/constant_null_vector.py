"""A combination of equations with constant coefficients, found by numbers: the same at whatever point one looks.

Elimination on expressions gives coefficients such as (a + b) / (b + a), which nothing recognises as one. Left null
vectors of the matrix at several points, parameters changed too, tell constants from what varies.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import CLEAR_GAP, null_space

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
    if not np.all(np.isfinite(matrix)) or not all(np.all(np.any(matrix, axis=axis)) for axis in (0, 1)):
        return None
    null, decision = null_space(matrix.T, "equations")
    if null.shape[1] != 1 or decision.gap < CLEAR_GAP:
        return None
    terms = np.abs(null[:, 0]) * np.abs(matrix).max(axis=1)
    return np.where(terms > EQUAL * terms.max(), null[:, 0], 0.0)
