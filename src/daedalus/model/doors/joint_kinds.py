"""What each kind of joint demands of two bodies, as expressions that are zero while the joint holds.

Every expression is scaled so that its multiplier is a force (N) or a torque (N m) that the joint exerts on body b, and
the opposite on body a. Positions come first, in world coordinates, then orientations, in coordinates of a.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.geometry.rotations import unskew
from daedalus.model.doors.body import Body
from daedalus.model.lazy_values import cached_property
from daedalus.model.mechanics.tree_joints import across


class Ground:
    """The fixed world, to which joints can connect bodies.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pendulum")
    >>> rod = m.body("rod", mass=1.0, inertia=1 / 12, orientation="planar", position=[0.5, 0.0], rotation=0.0)
    >>> hinge = m.joint("hinge", "revolute", dd.ground, rod, at_b=[-0.5, 0.0])
    >>> hinge.shape
    (2, 1)
    """

    name = "ground"

    def __repr__(self) -> str:
        return "dd.ground"

    def __reduce__(self) -> str:
        return "ground"

    def shape(self, *_: object, **__: object) -> None:
        """Refused: the ground of all models has no shape; that of one model is `m.ground`."""
        raise ModelError(
            "dd.ground takes no shape.",
            "it is the ground of every model",
            because="a shape belongs to one model.",
            remedy='m.ground.shape("plane", ...)',
        )


ground = Ground()


@dataclass(frozen=True)
class Side:
    """One side of a joint: its partner, its place in the world and its axis in its own frame."""

    partner: Body | Ground
    place: ca.SX
    axis: np.ndarray | None

    @property
    def rotation(self) -> ca.SX:
        """Partner to world."""
        if isinstance(self.partner, Ground):
            return ca.SX.eye(self.place.numel())
        return self.partner.rotation

    @property
    def angle(self) -> ca.SX:
        """Of a planar partner."""
        return ca.SX(0) if isinstance(self.partner, Ground) else self.partner.model[self.partner.attitude]

    @cached_property
    def direction(self) -> ca.SX:
        """The axis in the world."""
        return self.rotation @ ca.SX(ca.DM(np.asarray(self.axis)))

    @cached_property
    def ways(self) -> list[ca.SX]:
        """Unit vectors at right angles to the axis, in the partner's frame."""
        return across(self.axis)

    @property
    def turns(self) -> bool:
        """Whether the partner has an orientation."""
        return isinstance(self.partner, Ground) or self.partner.orientation is not None

    def velocity_at(self, place: ca.SX) -> ca.SX:
        """World velocity of the partner's material at a place of the world."""
        if isinstance(self.partner, Ground):
            return ca.SX.zeros(place.numel())
        return self.partner.velocity_at(place)


@dataclass(frozen=True)
class Extras:
    """What some kinds need beside places and axes."""

    rotation: Any = None
    length: Any = None
    radius: Any = None


def fixed(a: Side, b: Side, extras: Extras) -> ca.SX:
    """No relative motion."""
    return ca.vertcat(b.place - a.place, _locked(a, b, extras))


def spherical(a: Side, b: Side, extras: Extras) -> ca.SX:
    """A common point: in space a ball, in the plane a hinge."""
    return b.place - a.place


def revolute(a: Side, b: Side, extras: Extras) -> ca.SX:
    """A common point and a common axis: the axis of b has no components across that of a."""
    gap = b.place - a.place
    if gap.numel() == 2:
        return gap
    one, two = a.ways
    return ca.vertcat(gap, -(a.rotation @ two).T @ b.direction, (a.rotation @ one).T @ b.direction)


def universal(a: Side, b: Side, extras: Extras) -> ca.SX:
    """A common point and axes that stay at right angles (Cardan)."""
    return ca.vertcat(b.place - a.place, a.direction.T @ b.direction)


def planar(a: Side, b: Side, extras: Extras) -> ca.SX:
    """Sliding in a plane of a and turning about its normal, which is the axis of either side."""
    one, two = a.ways
    height = a.direction.T @ (b.place - a.place)
    return ca.vertcat(height, -(a.rotation @ two).T @ b.direction, (a.rotation @ one).T @ b.direction)


