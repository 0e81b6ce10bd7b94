"""Linear systems of all stages of an implicit Runge–Kutta step, solved through the eigenvalues of its matrix A.

With [F_K F_Z]_i and F_X,i at the stages i the matrix of a step is

    M = diag([F_K F_Z]_i) + h (a_ij [F_X,i 0])_ij

and with the slopes of one stage in all of them, P = I ⊗ [F_K F_Z] + h A ⊗ [F_X 0]. A = T diag(μ) T⁻¹ takes P apart into
one system [F_K F_Z] + h μ [F_X 0] of the size of a stage for each eigenvalue, of a conjugate pair one (J. C. Butcher,
On the implementation of implicit Runge–Kutta methods, BIT 16, 1976). Slopes change little over a step, so that

    P⁻¹ M y = P⁻¹ r

takes GMRES a few sweeps; the answer is that of M, by its own residual (Y. Saad, A flexible inner-outer preconditioned
GMRES algorithm, SIAM J. Sci. Comput. 14, 1993). For the same reason P of one step serves those beside it, as long as
sweeps with it gain enough.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.sparse_factors import Iterated, SparseFactors
from daedalus.differentiation.steps.residual_pullback import Entries

# Eigenvectors of A further from independent than this would cost digits; SDIRK methods have none at all.
INDEPENDENT = 1e6
# The residual of an answer, as a share of |M| |y| + |r|: what rounding leaves, and what is still an answer where
# sweeps gain no more.
SOLVED_TO, GOOD = 1e-15, 1e-11
# Sweeps that shrink the residual less than this do not converge soon enough to be worth it.
LEAST_GAIN, MOST_SWEEPS = 0.5, 40
# Factors of a field take as long as some six sweeps, so with P of another step a digit a sweep is worth waiting for.
SWEEPS_OF_FACTORS, LEAST_GAIN_BESIDE = 6, 0.1

Slopes = tuple[Entries, Entries]  # F_x' and F_(x, z) at a stage


class StageSystems:
    """Solves with the matrices of the steps of one system by one tableau.

    values, vectors: the eigenvalues μ, of a pair one, and the rows of T⁻¹ and columns of T that belong to them; vectors
    are None where A has no eigenvectors but is triangular, and its stages are solved one after the other.
    accuracy: the share of the right side that may be left over; 0: rounding.
    possible: whether A is one of these. factorisations, sweeps: how often P was factorised, and solved with.
    """

    def __init__(
        self, A: np.ndarray, n: int, size: int, iterated: Iterated | None = None, accuracy: float = 0.0
    ) -> None:
        self.iterated, self._accuracy = iterated, accuracy
        self.A, self.n, self.size = np.asarray(A, float), n, size
        self.factorisations = self.sweeps = 0
        self._frozen: dict[bool, _Frozen] = {}
        values, vectors = np.linalg.eig(self.A)
        independent = bool(np.linalg.cond(vectors) < INDEPENDENT)
        self.possible = independent or not np.any(np.triu(self.A, 1))
        chosen = values.imag >= 0
        self.values = values[chosen] if independent else np.unique(np.diag(self.A)).astype(complex)
        self.vectors = (np.linalg.inv(vectors)[chosen], vectors[:, chosen]) if independent else None

    def solve(self, matrix: StepMatrix, right: np.ndarray, transposed: bool) -> np.ndarray | None:
        """M⁻¹ right, or M⁻ᵀ right, (stages, size); None where sweeps with P do not lead there.

        P is that of an earlier matrix; it is taken anew where its sweeps do not converge soon, or have cost more than
        those of a new one by what its factors cost.
        """
        if not self.possible:
            return None
        frozen = self._frozen.get(transposed)
        if frozen is None:
            frozen = self._frozen[transposed] = _Frozen(self, matrix, transposed)
        own, before = frozen.matrix is matrix, self.sweeps
        if frozen.matrix is not None and (own or frozen.excess < SWEEPS_OF_FACTORS):
            found = self._swept(frozen, matrix, right, LEAST_GAIN if own else LEAST_GAIN_BESIDE)
            frozen.excess += max(0, self.sweeps - before - frozen.usual)
            if found is not None or own:
                return found
        if not frozen.factorise(matrix):
            return None
        before = self.sweeps
        found = self._swept(frozen, matrix, right, LEAST_GAIN)
        frozen.usual, frozen.excess = self.sweeps - before, 0
        return found

    def _swept(self, frozen: _Frozen, matrix: StepMatrix, right: np.ndarray, least_gain: float) -> np.ndarray | None:
        found, rest, before = np.zeros_like(right), right, np.inf
        while True:
            size = float(np.abs(rest).max(initial=0.0))
            given = float(np.abs(right).max(initial=0.0))
            scale = float(matrix.largest * np.abs(found).max(initial=0.0)) + given
            enough = max(SOLVED_TO * scale, self._accuracy * given)
            if size <= enough or (size <= GOOD * scale and not size <= LEAST_GAIN * before):
                return found
            change = self._cycle(frozen, matrix, rest, least_gain, enough) if size <= 0.5 * before else None
            if change is None:
                return None
            found, before = found + change, size
            rest = right - matrix.times(found, frozen.transposed)

    def _cycle(
        self, frozen: _Frozen, matrix: StepMatrix, right: np.ndarray, least_gain: float, enough: float
    ) -> np.ndarray | None:
        """y with a residual below `enough`, or as small as it gets; None where sweeps gain too little."""
        begin = float(np.linalg.norm(right))
        ways, answers = [right / begin], list[np.ndarray]()
        H, target = np.zeros((MOST_SWEEPS + 1, MOST_SWEEPS)), np.zeros(MOST_SWEEPS + 1)
        target[0] = begin
        for k in range(MOST_SWEEPS):
            answers.append(frozen.solve(ways[k]))
            self.sweeps += 1
            way = matrix.times(answers[k], frozen.transposed)
            for i, one in enumerate(ways):
                H[i, k] = np.vdot(one, way)
                way -= H[i, k] * one
            H[k + 1, k] = np.linalg.norm(way)
            if not np.isfinite(H[k + 1, k]):
                return None
            own = H[: k + 2, : k + 1]
            shares = np.linalg.lstsq(own, target[: k + 2], rcond=None)[0]
            size = float(np.linalg.norm(own @ shares - target[: k + 2]))
            if size <= max(enough, SOLVED_TO * begin):
                change: np.ndarray = np.tensordot(shares, np.array(answers), 1)
                return change
            if not size <= least_gain**k * begin:
                return None
            ways.append(way / H[k + 1, k])
        return None


class _Frozen:
    """P, or its transpose, at the slopes of one stage of one matrix."""

    def __init__(self, systems: StageSystems, matrix: StepMatrix, transposed: bool) -> None:
        self._systems, self.transposed = systems, transposed
        self.matrix: StepMatrix | None = None
        # Sweeps with P of its own step, and how many more those of others have taken so far.
        self.usual = self.excess = 0
        rows, columns = (np.concatenate([one[k], other[k]]) for k in range(2) for one, other in [matrix.middle])
        places = (columns, rows) if transposed else (rows, columns)
        self._factors = [SparseFactors(systems.size, *places, bool(mu.imag), systems.iterated) for mu in systems.values]

    def factorise(self, matrix: StepMatrix) -> bool:
        """Take P of this matrix; False where it cannot be factorised."""
        (_, _, by_rate), (_, at_column, by_state) = matrix.middle
        of_x, h = at_column < self._systems.n, matrix.h
        self._systems.factorisations += 1
        done = all(
            factors.factor(np.concatenate([by_rate, np.where(of_x, h * (mu if mu.imag else mu.real), 1.0) * by_state]))
            for factors, mu in zip(self._factors, self._systems.values)
        )
        self.matrix = matrix if done else None
        return done

    def solve(self, right: np.ndarray) -> np.ndarray:
        """P⁻¹ right, or P⁻ᵀ right."""
        if self._systems.vectors is None:
            return self._one_by_one(right)
        left, out = self._systems.vectors
        if self.transposed:
            left, out = out.T, left.T
        found = np.zeros_like(right)
        for k, (factors, mu) in enumerate(zip(self._factors, self._systems.values)):
            if mu.imag:
                found += 2 * np.outer(out[:, k], factors.solve(left[k] @ right)).real
            else:
                found += np.outer(out[:, k].real, factors.solve(left[k].real @ right))
        return found

    def _one_by_one(self, right: np.ndarray) -> np.ndarray:
        """The same with a triangular A: from the first stage on, transposed from the last one back."""
        assert self.matrix is not None
        A, found = self._systems.A, np.zeros_like(right)
        order = range(len(right))
        for i in reversed(order) if self.transposed else order:
            weights = A[:, i] if self.transposed else A[i]
            others = np.where(np.arange(len(right)) == i, 0.0, weights) @ found
            rest = right[i] - self.matrix.by_x_in_the_middle(others, self.transposed)
            factors = self._factors[int(np.searchsorted(self._systems.values.real, A[i, i]))]
            found[i] = factors.solve(rest)
        return found


class StepMatrix:
    """M of one step from the slopes at its stages, to multiply with."""

    def __init__(self, A: np.ndarray, h: float, n: int, size: int, slopes: list[Slopes]) -> None:
        from scipy.sparse import csr_matrix

        self._A, self.h, self._n = np.asarray(A, float), h, n
        self._own, self._by_x = [], []
        self.middle = slopes[len(slopes) // 2]
        self.largest = 0.0
        for (rows, columns, by_rate), (at_row, at_column, by_state) in slopes:
            of_x = at_column < n
            places = np.concatenate([rows, at_row[~of_x]]), np.concatenate([columns, at_column[~of_x]])
            own = np.concatenate([by_rate, by_state[~of_x]])
            self._own.append(csr_matrix((own, places), shape=(size, size)))
            self._by_x.append(csr_matrix((by_state[of_x], (at_row[of_x], at_column[of_x])), shape=(size, n)))
            both = np.abs(own).max(initial=0.0), abs(h) * np.abs(self._A).max() * np.abs(by_state).max(initial=0.0)
            self.largest = max(self.largest, *map(float, both))
        self._turned = [(own.T, by_x.T) for own, by_x in zip(self._own, self._by_x)]

    def by_x_in_the_middle(self, y: np.ndarray, transposed: bool) -> np.ndarray:
        """h [F_X 0] y of the middle stage, or h [F_X 0]ᵀ y."""
        by_x, found = self._by_x[len(self._by_x) // 2], np.zeros_like(y)
        if transposed:
            found[: self._n] = self.h * (by_x.T @ y)
        else:
            found[:] = self.h * (by_x @ y[: self._n])
        return found

    def is_solved(self, found: np.ndarray, right: np.ndarray, transposed: bool) -> bool:
        """Whether a solution of M y = right, or Mᵀ y = right, is one."""
        rest = np.abs(right - self.times(found, transposed)).max(initial=0.0)
        return bool(rest <= GOOD * (self.largest * np.abs(found).max(initial=0.0) + np.abs(right).max(initial=0.0)))

    def solved_by(
        self, unknowns: np.ndarray, states: np.ndarray, noise: np.ndarray, residuals: np.ndarray, share: float
    ) -> bool:
        """Whether residuals are below a share of the terms of K, X, Z; noise: what of K rounding of x leaves open."""
        for own, by_x, K, X, F in zip(self._own, self._by_x, unknowns, states, residuals):
            terms = abs(own) @ (np.abs(K) + noise) + abs(by_x) @ np.abs(X)
            if not np.all(np.abs(F) <= share * terms):
                return False
        return True

    def times(self, y: np.ndarray, transposed: bool = False) -> np.ndarray:
        """M y, or Mᵀ y, (stages, size)."""
        n, h = self._n, self.h
        if not transposed:
            inside = h * self._A @ y[:, :n]
            return np.array([own @ part + by_x @ x for own, by_x, part, x in zip(self._own, self._by_x, y, inside)])
        found = np.array([own @ part for (own, _), part in zip(self._turned, y)])
        found[:, :n] += h * self._A.T @ np.array([by_x @ part for (_, by_x), part in zip(self._turned, y)])
        return found
