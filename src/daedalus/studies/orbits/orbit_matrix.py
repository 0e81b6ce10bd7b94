"""The matrix of an orbit's equations, solved by condensation: inner unknowns of every interval are eliminated first.

What is left are x at the mesh points, the period, and the parameter, so that a solve costs as much as one of multiple
shooting (U. M. Ascher, R. M. M. Mattheij and R. D. Russell, Numerical Solution of Boundary Value Problems for ODEs,
1995, section 7.2). The rest is solved with pivoting, because motions beside an orbit may part fast.
"""

from __future__ import annotations

import numpy as np

# Up to this many unknowns the condensed matrix is a full one.
FULL = 240


class OrbitMatrix:
    """Derivatives of all rows by all unknowns.

    block: (N, height, width + n), rows of the intervals by their own unknowns and by x at their end; the first
    `inner` rows are those at the Gauss points. tail: (N, height, k) the same rows by the period and what follows it.
    ends: (e, all) the rows that follow, in all unknowns.
    """

    def __init__(self, block: np.ndarray, tail: np.ndarray, ends: np.ndarray, inner: int) -> None:
        self.block, self.tail, self.ends, self.inner = block, tail, ends, inner
        self.N, self.n = len(block), block.shape[1] - inner
        self.width = self.n + inner

    def solved(self, ends: np.ndarray, right: np.ndarray, columns: int) -> tuple[np.ndarray, float] | None:
        """The solution with other last rows and so many unknowns behind the mesh, and the sign of the determinant."""
        N, n, inner, width = self.N, self.n, self.inner, self.width
        height, head = inner + n, N * width
        if not (np.all(np.isfinite(self.block)) and np.all(np.isfinite(right)) and np.all(np.isfinite(ends))):
            return None
        given = right[: N * height].reshape(N, height)
        tail = self.tail[:, :, :columns]
        known = np.concatenate([self.block[:, :inner, :n], tail[:, :inner], given[:, :inner, None]], axis=2)
        middle = self.block[:, :inner, n:width]
        try:
            S = np.linalg.solve(middle, known)
        except np.linalg.LinAlgError:
            return None
        H = self.block[:, inner:, n:width]
        through = H @ S
        steps = self.block[:, inner:, :n] - through[:, :, :n]
        by_tail, rest = tail[:, inner:] - through[:, :, n:-1], given[:, inner:] - through[:, :, -1]
        e = len(ends)
        own = ends[:, :head].reshape(e, N, width)
        folded = np.einsum("eki,kij->ekj", own[:, :, n:], S)
        at_x = np.concatenate([own[:, :, :n] - folded[:, :, :n], ends[:, None, head : head + n]], axis=1)
        at_tail = ends[:, head + n : head + n + columns] - folded[:, :, n:-1].sum(axis=1)
        right_ends = right[N * height :] - folded[:, :, -1].sum(axis=1)
        solution = self._condensed(steps, by_tail, at_x, at_tail, np.concatenate([rest.ravel(), right_ends]))
        if solution is None:
            return None
        v, sign = solution
        x, behind = v[: (N + 1) * n].reshape(N + 1, n), v[(N + 1) * n :]
        W = S[:, :, -1] - np.einsum("kij,kj->ki", S[:, :, :n], x[:-1]) - S[:, :, n:-1] @ behind
        whole = np.concatenate([np.concatenate([x[:-1], W], axis=1).ravel(), x[-1], behind])
        return whole, float(sign * np.prod(np.linalg.slogdet(middle)[0]))

    def _condensed(
        self, steps: np.ndarray, by_tail: np.ndarray, at_x: np.ndarray, at_tail: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray, float] | None:
        """The solution for x at the mesh points and what follows."""
        from scipy.sparse import coo_matrix

        from daedalus.studies.branches.curve import bordered

        N, n, e, k = self.N, self.n, len(at_x), by_tail.shape[2]
        size = (N + 1) * n + k
        if size <= FULL:
            matrix = np.zeros((size, size))
            rows = matrix[: N * n].reshape(N, n, size)
            for i in range(N):
                rows[i, :, i * n : (i + 1) * n] = steps[i]
            matrix[np.arange(N * n), n + np.arange(N * n)] = -1.0
            matrix[: N * n, size - k :] = by_tail.reshape(N * n, k)
            matrix[N * n :, : size - k] = at_x.reshape(e, -1)
            matrix[N * n :, size - k :] = at_tail
            return bordered(matrix[:-1], matrix[-1], right)
        first = np.arange(N)[:, None, None] * n
        there = np.broadcast_to(first + np.arange(n)[None, :, None], steps.shape).ravel()
        columns = np.broadcast_to(first + np.arange(n)[None, None, :], steps.shape).ravel()
        own = np.arange(N * n)
        dense_rows, dense_columns = np.indices((e - 1, size))
        last = np.hstack([at_x.reshape(e, -1), at_tail])
        tail_rows, tail_columns = np.indices((N * n, k))
        data = [steps.ravel(), -np.ones(N * n), by_tail.ravel(), last[:-1].ravel()]
        where = [there, own, tail_rows.ravel(), N * n + dense_rows.ravel()]
        which = [columns, n + own, size - k + tail_columns.ravel(), dense_columns.ravel()]
        shape = (size - 1, size)
        sparse = coo_matrix((np.concatenate(data), (np.concatenate(where), np.concatenate(which))), shape).tocsc()
        return bordered(sparse, last[-1], right)

    # -- what walks along curves and Newton's method ask for ---------------------------------------------------

    def bordered(self, row: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float] | None:
        """The solution of [matrix; row] v = right, and the sign of the determinant."""
        return self.solved(np.vstack([self.ends, row]), right, self.tail.shape[2])

    def without_last(self, right: np.ndarray) -> np.ndarray | None:
        """The solution of the square system in which the last unknown is held."""
        solution = self.solved(self.ends, right, self.tail.shape[2] - 1)
        return None if solution is None else solution[0]
