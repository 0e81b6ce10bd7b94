"""Compliant contact of boxes and capsules in the plane: forces of a potential of both poses.

The gap g of two convex shapes is the largest separation along the normals of both, and along the ways from corner to
corner where one is round (S. Gottschalk, M. Lin, D. Manocha, SIGGRAPH 1996). Their potential is k d²/2 with the depth
d = -g > 0. The elastic force and moment on the first body are k d ∂g/∂(its pose), so they keep the energy. They act at
a point that moves from corner to corner of a face as the face tilts. It does so smoothly, because faces bulge: the
reach of a half side h along a normal whose cosine is c is h (√(c² + ε²) - ε) / (√(1 + ε²) - ε), exact for c = 0 and
c = 1.

Damping and friction act at both ends of the area that presses. They oppose the motion there, so they take energy.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import casadi as ca

# Faces bulge by this share of their half side: a load reaches the corner of a face that tilts by a few of this, by
# judgement.
BULGE = 1e-3
# Squares of lengths below this are not divided by, m².
TINY = 1e-24


class FlatShape(NamedTuple):
    """A box, or the segment of a capsule with its radius: centre, axes as columns, half lengths along them."""

    centre: ca.SX
    axes: ca.SX
    half: ca.SX
    radius: ca.SX

    def moved(self, way: ca.SX, angle: ca.SX, about: ca.SX) -> FlatShape:
        """The shape behind a small motion of its body."""
        c, s = ca.cos(angle), ca.sin(angle)
        turn = ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
        return self._replace(centre=about + way + turn @ (self.centre - about), axes=turn @ self.axes)

    def reach(self, normal: ca.SX) -> ca.SX:
        """How far it goes from its centre along a normal."""
        most = (1 + BULGE**2) ** 0.5 - BULGE
        cosines = (normal.T @ self.axes).T
        found: ca.SX = ca.dot(self.half, ca.sqrt(cosines**2 + BULGE**2) - BULGE) / most + self.radius
        return found

    def width(self, normal: ca.SX) -> ca.SX:
        """Half of what presses on its side against a normal: half a side, and nothing where it is tilted."""
        cosines = (normal.T @ self.axes).T
        found: ca.SX = ca.dot(self.half, BULGE / ca.sqrt(cosines**2 + BULGE**2))
        return found

    def corners(self) -> list[ca.SX]:
        """Those of a box, the ends of a capsule."""
        sides = (-1, 1) if not self.half[1].is_zero() else (0,)
        return [self.centre + self.axes @ (self.half * ca.vertcat(one, two)) for one in (-1, 1) for two in sides]


def gap_of(one: FlatShape, two: FlatShape) -> ca.SX:
    """How far two shapes are apart, negative where they lie in each other."""
    way = one.centre - two.centre
    normals = [shape.axes[:, k] for k in (0, 1) for shape in (one, two)]
    if not (one.radius.is_zero() and two.radius.is_zero()):
        ways = (a - b for a in one.corners() for b in two.corners())
        normals += [v / ca.sqrt(ca.sumsqr(v) + TINY) for v in ways]
    apart = (ca.sqrt(ca.dot(n, way) ** 2 + TINY) - one.reach(n) - two.reach(n) for n in normals)
    size = one.half[0] + two.half[0]
    return reduce(lambda a, b: _larger(a, b, BULGE * size), apart)


def _larger(a: ca.SX, b: ca.SX, soft: ca.SX) -> ca.SX:
    """The larger of two, smooth where they differ by less than `soft`, and exact where they are equal."""
    return (a + b) / 2 + (a - b) ** 2 / (2 * ca.sqrt((a - b) ** 2 + soft**2))


class Pressing(NamedTuple):
    """What presses two shapes apart: their gap, its slope (by x, y and the angle of the first) and the half width."""

    gap: ca.SX
    slope: ca.SX
    width: ca.SX

    def place(self, centre: ca.SX) -> ca.SX:
        """A point of the line of action."""
        normal, turning = self.slope[:2], self.slope[2]
        return centre + turning / (ca.sumsqr(normal) + TINY) * ca.vertcat(normal[1], -normal[0])

    def ends(self, centre: ca.SX) -> Iterator[ca.SX]:
        """Both ends of what presses."""
        normal = self.normal
        for side in (-1, 1):
            yield self.place(centre) + side * self.width * ca.vertcat(-normal[1], normal[0])

    @property
    def normal(self) -> ca.SX:
        """Towards the first body, of length one."""
        return self.slope[:2] / ca.sqrt(ca.sumsqr(self.slope[:2]) + TINY)


def pressing(one: FlatShape, two: FlatShape, about: ca.SX) -> Pressing:
    """The gap of two shapes and its slope by the pose of the first one's body, whose centre is `about`."""
    motion = ca.SX.sym("motion", 3)
    gap = gap_of(one.moved(motion[:2], motion[2], about), two)
    at, slope = ca.substitute([gap, ca.gradient(gap, motion)], [motion], [ca.SX.zeros(3)])
    found = Pressing(at, slope, ca.SX(0))
    widths = (shape.width(found.normal) for shape in (one, two))
    return found._replace(width=1 / ca.sqrt(sum(1 / (width**2 + TINY) for width in widths)))
