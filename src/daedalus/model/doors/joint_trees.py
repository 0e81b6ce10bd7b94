"""Door 3, second half: joints in joint coordinates, frames on bodies, and the links of robot files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import casadi as ca
import numpy as np

from daedalus.errors import InputError, ModelError
from daedalus.geometry.quaternions import quaternion_from_rotation, quaternion_rate, rotation_from_quaternion
from daedalus.geometry.rotations import read_rotation, rot_z
from daedalus.model.doors.bodies import BodyDoor
from daedalus.model.doors.body import Body
from daedalus.model.doors.joint_kinds import Extras, Ground, Side
from daedalus.model.drawing.sketch import JointMark
from daedalus.model.expressions import column, described
from daedalus.model.guesses import GuessedStart
from daedalus.model.mechanics.body_starts import JointValues
from daedalus.model.mechanics.tree_joints import COORDINATES, TreeJoint, rest_rotation
from daedalus.model.mechanics.trees import is_joined
from daedalus.model.mechanics.written_mechanics import Velocity, WrittenBody, WrittenFrame
from daedalus.model.names import check_name, counted
from daedalus.model.variables import make_variable


class TreeDoor(BodyDoor):
    """Joints whose own coordinates are states, and frames."""

    unsupported: list[str]

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.unsupported = []  # what the file of a robot has and the model has not

    def frame(self, name: str, body: Body | Ground | str, at: object = None, rotation: object = None) -> None:
        """Name a frame on a body: `name.position` is its origin along a run, `m.robot().pose(name, q)` its pose.

        Parameters
        ----------
        body: a body of this model or its name, or `dd.ground`.
        at: the origin in the coordinates of the body, m; the centre of mass by default.
        rotation: its axes seen from the body, a matrix or a quaternion; those of the body by default.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("arm")
        >>> link = m.body("link", mass=1.0, inertia=[0.1, 0.1, 0.01])
        >>> shoulder = m.joint("shoulder", "revolute", dd.ground, link, at_b=[0, 0, 0.5], axis_a=[0, 1, 0],
        ...                    coordinates="joint")
        >>> m.frame("tool", link, at=[0.0, 0.0, -0.5])
        >>> tr = dd.simulate(m, 1.0, start={"shoulder.angle": 0.0, "shoulder.angle_dot": 0.0})
        >>> round(float(tr["tool.position"][-1, 2]), 6)
        -1.0
        """
        check_name(name, "frame")
        partner: Body | Ground = self._partner(name, body)  # type: ignore[attr-defined]
        place = ca.SX.zeros(3) if at is None else column(self._expression(at, f"The place of frame {name!r}"))
        if place.numel() != 3:
            raise ModelError(
                f"The place of frame {name!r} has {counted(place.numel(), 'component')}.",
                because="frames are in space.",
                remedy="at=[0.0, 0.0, 0.0]",
            )
        turn = np.eye(3) if rotation is None else np.asarray(read_orientation(name, rotation, None, None, 3))
        self._changed()
        rows = tuple(tuple(map(float, row)) for row in turn)
        self.written.mechanics.frames[name] = WrittenFrame(name, _body_name(partner), place, rows)

    def robot(self) -> Any:
        """Dynamics, poses and Jacobians of a tree of joints as compiled functions of arrays.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("slide")
        >>> cart = m.body("cart", mass=3.0, inertia=[0.1, 0.1, 0.1])
        >>> rail = m.joint("rail", "prismatic", dd.ground, cart, axis_a=[1, 0, 0], coordinates="joint")
        >>> m.robot().forward_dynamics([0.0], [0.0], [6.0])
        array([2.])
        """
        from daedalus.robots.robot import Robot

        model = cast(Any, self)
        if model._robot is None:
            model._robot = Robot(model)
        return model._robot

    def to_urdf(self) -> str:
        """The text of a URDF file of a tree of joints in joint coordinates; `dd.read_urdf` reads it back.

        Warns of what URDF has no words for: springs, rotor inertias, inputs and other forces, another gravity than
        [0, 0, -9.81], and a single limit.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("slide")
        >>> m.gravity([0, 0, -9.81])
        >>> cart = m.body("cart", mass=3.0, inertia=[0.1, 0.1, 0.1])
        >>> rail = m.joint("rail", "prismatic", dd.ground, cart, axis_a=[1, 0, 0], coordinates="joint")
        >>> dd.read_urdf(m.to_urdf()).robot().mass_matrix([0.0])
        array([[3.]])
        """
        from daedalus.robots.write_urdf import urdf_text

        return urdf_text(cast(Any, self))

    def _is_branch(self, kind: str, one: Side, two: Side) -> bool:
        """Whether a joint adds a body to a tree: not where it closes a loop or moves by no coordinates of its own."""
        if kind not in COORDINATES or not (one.turns and two.turns):
            return False
        a, b = (_body_name(side.partner) for side in (one, two))
        return not is_joined(self.written.mechanics, a, b)

    def _tree_joint(
        self, name: str, kind: str, one: Side, two: Side, given: Mapping[str, Any], extras: Extras, mark: JointMark
    ) -> ca.SX:
        """Note a joint whose own coordinates are states, and declare them and its reaction."""
        size = one.place.numel()
        axes = [_in_space(kind, side.axis, size) for side in (one, two)]
        if kind == "prismatic" and size == 2:
            axes[1] = axes[0]
        rotation = rot_z(float(extras.rotation)) if size == 2 else extras.rotation
        asked = given["rotation"] is not None
        rest = np.asarray(rotation) if asked or kind != "universal" else rest_rotation(*axes)
        if kind == "spherical" and not asked:
            rest = np.eye(3)
        at_a, at_b = (self._own_place(name, side, given[f"at_{letter}"]) for side, letter in zip((one, two), "ab"))
        joint = TreeJoint(
            name,
            kind,
            (_body_name(one.partner), _body_name(two.partner)),
            at_a,
            at_b,
            None if axes[0] is None else tuple(map(float, axes[0])),
            None if axes[1] is None else tuple(map(float, axes[1])),
            tuple(tuple(map(float, row)) for row in rest),
        )
        rows = _REACTIONS[kind][size - 2]
        reaction = self._declare(make_variable(name, "algebraic", (rows,) if rows > 1 else ()))
        _, shape, unit = COORDINATES[kind]
        if kind == "spherical":
            first = GuessedStart((1.0, 0.0, 0.0, 0.0)) if given["start"] is None else given["start"]
            q = self._declare(make_variable(joint.coordinate, "state", shape, start=first))
            spin = self._declare(make_variable(joint.velocity, "state", (3,), start=given["rate"], unit="rad/s"))
            self.written.derivative_symbol(joint.velocity, 1)
            self.written.mechanics.velocities[joint.coordinate] = Velocity(
                joint.coordinate, joint.velocity, ca.SX(ca.densify(quaternion_rate(q, spin))), ca.SX.zeros(3), True
            )
            self._keep(f"{joint.coordinate} length", ca.sumsqr(q) - 1)
        elif joint.size:
            lower, upper = (None, None) if given["limits"] is None else given["limits"]
            values = {"start": given["start"], "rate": given["rate"], "lower": lower, "upper": upper}
            self._declare(make_variable(joint.coordinate, "state", shape, unit=unit, **values))
            self.written.derivative_symbol(joint.coordinate, 2)
            self.written.mechanics.coordinates.append(joint.coordinate)
        self.written.mechanics.add_to_tree(joint)
        self.written.sketch.joints[name] = mark
        return reaction

    def _own_place(self, name: str, side: Side, at: object) -> ca.SX:
        """Where a joint is in the coordinates of one partner, with three components."""
        size = side.place.numel()
        place = ca.SX.zeros(size) if at is None else column(self._expression(at, f"The place of joint {name!r}"))
        return place if size == 3 else ca.vertcat(place, 0)

    def _take_starts(self, values: JointValues) -> None:
        """Start values of joints that follow from those of bodies; what was written for a joint itself stays."""
        for name, numbers in values.positions.items():
            old = self.written.variables[name]
            start = tuple(own if own is not None else new for own, new in zip(old.start, numbers))
            self.written.variables[name] = replace(old, start=start)
        for name, numbers in values.rates.items():
            position = name.removesuffix("_dot")
            old = self.written.variables[name if name in self.written.variables else position]
            rate = old.start if old.name == name else old.rate
            taken = tuple(own if own is not None else new for own, new in zip(rate or (None,) * len(numbers), numbers))
            changed = replace(old, start=taken) if old.name == name else replace(old, rate=taken)
            self.written.variables[old.name] = changed


# -- links of files ---------------------------------------------------------------------------------------------------


def link_body(door: TreeDoor, name: str, mass: float, inertia: np.ndarray) -> Body:
    """A body of a tree; unlike `m.body` it may have no mass where something behind it has, and any moments."""
    least, middle, most = np.linalg.eigvalsh(inertia)
    if mass > 0 and least > 0 and most <= least + middle:
        return door.body(name, mass=mass, inertia=inertia)
    check_name(name, "body")
    for what, size, unit in (("position", 3, "m"), ("velocity", 3, "m/s"), ("angular_velocity", 3, "rad/s")):
        door._declare(make_variable(f"{name}.{what}", "state", (size,), unit=unit))
    guess = GuessedStart((1.0, 0.0, 0.0, 0.0))
    door._declare(make_variable(f"{name}.quaternion", "state", (4,), start=guess))
    written = WrittenBody(name, "quaternion", 3, ca.SX(mass), ca.SX(ca.DM(inertia)))
    door._write_body(written, "invariant")
    return Body(door, written)


def set_joint_values(door: TreeDoor, name: str, start: float, lower: float | None, upper: float | None) -> None:
    """A guess for the coordinate of a joint, and its limits."""
    old = door.written.variables[name]
    new = make_variable(name, "state", old.shape, start=GuessedStart(start), unit=old.unit, lower=lower, upper=upper)
    door._changed()
    door.written.variables[name] = new


def set_body_start(door: TreeDoor, name: str, place: np.ndarray, rotation: np.ndarray) -> None:
    """A guess for where a free body is."""
    door._changed()
    values = {"position": place, "quaternion": quaternion_from_rotation(rotation)}
    for what, value in values.items():
        variable = f"{name}.{what}"
        guess = tuple(float(x) for x in value)
        door.written.variables[variable] = replace(door.written.variables[variable], guess=guess)


# How many numbers the reaction of a joint has, in the plane and in space: one for each motion that it prevents.
_REACTIONS = {"fixed": (3, 6), "revolute": (2, 5), "prismatic": (2, 5), "universal": (0, 4), "spherical": (2, 3),
              "planar": (0, 3)}  # fmt: skip


def _body_name(partner: Body | Ground) -> str:
    return "" if isinstance(partner, Ground) else partner.name


def _in_space(kind: str, axis: np.ndarray | None, size: int) -> np.ndarray | None:
    """An axis with three components; bodies of the plane turn about z."""
    if size == 3:
        return axis
    if kind == "revolute":
        return np.array([0.0, 0.0, 1.0])
    return None if axis is None else np.array([*axis, 0.0])


def read_orientation(
    name: str, rotation: Any, axis_a: np.ndarray | None, axis_b: np.ndarray | None, size: int
) -> np.ndarray | float:
    """The wanted orientation of b seen from a."""
    if size == 2:
        try:
            return 0.0 if rotation is None else float(rotation)
        except (TypeError, ValueError):
            raise InputError(
                f"The rotation of joint {name!r} is not an angle.",
                f"got {described(rotation)}",
                because="planar bodies turn about one axis.",
                remedy="rotation=0.0, in rad",
            ) from None
    if rotation is not None:
        if np.shape(rotation) == (4,):
            from_quaternion: np.ndarray = rotation_from_quaternion(rotation)
            return from_quaternion
        wanted: np.ndarray = read_rotation(rotation, f"rotation of joint {name}")
        return wanted
    if axis_a is None or axis_b is None:
        return np.eye(3)
    # The quaternion of the smallest rotation between two directions: (1 + b·a, b × a), half a turn where they oppose.
    quaternion = np.array([1 + axis_b @ axis_a, *np.cross(axis_b, axis_a)])
    if np.linalg.norm(quaternion) < 1e-12:
        helper = np.cross(np.eye(3)[int(np.argmin(np.abs(axis_b)))], axis_b)
        quaternion = np.array([0.0, *helper])
    smallest: np.ndarray = rotation_from_quaternion(quaternion)
    return smallest
