"""The null space of a large sparse matrix through random vectors in it: which components move, in how many dimensions.

The part of a vector r that A leaves alone is p with p + Aᵀ λ = r, A p = ε λ: along a right singular vector of σ it is
damped by ε / (ε + σ²). A few passes leave what belongs to σ below √ε. Random vectors span every direction with
probability one, so the dimension of the null space, seen in some components only, is the rank of as many samples
(N. Halko, P.-G. Martinsson, J. A. Tropp, Finding structure with randomness, SIAM Review 53, 2011). One sparse
factorisation serves all of it, where singular values would need a full matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON, NOT_ZERO, STILL, RankDecision, decide_rank
from daedalus.algebra.shortened_steps import augmented_factors
from daedalus.deadline import poll

# Inverse iterations: each makes what is outside the null space smaller by the gap, which is many decades.
PASSES = 4
# Samples taken at first, and how many more than the dimension are wanted before it is believed.
FIRST, MARGIN = 8, 3


class NullSpaceProbe:
    """Samples of the null space of a sparse matrix with entries of about one.

    Example
    -------
    >>> import numpy as np
    >>> from scipy.sparse import csc_matrix
    >>> probe = NullSpaceProbe(csc_matrix([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]))
    >>> probe.dimension(), probe.dimension(np.array([2])), probe.moved().tolist()
    (2, 1, [True, True, True])
    """

    def __init__(self, matrix: Any) -> None:
        from scipy.sparse import csc_matrix

        self._matrix = csc_matrix(matrix)
        self.columns = self._matrix.shape[1]
        self._draw = np.random.default_rng(2011)
        self._samples = np.zeros((self.columns, 0))
        self._factors: Any = None
        if self._matrix.nnz:
            self._factors = augmented_factors(self._matrix)

    def samples(self, count: int) -> np.ndarray:
        """At least so many random vectors of the null space, in columns; what is none of them has length zero."""
        missing = count - self._samples.shape[1]
        if missing > 0:
            drawn = self._draw.standard_normal((self.columns, missing))
            drawn /= np.maximum(np.linalg.norm(drawn, axis=0), NOT_ZERO)
            for _ in range(PASSES if self._factors is not None else 0):
                right = np.vstack([drawn, np.zeros((self._matrix.shape[0], missing))])
                drawn = self._factors.solve(right)[: self.columns]
            self._samples = np.hstack([self._samples, drawn])
        return self._samples

    def moved(self) -> np.ndarray:
        """Which components some vector of the null space moves."""
        if not self.columns:
            return np.zeros(0, dtype=bool)
        return np.asarray(np.abs(self.samples(FIRST)).max(axis=1) > STILL / np.sqrt(self.columns))

    def decision(self, components: np.ndarray | None = None, name: str = "null space") -> RankDecision:
        """The dimension of the null space as seen in some components, as the rank of samples."""
        own = np.arange(self.columns) if components is None else components
        count = min(FIRST, len(own) + MARGIN)
        while True:
            poll("the structure of the equations")
            seen = self.samples(count)[own] * np.sqrt(max(self.columns, 1))
            values = np.linalg.svd(seen, compute_uv=False) if seen.size else np.zeros(0)
            size = max(1.0, float(values.max(initial=0.0)))
            found = decide_rank(values, (len(own), seen.shape[1]), size, max(STILL, EPSILON), name)
            if found.rank + MARGIN <= seen.shape[1] or found.rank >= len(own):
                return found
            count = 2 * seen.shape[1]

    def dimension(self, components: np.ndarray | None = None) -> int:
        """The dimension of the null space as seen in some components."""
        return self.decision(components).rank
