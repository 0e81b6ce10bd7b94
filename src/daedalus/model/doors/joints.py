"""Joints between bodies, and between bodies and the ground, as ready constraints with named reactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import casadi as ca
import numpy as np

from daedalus.errors import InputError, ModelError
from daedalus.geometry.array_or_symbol import is_symbol
from daedalus.model.doors.body import Body
from daedalus.model.doors.joint_kinds import PLANAR, SPATIAL, Extras, Ground, Kind, Side, ground, height, upright
from daedalus.model.doors.joint_trees import TreeDoor, read_orientation
from daedalus.model.drawing.sketch import JointMark
from daedalus.model.expressions import column, described
from daedalus.model.mechanics.tree_joints import COORDINATES
from daedalus.model.names import check_name, counted, did_you_mean

__all__ = ["Ground", "JointDoor", "ground"]


# Joints whose reaction has forces and no torques; hinges of planar bodies are among them.
FORCES = ("spherical", "distance", "point_on_plane", "rolling")


class ConnectionWords(NamedTuple):
    """How errors call what is between two bodies."""

    what: str
    verb: str
    because: str
    of_two: str
    remedy: str


JOINT = ConnectionWords(
    "Joint",
    "joins",
    "a joint connects two bodies, or a body and the ground.",
    "a joint constrains the motion of one body relative to another.",
    'm.joint("{}", kind, dd.ground, body)',
)
CONTACT = ConnectionWords(
    "Contact",
    "pairs",
    "a body touches another one, or the ground.",
    "a body touches another one, or the ground.",
    'm.contact(body, dd.ground), or m.contact("all")',
)


class JointDoor(TreeDoor):
    """Join bodies."""

    def joint(
        self,
        name: str,
        kind: str,
        a: Body | Ground | str,
        b: Body | Ground | str,
        *,
        at_a: object = None,
        at_b: object = None,
        axis_a: object = None,
        axis_b: object = None,
        rotation: object = None,
        length: object = None,
        radius: object = None,
        coordinates: Literal["body", "joint"] = "body",
        start: object = None,
        rate: object = None,
        limits: Any = None,
        stops: object = None,
    ) -> ca.SX:
        """Connect two bodies, or a body and `dd.ground`. Returns the reaction, the variable of the same name.

        The reaction acts on b (and its opposite on a): forces in the world frame, then torques in the frame of a.

        Parameters
        ----------
        kind: "fixed", "revolute", "prismatic", "spherical", "universal", "planar" (slides in a plane and turns about
            its normal), "distance", "point_on_plane" or "rolling"; the first three, "distance", "point_on_plane" and
            "rolling" also for planar bodies.
        a, b: bodies of this model or their names, or `dd.ground`.
        at_a, at_b: the position of the joint in the coordinates of each body (world for the ground), m; the centre of
            mass by default. "rolling": at_a is a point of the plane, at_b the centre of the sphere or disc.
        axis_a, axis_b: directions in the coordinates of each body. "revolute": the common axis; axis_b equals axis_a by
            default. "prismatic": the direction in which b slides. "universal": the two axes that stay perpendicular.
            "planar", "point_on_plane", "rolling": axis_a is the normal of the plane; "planar": axis_b is the normal in
            the coordinates of b and equals axis_a by default; a rolling body with axis_b is a disc with this axis,
            otherwise a sphere.
        rotation: "fixed", "prismatic": the orientation of b relative to a, as a matrix or a quaternion (an angle in the
            plane). The default is none, or the smallest one that takes axis_b to axis_a. With joint
            coordinates every kind takes it: the orientation of b where the joint is at zero.
        length: "distance": m. radius: "rolling": m.
        coordinates: "body": the joint is a constraint between the coordinates of both bodies. "joint": its own angle or
            displacement is the state, and the bodies follow from it: `name.angle` of a revolute joint,
            `name.displacement` of a prismatic one, `name.angles` of a universal one, `name.pose` of a planar one (its
            displacements along x and y of b at zero, as far as these lie in the plane, and the angle),
            `name.quaternion` and `name.angular_velocity` of a spherical one. A joint that closes a loop stays a
            constraint.
        start, rate: with joint coordinates, the start value of the coordinate and of its velocity.
        limits: with joint coordinates, (lower, upper) of a revolute or prismatic joint: bounds for plans and inverse
            kinematics. None for an open side.
        stops: makes the limits hard stops with this restitution, 0 to 1; their forces are `name.lower_stop` and
            `name.upper_stop`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("pendulum")
        >>> m.gravity([0, 0, -9.81])
        >>> bob = m.body("bob", mass=2.0, orientation=None, position=[0, 0, -1.0], velocity=[0, 0, 0])
        >>> rod = m.joint("rod", "distance", dd.ground, bob, length=1.0)
        >>> round(m.mechanics().accelerations()["rod"], 6)          # pulls the bob up: it is a tie
        -19.62
        """
        check_name(name, "joint")
        sides = [self._partner(name, partner) for partner in (a, b)]
        size = self._check_partners(name, sides[0], sides[1])
        given = {
            "at_a": at_a, "at_b": at_b, "axis_a": axis_a, "axis_b": axis_b,
            "rotation": rotation, "length": length, "radius": radius, "start": start, "rate": rate, "limits": limits,
            "stops": stops,
        }  # fmt: skip
        known = _find_kind(name, kind, size)
        if coordinates == "joint":
            known = replace(known, takes=(*known.takes, *_joint_arguments(kind)))
        _check_arguments(name, kind, known, given)
        _check_limits(name, limits)
        one, two = self._sides(name, kind, sides, given, size)
        extras = Extras(
            read_orientation(name, rotation, one.axis, two.axis, size),
            self._measure(name, "length", length),
            self._measure(name, "radius", radius),
        )
        mark = _mark(name, kind, one, two, extras)
        _check_coordinates(name, coordinates)
        if coordinates == "joint" and self._is_branch(kind, one, two):
            reaction = self._tree_joint(name, kind, one, two, given, extras, mark)
            self._in_newtons(name, kind, one)
            if stops is not None:
                stop_joint(self, name, limits, stops)
            return reaction
        _check_no_coordinate(name, given)
        expression = ca.densify(known.write(one, two, extras))
        if kind == "rolling":
            reaction = self.velocity_constraint(name, expression)
            # What the velocities keep: the height above the plane.
            self._keep(f"{name} height", height(one, two, extras))
        else:
            # Places, axes and lengths were checked where they were read; a rotation can still be no number.
            if not np.all(np.isfinite(extras.rotation)):
                self._constraint_value(name, expression)
            self._check_free(name, "constraint")
            reaction = self._holonomic(name, column(expression))
            side = upright(kind, one, two, extras)
            if side is not None:
                self.written.mechanics.sides[name] = ca.densify(side)
        self.written.sketch.joints[name] = mark
        self._in_newtons(name, kind, one)
        return reaction

    def _sides(
        self, name: str, kind: str, partners: Sequence[Any], given: Mapping[str, object], size: int
    ) -> tuple[Side, Side]:
        """Where the joint is on its two partners, and its axis there: b's follows from a's where it is not given."""
        one, two = (
            Side(side, self._place(name, side, given[f"at_{letter}"], size), _axis(name, given, f"axis_{letter}", size))
            for side, letter in zip(partners, "ab")
        )
        if kind not in ("revolute", "planar") or two.axis is not None:
            return one, two
        seen, rotation = one.axis, given["rotation"]
        if rotation is not None and size == 3:
            seen = np.asarray(read_orientation(name, rotation, None, None, 3)).T @ one.axis
        return one, Side(two.partner, two.place, seen)

    def _in_newtons(self, name: str, kind: str, side: Side) -> None:
        """Give the reaction its unit in results; in equations, masses that are plain numbers have none."""
        alone = kind in FORCES or (kind == "revolute" and side.place.numel() == 2)
        self.written.output_units[name] = "N" if alone else "N, N*m"

    # -- reading arguments -------------------------------------------------------------------------------------

    def _partner(self, name: str, partner: object, words: ConnectionWords = JOINT) -> Body | Ground:
        if isinstance(partner, Ground):
            return partner
        if isinstance(partner, str):
            if partner in self.written.mechanics.bodies:
                return Body(self, self.written.mechanics.bodies[partner])
            raise ModelError(
                f"{words.what} {name!r} {words.verb} {partner!r}, which is not a body of this model.",
                f"bodies: {', '.join(list(self.written.mechanics.bodies)[:8]) or 'none yet'}",
                because=words.because,
                remedy=did_you_mean(partner, self.written.mechanics.bodies),
            )
        if not isinstance(partner, Body):
            raise ModelError(
                f"{words.what} {name!r} {words.verb} something that is not a body.",
                f"got {described(partner)}",
                because=words.because,
                remedy=words.remedy.format(name),
            )
        if partner.model is self and self.written.mechanics.bodies.get(partner.name) is partner._written:
            return partner
        place = f"{partner.name}.position"
        if partner.name not in self.written.mechanics.bodies or not ca.is_equal(
            self.written.symbols[place], partner.position, 0
        ):
            raise ModelError(
                f"Joint {name!r} joins {partner.name!r}, a body of another model.",
                f"it belongs to the model {partner.model.name!r}, not to {self.name!r}",
                because="each model has its own symbols.",
                remedy=f'm.include("part", other) and then m.bodies["part.{partner.name}"]',
            )
        return Body(self, self.written.mechanics.bodies[partner.name])

    def _check_partners(self, name: str, a: Body | Ground, b: Body | Ground, words: ConnectionWords = JOINT) -> int:
        bodies = [side for side in (a, b) if isinstance(side, Body)]
        if a.name == b.name or not bodies:
            raise ModelError(
                f"{words.what} {name!r} {words.verb} {a.name!r} with itself.",
                because=words.of_two,
                remedy="two different bodies, or a body and dd.ground",
            )
        sizes = {body.size for body in bodies}
        if len(sizes) > 1:
            planar, spatial = sorted(bodies, key=lambda body: body.size)
            raise ModelError(
                f"{words.what} {name!r} {words.verb} a planar body with one in space.",
                f"{planar.name!r} is planar, {spatial.name!r} is not",
                because="their positions have two and three components.",
                remedy="the same kind of orientation for both bodies",
            )
        return sizes.pop()

    def _place(self, name: str, side: Body | Ground, at: object, size: int) -> ca.SX:
        if isinstance(side, Body):
            return side.position if at is None else side.point(at)
        value = ca.SX.zeros(size) if at is None else column(self._expression(at, f"The place of joint {name!r}"))
        if value.numel() != size:
            raise ModelError(
                f"The place of joint {name!r} on the ground has {counted(value.numel(), 'component')}.",
                because=f"the bodies of the joint have {size}.",
                remedy=str([0.0] * size),
            )
        return value

    def _measure(self, name: str, what: str, value: object) -> ca.SX | None:
        """A length or radius: a positive number or an expression."""
        if value is None:
            return None
        measure = self._expression(value, f"The {what} of joint {name!r}")
        number = self._number(measure)
        if not measure.is_scalar() or (number is not None and not number > 0):
            raise ModelError(
                f"The {what} of joint {name!r} is not a positive number.",
                f"it is {'no scalar' if not measure.is_scalar() else f'{float(number[0, 0]):g}'}",  # type: ignore[index]
                because="a force along it needs a direction.",
                remedy=f"{what}=1.0, in m" + ('; "spherical" for a distance of zero' if what == "length" else ""),
            )
        return measure


def _mark(name: str, kind: str, one: Side, two: Side, extras: Extras) -> JointMark:
    """What is seen of a joint."""
    axis, spin = (ca.SX(0, 1) if side.axis is None else ca.densify(side.direction) for side in (one, two))
    radius = ca.SX(0, 1) if extras.radius is None else extras.radius
    return JointMark(name, kind, (one.partner.name, two.partner.name), (one.place, two.place), axis, spin, radius)


def _find_kind(name: str, kind: object, size: int) -> Kind:
    kinds = SPATIAL if size == 3 else PLANAR
    if isinstance(kind, str) and kind in kinds:
        return kinds[kind]
    planar = size == 2 and kind in SPATIAL
    raise ModelError(
        f"Joint {name!r} has a kind that {'planar bodies do not have' if planar else 'does not exist'}.",
        f"got {kind!r}; kinds: {', '.join(kinds)}",
        because="a planar body turns about one axis only." if planar else "every kind is a set of ready constraints.",
        remedy="'revolute'" if planar else did_you_mean(str(kind), kinds),
    )


def _joint_arguments(kind: str) -> tuple[str, ...]:
    """The arguments of a kind of joint whose own coordinates are the states."""
    if kind not in COORDINATES or kind == "fixed":
        return ()
    turned = ("rotation",) if kind in ("revolute", "universal", "spherical", "planar") else ()
    limited = ("limits", "stops") if kind in ("revolute", "prismatic") else ()
    return (*turned, "start", "rate", *limited)


def _check_limits(name: str, limits: object) -> None:
    """Limits are two numbers, each of which may be missing."""
    pair = isinstance(limits, (tuple, list)) and len(limits) == 2
    if limits is not None and not (pair and all(x is None or isinstance(x, (int, float)) for x in limits)):  # type: ignore[attr-defined]
        raise InputError(
            f"The limits of joint {name!r} are not a pair of numbers.",
            f"got {described(limits)}",
            because="a coordinate has a lower and an upper limit; None leaves one side open.",
            remedy="limits=(-1.0, 1.0)",
        )


def _check_coordinates(name: str, coordinates: object) -> None:
    """Refuse coordinates that are neither those of the bodies nor of the joint."""
    if coordinates not in ("body", "joint"):
        raise InputError(
            f"Joint {name!r} has no coordinates {coordinates!r}.",
            'coordinates: "body", "joint"',
            because="either the bodies or the joint bring the states.",
            remedy=did_you_mean(str(coordinates), ("body", "joint")),
        )


def _check_no_coordinate(name: str, given: Mapping[str, Any]) -> None:
    """A joint that closes a loop has no coordinate to which a start or limits belong."""
    for argument in ("start", "rate", "limits", "stops"):
        if given[argument] is not None:
            raise ModelError(
                f"Joint {name!r} closes a loop and takes no {argument}.",
                because="it is a constraint: its motion follows from the other joints of the loop.",
                remedy=f"leave {argument} out, or write this joint before the one that should close the loop",
            )


def _check_arguments(name: str, kind: str, known: Kind, given: Mapping[str, Any]) -> None:
    for argument in known.needs:
        if given[argument] is None:
            raise ModelError(
                f"Joint {name!r} has no {argument}.",
                f"it is {kind!r}",
                because=f"a {kind} joint needs {' and '.join(known.needs)}.",
                remedy=f"{argument}={'[0, 0, 1]' if 'axis' in argument else '1.0'}",
            )
    for argument, value in given.items():
        if value is not None and argument not in ("at_a", "at_b", *known.needs, *known.takes):
            allowed = ["at_a", "at_b", *known.needs, *known.takes]
            raise ModelError(
                f"Joint {name!r} takes no {argument}.",
                f"it is {kind!r} and takes {', '.join(allowed)}",
                because="it would have no effect.",
                remedy=f"leave {argument} out",
            )


def _axis(name: str, given: Mapping[str, Any], argument: str, size: int) -> np.ndarray | None:
    value = given[argument]
    if value is None:
        return None
    if is_symbol(value):
        raise InputError(
            f"{argument} of joint {name!r} is an expression.",
            because="the directions across an axis are found for numbers.",
            remedy=f"{argument}={[0.0] * (size - 1) + [1.0]}",
        )
    try:
        axis = np.asarray(value.full().ravel() if isinstance(value, ca.DM) else value, dtype=float)
    except (TypeError, ValueError):
        axis = np.zeros(0)
    if axis.shape != (size,) or not np.all(np.isfinite(axis)) or np.linalg.norm(axis) == 0:
        raise InputError(
            f"{argument} of joint {name!r} is not a direction.",
            f"got {described(value)}",
            because=f"a direction has {size} components, not all zero.",
            remedy=f"{argument}={[0.0] * (size - 1) + [1.0]}",
        )
    direction: np.ndarray = axis / np.linalg.norm(axis)
    return direction


def stop_joint(door: JointDoor, name: str, limits: Any, restitution: object) -> None:
    """Unilateral constraints at the limits of a joint, `name.lower_stop` and `name.upper_stop`."""
    q = door[door.written.mechanics.tree[name].coordinate]
    ends = [end for end in limits or () if end is not None and np.isfinite(end)]
    if not ends:
        raise ModelError(
            f"Joint {name!r} has stops and no limits.",
            because="stops act at limits.",
            remedy="limits=(-1.0, 1.0)",
        )
    for side, end, sign in zip(("lower", "upper"), limits or (), (1, -1)):
        if end is not None and np.isfinite(end):
            door.unilateral(f"{name}.{side}_stop", sign * (q - end), restitution)  # type: ignore[attr-defined]
