"""Mass, centre and inertia of a solid by integration: M = ∫ (rᵀr I − r rᵀ) ρ dV over inequalities or a closed mesh.

A solid by inequalities is summed over rays from a point in its midst, in spherical elements (document 002)
dV = ρ² sin φ dρ dφ dθ: where a ray leaves and enters is found by bisection, and cells of directions are halved where
two rules of Gauss disagree. The moments of a closed mesh are those of the tetrahedra from the origin to its triangles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from daedalus.errors import InputError

Numbers = np.ndarray
Inside = Callable[[Numbers, Numbers, Numbers], Numbers]
# Rules of Gauss: along rays (exact for a constant density), and in each direction across a cell of directions.
ALONG, RULE = np.polynomial.legendre.leggauss(6), np.polynomial.legendre.leggauss(6)
# Cells from pole to pole at first, how often they are halved where they disagree by this share, and cells at a time.
CELLS, HALVINGS, AGREE, BATCH = 4, 5, 1e-7, 256
# Bisections of an end, and points of the coarse grid along an axis.
BISECTIONS, COARSE = 44, 24
# 1, x, y, z, xx, yy, zz, xy, xz, yz
MOMENTS = 10


class MassProperties(NamedTuple):
    """What `dd.inertia.of` returns.

    Example
    -------
    >>> import daedalus as dd
    >>> ball = dd.inertia.of(1.0, lambda x, y, z: x**2 + y**2 + z**2 <= 1, box=[(-1, 1)] * 3)
    >>> round(ball.volume, 6), round(float(ball.inertia[0, 0]), 6)
    (4.18879, 1.675516)
    """

    mass: float
    """kg"""
    centre: Numbers
    """centre of mass, m"""
    inertia: Numbers
    """about the centre of mass, kg m²"""
    volume: float
    """m³"""


def of(density: Any, shape: Any, box: Any = None, resolution: int = 32) -> MassProperties:
    """Mass, centre of mass and inertia about it of a solid.

    Parameters
    ----------
    density: kg/m³, a number, or a function of arrays x, y, z (for inequalities).
    shape: which points belong to it, one function of arrays x, y, z or a list of functions that must all hold, each
        giving True inside (`x**2 + y**2 <= 1`) or a number that is negative or zero there; or a closed mesh of
        triangles, (vertices (n, 3), triangles (k, 3)), or anything with `vertices` and `faces`.
    box: for inequalities, ((x0, x1), (y0, y1), (z0, z1)) around the solid.
    resolution: the number of sections of a ray through the box, used to find where it enters and leaves; thinner walls
        are missed.

    The error is about 1e-6 for star-shaped solids and 1e-4 for hollow ones; meshes are exact.

    Example
    -------
    >>> import daedalus as dd
    >>> dome = dd.inertia.of(3.0, [lambda x, y, z: x**2 + y**2 + z**2 <= 1, lambda x, y, z: z >= 0],
    ...                      box=[(-1, 1), (-1, 1), (0, 1)], resolution=12)
    >>> round(dome.mass, 3), round(float(dome.centre[2]), 3)
    (6.283, 0.375)
    """
    if callable(shape) or (isinstance(shape, (list, tuple)) and shape and all(callable(part) for part in shape)):
        conditions = [shape] if callable(shape) else list(shape)
        weight = density if callable(density) else _number(density)
        moments = _Solid(conditions, weight, _box(box), _whole(resolution)).moments()
        volume = moments if not callable(density) else _Solid(conditions, 1.0, _box(box), _whole(resolution)).moments()
        return _properties(moments, volume[0] / (1.0 if callable(density) else _number(density)))
    if callable(density):
        raise InputError(
            "A mesh takes a density that is one number.",
            because="its moments are exact polynomials of its corners.",
            remedy="inequalities and a box for a density that varies",
        )
    moments = mesh_moments(*_mesh(shape))
    return _properties(_number(density) * moments, moments[0])


def _properties(moments: Numbers, volume: float) -> MassProperties:
    mass = moments[0]
    if not mass > 0:
        raise _empty(mass)
    centre = moments[1:4] / mass
    xx, yy, zz, xy, xz, yz = moments[4:] - mass * np.array(
        [centre[i] * centre[j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    )
    inertia = np.array([[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]])
    return MassProperties(float(mass), centre, inertia, float(volume))


def _empty(mass: float) -> InputError:
    return InputError(
        "The solid is empty.",
        f"its mass is {mass:.3g}",
        because="no point of the box belongs to it, or the density is zero.",
        remedy="a box around the solid, as narrow as possible",
    )


# -- inequalities ----------------------------------------------------------------------------------------------


class _Solid:
    """Conditions, density and box, seen from a point in its midst; `moments()` integrates over rays."""

    def __init__(self, conditions: list[Inside], density: Any, box: Numbers, resolution: int) -> None:
        self.conditions, self.density, self.box, self.resolution = conditions, density, box, resolution
        self.origin = self._middle()

    def inside(self, points: Numbers) -> Numbers:
        """Which points (..., 3) belong to the solid."""
        found = np.all((points >= self.box[:, 0]) & (points <= self.box[:, 1]), axis=-1)
        for condition in self.conditions:
            value = np.asarray(condition(points[..., 0], points[..., 1], points[..., 2]))
            found = found & (value if value.dtype == bool else value <= 0)
        return found

    def _middle(self) -> Numbers:
        """Where rays begin: the mean of the points of a coarse grid that belong to the solid."""
        axes = [low + (high - low) * (np.arange(COARSE) + 0.5) / COARSE for low, high in self.box]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        own = grid[self.inside(grid)]
        if not len(own):
            raise _empty(0.0)
        # A little off, so that no edge of the solid is looked along.
        return own.mean(axis=0) + 1e-3 * (self.box[:, 1] - self.box[:, 0]) * np.array([0.31, -0.17, 0.23])

    def moments(self) -> Numbers:
        """The ten moments, over directions with cos φ in (-1, 1) and θ in (0, 2π), cells halved where they disagree."""
        across, around = np.linspace(-1.0, 1.0, CELLS + 1), np.linspace(0.0, 2 * np.pi, 2 * CELLS + 1)
        low = np.stack(np.meshgrid(across[:-1], around[:-1], indexing="ij"), axis=-1).reshape(-1, 2)
        size = np.array([2.0 / CELLS, np.pi / CELLS])
        whole = self._cells(low, size)
        scale, done = np.abs(whole.sum(axis=0)).max(), np.zeros(MOMENTS)
        for _ in range(HALVINGS):
            size = size / 2
            corners = (low[:, None] + size * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).reshape(-1, 2)
            parts = self._cells(corners, size)
            sums = parts.reshape(-1, 4, MOMENTS).sum(axis=1)
            open_ = np.abs(sums - whole).max(axis=1) > AGREE * scale
            done = done + sums[~open_].sum(axis=0)
            keep = np.repeat(open_, 4)
            low, whole = corners[keep], parts[keep]
            if not len(low):
                break
        return done + whole.sum(axis=0)

    def _cells(self, low: Numbers, size: Numbers) -> Numbers:
        """The moments over cells of directions, (k, 10)."""
        nodes, weights = RULE
        found = np.empty((len(low), MOMENTS))
        for first in range(0, len(low), BATCH):
            own = low[first : first + BATCH]
            across = own[:, 0, None, None] + size[0] * 0.5 * (nodes[None, :, None] + 1)
            around = own[:, 1, None, None] + size[1] * 0.5 * (nodes[None, None, :] + 1)
            across, around = np.broadcast_arrays(across, around)
            sine = np.sqrt(1 - across**2)
            rays = np.stack([sine * np.cos(around), sine * np.sin(around), across], axis=-1)
            values = self.rays(rays.reshape(-1, 3)).reshape(len(own), -1, MOMENTS)
            found[first : first + BATCH] = (
                0.25 * size.prod() * np.einsum("q,kqm->km", np.outer(weights, weights).ravel(), values)
            )
        return found

    def rays(self, rays: Numbers) -> Numbers:
        """∫ (1, r, r rᵀ) ρ² dρ along rays (k, 3) of length one, about the origin of all coordinates, (k, 10)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            walls = np.max((self.box.T[:, None] - self.origin) / rays, axis=0)
        reach = np.min(walls, axis=1)
        place = reach[:, None] * (np.arange(self.resolution) + 0.5) / self.resolution
        known = self.inside(self.origin + place[..., None] * rays[:, None])
        padded = np.pad(known, ((0, 0), (1, 1)), mode="edge")
        padded[:, -1] = False
        row, at = np.nonzero(padded[:, 1:] != padded[:, :-1])
        whole = np.concatenate([np.zeros((len(rays), 1)), place, reach[:, None]], axis=1)
        near, far, before = whole[row, at], whole[row, at + 1], padded[row, at]
        for _ in range(BISECTIONS):
            middle = 0.5 * (near + far)
            same = self.inside(self.origin + middle[:, None] * rays[row]) == before
            near, far = np.where(same, middle, near), np.where(same, far, middle)
        ends, sign = 0.5 * (near + far), np.where(before, 1.0, -1.0)
        return self._summed(rays, row, ends, sign)

    def _summed(self, rays: Numbers, row: Numbers, ends: Numbers, sign: Numbers) -> Numbers:
        """From the origin to every end, ways out counted positive and ways in negative."""
        nodes, weights = ALONG
        half = 0.5 * ends[:, None]
        distance = half * (1 + nodes)
        points = self.origin + distance[..., None] * rays[row][:, None]
        x, y, z = np.moveaxis(points, -1, 0)
        mass = sign[:, None] * half * weights * distance**2
        mass = mass * (self.density(x, y, z) if callable(self.density) else self.density)
        powers = (np.ones_like(x), x, y, z, x * x, y * y, z * z, x * y, x * z, y * z)
        found = np.zeros((len(rays), MOMENTS))
        np.add.at(found, row, np.stack([np.sum(mass * power, axis=1) for power in powers], axis=1))
        return found


