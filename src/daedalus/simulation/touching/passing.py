"""How long a step may be in which no body passes through another one or through what stands still.

A step sees a pair by its gap in the middle of the way. Where each body goes no further than half of what the thinnest
pair is thick together, that middle is on the near side. Shapes further apart may go half the gap each.
"""

from __future__ import annotations

import numpy as np

from daedalus.simulation.result.records_of_methods import WentFar
from daedalus.simulation.touching.touching_bodies import TouchingBodies


class Passing:
    """The shapes of a run that could pass through each other: all pairs but those with a plane, which has one side."""

    def __init__(self, bodies: TouchingBodies, flights: bool = True) -> None:
        """flights: whether steps may be as long as gaps are wide; frictions and stops are located in shorter ones."""
        self.bodies, self.near, self.flights = bodies, 0.5 * bodies.thinnest, flights
        self.planes = np.array([shape.kind == "plane" for shape in bodies.shapes], dtype=bool)
        self.possible = bool(np.isfinite(self.near))
        self._most = (0.0, 0.0)  # the longest way in an equal step, and its time

    def longest(self, x: np.ndarray, rise: float, wanted: float) -> float:
        """The longest step from a row, of a wanted length, with accelerations as given."""
        if not self.possible:
            return wanted
        fast = self._fastest(x)
        near = within(self.near, fast, rise)
        if wanted <= near or not self.flights:
            return min(wanted, near)
        return max(near, within(0.5 * self._gap(x, 2 * (fast + 0.5 * rise * wanted) * wanted), fast, rise))

    def saw(self, x: np.ndarray, h: float) -> None:
        """An equal step from a row."""
        if self.possible:
            self._most = max(self._most, (self._fastest(x) * h, h))

    def told(self) -> tuple[WentFar, ...]:
        """What equal steps may have missed: a body that went as far as the thinnest pair is thick."""
        way, h = self._most
        thick = 2 * self.near
        return (WentFar(way, thick, 0.5 * h * thick / way),) if way > thick else ()

    def _fastest(self, x: np.ndarray) -> float:
        """The largest speed of a point in the middle of a shape; one that turns about its own centre has none."""
        twists = self.bodies.rows.twists(x)
        ways = np.linalg.norm(twists[:, :3], axis=1) + self.bodies.sway * np.linalg.norm(twists[:, 3:], axis=1)
        return float(ways.max(initial=0.0))

    def _gap(self, x: np.ndarray, limit: float) -> float:
        """The smallest gap of a pair at a row, or the limit where all are wider."""
        world = self.bodies.scout
        if not world.place(self.bodies.rows.poses(x), limit, 0.0):
            return limit
        info = world.contacts()
        bounded = ~self.planes[info[:, 2:4].astype(int)].any(axis=1)
        return float(np.clip(info[bounded, 0].min(initial=limit), 0.0, limit))


def within(way: float, fast: float, rise: float) -> float:
    """The time in which something goes this way: fast h + ½ rise h² = way."""
    return 2 * way / max(fast + float(np.sqrt(fast**2 + 2 * rise * way)), np.finfo(float).tiny)
