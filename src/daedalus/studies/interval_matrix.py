"""The matrix of a motion on a mesh, solved by condensation: inner unknowns of every interval are eliminated first.

What is left are x at the mesh points and what belongs to the whole motion, so that a solve costs as much as one of
multiple shooting (U. M. Ascher, R. M. M. Mattheij and R. D. Russell, Numerical Solution of Boundary Value Problems for
ODEs, 1995, section 7.2). The rest is solved with pivoting, because motions beside it may part fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus._core import interval_factors
from daedalus.algebra.newton_steps import Solve
from daedalus.model.lazy_values import cached_property

# Beyond this many unknowns inside an interval they are eliminated by LAPACK, which works on blocks that fit the cache.
WIDE = 48


class IntervalMatrix:
    """Derivatives of all rows by all unknowns.

    block: (N, height, width + n), rows of the intervals by their own unknowns and by x at their end; the first
    `inner` rows are those at the Gauss points. tail: (N, height, k) the same rows by the unknowns of the whole motion.
    ends: (e, all) the rows that follow, in all unknowns.
    """

    def __init__(self, block: np.ndarray, tail: np.ndarray, ends: np.ndarray, inner: int) -> None:
        self.block, self.tail, self.ends, self.inner = block, tail, ends, inner
        self.N, self.n = len(block), block.shape[1] - inner
        self.width = self.n + inner
        self._held: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.N * (self.inner + self.n) + len(self.ends), self.ends.shape[1]

    @property
    def data(self) -> np.ndarray:
        """The entries of the intervals and of the end rows."""
        return np.concatenate([self.block.ravel(), self.tail.ravel(), self.ends.ravel()])

    def row_sizes(self) -> np.ndarray:
        """The largest entry of each row."""
        return self._row_sizes

    @cached_property
    def _row_sizes(self) -> np.ndarray:
        own = np.abs(self.block).max(axis=2)
        if self.tail.shape[2]:
            own = np.maximum(own, np.abs(self.tail).max(axis=2))
        return np.concatenate([own.ravel(), np.abs(self.ends).max(axis=1)])

    def toarray(self) -> np.ndarray:
        """As a full matrix."""
        whole = np.zeros(self.shape)
        height, last = self.inner + self.n, self.N * self.width + self.n
        for k in range(self.N):
            rows = slice(k * height, (k + 1) * height)
            whole[rows, k * self.width : (k + 1) * self.width + self.n] = self.block[k]
            whole[rows, last:] = self.tail[k]
        whole[self.N * height :] = self.ends
        return whole

    # -- factors -----------------------------------------------------------------------------------------------

    def factors(self, sizes: np.ndarray) -> tuple[Any, float]:
        """Factors of a square matrix in sizes of the unknowns, and an estimate of its condition from below."""
        found = _factored(self.block, self.tail, self.ends, self.inner, sizes)
        if found is None:
            return None, float("inf")
        # Two right-hand sides tell a singular matrix: N. J. Higham, ACM TOMS 14 (1988), has the second.
        rows, steps = self.row_sizes(), np.arange(len(sizes))
        tried = (np.ones(len(sizes)), np.where(steps % 2, -1.0, 1.0) * (1 + steps / max(len(sizes) - 1, 1)))
        worst = max(float(np.abs(found.solve(rows * right) / sizes).max()) for right in tried)
        return found, worst if np.isfinite(worst) else float("inf")

    def bordered(self, row: np.ndarray) -> Any:
        """Factors of [matrix; row], with `solve` and the `sign` of the determinant; None of a singular one."""
        ends = np.vstack([self.ends, row])
        return _factored(self.block, self.tail, ends, self.inner, np.ones(ends.shape[1]))

    def with_column(self, column: np.ndarray) -> IntervalMatrix:
        """The matrix with one more unknown of the whole motion."""
        rows, height = self.N * (self.inner + self.n), self.inner + self.n
        tail = np.concatenate([self.tail, column[:rows].reshape(self.N, height, 1)], axis=2)
        return IntervalMatrix(self.block, tail, np.column_stack([self.ends, column[rows:]]), self.inner)

    def without_last(self) -> Solve | None:
        """Solves the square system in which the last unknown is held; None of a singular one."""
        tail, ends = np.ascontiguousarray(self.tail[:, :, :-1]), np.ascontiguousarray(self.ends[:, :-1])
        factors = _factored(self.block, tail, ends, self.inner, np.ones(ends.shape[1]))
        return None if factors is None else factors.solve


def _factored(block: np.ndarray, tail: np.ndarray, ends: np.ndarray, inner: int, sizes: np.ndarray) -> Any:
    """Factors with `solve` and `sign`; None of a singular matrix."""
    if inner > WIDE:
        return _WideFactors.made(block, tail, ends, inner, sizes)
    return interval_factors(block, tail, ends, sizes, inner)


class _WideFactors:
    """Factors where intervals have many unknowns: those by LAPACK, then the ones of the core for what is left."""

    def __init__(
        self, lu: list[Any], S: np.ndarray, H: np.ndarray, own: np.ndarray, rest: Any, scale: np.ndarray, sign: float
    ) -> None:
        self._lu, self._S, self._H, self._own, self._rest, self._scale, self.sign = lu, S, H, own, rest, scale, sign

    @staticmethod
    def made(
        block: np.ndarray, tail: np.ndarray, ends: np.ndarray, inner: int, sizes: np.ndarray
    ) -> _WideFactors | None:
        from scipy.linalg.lapack import dgetrf, dgetrs

        N, n, k, e = len(block), block.shape[1] - inner, tail.shape[2], len(ends)
        width, head = n + inner, N * (n + inner)
        finite = all(np.all(np.isfinite(part)) for part in (block, tail, ends))
        scale = np.abs(block[:, :inner, n:width]).max(axis=2)
        if not finite or np.any(scale == 0):
            return None
        lu, S, sign = [], np.empty((N, inner, n + k)), 1.0
        for i in range(N):
            factors, swaps, failed = dgetrf(block[i, :inner, n:width] / scale[i][:, None])
            if failed:
                return None
            odd = np.count_nonzero(swaps != np.arange(inner)) % 2
            sign *= float(np.prod(np.sign(np.diag(factors)))) * (-1.0 if odd else 1.0)
            lu.append((factors, swaps))
            S[i] = dgetrs(factors, swaps, np.hstack([block[i, :inner, :n], tail[i, :inner]]) / scale[i][:, None])[0]
        H = block[:, inner:, n:width]
        through = H @ S
        own = ends[:, :head].reshape(e, N, width)
        folded = np.einsum("eki,kij->ekj", own[:, :, n:], S)
        at_x = own[:, :, :n] - folded[:, :, :n]
        at_tail = ends[:, head + n :] - folded[:, :, n:].sum(axis=1)
        short = np.concatenate([block[:, inner:, :n] - through[:, :, :n], block[:, inner:, width:]], axis=2)
        condensed = np.hstack([at_x.reshape(e, -1), ends[:, head : head + n], at_tail])
        left = np.concatenate([sizes[:head].reshape(N, width)[:, :n].ravel(), sizes[head:]])
        rest = interval_factors(
            np.ascontiguousarray(short), np.ascontiguousarray(tail[:, inner:] - through[:, :, n:]),
            np.ascontiguousarray(condensed), left, 0,
        )  # fmt: skip
        return None if rest is None else _WideFactors(lu, S, H, own[:, :, n:], rest, scale, sign * float(rest.sign))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for a right-hand side."""
        from scipy.linalg.lapack import dgetrs

        N, inner, _ = self._S.shape
        n = self._H.shape[1]
        given = right[: N * (inner + n)].reshape(N, inner + n)
        W = np.array([dgetrs(*lu, row[:inner] / s)[0] for lu, row, s in zip(self._lu, given, self._scale)])
        joins = given[:, inner:] - np.einsum("kni,ki->kn", self._H, W)
        ends = right[N * (inner + n) :] - np.einsum("eki,ki->e", self._own, W)
        v = self._rest.solve(np.concatenate([joins.ravel(), ends]))
        x, behind = v[: (N + 1) * n].reshape(N + 1, n), v[(N + 1) * n :]
        W = W - np.einsum("kij,kj->ki", self._S[:, :, :n], x[:-1]) - self._S[:, :, n:] @ behind
        return np.concatenate([np.concatenate([x[:-1], W], axis=1).ravel(), x[-1], behind])
