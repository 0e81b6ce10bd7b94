"""When numbers that were computed in two ways are the same: by a share of the largest, in any unit.

The shares stand here and, where ranks are decided by them, in `rank_decision`; a file has one of its own where neither
rounding nor differences give the reason.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import SAME_FORMULA

# Numbers that were computed in two ways are one, and a smaller share of a sum is nothing: some million roundings, as
# for formulas at random values.
SAME = SAME_FORMULA
# What rounding leaves where formulas are long but nothing is solved for: some thousand roundings.
TWELVE_DIGITS = 1e-12
# What a difference of numbers of full precision is known to, and where Newton's method has one correction to go.
HALF_OF_DIGITS = 1e-8
# How far beside a point another one lies, in the sizes of its numbers: with central differences curvature leaves 1e-12,
# and rounding 1e-10.
BESIDE = 1e-6


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
