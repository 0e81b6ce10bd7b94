"""A motion between mesh points to nearly the accuracy that it has there, by Hermite's interpolation.

Mesh values of collocation at s Gauss points are accurate to order 2s, the polynomials between them to s + 1 (see
`collocation`). The equations give x' at the mesh points with the order of x, and the polynomial of degree seven through
x and x' at the four mesh points around an interval has order eight. Where the mesh is coarse beside a layer it may
miss the equations by more than the polynomial of the interval, which is then taken. Algebraic variables follow from x
by the equations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.algebra.newton_steps import full_newton, largest_entry
from daedalus.studies.collocation import TRIED, Collocation, MeshValues

# Mesh points that a polynomial goes through, and corrections of x' and z at them.
POINTS, CORRECTIONS = 4, 2


class BetweenMeshPoints(NamedTuple):
    """A motion on its mesh, x' at the mesh points, and where the polynomial through four of them is the better one."""

    collocation: Collocation
    mesh: np.ndarray
    values: MeshValues
    p: np.ndarray
    slopes: np.ndarray
    better: np.ndarray

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x and z at any times of the mesh."""
        x, _, z = self.values.between(self.mesh, times)
        k = np.clip(np.searchsorted(self.mesh, times, side="right") - 1, 0, len(self.mesh) - 2)
        chosen = self.better[k]
        if np.any(chosen):
            seen = times[chosen]
            x[chosen], rates = hermite(self.mesh, self.values.x, self.slopes, seen, k[chosen])
            if z.shape[1]:
                z[chosen] = determined(self.collocation, seen, rates, x[chosen], z[chosen], self.p)[1]
        return x, z


def between_mesh_points(
    collocation: Collocation, mesh: np.ndarray, values: MeshValues, p: np.ndarray
) -> BetweenMeshPoints:
    """What a motion is between its mesh points."""
    N, n = len(mesh) - 1, collocation.n
    nowhere = BetweenMeshPoints(collocation, mesh, values, p, np.zeros((N + 1, n)), np.zeros(N, dtype=bool))
    _, rates, z = values.between(mesh, mesh)
    slopes = determined(collocation, mesh, rates, values.x, z, p)[0]
    if POINTS > N + 1 or not np.all(np.isfinite(slopes)):
        return nowhere
    times = mesh[:-1, None] + np.diff(mesh)[:, None] * np.array(TRIED)
    every, k = times.ravel(), np.repeat(np.arange(N), len(TRIED))
    x, rates, z = values.between(mesh, every)
    size = np.maximum(np.abs(values.x).max(axis=0), collocation.system.nominal["x"])
    missed = []
    for motion in ((x, rates), hermite(mesh, values.x, slopes, every, k)):
        corrections = collocation.corrections(every, motion[1], motion[0], z, p)
        missed.append(np.abs(corrections[:, :n] / size).reshape(N, -1).max(axis=1))
    return nowhere._replace(slopes=slopes, better=missed[1] < missed[0])


def determined(
    collocation: Collocation, times: np.ndarray, rates: np.ndarray, x: np.ndarray, z: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """x' and z that obey the equations at given x, from values nearby; not finite where the equations end."""
    n = collocation.n

    def correction(y: np.ndarray) -> np.ndarray:
        return -collocation.corrections(times, y[:, :n], x, y[:, n:], p)

    y = full_newton(correction, np.hstack([rates, z]), largest_entry, most=CORRECTIONS, tolerance=0.0).values
    return (y[:, :n], y[:, n:]) if np.all(np.isfinite(y)) else (np.full_like(rates, np.nan), z)


def hermite(
    mesh: np.ndarray, x: np.ndarray, slopes: np.ndarray, times: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """x and x' at times in the intervals k, of the polynomials through x and x' at the four mesh points around each.

    Example
    -------
    >>> import numpy as np
    >>> mesh = np.array([0.0, 0.3, 0.5, 1.0])
    >>> value, slope = hermite(mesh, mesh[:, None] ** 7, 7 * mesh[:, None] ** 6, np.array([0.4]), np.array([1]))
    >>> round(float(value[0, 0] / 0.4**7), 12), round(float(slope[0, 0] / (7 * 0.4**6)), 12)
    (1.0, 1.0)
    """
    first = np.clip(k - (POINTS // 2 - 1), 0, len(mesh) - POINTS)
    nodes = first[:, None] + np.arange(POINTS)
    h = (mesh[first + POINTS - 1] - mesh[first])[:, None]
    t = (times[:, None] - mesh[first][:, None]) / h
    s = (mesh[nodes] - mesh[first][:, None]) / h
    gaps = s[:, :, None] - s[:, None, :] + np.eye(POINTS)
    others = ~np.eye(POINTS, dtype=bool)
    away = np.where(others, t[:, :, None] - s[:, None, :], 1.0)  # factors of each of Lagrange's polynomials
    lagrange = np.prod(np.where(others, away / gaps, 1.0), axis=2)
    own = np.sum(np.where(others, 1 / gaps, 0.0), axis=2)  # their derivatives where they are one
    slope = np.zeros_like(lagrange)
    for j in range(POINTS):
        kept = others.copy()
        kept[:, j] = False
        part = np.prod(np.where(kept, away / gaps, 1.0), axis=2) / gaps[:, :, j]
        slope += np.where(others[:, j], part, 0.0)
    square, moved = lagrange**2, t - s
    twice = 2 * lagrange * slope
    value = (1 - 2 * moved * own) * square, moved * square
    rate = -2 * own * square + (1 - 2 * moved * own) * twice, square + moved * twice
    near, turned = x[nodes], h[:, :, None] * slopes[nodes]
    found = [np.einsum("tj,tjn->tn", a, near) + np.einsum("tj,tjn->tn", b, turned) for a, b in (value, rate)]
    return found[0], found[1] / h
