"""Linear systems of all stages of an implicit Runge–Kutta step, solved through the eigenvalues of its matrix A.

With [F_K F_Z]_i and F_X,i at the stages i the matrix of a step is

    M = diag([F_K F_Z]_i) + h (a_ij [F_X,i 0])_ij

and with the slopes of one stage in all of them, P = I ⊗ [F_K F_Z] + h A ⊗ [F_X 0]. A = T diag(μ) T⁻¹ takes P apart into
one system [F_K F_Z] + h μ [F_X 0] of the size of a stage for each eigenvalue, of a conjugate pair one (J. C. Butcher,
On the implementation of implicit Runge–Kutta methods, BIT 16, 1976). Slopes change little over a step, so that

    y <- y + P⁻¹ (r - M y)

converges in a few sweeps; the answer is that of M, by its own residual.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.sparse_factors import SparseFactors
from daedalus.differentiation.steps.residual_pullback import Entries

# Eigenvectors of A further from independent than this would cost digits; SDIRK methods have none at all.
INDEPENDENT = 1e6
# The residual of an answer, as a share of |M| |y| + |r|: what rounding leaves, and what is still an answer where
# sweeps gain no more.
SOLVED_TO, GOOD = 1e-15, 1e-11
# Sweeps that shrink the residual less than this do not converge soon enough to be worth it.
LEAST_GAIN, MOST_SWEEPS = 0.5, 40

Slopes = tuple[Entries, Entries]  # F_x' and F_(x, z) at a stage


class StageSystems:
    """Solves with the matrices of the steps of one system by one tableau; `possible` where A has eigenvectors."""

    def __init__(self, A: np.ndarray, n: int, size: int) -> None:
        self.A, self.n, self.size = np.asarray(A, float), n, size
        values, vectors = np.linalg.eig(self.A)
        self.possible = bool(np.linalg.cond(vectors) < INDEPENDENT)
        if not self.possible:
            return
        chosen = values.imag >= 0
        self._values, self._right, self._left = values[chosen], vectors[:, chosen], np.linalg.inv(vectors)[chosen]
        self._factors: list[SparseFactors] = []
        self._frozen_at: Slopes | None = None

    def thaw(self) -> None:
        """Forget P: another step begins."""
        self._frozen_at = None

    def _freeze(self, h: float, slopes: Slopes) -> bool:
        """Take P at the slopes of one stage; False where it cannot be factorised."""
        self._frozen_at = slopes
        (rows, columns, by_rate), (at_row, at_column, by_state) = slopes
        if not self._factors:
            places = np.concatenate([rows, at_row]), np.concatenate([columns, at_column])
            self._factors = [SparseFactors(self.size, *places, bool(mu.imag)) for mu in self._values]
        of_x = at_column < self.n
        return all(
            factors.factor(np.concatenate([by_rate, np.where(of_x, h * (mu if mu.imag else mu.real), 1.0) * by_state]))
            for factors, mu in zip(self._factors, self._values)
        )

    def solve(self, matrix: StepMatrix, right: np.ndarray, transposed: bool) -> np.ndarray | None:
        """M⁻¹ right, or M⁻ᵀ right, (stages, size); None where sweeps with P do not lead there.

        P is that of the first matrix of a step, taken anew where the sweeps of a later one do not converge.
        """
        if not self.possible:
            return None
        if self._frozen_at is not None:
            found = self._swept(matrix, right, transposed)
            if found is not None or self._frozen_at is matrix.middle:
                return found
        return self._swept(matrix, right, transposed) if self._freeze(matrix.h, matrix.middle) else None

    def _swept(self, matrix: StepMatrix, right: np.ndarray, transposed: bool) -> np.ndarray | None:
        found, before = np.zeros_like(right), np.inf
        for _ in range(MOST_SWEEPS):
            rest = right - matrix.times(found, transposed)
            size = float(np.abs(rest).max(initial=0.0))
            scale = float(matrix.largest * np.abs(found).max(initial=0.0) + np.abs(right).max(initial=0.0))
            if size <= SOLVED_TO * scale or (size <= GOOD * scale and not size <= LEAST_GAIN * before):
                return found
            if not size <= LEAST_GAIN * before:
                return None
            found, before = found + self._frozen(rest, transposed), size
        return None

    def _frozen(self, right: np.ndarray, transposed: bool) -> np.ndarray:
        """P⁻¹ right, or P⁻ᵀ right."""
        into, out = (self._right.T, self._left.T) if transposed else (self._left, self._right)
        found = np.zeros_like(right)
        for k, (factors, mu) in enumerate(zip(self._factors, self._values)):
            if mu.imag:
                found += 2 * np.outer(out[:, k], factors.solve(into[k] @ right, transposed)).real
            else:
                found += np.outer(out[:, k].real, factors.solve(into[k].real @ right, transposed))
        return found


class StepMatrix:
    """M of one step from the slopes at its stages, to multiply with."""

    def __init__(self, A: np.ndarray, h: float, n: int, size: int, slopes: list[Slopes]) -> None:
        from scipy.sparse import csr_matrix

        self._A, self.h, self._n, self._own, self._by_x = np.asarray(A, float), h, n, [], []
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

    def times(self, y: np.ndarray, transposed: bool = False) -> np.ndarray:
        """M y, or Mᵀ y, (stages, size)."""
        n, h = self._n, self.h
        if not transposed:
            inside = h * self._A @ y[:, :n]
            return np.array([own @ part + by_x @ x for own, by_x, part, x in zip(self._own, self._by_x, y, inside)])
        found = np.array([own.T @ part for own, part in zip(self._own, y)])
        found[:, :n] += h * self._A.T @ np.array([by_x.T @ part for by_x, part in zip(self._by_x, y)])
        return found
