"""A scene: what moves and how, sampled at common times, with nothing symbolic left in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

# What a viewer can switch on and off, and which shapes belong to it.
GROUPS = {"trace": "traces", "force": "forces", "arrow": "arrows", "frame": "frames"}


@dataclass(frozen=True, eq=False)
class MovingShape:
    """One shape along a run.

    track: (frames, 3) positions, (frames, 7) positions and quaternions (scalar first), (frames, 6) two ends or a tail
    and a vector, (frames, 3 k) the points of a line; a single row for what stands still. sizes: lengths by name, m.
    mesh: vertices (n, 3) and triangles (m, 3), of a shape from a file.
    """

    name: str
    kind: str
    track: np.ndarray
    sizes: dict[str, list[float]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    mesh: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def group(self) -> str:
        """What it is switched on and off with."""
        return GROUPS.get(self.kind, "shapes")

    def places(self) -> np.ndarray:
        """All positions that the shape takes, (n, 3)."""
        if self.kind in ("rod", "spring", "line", "trace"):
            return self.track.reshape(-1, 3)
        return self.track[:, :3]


@dataclass(frozen=True, eq=False)
class Scene:
    """The shapes of one run at common times.

    label: the run's name. up: the direction that is drawn upwards. flat: whether everything lies in the x-y plane.
    """

    label: str
    times: np.ndarray
    shapes: tuple[MovingShape, ...]
    up: tuple[float, float, float]
    flat: bool

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of what is to be seen, without the farthest hundredth of all places (a run that blows up)."""
        found = [shape.places() for shape in self.shapes if shape.kind not in ("plane", "force", "arrow")]
        places = np.concatenate(found or [np.zeros((1, 3))])
        places = places[np.all(np.isfinite(places), axis=1)]
        low, high = np.quantile(places, [0.005, 0.995], axis=0)
        spread = max(float(np.max(high - low)), 1e-9)
        # Outliers that lie close are no outliers.
        near = np.all((places > low - spread) & (places < high + spread), axis=1)
        solids = [s for s in self.shapes if s.kind in ("box", "sphere", "ellipsoid", "mesh")]
        pad = max((max(size) for s in solids for size in s.sizes.values()), default=0.0) / 2
        return places[near].min(axis=0) - pad, places[near].max(axis=0) + pad
