"""The equations of rest of a system, F(t, 0, x, z, u, p) = 0, as functions of the unknowns and of chosen parameters.

They are made square: rows that follow from others are joined with them, and directions that the equations leave open
(the place of a cart) are held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import FULL_RANK, SINGULAR
from daedalus.analysis.linear.pencils.pencil import pencil
from daedalus.analysis.points.complete_point import Entry
from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.studies.branches.rest_forms import CompiledEquations, RestForms

# Where x' and z follow from x by a matrix of at most this condition, eigenvalues come from that formula.
WELL_CONDITIONED = 1e8
# QR iterations take fewer sweeps on the inverse of a matrix of more rows than these: two to four times less time for
# spectra like those of diffusion. With this condition it keeps the digits that tell on which side of the axis one is.
FEW_ROWS, INVERTED = 75, 1e6
# Slopes that vanish at a point are those so far beside it, in sizes of the unknowns.
BESIDE = 0.1


# What a pickle holds: expressions and functions are made again of these.
_NUMBERS = ("system", "active", "nx", "n", "constants", "y", "a", "nominal", "_joined", "free")


class RestEquations:
    """F(t, 0, x, z, u, p) = 0 near a point of rest, in y = (x, z) and the `active` entries a of u and p.

    like: equations that were made square at a general point; at a special one the rank says nothing.
    """

    def __init__(
        self, system: System, point: OperatingPoint, active: Sequence[Entry], like: RestEquations | None = None
    ) -> None:
        self.system, self.active = system, tuple(active)
        self.nx, self.n = system.sizes["x"], system.sizes["x"] + system.sizes["z"]
        vectors = point.vectors
        self.constants = [vectors["t"], vectors["u"], vectors["p"]]
        self.y = np.concatenate([vectors["x"], vectors["z"]])
        self.a = np.array([vectors[letter][k] for letter, k in self.active])
        nominal = np.concatenate([system.nominal["x"], system.nominal["z"]])
        self.nominal = np.where(nominal > 0, nominal, 1.0)
        if like is None:
            self._joined, self.free = self._ranks()
        else:
            self._joined, self.free = like._joined, like.free

    @cached_property
    def forms(self) -> RestForms:
        """The equations as expressions; those of rows as they are written are kept with the system."""
        if self._joined is None:
            return once(self.system, RestForms, self.active)
        return RestForms(self.system, self.active, (self._joined, self.free.T / self._sizes(), self.y))

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in _NUMBERS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def _sizes(self) -> np.ndarray:
        return np.maximum(self.nominal, np.abs(self.y))

    def _ranks(self) -> tuple[np.ndarray | None, np.ndarray]:
        """Independent combinations of the rows, None for the rows as they are, and directions that they leave free."""
        forms = once(self.system, RestForms, self.active)
        rows, nothing = int(forms.rest.numel()), np.zeros((self.n, 0))
        if rows == self.n > FULL_RANK:
            return None, nothing
        matrix = forms.slopes(self.y, self.a, *self.constants).full() * self._sizes()
        scale = np.abs(matrix).max(axis=1, initial=0.0)
        scale = np.where(scale > 0, scale, 1.0)[:, None]
        left, values, right = np.linalg.svd(matrix / scale)
        rank = int(np.sum(values > SINGULAR * values[0])) if values.size else 0
        if rows == self.n == rank:
            return None, nothing
        return (left[:, :rank] / scale).T, right[rank:].T

    def all_rows(self, left: np.ndarray) -> np.ndarray:
        """A left vector of the square equations as one of all rows as they are written."""
        return left if self._joined is None else self._joined.T @ left[: len(self._joined)]

    # -- functions ---------------------------------------------------------------------------------------------

    @property
    def branch(self) -> CompiledEquations:
        """G(y, a) = 0 in Y = (y, a)."""
        return self.forms.branch

    def pencil(self, y: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E and A of E δ' = A δ around a point of rest, δ = (δx, δz); all rows, those of what is kept last."""
        by_rates, by_y = self.forms.linear(y, a, *self.constants)
        rows = int(self.forms.rest.numel())
        E = np.zeros((rows, self.n))
        E[:, : self.nx] = by_rates.reshape(self.nx, rows).T
        return E, -by_y.reshape(self.n, rows).T

    def scales(self, y: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sizes of the equations as written, and of the unknowns.

        At a special point all slopes of an equation may vanish, as those of 0 = z (z - a): its size is that beside it.
        """
        size = np.maximum(self.nominal, np.abs(y))
        beside = y + BESIDE * size * np.cos(np.arange(self.n, dtype=float))
        slopes = [np.abs(matrix * size) for at in (y, beside) for matrix in self.pencil(at, a)]
        rows = np.nan_to_num(slopes, nan=0.0, posinf=0.0).max(axis=(0, 2), initial=0.0)
        return np.where(rows > 0, rows, 1.0)[: self.forms.own], size

    def square_scales(self, y: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for the square equations; those that were joined have the size one already."""
        rows, size = self.scales(y, a)
        return (rows, size) if self._joined is None else (np.ones(self.n), size)

    def eigenvalues(self, y: np.ndarray, a: np.ndarray) -> np.ndarray:
        """The finite eigenvalues of the pencil of the equations as written."""
        E, A = self.pencil(y, a)
        return finite_eigenvalues(E[: self.forms.own], A[: self.forms.own], self.nx)

    def direction(self, y: np.ndarray, rate: complex = 0.0, a: np.ndarray | None = None) -> np.ndarray:
        """A direction (x', y, a) in which y moves as exp(rate t)."""
        moved = np.zeros(len(self.active)) if a is None else a
        return np.concatenate([rate * y[: self.nx], y, moved])

    def second(self, y: np.ndarray, a: np.ndarray, first: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The second derivative of all rows along two directions, which may be complex."""
        total = np.zeros(int(self.forms.rest.numel()), complex)
        for one, factor in _parts(first):
            for two, more in _parts(other):
                total += factor * more * self.forms.second(y, a, *self.constants, one, two)[0]
        return total

    def third(self, y: np.ndarray, a: np.ndarray, directions: Sequence[np.ndarray]) -> np.ndarray:
        """The third derivative of all rows along three directions, which may be complex."""
        total = np.zeros(int(self.forms.rest.numel()), complex)
        for one, f in _parts(directions[0]):
            for two, g in _parts(directions[1]):
                for three, h in _parts(directions[2]):
                    total += f * g * h * self.forms.third(y, a, *self.constants, one, two, three)[0]
        return total

    # -- points ------------------------------------------------------------------------------------------------

    def vectors(self, y: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
        """All values at a point of rest."""
        t, u, p = (np.array(value) for value in self.constants)
        found = {"t": t, "xdot": np.zeros(self.nx), "x": y[: self.nx], "z": y[self.nx :], "u": u, "p": p}
        for (letter, k), value in zip(self.active, a):
            found[letter][k] = value
        return found

    def point(self, y: np.ndarray, a: np.ndarray) -> OperatingPoint:
        """The point by name."""
        return OperatingPoint(self.system, self.vectors(y, a))


def _parts(direction: np.ndarray) -> list[tuple[np.ndarray, complex]]:
    """The real and imaginary parts that are not zero, with their factors."""
    real, imaginary = np.ascontiguousarray(direction.real), np.ascontiguousarray(direction.imag)
    parts: list[tuple[np.ndarray, complex]] = [(real, 1.0)]
    if np.iscomplexobj(direction) and np.any(imaginary):
        parts.append((imaginary, 1.0j))
    return parts


def finite_eigenvalues(E: np.ndarray, A: np.ndarray, states: int) -> np.ndarray:
    """The finite eigenvalues of s E - A, where the first columns are those of states and E has no others."""
    from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

    if E.shape[0] == E.shape[1]:
        diagonal = E.diagonal()
        if np.all(diagonal != 0) and np.count_nonzero(E) == len(E) == states:
            return eigenvalues_of(A / diagonal[:, None])
        matrix = np.hstack([E[:, :states], -A[:, states:]])
        rows = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), np.abs(A).max(axis=1, initial=0.0))
        rows = np.where(rows > 0, rows, 1.0)
        columns = np.abs(matrix / rows[:, None]).max(axis=0, initial=0.0)
        if np.all(columns > 0):
            scaled = matrix / rows[:, None] / columns
            factors, swaps, _ = dgetrf(scaled)
            reciprocal, _ = dgecon(factors, np.abs(scaled).sum(axis=0).max(initial=0.0))
            if reciprocal * WELL_CONDITIONED > 1:
                slopes, _ = dgetrs(factors, swaps, A[:, :states] / rows[:, None])
                return eigenvalues_of((slopes / columns[:, None])[:states])
    found = pencil(E, A)
    return np.asarray(found.finite)


def eigenvalues_of(matrix: np.ndarray) -> np.ndarray:
    """All eigenvalues of a square matrix; those of a larger one from its inverse where this loses nothing that counts.

    Rounding moves an eigenvalue 1/λ of the inverse by ε ‖A⁻¹‖ and so λ by ε ‖A⁻¹‖ |λ|²: less than by ε ‖A‖ for the
    smaller ones, which are those near the imaginary axis, and at most by the share ε ‖A‖ ‖A⁻¹‖ of ‖A‖.

    Example
    -------
    >>> import numpy as np
    >>> n = 100
    >>> diffusion = np.eye(n, k=1) + np.eye(n, k=-1) - 2 * np.eye(n)
    >>> exact = -4 * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1))) ** 2
    >>> bool(np.allclose(np.sort(eigenvalues_of(diffusion)), np.sort(exact), rtol=1e-11))
    True
    """
    if len(matrix) > FEW_ROWS:
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            return np.linalg.eigvals(matrix)
        if np.linalg.norm(matrix, 1) * np.linalg.norm(inverse, 1) < INVERTED:
            return np.asarray(1 / np.linalg.eigvals(inverse))
    return np.linalg.eigvals(matrix)
