"""Collocation at Gauss points: motions as polynomials between mesh points, and their equations as one sparse system.

With four Gauss points in an interval the mesh values are accurate to order eight (U. M. Ascher, J. Christiansen and R.
D. Russell, ACM TOMS 7, 1981; U. M. Ascher and L. R. Petzold, Computer Methods for ODEs and DAEs, 1998, chapters 8 and
10). The unknowns of an interval are x at its beginning, then x' and z at each of its points; x at the last mesh point
follows behind the last interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.analysis.points.partial_derivatives import full_matrix, partial_derivatives
from daedalus.integrators.tableaux.collocation import gauss_legendre
from daedalus.model.plain_numbers import result_at
from daedalus.model.system.system import System
from daedalus.model.system.system_record import LETTERS

# Gauss points of an interval.
STAGES = 4
# Where in an interval the equations are tried, between the points where they hold.
TRIED = (0.02, 0.2, 0.5, 0.8, 0.98)


@dataclass(frozen=True, eq=False)
class MeshValues:
    """A motion on a mesh of N intervals: x (N + 1, n), x' (N, stages, n) and z (N, stages, m) at the Gauss points."""

    x: np.ndarray
    rates: np.ndarray
    z: np.ndarray

    def between(self, times: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, x' and z at any times; `times` is the mesh."""
        k = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
        h = np.diff(times)[k]
        values, integrals = lagrange((at - times[k]) / h)
        x = self.x[k] + h[:, None] * np.einsum("ts,tsn->tn", integrals, self.rates[k])
        rates = np.einsum("ts,tsn->tn", values, self.rates[k])
        return x, rates, np.einsum("ts,tsm->tm", values, self.z[k])


@dataclass(frozen=True, eq=False)
class IntervalRows:
    """The rows of all intervals: equations at the points, then x_{i+1} = x_i + h Σ b x'.

    residual: (N, height). block: (N, height, width + n), derivatives by the unknowns of the interval and by x at its
    end. slopes: derivatives of the equations at the points by letter, (N, stages, rows, ·).
    """

    residual: np.ndarray
    block: np.ndarray
    slopes: Mapping[str, np.ndarray]


class Collocation:
    """The collocation equations of a system on any mesh; `inputs` are numbers or functions of time by name."""

    def __init__(self, system: System, inputs: Mapping[str, object]) -> None:
        self.system, self.inputs = system, dict(inputs)
        self.n, self.m = system.sizes["x"], system.sizes["z"]
        self.rows = self.n + self.m
        self.width, self.height = self.n + STAGES * self.rows, STAGES * self.rows + self.n
        self._derivatives = partial_derivatives(system)
        table = gauss_legendre(STAGES)
        self.A, self.b, self.c = (np.asarray(part, dtype=float) for part in (table.A, table.b, table.c))

    # -- unknowns ----------------------------------------------------------------------------------------------

    def points(self, times: np.ndarray) -> np.ndarray:
        """(N, stages) times of the Gauss points."""
        return np.asarray(times[:-1, None] + np.diff(times)[:, None] * self.c)

    def joined(self, values: MeshValues) -> np.ndarray:
        """All unknowns as one vector."""
        inner = np.concatenate([values.rates, values.z], axis=2).reshape(len(values.rates), -1)
        return np.concatenate([np.concatenate([values.x[:-1], inner], axis=1).ravel(), values.x[-1]])

    def split(self, unknowns: np.ndarray, N: int) -> tuple[MeshValues, np.ndarray]:
        """The motion that a vector holds, and what stands behind it."""
        n, block = self.n, unknowns[: N * self.width].reshape(N, self.width)
        inner = block[:, n:].reshape(N, STAGES, self.rows)
        rest = unknowns[N * self.width :]
        return MeshValues(np.vstack([block[:, :n], rest[:n]]), inner[:, :, :n], inner[:, :, n:]), rest[n:]

    def moved(self, times: np.ndarray, values: MeshValues, finer: np.ndarray) -> MeshValues:
        """The same motion on another mesh."""
        shape = len(finer) - 1, STAGES
        _, rates, z = values.between(times, self.points(finer).ravel())
        x = values.between(times, finer)[0]
        return MeshValues(x, rates.reshape(*shape, self.n), z.reshape(*shape, self.m))

    def inside(self, times: np.ndarray, values: MeshValues) -> np.ndarray:
        """(N, stages, n) x at the Gauss points."""
        h = np.diff(times)
        return np.asarray(values.x[:-1, None, :] + h[:, None, None] * np.einsum("jl,iln->ijn", self.A, values.rates))

    # -- equations ---------------------------------------------------------------------------------------------

    def vectors(
        self, times: np.ndarray, rates: np.ndarray, x: np.ndarray, z: np.ndarray, p: np.ndarray,
        held: Mapping[int, float] | None = None,
    ) -> list[np.ndarray]:  # fmt: skip
        """What the equations take at many points; `held` are inputs by position."""
        count = len(times)
        u = np.zeros((count, self.system.sizes["u"]))
        for name, value in self.inputs.items():
            place = self.system.place(name)
            if not callable(value):
                u[:, place.positions] = np.asarray(value, dtype=float).ravel(order="F")
                continue
            for k, t in enumerate(times):
                here = result_at(value, float(t), name, "a number, or a function of time")
                u[k, place.positions] = np.asarray(here, dtype=float).ravel(order="F")
        for position, number in (held or {}).items():
            u[:, position] = number
        parts = {"t": times[:, None], "xdot": rates, "x": x, "z": z, "u": u, "p": np.tile(p, (count, 1))}
        return [np.ascontiguousarray(parts[letter]) for letter in ("t", *LETTERS)]

    def evaluated(self, vectors: list[np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The equations at many points, and their derivatives by letter as full matrices."""
        function, patterns = self._derivatives._equations
        value, *nonzeros = function.core.evaluate_many(*vectors)
        return value, dict(zip(LETTERS, map(full_matrix, patterns, nonzeros)))

    def intervals(
        self, times: np.ndarray, values: MeshValues, p: np.ndarray, held: Mapping[int, float] | None = None
    ) -> IntervalRows:
        """The rows of all intervals and their derivatives."""
        N, s, n, q = len(times) - 1, STAGES, self.n, self.rows
        h = np.diff(times)
        points = N * s
        residual, slopes = self.evaluated(
            self.vectors(
                self.points(times).ravel(), values.rates.reshape(points, n),
                self.inside(times, values).reshape(points, n), values.z.reshape(points, self.m), p, held,
            )
        )  # fmt: skip
        by = {letter: slope.reshape(N, s, q, -1) for letter, slope in slopes.items()}
        block = np.zeros((N, self.height, self.width + n))
        for j in range(s):
            rows = slice(j * q, (j + 1) * q)
            block[:, rows, :n] = by["x"][:, j]
            for k in range(s):
                first = n + k * q
                block[:, rows, first : first + n] = h[:, None, None] * self.A[j, k] * by["x"][:, j]
            first = n + j * q
            block[:, rows, first : first + n] += by["xdot"][:, j]
            block[:, rows, first + n : first + q] = by["z"][:, j]
        eye = np.eye(n)
        block[:, s * q :, :n] = eye
        block[:, s * q :, self.width :] = -eye
        for k in range(s):
            first = n + k * q
            block[:, s * q :, first : first + n] = h[:, None, None] * self.b[k] * eye
        joins = values.x[:-1] + h[:, None] * np.einsum("l,iln->in", self.b, values.rates) - values.x[1:]
        return IntervalRows(np.concatenate([residual.reshape(N, -1), joins], axis=1), block, by)

    def triplets(self, block: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The derivatives of all intervals as entries of a sparse matrix: values, rows, columns."""
        first = np.arange(len(block))[:, None, None]
        rows = np.broadcast_to(first * self.height + np.arange(self.height)[None, :, None], block.shape)
        columns = np.broadcast_to(first * self.width + np.arange(self.width + self.n)[None, None, :], block.shape)
        there = block != 0
        return block[there], rows[there], columns[there]

    def misses(
        self, times: np.ndarray, values: MeshValues, p: np.ndarray, rtol: float, atol: float | np.ndarray,
        held: Mapping[int, float] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """For every interval, by how many tolerances its step misses the equations between the Gauss points."""
        N, h, n, m = len(times) - 1, np.diff(times), self.n, self.m
        shares = np.array(TRIED)
        polynomial, integral = lagrange(shares)
        between = np.einsum("ts,isn->itn", polynomial, values.rates)
        inside = values.x[:-1, None] + h[:, None, None] * np.einsum("ts,isn->itn", integral, values.rates)
        algebraic = np.einsum("ts,ism->itm", polynomial, values.z)
        tried = times[:-1, None] + h[:, None] * shares
        k = tried.size
        residual, slopes = self.evaluated(
            self.vectors(tried.ravel(), between.reshape(k, n), inside.reshape(k, n), algebraic.reshape(k, m), p, held)
        )
        matrix = np.concatenate([slopes["xdot"], slopes["z"]], axis=2)
        try:
            off = np.linalg.solve(matrix, residual[..., None])[:, :n, 0]
        except np.linalg.LinAlgError:
            off = np.array([np.linalg.lstsq(a, r, rcond=None)[0][:n] for a, r in zip(matrix, residual)])
        off = np.abs(off.reshape(N, len(shares), n)) * h[:, None, None]
        sizes = np.abs(values.x).max(axis=0)
        allowed = atol + rtol * np.maximum(np.abs(inside), 1e-3 * sizes)
        return np.asarray((off / allowed).max(axis=(1, 2)))


def lagrange(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lagrange's polynomials of the Gauss points at shares of an interval, and their integrals from its beginning."""
    powers = np.vander(np.asarray(shares, dtype=float), STAGES)
    integrated = np.vander(np.asarray(shares, dtype=float), STAGES + 1)[:, :-1] / np.arange(STAGES, 0, -1)
    return powers @ _COEFFICIENTS.T, integrated @ _COEFFICIENTS.T


def cut(mesh: np.ndarray, pieces: Any) -> np.ndarray:
    """The mesh with each interval cut into so many pieces."""
    parts = [
        np.linspace(a, b, k + 1)[:-1] for a, b, k in zip(mesh[:-1], mesh[1:], np.broadcast_to(pieces, len(mesh) - 1))
    ]
    return np.append(np.concatenate(parts), mesh[-1])


# Coefficients of each polynomial, the highest power first.
_COEFFICIENTS = np.linalg.inv(np.vander(np.asarray(gauss_legendre(STAGES).c, dtype=float))).T
