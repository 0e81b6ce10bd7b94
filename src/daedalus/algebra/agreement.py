"""When numbers that were computed in two ways are the same: by a share of the largest, in any unit."""

from __future__ import annotations

import numpy as np


def agree(one: np.ndarray, other: np.ndarray, share: float, sizes: np.ndarray | float = 1.0) -> bool:
    """Whether numbers are the same but for a share of the largest of them; values that are not finite never are.

    sizes: the usual size of each number, where they have several units; only their ratios count.

    Example
    -------
    >>> agree(np.array([1e-9, 2e-9]), np.array([1e-9, 2.1e-9]), 1e-6)
    False
    >>> agree(np.array([1e-9, 5.0]), np.array([2e-9, 5.0]), 1e-6)
    True
    >>> agree(np.array([1e-9, 5.0]), np.array([2e-9, 5.0]), 1e-6, sizes=np.array([1e-9, 1.0]))
    False
    """
    apart, largest = np.abs(one - other) / sizes, np.maximum(np.abs(one), np.abs(other)) / sizes
    return bool(apart.max(initial=0.0) <= share * largest.max(initial=0.0))
