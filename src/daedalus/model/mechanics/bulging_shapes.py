"""Compliant contact of boxes and capsules: forces of a potential of both poses.

The gap g of two convex shapes is the largest separation along some normals (S. Gottschalk, M. Lin, D. Manocha, SIGGRAPH
1996): those of their faces, in space also those across an edge of each, and the way between the nearest points where
one is round. Their potential is k d²/2 with the depth d = -g > 0. The elastic force and moment on the first body are
k d ∂g/∂(its pose), so they keep the energy. They act along a line that moves from corner to corner of a face as the
face tilts. It does so smoothly, because faces bulge: the reach of a half side h along a normal whose cosine is c is
h (√(c² + ε²) - ε) / (√(1 + ε²) - ε), exact for c = 0 and c = 1.

Two edges that are nearly parallel have no normal across them that is known. Faces part such boxes as well, but for as
much as faces bulge, so these normals are left out, smoothly.

Damping and friction act at the ends of the area that presses. They oppose the motion there, so they take energy.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product
from typing import NamedTuple

import casadi as ca

# Faces bulge by this share of their half side: a load reaches the corner of a face that tilts by a few of this, by
# judgement.
BULGE = 1e-3
# Edges whose sine is below this count as parallel, by judgement: a corner of such a pair is as near to a face as faces
# bulge.
PARALLEL = 2 * BULGE
# Squares of lengths below this are not divided by, m².
TINY = 1e-24


class BulgingShape(NamedTuple):
    """A box, or the segment of a capsule with its radius: centre, axes as columns, half lengths along them."""

    centre: ca.SX
    axes: ca.SX
    half: ca.SX
    radius: ca.SX

    @property
    def is_box(self) -> bool:
        """A capsule has no sides across its axis."""
        return not self.half[1].is_zero()

    def moved(self, way: ca.SX, turn: ca.SX, about: ca.SX) -> BulgingShape:
        """The shape behind a motion of its body that is so small that its square does not count."""
        return self._replace(
            centre=self.centre + way + _across(turn, self.centre - about),
            axes=self.axes + ca.horzcat(*(_across(turn, axis) for axis in ca.horzsplit(self.axes))),
        )

    def reach(self, normal: ca.SX) -> ca.SX:
        """How far it goes from its centre along a normal."""
        most = (1 + BULGE**2) ** 0.5 - BULGE
        cosines = (normal.T @ self.axes).T
        found: ca.SX = ca.dot(self.half, ca.sqrt(cosines**2 + BULGE**2) - BULGE) / most + self.radius
        return found

    def width(self, normal: ca.SX, along: ca.SX) -> ca.SX:
        """Half of what presses along a direction: half a side, and nothing of sides that are tilted."""
        cosines = (normal.T @ self.axes).T
        seen = ca.sqrt((along.T @ self.axes).T ** 2 + BULGE**2)
        found: ca.SX = ca.dot(self.half * seen, BULGE / ca.sqrt(cosines**2 + BULGE**2))
        return found

    def corners(self) -> list[ca.SX]:
        """Those of a box in the plane, the ends of a capsule."""
        sides = (-1, 1) if self.is_box else (0,)
        return [self.centre + self.axes @ (self.half * ca.vertcat(one, two)) for one in (-1, 1) for two in sides]

    def edges(self) -> list[ca.SX]:
        """The directions of the edges of a box, or of the axis of a capsule."""
        return list(ca.horzsplit(self.axes))[: 3 if self.is_box else 1]


def _across(turn: ca.SX, arm: ca.SX) -> ca.SX:
    """ω × r, in space or in the plane."""
    return ca.cross(turn, arm) if arm.numel() == 3 else turn * ca.vertcat(-arm[1], arm[0])


def _unit(way: ca.SX) -> ca.SX:
    return way / ca.sqrt(ca.sumsqr(way) + TINY)


class SeparatingAxis(NamedTuple):
    """A normal along which shapes may be apart, and what its separation is lessened by, as a share of both shapes."""

    normal: ca.SX
    less: ca.SX | float = 0.0


def gap_of(one: BulgingShape, two: BulgingShape) -> ca.SX:
    """How far two shapes are apart, negative where they lie in each other."""
    way = one.centre - two.centre
    axes = _axes_in_space(one, two) if way.numel() == 3 else _axes_in_the_plane(one, two)
    soft = BULGE * (one.half[0] + two.half[0])
    whole = sum(2 * ca.sum1(shape.half) + shape.radius for shape in (one, two))
    apart = (ca.sqrt(ca.dot(n, way) ** 2 + TINY) - one.reach(n) - two.reach(n) - less * whole for n, less in axes)
    return reduce(lambda a, b: _larger(a, b, soft), apart)


def _axes_in_the_plane(one: BulgingShape, two: BulgingShape) -> Iterator[SeparatingAxis]:
    yield from (SeparatingAxis(shape.axes[:, k]) for k in (0, 1) for shape in (one, two))
    if not (one.radius.is_zero() and two.radius.is_zero()):
        yield from (SeparatingAxis(_unit(a - b)) for a in one.corners() for b in two.corners())


def _axes_in_space(one: BulgingShape, two: BulgingShape) -> Iterator[SeparatingAxis]:
    for shape in (one, two):
        yield from (SeparatingAxis(axis) for axis in shape.edges() if shape.is_box)
    for first in one.edges():
        for second in two.edges():
            yield _known(ca.cross(first, second), PARALLEL)
    if not (one.is_box and two.is_box):
        box, segment = (one, two) if one.is_box else (two, one)
        # From an end to the box, and from a corner to the segment: with faces and edges, all that may be nearest.
        ways = [*_ways_from_ends(segment, box), *_ways_from_corners(segment, box)]
        yield from (_known(way / segment.radius, BULGE) for way in ways)


def _known(way: ca.SX, least: float) -> SeparatingAxis:
    """A way as a normal, which counts where it is several times as long as `least`."""
    square = ca.sumsqr(way)
    return SeparatingAxis(way / ca.sqrt(square + (1e-2 * least) ** 2), ca.exp(-square / least**2))


def _beyond(x: ca.SX, half: ca.SX) -> ca.SX:
    """How far a coordinate is outside of ± half, smooth where a face bulges."""
    soft = BULGE * half
    return x - (ca.sqrt((x + half) ** 2 + soft**2) - ca.sqrt((x - half) ** 2 + soft**2)) / 2


def _ways_from_ends(segment: BulgingShape, box: BulgingShape) -> Iterator[ca.SX]:
    for side in (-1, 1):
        end = segment.centre + side * segment.half[0] * segment.axes[:, 0]
        yield box.axes @ _beyond(box.axes.T @ (end - box.centre), box.half)


def _ways_from_corners(segment: BulgingShape, box: BulgingShape) -> Iterator[ca.SX]:
    for signs in product((-1, 1), repeat=3):
        way = segment.centre - box.centre - box.axes @ (box.half * ca.vertcat(*signs))
        axis = segment.axes[:, 0]
        along = ca.dot(way, axis)
        yield way + (_beyond(along, segment.half[0]) - along) * axis


def _larger(a: ca.SX, b: ca.SX, soft: ca.SX) -> ca.SX:
    """The larger of two, smooth where they differ by less than `soft`, and exact where they are equal or far apart."""
    return (a + b) / 2 + (a - b) / 2 * ca.tanh((a - b) / soft)


class Pressing(NamedTuple):
    """What presses two shapes apart: their gap, its slope by the place and the turn of the first, and the half widths.

    widths: vectors from the middle of what presses to its ends.
    """

    gap: ca.SX
    slope: ca.SX
    turning: ca.SX
    widths: list[ca.SX]

    def place(self, centre: ca.SX) -> ca.SX:
        """A point of the line of action."""
        n, m = self.slope, self.turning
        way = ca.cross(n, m) if n.numel() == 3 else m * ca.vertcat(n[1], -n[0])
        return centre + way / (ca.sumsqr(n) + TINY)

    @property
    def twist(self) -> ca.SX:
        """What is left of the moment about that line, in space."""
        return ca.dot(self.slope, self.turning) * self.slope / (ca.sumsqr(self.slope) + TINY)

    def ends(self, centre: ca.SX) -> list[ca.SX]:
        """The ends of what presses. In space their second moments are those of a rectangle with these widths."""
        return [self.place(centre) + side * width for width in self.widths for side in (-1, 1)]

    @property
    def normal(self) -> ca.SX:
        """Towards the first body, of length one."""
        return _unit(self.slope)


def pressing(one: BulgingShape, two: BulgingShape, about: ca.SX) -> Pressing:
    """The gap of two shapes and its slope by the pose of the first one's body, whose centre is `about`."""
    flat = about.numel() == 2
    way, turn = ca.SX.sym("way", about.numel()), ca.SX.sym("turn", 1 if flat else 3)
    gap = gap_of(one.moved(way, turn, about), two)
    motion, still = [way, turn], [ca.SX.zeros(way.numel()), ca.SX.zeros(turn.numel())]
    at, slope, turning = ca.substitute([gap, ca.gradient(gap, way), ca.gradient(gap, turn)], motion, still)
    found = Pressing(at, slope, turning, [])
    normal = found.normal
    ways = [ca.vertcat(-normal[1], normal[0])] if flat else (one if one.is_box else two).edges()
    widths = []
    for along in ways:
        halves = (shape.width(normal, along) for shape in (one, two))
        half = 1 / ca.sqrt(sum(1 / (width**2 + TINY) for width in halves))
        widths.append(half * (along - ca.dot(normal, along) * normal))
    return found._replace(widths=widths)
