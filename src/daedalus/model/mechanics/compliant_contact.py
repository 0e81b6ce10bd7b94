"""Compliant contact: forces at the points of two shapes as formulas of positions and velocities.

At the depth d of a point the normal force is max(0, k d + c d') while d > 0, and friction μ N opposes the slip u, as
-μ N u / sqrt(|u|² + ε²) with the speed ε, so that the force is a function of the motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.mechanics.bulging_shapes import TINY, BulgingShape, pressing
from daedalus.model.mechanics.contact_shapes import LAW, ContactShape
from daedalus.model.mechanics.trees import in_space

if TYPE_CHECKING:
    from daedalus.model.doors.body import Body

# The slip speed at which friction has reached 0.7 of its limit, m/s.
SLOW = 1e-3
# Where damping would pull, the force fades out over this share of its elastic part, by judgement: at rest a quarter of
# the square of this is too much.
ROUNDED = 1e-3

# The place of a point, and the normal towards the first body there, both in the world, and the gap.
PointOfContact = tuple[ca.SX, ca.SX, ca.SX]


class PointForce(NamedTuple):
    """What acts at a place on the first body: a force, its normal part by the law, and a torque beside it."""

    place: ca.SX
    force: ca.SX
    press: ca.SX
    torque: ca.SX | None = None


def compliant_force(
    name: str, first: Body, own: list[ContactShape], second: Body | None, other: list[ContactShape], law: ca.SX
) -> Iterator[PointForce]:
    """What acts at each point that two bodies may touch at, in space."""
    friction, stiffness, damping = (law[LAW.index(word)] for word in ("friction", "stiffness", "damping"))
    flat = first.size == 2

    def along(slip: ca.SX, normal: ca.SX, press: ca.SX) -> ca.SX:
        """Friction against a slip."""
        own = slip - ca.dot(normal, slip) * normal
        return -friction * press * own / ca.sqrt(ca.sumsqr(own) + SLOW**2)

    for one in own:
        for two in other:
            kinds = {one.kind, two.kind}
            if kinds <= {"box", "capsule"} and (flat or "box" in kinds):
                yield from _area_force(first, one, second, two, law, along)
                continue
            for place, normal, gap in _points(name, first, one, second, two):
                slip = _velocity(first, place) - _velocity(second, place) - law[len(LAW) :]
                depth, closing = -gap, -ca.dot(normal, slip)
                press = ca.if_else(depth > 0, ca.fmax(0, stiffness * depth + damping * closing), 0)
                yield PointForce(place, press * normal + along(slip, normal, press), press)


def _area_force(
    first: Body, one: ContactShape, second: Body | None, two: ContactShape, law: ca.SX,
    along: Callable[[ca.SX, ca.SX, ca.SX], ca.SX],
) -> Iterator[PointForce]:  # fmt: skip
    """The force of the potential, and damping and friction at the ends of what presses."""
    stiffness, damping = (law[LAW.index(word)] for word in ("stiffness", "damping"))
    flat = first.size == 2
    found = pressing(_bulging(first, one, flat), _bulging(second, two, flat), first.position)
    depth, normal = -found.gap, in_space(found.normal)
    touches = ca.if_else(depth > 0, 1, 0)
    torque = None if flat else touches * stiffness * depth * found.twist
    force = touches * stiffness * depth * in_space(found.slope)
    yield PointForce(in_space(found.place(first.position)), force, ca.SX(0), torque)
    ends = found.ends(first.position)
    elastic = touches * stiffness * depth / len(ends)
    for end in ends:
        place = in_space(end)
        slip = _velocity(first, place) - _velocity(second, place) - law[len(LAW) :]
        damped = touches * damping * ca.dot(normal, slip) / len(ends)
        press = touches * _not_below_zero(elastic - damped, elastic)
        yield PointForce(place, (press - elastic) * normal + along(slip, normal, press), press)


def _not_below_zero(force: ca.SX, scale: ca.SX) -> ca.SX:
    """The larger one of a force and zero, rounded at a share of a scale, so that no switch has to be located."""
    return (force + ca.sqrt(force**2 + (ROUNDED * scale) ** 2 + TINY)) / 2


def _bulging(body: Body | None, shape: ContactShape, flat: bool) -> BulgingShape:
    """A box, or a capsule with its axis first, in the plane or in space."""
    at, turn = _placed(body, shape)
    count = 2 if flat else 3
    if shape.kind == "box":
        return BulgingShape(at[:count], turn[:count, :count], shape.size[:count], ca.SX(0))
    axis = turn[:count, 2]
    axes = ca.horzcat(axis, ca.vertcat(-axis[1], axis[0])) if flat else turn[:, [2, 0, 1]]
    return BulgingShape(at[:count], axes, ca.vertcat(shape.size[1], ca.SX.zeros(count - 1)), shape.size[0])


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeio" else f"a {kind}"


def _velocity(body: Body | None, place: ca.SX) -> ca.SX:
    """The velocity of the material of a body at a place, in space."""
    if body is None:
        return ca.SX.zeros(3)
    found = body.velocity_at(place[: body.size])
    return ca.vertcat(found, 0) if body.size == 2 else found


def _placed(body: Body | None, shape: ContactShape) -> tuple[ca.SX, ca.SX]:
    """The place and the axes of a shape in the world."""
    if body is None:
        return shape.at, shape.rotation
    if body.size == 2:
        turn = ca.SX.eye(3)
        if body.orientation is not None:
            turn[:2, :2] = body.rotation
        return ca.vertcat(body.position, 0) + turn @ shape.at, turn @ shape.rotation
    if body.orientation is None:
        return body.position + shape.at, shape.rotation
    return body.position + body.rotation @ shape.at, body.rotation @ shape.rotation


def _points(
    name: str, first: Body, one: ContactShape, second: Body | None, two: ContactShape
) -> Iterator[PointOfContact]:
    at_one, turn_one = _placed(first, one)
    at_two, turn_two = _placed(second, two)
    if two.kind == "plane" and one.kind == "ellipsoid":
        normal = turn_two[:, 2]
        stretched = one.size * (turn_one.T @ normal)
        lowest = at_one - turn_one @ (one.size * stretched) / ca.norm_2(stretched)
        height = ca.dot(normal, lowest - at_two)
        yield lowest - height / 2 * normal, normal, height
    elif two.kind == "plane":
        for centre, radius in _ends(one, at_one, turn_one, first.size == 2):
            normal = turn_two[:, 2]
            height = ca.dot(normal, centre - at_two)
            yield centre - (height + radius) / 2 * normal, normal, height - radius
    elif one.kind == "plane":
        for place, normal, gap in _points(name, second, two, first, one) if second is not None else ():
            yield place, -normal, gap
    elif {one.kind, two.kind} <= {"sphere", "capsule"}:
        yield _round(one, at_one, turn_one, two, at_two, turn_two)
    elif one.kind == "sphere" and two.kind == "box":
        yield _ball_and_box(at_one, one, at_two, turn_two, two)
    elif one.kind == "box" and two.kind == "sphere":
        place, normal, gap = _ball_and_box(at_two, two, at_one, turn_one, one)
        yield place, -normal, gap
    else:
        raise ModelError(
            f"The contact {name!r} cannot be compliant.",
            f"it is between {_with_article(one.kind)} and {_with_article(two.kind)}",
            because="ellipsoids have a formula beside planes only.",
            remedy="stiffness=None for a hard contact, or spheres and capsules in place of one of them",
        )


def _ends(shape: ContactShape, at: ca.SX, turn: ca.SX, flat: bool) -> Iterator[tuple[ca.SX, ca.SX]]:
    """The balls whose lowest one touches a plane first."""
    if shape.kind == "sphere":
        yield at, shape.size[0]
    elif shape.kind == "capsule":
        for side in (-1, 1):
            yield at + side * shape.size[1] * turn[:, 2], shape.size[0]
    else:
        for k in range(4 if flat else 8):
            corner = [shape.size[i] * (1 if k >> i & 1 else -1) for i in range(3)]
            if flat:
                corner[2] = ca.SX(0)
            yield at + turn @ ca.vertcat(*corner), ca.SX(0)


def _round(
    one: ContactShape, at_one: ca.SX, turn_one: ca.SX, two: ContactShape, at_two: ca.SX, turn_two: ca.SX
) -> PointOfContact:
    """Spheres and capsules: the nearest points of two segments, which may have no length."""
    p, q = one.size[1] * turn_one[:, 2], two.size[1] * turn_two[:, 2]
    r = at_one - at_two
    pp, qq, pq, pr, qr = ca.sumsqr(p), ca.sumsqr(q), ca.dot(p, q), ca.dot(p, r), ca.dot(q, r)

    def clamped(value: ca.SX) -> ca.SX:
        return ca.fmax(-1, ca.fmin(1, value))

    s = clamped((pq * qr - qq * pr) / (pp * qq - pq**2 + TINY))
    t = clamped((pq * s + qr) / (qq + TINY))
    s = clamped((pq * t - pr) / (pp + TINY))
    on_one, on_two = at_one + s * p, at_two + t * q
    way = on_one - on_two
    distance = ca.sqrt(ca.sumsqr(way) + TINY)
    normal = way / distance
    gap = distance - one.size[0] - two.size[0]
    return on_two + (two.size[0] + gap / 2) * normal, normal, gap


def _ball_and_box(centre: ca.SX, ball: ContactShape, at: ca.SX, turn: ca.SX, box: ContactShape) -> PointOfContact:
    """A ball whose centre is outside a box; the normal points to the ball."""
    own = turn.T @ (centre - at)
    near = ca.fmax(-box.size, ca.fmin(box.size, own))
    way = own - near
    distance = ca.sqrt(ca.sumsqr(way) + TINY)
    normal = turn @ (way / distance)
    gap = distance - ball.size[0]
    return at + turn @ near + gap / 2 * normal, normal, gap