def prismatic(a: Side, b: Side, extras: Extras) -> ca.SX:
    """Sliding along the axis of a without turning; a point mass slides only."""
    gap = b.place - a.place
    rows = [(a.rotation @ direction).T @ gap for direction in a.ways]
    return ca.vertcat(*rows, _locked(a, b, extras)) if b.turns else ca.vertcat(*rows)


def distance(a: Side, b: Side, extras: Extras) -> ca.SX:
    """A massless rod with a ball at either end; the multiplier is positive where it pushes."""
    stretch: ca.SX = (ca.sumsqr(b.place - a.place) - extras.length**2) / (2 * extras.length)
    return stretch


def point_on_plane(a: Side, b: Side, extras: Extras) -> ca.SX:
    """A point of b in a plane of a, on a line of a for planar bodies; λ is the force along the normal."""
    return a.direction.T @ (b.place - a.place)


def rolling(a: Side, b: Side, extras: Extras) -> ca.SX:
    """The material of b at the place of contact has the velocity of that of a there."""
    place = _contact(a, b, extras)
    return b.velocity_at(place) - a.velocity_at(place)


def height(a: Side, b: Side, extras: Extras) -> ca.SX:
    """How far the rolling body is above its plane, which rolling keeps."""
    return a.direction.T @ (_contact(a, b, extras) - a.place)


def _contact(a: Side, b: Side, extras: Extras) -> ca.SX:
    """The lowest point of a sphere, or of a disc that is round about the axis of b."""
    normal = a.direction
    if b.axis is None:
        lowest: ca.SX = b.place - extras.radius * normal
        return lowest
    steep = normal - b.direction * (normal.T @ b.direction)
    rim: ca.SX = b.place - steep * (extras.radius / ca.sqrt(ca.sumsqr(steep)))
    return rim


def _locked(a: Side, b: Side, extras: Extras) -> ca.SX:
    """The orientation of b relative to a, less the wanted one: sin θ times the axis of the difference."""
    if a.place.numel() == 2:
        return b.angle - a.angle - float(extras.rotation)
    difference = a.rotation.T @ b.rotation @ ca.SX(ca.DM(extras.rotation)).T
    sine: ca.SX = unskew(difference)
    return sine


def upright(kind: str, a: Side, b: Side, extras: Extras) -> ca.SX | None:
    """What is positive where a joint is assembled as it is meant, and negative half a turn away from that.

    The equations hold in both places; None for kinds without such a place.
    """
    if a.place.numel() == 2 or not (a.turns and b.turns):
        return None
    if kind in ("revolute", "planar"):
        return a.direction.T @ b.direction
    if kind in ("fixed", "prismatic"):
        return ca.trace(a.rotation.T @ b.rotation @ ca.SX(ca.DM(extras.rotation)).T) - 1
    return None


@dataclass(frozen=True)
class Kind:
    """How a kind of joint is written, which arguments it must have and which it may have."""

    write: Callable[[Side, Side, Extras], ca.SX]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


SPATIAL = {
    "fixed": Kind(fixed, takes=("rotation",)),
    "revolute": Kind(revolute, needs=("axis_a",), takes=("axis_b",)),
    "prismatic": Kind(prismatic, needs=("axis_a",), takes=("axis_b", "rotation")),
    "planar": Kind(planar, needs=("axis_a",), takes=("axis_b",)),
    "spherical": Kind(spherical),
    "universal": Kind(universal, needs=("axis_a", "axis_b")),
    "distance": Kind(distance, needs=("length",)),
    "point_on_plane": Kind(point_on_plane, needs=("axis_a",)),
    "rolling": Kind(rolling, needs=("axis_a", "radius"), takes=("axis_b",)),
}
PLANAR = {
    "fixed": Kind(fixed, takes=("rotation",)),
    "revolute": Kind(revolute),
    "prismatic": Kind(prismatic, needs=("axis_a",), takes=("rotation",)),
    "distance": Kind(distance, needs=("length",)),
    "point_on_plane": Kind(point_on_plane, needs=("axis_a",)),
    "rolling": Kind(rolling, needs=("axis_a", "radius")),
}
