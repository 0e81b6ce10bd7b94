"""Joints whose own motion is the state: what each kind lets move, and the links that it adds to a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.geometry.axis_angle import rotation_from_axis_angle
from daedalus.geometry.quaternions import quaternion_from_rotation, quaternion_product, rotation_from_quaternion
from daedalus.model.mechanics.tree_recursions import Link

# The coordinates of each kind: their name behind that of the joint, how many they are, and their unit.
COORDINATES: dict[str, tuple[str, tuple[int, ...], str]] = {
    "fixed": ("", (), ""),
    "revolute": ("angle", (), "rad"),
    "prismatic": ("displacement", (), "m"),
    "universal": ("angles", (2,), "rad"),
    "planar": ("pose", (3,), ""),
    "spherical": ("quaternion", (4,), ""),
}


@dataclass(frozen=True)
class TreeJoint:
    """A joint in joint coordinates; places are in the coordinates of either body, with three components.

    rotation: the orientation of b seen from a where the coordinates are zero.
    """

    name: str
    kind: str
    bodies: tuple[str, str]  # a and b; "" for the ground
    at_a: ca.SX
    at_b: ca.SX
    axis_a: tuple[float, ...] | None
    axis_b: tuple[float, ...] | None
    rotation: tuple[tuple[float, ...], ...]

    @property
    def coordinate(self) -> str:
        """The variable that holds its coordinates; "" where nothing moves."""
        name = COORDINATES[self.kind][0]
        return f"{self.name}.{name}" if name else ""

    @property
    def velocity(self) -> str:
        """The variable that holds the velocity of a ball joint; the others have derivatives of their coordinates."""
        return f"{self.name}.angular_velocity" if self.kind == "spherical" else ""

    @property
    def size(self) -> int:
        """How many velocities it has."""
        return {"fixed": 0, "universal": 2, "planar": 3, "spherical": 3}.get(self.kind, 1)

    @property
    def links(self) -> int:
        """How many links it adds to a tree."""
        return {"universal": 2, "planar": 3}.get(self.kind, 1)

    def outline(self) -> tuple[Any, ...]:
        """All but its expressions, for copies, parts and files."""
        return self.name, self.kind, self.bodies, self.axis_a, self.axis_b, self.rotation

    @staticmethod
    def of(outline: Sequence[Any], at_a: ca.SX, at_b: ca.SX, prefix: str = "") -> TreeJoint:
        """The joint of an outline, possibly inside another model, where names have a prefix."""
        name, kind, bodies, axis_a, axis_b, rotation = outline
        joined = tuple(body and prefix + body for body in bodies)
        one, two = (None if axis is None else tuple(axis) for axis in (axis_a, axis_b))
        return TreeJoint(prefix + name, kind, joined, at_a, at_b, one, two, tuple(map(tuple, rotation)))


def rest_rotation(axis_a: np.ndarray | None, axis_b: np.ndarray | None) -> np.ndarray:
    """The orientation of b seen from a at zero: the least that sets the axes of a universal joint at right angles."""
    one, two = np.asarray(axis_a), np.asarray(axis_b)
    across = two - one * (one @ two)
    if np.linalg.norm(across) < 1e-9:
        across = np.cross(one, np.eye(3)[int(np.argmin(np.abs(one)))])
    across /= np.linalg.norm(across)
    turn = np.array([1 + two @ across, *np.cross(two, across)])
    return np.asarray(rotation_from_quaternion(turn / np.linalg.norm(turn)))


def links_of(
    joint: TreeJoint, forward: bool, carrier: tuple[int, ca.SX], q: ca.SX, columns: Sequence[int], last: dict[str, Any]
) -> list[Link]:
    """The links that a joint adds: one for the body behind it, and one without mass for each further turn.

    forward: whether b is behind a. carrier: the link that holds the joint, and that body's centre in its frame.
    columns: which velocities of the tree are the joint's. last: mass, centre and inertia of the body.
    """
    parent, centre = carrier
    rest = ca.SX(ca.DM(np.array(joint.rotation)))
    here, there = (joint.at_a, joint.at_b) if forward else (joint.at_b, joint.at_a)
    body = {**last, "centre": -there}
    shift = centre + here
    none, none_turns = ca.SX(3, 0), ca.SX(3, 1)
    if joint.kind == "fixed":
        return [_link(parent, rest if forward else rest.T, shift, none, none, columns, body)]
    if joint.kind == "spherical":
        turn = rest @ rotation_from_quaternion(q)
        spin = ca.SX.eye(3) if forward else -turn
        return [_link(parent, turn if forward else turn.T, shift, spin, ca.SX(3, 3), columns, body)]
    axis_a = ca.SX(ca.DM(np.asarray(joint.axis_a)))
    if joint.kind == "prismatic":
        axis_b = rest.T @ axis_a
        if forward:
            return [_link(parent, rest, shift + axis_a * q, ca.SX(3, 1), axis_b, columns, body)]
        return [_link(parent, rest.T, shift - axis_b * q, ca.SX(3, 1), -axis_a, columns, body)]
    one, two = np.asarray(joint.axis_a), np.asarray(joint.axis_b)
    if joint.kind == "revolute":
        if forward:
            turn = rest @ _turned(two, q)
            return [_link(parent, turn, shift, ca.SX(ca.DM(two)), ca.SX(3, 1), columns, body)]
        turn = rest.T @ _turned(one, -q)
        return [_link(parent, turn, shift, -axis_a, ca.SX(3, 1), columns, body)]
    axis_b = ca.SX(ca.DM(np.asarray(joint.axis_b)))
    nothing = {"mass": ca.SX(0), "centre": ca.SX(3, 1), "inertia": ca.SX(3, 3)}
    if joint.kind == "planar":
        x, y = (rest @ ca.SX(ca.DM(way)) for way in sliding_directions(two))
        if forward:
            turn, away = rest @ _turned(two, q[2]), [(x * q[0], x), (y * q[1], y)]
            slides = [
                _link(parent if k == 0 else -2, ca.SX.eye(3), shift + s if k == 0 else s, none_turns, way, [c], nothing)
                for k, ((s, way), c) in enumerate(zip(away, columns))
            ]
            return [*slides, _link(-2, turn, ca.SX(3, 1), axis_b, ca.SX(3, 1), columns[2:], body)]
        turn = rest.T @ _turned(one, -q[2])
        first = _link(parent, turn, shift, -axis_a, ca.SX(3, 1), columns[2:], nothing)
        second = _link(-2, ca.SX.eye(3), -x * q[0], none_turns, -x, columns[:1], nothing)
        return [first, second, _link(-2, ca.SX.eye(3), -y * q[1], none_turns, -y, columns[1:2], body)]
    # Universal: about the axis of a, then about that of b; the other way round seen from b.
    if forward:
        first = _link(parent, _turned(one, q[0]), shift, axis_a, ca.SX(3, 1), columns[:1], nothing)
        second = _link(-2, rest @ _turned(two, q[1]), ca.SX(3, 1), axis_b, ca.SX(3, 1), columns[1:], body)
    else:
        first = _link(parent, _turned(two, -q[1]), shift, -axis_b, ca.SX(3, 1), columns[1:], nothing)
        second = _link(-2, rest.T @ _turned(one, -q[0]), ca.SX(3, 1), -axis_a, ca.SX(3, 1), columns[:1], body)
    return [first, second]


def placed(links: list[Link], added: Sequence[Link]) -> int:
    """Append links to a tree, those behind one another joined; returns where the last one is."""
    for link in added:
        links.append(replace(link, parent=len(links) - 1) if link.parent == -2 else link)
    return len(links) - 1


def turning(joint: TreeJoint, forward: bool, q: ca.SX) -> ca.SX:
    """The quaternion of the body behind a joint, seen from the body before it."""
    rest: ca.SX = ca.SX(ca.DM(np.asarray(quaternion_from_rotation(np.array(joint.rotation)))))
    result: ca.SX
    if joint.kind == "revolute":
        result = quaternion_product(rest, _half_turn(joint.axis_b, q))
    elif joint.kind == "universal":
        first, second = _half_turn(joint.axis_a, q[0]), _half_turn(joint.axis_b, q[1])
        result = quaternion_product(quaternion_product(first, rest), second)
    elif joint.kind == "planar":
        result = quaternion_product(rest, _half_turn(joint.axis_b, q[2]))
    elif joint.kind == "spherical":
        result = quaternion_product(rest, q)
    else:
        result = rest
    return result if forward else ca.vertcat(result[0], -result[1:])


def reaction(joint: TreeJoint, moment: ca.SX, force: ca.SX, turn: ca.SX, rotation: ca.SX, flat: bool) -> ca.SX:
    """What a joint exerts on b as the multipliers of the same joint in body coordinates give it.

    moment, force: on b about the joint, in axes of b; turn: b's axes seen from a; rotation: those of a in the world.
    """
    push = turn @ force
    torque = turn @ moment
    world = (rotation @ push)[: 2 if flat else 3]
    if joint.kind == "spherical":
        return world
    if joint.kind == "fixed":
        return ca.vertcat(world, torque[2] if flat else torque)
    axis = np.asarray(joint.axis_a)
    if joint.kind == "prismatic":
        ways = across(axis[:2]) if flat else across(axis)
        parts = [ca.dot(way, push[: way.numel()]) for way in ways]
        return ca.vertcat(*parts, torque[2] if flat else torque)
    if joint.kind == "planar":
        return ca.vertcat(ca.dot(ca.DM(axis), push), *(ca.dot(way, torque) for way in across(axis)))
    if joint.kind == "revolute":
        return world if flat else ca.vertcat(world, *(ca.dot(way, torque) for way in across(axis)))
    normal = ca.cross(turn @ ca.SX(ca.DM(np.asarray(joint.axis_b))), ca.SX(ca.DM(axis)))
    return ca.vertcat(world, ca.dot(normal, torque))


def across(axis: np.ndarray | None) -> list[ca.SX]:
    """Unit vectors at right angles to an axis: two in space, one in the plane; with it a right-handed frame."""
    unit = np.asarray(axis)
    if len(unit) == 2:
        return [ca.SX(ca.DM([-unit[1], unit[0]]))]
    helper = np.eye(3)[int(np.argmin(np.abs(unit)))]
    one = np.cross(helper, unit)
    one /= np.linalg.norm(one)
    return [ca.SX(ca.DM(one)), ca.SX(ca.DM(np.cross(unit, one)))]


def sliding_directions(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two displacements of a planar joint: along x in the plane, along y where x is closer to the normal.

    The second one, the normal and the first make a right-handed frame: x and y for the normal z.

    Example
    -------
    >>> [way.tolist() for way in sliding_directions(np.array([0.0, 0.0, 1.0]))]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    k = int(abs(normal[0]) > max(abs(normal[1]), abs(normal[2])))
    one = np.eye(3)[k] - normal[k] * normal
    one /= np.linalg.norm(one)
    return one, np.cross(normal, one)


def _link(
    parent: int, turn: ca.SX, shift: ca.SX, angular: ca.SX, linear: ca.SX, columns: Sequence[int], body: dict[str, Any]
) -> Link:
    return Link(parent, turn, shift, angular, linear, ca.SX(3, 1), tuple(columns), **body)


def _turned(axis: np.ndarray, angle: ca.SX) -> ca.SX:
    """The rotation about an axis; exact zeros and ones where it is one of the frame's own."""
    k = int(np.argmax(np.abs(axis)))
    if abs(axis[k]) == 1.0:
        c, s = ca.cos(angle), float(axis[k]) * ca.sin(angle)
        i, j = (k + 1) % 3, (k + 2) % 3
        turn = ca.SX.eye(3)
        turn[i, i] = turn[j, j] = c
        turn[i, j], turn[j, i] = -s, s
        return turn
    return ca.SX(rotation_from_axis_angle(axis, angle))


def _half_turn(axis: tuple[float, ...] | None, angle: ca.SX) -> ca.SX:
    return ca.vertcat(ca.cos(angle / 2), ca.sin(angle / 2) * ca.DM(np.asarray(axis)))
