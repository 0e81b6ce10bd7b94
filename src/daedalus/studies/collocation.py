"""Collocation at Gauss points: motions as polynomials between mesh points, and their equations as one sparse system.

With four Gauss points in an interval the mesh values are accurate to order eight (U. M. Ascher, J. Christiansen and R.
D. Russell, ACM TOMS 7, 1981; U. M. Ascher and L. R. Petzold, Computer Methods for ODEs and DAEs, 1998, chapters 8 and
10). The unknowns of an interval are x at its beginning, then x' and z at each of its points; x at the last mesh point
follows behind the last interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus._core import IntervalEquations
from daedalus.analysis.points.partial_derivatives import partial_derivatives
from daedalus.integrators.tableaux.collocation import gauss_legendre
from daedalus.model.lazy_values import cached_property
from daedalus.model.plain_numbers import result_at
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

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
    end. by_x: derivatives of the equations at the points by x there, (N, stages, rows, n). by_moved: the same by the
    chosen inputs, then by the chosen parameters.
    """

    residual: np.ndarray
    block: np.ndarray
    by_x: np.ndarray
    by_moved: np.ndarray


class Collocation:
    """The collocation equations of a system on any mesh; `inputs` are numbers or functions of time by name."""

    def __init__(self, system: System, inputs: Mapping[str, object]) -> None:
        self.system, self.inputs = system, dict(inputs)
        self.n, self.m = system.sizes["x"], system.sizes["z"]
        self.rows = self.n + self.m
        self.width, self.height = self.n + STAGES * self.rows, STAGES * self.rows + self.n
        self._derivatives = partial_derivatives(system)
        self.A, self.b, self.c = (np.asarray(part, dtype=float) for part in (_TABLE.A, _TABLE.b, _TABLE.c))

    def __reduce__(self) -> tuple[Any, ...]:
        return Collocation, (self.system, self.inputs)

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

    def moved(self, times: np.ndarray, unknowns: np.ndarray, finer: np.ndarray) -> np.ndarray:
        """The unknowns of the same motion on another mesh."""
        return self.kernel.moved(times, unknowns, finer)

    def inside(self, times: np.ndarray, values: MeshValues) -> np.ndarray:
        """(N, stages, n) x at the Gauss points."""
        h = np.diff(times)
        return np.asarray(values.x[:-1, None, :] + h[:, None, None] * np.einsum("jl,iln->ijn", self.A, values.rates))

    # -- equations ---------------------------------------------------------------------------------------------

    def driven(self, times: np.ndarray, held: Mapping[int, float] | None = None) -> np.ndarray:
        """The inputs at many times, (count, inputs), or those of all of them, (inputs,); `held` are by position."""
        varies = any(callable(value) for value in self.inputs.values())
        u = np.zeros((len(times) if varies else 1, self.system.sizes["u"]))
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
        return u if varies else u[0]

    def vectors(
        self, times: np.ndarray, rates: np.ndarray, x: np.ndarray, z: np.ndarray, p: np.ndarray,
        held: Mapping[int, float] | None = None,
    ) -> list[np.ndarray]:  # fmt: skip
        """What the equations take at many points; `held` are inputs by position."""
        parts = {"t": times[:, None], "xdot": rates, "x": x, "z": z, "u": self.driven(times, held), "p": p}
        return [np.ascontiguousarray(parts[letter]) for letter in ARGUMENTS]

    def evaluated(self, vectors: list[np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The equations at many points, and their derivatives by letter as full matrices."""
        return self._derivatives.equations_many(vectors)

    def corrections(
        self, times: np.ndarray, rates: np.ndarray, x: np.ndarray, z: np.ndarray, p: np.ndarray,
        held: Mapping[int, float] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """By how much x' and z miss the equations at many points, x held; the shortest where these leave some open."""
        residual, slopes = self.evaluated(self.vectors(times, rates, x, z, p, held))
        matrix = np.concatenate([slopes["xdot"], slopes["z"]], axis=2)
        try:
            return np.asarray(np.linalg.solve(matrix, residual[..., None])[..., 0])
        except np.linalg.LinAlgError:
            return np.array([np.linalg.lstsq(a, r, rcond=None)[0] for a, r in zip(matrix, residual)])

    def intervals(
        self, times: np.ndarray, unknowns: np.ndarray, p: np.ndarray, held: Mapping[int, float] | None = None,
        moved: Mapping[str, Sequence[int]] | None = None,
    ) -> IntervalRows:  # fmt: skip
        """The rows of all intervals and their derivatives, also by chosen entries of u and p: {"u": [], "p": [0]}."""
        chosen = moved or {}
        u = self.driven(self.points(times).ravel(), held)
        return IntervalRows(
            *self.kernel.rows(times, unknowns, u, p, list(chosen.get("u", ())), list(chosen.get("p", ())))
        )

    @cached_property
    def kernel(self) -> IntervalEquations:
        """The equations in the core."""
        return once(self.system, _interval_equations)

    def misses(
        self, times: np.ndarray, unknowns: np.ndarray, p: np.ndarray, rtol: float, atol: float | np.ndarray,
        held: Mapping[int, float] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """For every interval, by how many tolerances its step misses the equations between the Gauss points."""
        N, h, n = len(times) - 1, np.diff(times), self.n
        tried = times[:-1, None] + h[:, None] * _TRIED
        found = self.kernel.missed(times, unknowns, self.driven(tried.ravel(), held), p, _TRIED)
        if found is None:
            values, _ = self.split(unknowns, N)
            x, rates, z = values.between(times, tried.ravel())
            off = self.corrections(tried.ravel(), rates, x, z, p, held)[:, :n]
            found = off.reshape(N, len(_TRIED), n), x.reshape(N, len(_TRIED), n)
        off, inside = found
        first, last = unknowns[: N * self.width].reshape(N, -1)[:, :n], unknowns[N * self.width :][:n]
        sizes = np.maximum(np.abs(first).max(axis=0), np.abs(last))
        allowed = atol + rtol * np.maximum(np.abs(inside), 1e-3 * sizes)
        return np.asarray((np.abs(off) * h[:, None, None] / allowed).max(axis=(1, 2)))


def _interval_equations(system: System) -> IntervalEquations:
    """The collocation equations of a system in the core."""
    function, patterns = partial_derivatives(system).code
    return IntervalEquations(
        function.core, system.sizes["x"], system.sizes["z"], [pattern.get_triplet() for pattern in patterns],
        _TABLE.A, _TABLE.b, _TABLE.c, _COEFFICIENTS,
    )  # fmt: skip


def lagrange(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lagrange's polynomials of the Gauss points at shares of an interval, and their integrals from its beginning."""
    powers = np.vander(np.asarray(shares, dtype=float), STAGES)
    integrated = np.vander(np.asarray(shares, dtype=float), STAGES + 1)[:, :-1] / np.arange(STAGES, 0, -1)
    return powers @ _COEFFICIENTS.T, integrated @ _COEFFICIENTS.T


def cut(mesh: np.ndarray, pieces: Any) -> np.ndarray:
    """The mesh with each interval cut into so many pieces."""
    counts = np.broadcast_to(np.asarray(pieces, dtype=int), len(mesh) - 1)
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.append(np.repeat(mesh[:-1], counts) + within * np.repeat(np.diff(mesh) / counts, counts), mesh[-1])


_TABLE = gauss_legendre(STAGES)
# Coefficients of each polynomial, the highest power first.
_COEFFICIENTS = np.ascontiguousarray(np.linalg.inv(np.vander(np.asarray(_TABLE.c, dtype=float))).T)
_TRIED = np.array(TRIED)