# -- meshes ----------------------------------------------------------------------------------------------------


def mesh_moments(vertices: Numbers, triangles: Numbers) -> Numbers:
    """The ten moments of a closed mesh, exact: sums over tetrahedra from the origin to the triangles."""
    corners = vertices[triangles]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    total = corners.sum(axis=1)
    # ∫ x_i x_j over a tetrahedron with one corner in the origin: V/20 (Σ x_i Σ x_j + Σ x_i x_j).
    second = (np.einsum("ti,tj->tij", total, total) + np.einsum("tki,tkj->tij", corners, corners)) / 20
    first = np.einsum("t,ti->i", volume, total) / 4
    whole = np.einsum("t,tij->ij", volume, second)
    pairs = [whole[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    found = np.array([volume.sum(), *first, *pairs])
    return found if found[0] > 0 else -found  # triangles that look inwards


def _mesh(shape: Any) -> tuple[Numbers, Numbers]:
    parts = (shape.vertices, shape.faces) if hasattr(shape, "vertices") and hasattr(shape, "faces") else shape
    try:
        vertices, triangles = parts
        points, corners = np.array(vertices, dtype=float), np.array(triangles, dtype=int)
        fits = points.ndim == 2 and points.shape[1] == 3 and corners.ndim == 2 and corners.shape[1] == 3
        fits = fits and len(corners) > 3 and corners.min() >= 0 and corners.max() < len(points)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise InputError(
            "The shape is neither inequalities nor a mesh.",
            f"got {type(shape).__name__}",
            because="a solid is given by functions of x, y, z, or by vertices (n, 3) and triangles (k, 3).",
            remedy="dd.inertia.of(1000.0, lambda x, y, z: x**2 + y**2 + z**2 <= 1, box=[(-1, 1)] * 3)",
        )
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    there = {(int(a), int(b)) for a, b in edges}
    open_ = sum((b, a) not in there for a, b in there)
    if open_ or len(there) != len(edges):
        raise InputError(
            "The mesh is not closed.",
            f"{open_} edges have one triangle only, {len(edges) - len(there)} are used twice in one direction",
            because="only a closed surface has an inside.",
            remedy="a watertight mesh whose triangles turn the same way",
        )
    return points, corners


# -- arguments -------------------------------------------------------------------------------------------------


def _number(density: Any) -> float:
    value = np.asarray(density, dtype=float)
    if value.ndim or not np.isfinite(value) or value <= 0:
        raise InputError("The density is not positive.", f"got {density!r}"[:80], remedy="1000.0, in kg/m³")
    return float(value)


def _box(box: Sequence[Any] | None) -> Numbers:
    bounds = np.array(np.nan) if box is None else np.array(box, dtype=float)
    if bounds.shape != (3, 2) or not np.all(np.isfinite(bounds)) or np.any(bounds[:, 0] >= bounds[:, 1]):
        raise InputError(
            "Inequalities need a box around the solid.",
            f"got {box!r}"[:120],
            because="the solid is searched for inside the box.",
            remedy="box=((x0, x1), (y0, y1), (z0, z1))",
        )
    return bounds


def _whole(resolution: Any) -> int:
    if isinstance(resolution, bool) or not isinstance(resolution, (int, np.integer)) or not 4 <= resolution <= 4096:
        raise InputError(f"resolution={resolution!r} is not a valid number of parts.", remedy="resolution=32")
    return int(resolution)
