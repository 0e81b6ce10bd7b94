"""How the duration is cut into intervals, and with how many points on each the states are polynomials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from daedalus.model.lazy_values import cached_property
from daedalus.optimisation.transcription.collocation_points import CollocationPoints, collocation_points
from daedalus.optimisation.transcription.sides_of_jumps import seen_from_inside


@dataclass(frozen=True, eq=False)
class Mesh:
    """N intervals between shares of the duration (N + 1,), each with the points of its scheme; Q points in all.

    Points are numbered interval by interval.
    """

    shares: np.ndarray
    schemes: tuple[CollocationPoints, ...]

    @property
    def intervals(self) -> int:
        """How many intervals there are."""
        return len(self.shares) - 1

    @cached_property
    def widths(self) -> np.ndarray:
        """The shares of the duration that the intervals take, (N,)."""
        return np.diff(self.shares)

    @property
    def family(self) -> str:
        """Which points they are."""
        return self.schemes[0].family

    @property
    def ends_on_node(self) -> bool:
        """Whether the last point of an interval is the next node."""
        return self.schemes[0].ends_on_node

    @cached_property
    def degrees(self) -> np.ndarray:
        """The number of points on every interval, (N,)."""
        return np.array([scheme.degree for scheme in self.schemes])

    @cached_property
    def firsts(self) -> np.ndarray:
        """The first point of every interval, (N + 1,); the last entry is Q."""
        return np.concatenate([[0], np.cumsum(self.degrees)])

    @cached_property
    def point_interval(self) -> np.ndarray:
        """The interval of every point, (Q,)."""
        return np.repeat(np.arange(self.intervals), self.degrees)

    @cached_property
    def point_shares(self) -> np.ndarray:
        """The shares of the points, (Q,)."""
        tau = np.concatenate([scheme.tau for scheme in self.schemes])
        return np.asarray(self.shares[self.point_interval] + self.widths[self.point_interval] * tau)

    def inside(self, interval: np.ndarray, shares: np.ndarray, rounding: float) -> np.ndarray:
        """Shares as their intervals see them: at both ends from within; rounding: of times, as a share."""
        begin, width = self.shares[interval], self.widths[interval]
        return np.asarray(seen_from_inside(begin, width, (shares - begin) / width, rounding))

    @cached_property
    def point_weights(self) -> np.ndarray:
        """The weights of the points in an integral over all shares, (Q,)."""
        own = np.concatenate([scheme.weights for scheme in self.schemes])
        return np.asarray(self.widths[self.point_interval] * own)

    def by_degree(self) -> Iterator[tuple[CollocationPoints, np.ndarray, np.ndarray]]:
        """Intervals with the same points together: their scheme, their numbers (M,) and points (M, degree)."""
        for degree in np.unique(self.degrees):
            own = np.flatnonzero(self.degrees == degree)
            yield self.schemes[own[0]], own, self.firsts[own][:, None] + np.arange(degree)


def halved(mesh: Mesh) -> Mesh:
    """Every interval in two halves with its points.

    Example
    -------
    >>> import numpy as np
    >>> halved(mesh_of(np.array([0.0, 0.5, 1.0]), "radau", [1, 2])).shares.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    middle = 0.5 * (mesh.shares[:-1] + mesh.shares[1:])
    shares = np.append(np.stack([mesh.shares[:-1], middle], axis=1).ravel(), mesh.shares[-1])
    return Mesh(shares, tuple(scheme for scheme in mesh.schemes for _ in range(2)))


def mesh_of(shares: np.ndarray, family: str, degrees: int | Sequence[int] | np.ndarray) -> Mesh:
    """A mesh with the points of one family, of one degree or of one for each interval.

    Example
    -------
    >>> import numpy as np
    >>> mesh = mesh_of(np.array([0.0, 0.5, 1.0]), "radau", [1, 2])
    >>> mesh.point_shares.round(4).tolist(), mesh.point_interval.tolist()
    ([0.5, 0.6667, 1.0], [0, 1, 1])
    """
    each = [degrees] * (len(shares) - 1) if isinstance(degrees, (int, np.integer)) else list(degrees)
    return Mesh(shares, tuple(collocation_points(family, degree) for degree in each))
