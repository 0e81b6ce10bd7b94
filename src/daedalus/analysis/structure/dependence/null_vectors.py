"""Left and right null vectors of a square sparse matrix, and which of their components to solve for.

A matrix without the rows E and the columns W is regular where the left null vectors are independent in E and the right
ones in W. Components are chosen by elimination with pivots, cheap ones before others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daedalus.algebra.rank_decision import STILL
from daedalus.analysis.structure.dependence.null_space_probe import NullSpaceProbe
from daedalus.deadline import poll

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

# Cheap components are chosen before others unless they are below this share of the largest.
WEAK = 1e-3
# Among components of nearly the same size the last one is chosen.
NEARLY = 0.9


@dataclass(frozen=True, eq=False)
class NullVectors:
    """u with uᵀ A = 0 and v with A v = 0, in the columns of `left` and `right`; as many of the one as of the other."""

    left: np.ndarray
    right: np.ndarray

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.left.shape[1])


def null_vectors(matrix: csc_matrix) -> NullVectors:
    """The null vectors of a square matrix with entries of about one.

    Example
    -------
    >>> from scipy.sparse import csc_matrix
    >>> found = null_vectors(csc_matrix([[1.0, 1.0], [2.0, 2.0]]))
    >>> found.count, abs(found.right[:, 0]).round(6).tolist()
    (1, [0.707107, 0.707107])
    """
    sides = [_basis(NullSpaceProbe(own)) for own in (matrix.T, matrix)]
    count = min(side.shape[1] for side in sides)
    return NullVectors(sides[0][:, :count], sides[1][:, :count])


def _basis(probe: NullSpaceProbe) -> np.ndarray:
    dimension = probe.dimension()
    left, _, _ = np.linalg.svd(probe.samples(dimension), full_matrices=False)
    return left[:, :dimension]


def moved(vectors: np.ndarray) -> np.ndarray:
    """The components that take part in some vector."""
    size = np.abs(vectors).max(axis=1, initial=0.0)
    return np.flatnonzero(size > STILL * size.max(initial=0.0))


def independent_components(vectors: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """As many components as there are vectors, in which these are independent, of low cost where that is possible.

    Example
    -------
    >>> import numpy as np
    >>> independent_components(np.array([[0.6], [0.5], [0.62]]), np.array([1, 0, 1])).tolist()
    [1]
    """
    rest = vectors.T.copy()
    chosen: list[int] = []
    for most in sorted(set(cost.tolist())):
        own = np.flatnonzero(cost <= most)
        while len(chosen) < len(rest):
            poll("the structure of the equations")
            below = np.abs(rest[len(chosen) :])
            largest = below[:, own].max(initial=0.0)
            if largest < WEAK * below.max(initial=0.0) or largest == 0.0:
                break
            # The last of the nearly largest: what was written last goes first.
            column = int(own[np.flatnonzero(below[:, own].max(axis=0) >= NEARLY * largest)[-1]])
            row = len(chosen) + int(np.argmax(below[:, column]))
            rest[[len(chosen), row]] = rest[[row, len(chosen)]]
            pivot = rest[len(chosen)] / rest[len(chosen), column]
            rest[len(chosen) + 1 :] -= np.outer(rest[len(chosen) + 1 :, column], pivot)
            rest[len(chosen) + 1 :, column] = 0.0
            chosen.append(column)
    return np.array(sorted(chosen), dtype=int)
