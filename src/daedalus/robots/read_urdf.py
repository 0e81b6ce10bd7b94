"""`dd.read_urdf(path_or_text)`: a robot of the Unified Robot RobotDescription Format as a model in joint coordinates.

The format: https://wiki.ros.org/urdf/XML.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.euler_angles import rotation_from_rpy
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean
from daedalus.robots.file_elements import LARGEST, Element, RobotFile, numbers, plain_name, read_robot_file, required
from daedalus.robots.links_and_joints import FileJoint, FileLink, FileShape, MimicJoint, RobotDescription, built

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "spherical": "spherical",
    "planar": "planar",
}


def read_urdf(path_or_text: str | Path, base: Literal["fixed", "free"] = "fixed", stops: float | None = None) -> Model:
    """A model of the robot in a URDF file; the states are the angles and displacements of its joints.

    A joint `elbow` has the coordinate `elbow.angle` or `elbow.displacement`. Links connected by fixed joints form one
    body, and every link has a frame with its name: `m.robot().pose("tool", q)`. Limits of joints are bounds for plans
    and for
    inverse kinematics; damping and friction act. What the model does not support is listed in `m.unsupported`.

    Parameters
    ----------
    path_or_text: the path of a file, or its text.
    base: "fixed": the root link is part of the ground. "free": it moves, with its own position and quaternion.
    stops: makes the limits of the joints hard stops with this restitution, 0 to 1; without it they are bounds only.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.read_urdf('''<robot name="pendulum">
    ...   <link name="base"/>
    ...   <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    ...     <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
    ... </robot>''')
    >>> m.robot().mass_matrix([0.0]).round(6)
    array([[0.6]])
    >>> tr = dd.simulate(m, 1.0, start={"hinge.angle": 0.3, "hinge.angle_dot": 0.0})
    """
    if base not in ("fixed", "free"):
        raise InputError(
            f"base={base!r} is neither fixed nor free.",
            because="the root link is held by the ground, or moves.",
            remedy='base="fixed" or base="free"',
        )
    file = read_robot_file(path_or_text, "URDF")
    _refuse_xacro(file)
    return built(_described(file.root, base), stops)


def _refuse_xacro(file: RobotFile) -> None:
    """Macros of xacro are expanded by that program; read as they are, links and numbers would be missing."""
    for element in file.root.iter():
        if isinstance(element.tag, str) and "/xacro}" in element.tag:
            raise InputError(
                f"{'This text' if file.folder is None else file.name} is a xacro file.",
                f"it has <xacro:{element.tag.rpartition('}')[2]}>",
                because="its macros have to be expanded before links and joints can be read.",
                remedy="xacro robot.urdf.xacro > robot.urdf, and that file",
            )


def _described(root: Element, base: str) -> RobotDescription:
    taken: set[str] = set()
    names: dict[str, str] = {}
    robot = RobotDescription(root.get("name") or "robot")
    for element in root.findall("link"):
        given = required(element, "name", "A link")
        if given in names:
            raise InputError(
                f"Two links are called {given!r}.", because="links are found by name.", remedy="another name for one"
            )
        names[given] = plain_name(given, taken)
        robot.links[names[given]] = _link(element, names[given], robot)
    if not robot.links:
        raise InputError("The robot has no links.", because="a robot is made of links.", remedy='<link name="base"/>')
    joints: dict[str, str] = {}
    for element in root.findall("joint"):
        robot.joints.append(_joint(element, names, joints, taken, robot))
    _root(robot, base, taken)
    for element in root.findall("joint"):
        _mimic(element, joints, robot)
    for element in root:
        if element.tag not in ("link", "joint", "material"):
            label = f" {element.get('name')!r}" if element.get("name") else ""
            robot.unsupported.append(f"<{element.tag}>{label}")
    return robot


def _link(element: Element, name: str, robot: RobotDescription) -> FileLink:
    link = FileLink(name)
    where = f"link {name!r}"
    for part in element:
        if part.tag == "inertial":
            _inertial(part, link, where)
        elif part.tag == "visual":
            _visual(part, link, where, robot)
        elif part.tag == "collision":
            robot.unsupported.append(f"<collision> of {where}")
        else:
            robot.unsupported.append(f"<{part.tag}> of {where}")
    return link


def _inertial(element: Element, link: FileLink, where: str) -> None:
    turn, place = _origin(element, f"the inertial frame of {where}")
    mass, tensor = element.find("mass"), element.find("inertia")
    if mass is None:
        raise InputError(
            f"The inertial element of {where} has no mass.",
            because="a body with inertia has mass.",
            remedy='<mass value="1.0"/>',
        )
    link.mass = float(numbers(mass, "value", 1, [0.0], f"the mass of {where}")[0])
    if link.mass < 0:
        raise InputError(
            f"The mass of {where} is negative.",
            f"it is {link.mass:g} kg",
            because="the mass of a body is positive.",
            remedy="value > 0",
        )
    values = np.zeros((3, 3))
    if tensor is not None:
        for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
            entry = numbers(tensor, f"i{'xyz'[i]}{'xyz'[j]}", 1, [0.0], f"the inertia of {where}")[0]
            values[i, j] = values[j, i] = entry
    link.centre, link.inertia = place, turn @ values @ turn.T


def _visual(element: Element, link: FileLink, where: str, robot: RobotDescription) -> None:
    turn, place = _origin(element, f"a visual of {where}")
    geometry = element.find("geometry")
    shape = None if geometry is None or not len(geometry) else geometry[0]
    if shape is None:
        return
    if shape.tag == "box":
        size = tuple(numbers(shape, "size", 3, [1, 1, 1], f"a box of {where}"))
    elif shape.tag == "cylinder":
        size = (_one(shape, "radius", where), _one(shape, "length", where))
    elif shape.tag == "sphere":
        size = (_one(shape, "radius", where),)
    else:
        robot.unsupported.append(f"<{shape.tag}> of {where}, drawn by nothing")
        return
    link.solids.append(FileShape(shape.tag, size, place, turn))


def _joint(
    element: Element, names: dict[str, str], joints: dict[str, str], taken: set[str], robot: RobotDescription
) -> FileJoint:
    given = required(element, "name", "A joint")
    if given in joints:
        raise InputError(
            f"Two joints are called {given!r}.", because="joints are found by name.", remedy="another name for one"
        )
    joints[given] = plain_name(given, taken)
    name, where = joints[given], f"joint {given!r}"
    kind = required(element, "type", where)
    if kind not in KINDS:
        raise InputError(
            f"{where[0].upper()}{where[1:]} has the type {kind!r}.",
            f"types: {', '.join(KINDS)}",
            because="its motion has no coordinates here.",
            remedy=did_you_mean(kind, KINDS),
        )
    ends = []
    for tag in ("parent", "child"):
        end = element.find(tag)
        link = "" if end is None else end.get("link") or ""
        if link not in names:
            raise InputError(
                f"The {tag} link of {where} is {'unknown' if link else 'missing'}.",
                f"it names {link!r}" if link else f"no <{tag} link=...>",
                because="a joint holds two links of the file.",
                remedy=did_you_mean(link, names, listed=False),
            )
        ends.append(names[link])
    turn, place = _origin(element, where)
    axis = np.array([1.0, 0.0, 0.0])
    if (given_axis := element.find("axis")) is not None:
        axis = numbers(given_axis, "xyz", 3, [1, 0, 0], f"the axis of {where}")
    length = np.linalg.norm(axis)
    if kind in ("revolute", "continuous", "prismatic", "planar") and not length > 0:
        raise InputError(
            f"The axis of {where} has no direction.", "it is 0 0 0", because="it moves along it.", remedy='xyz="0 0 1"'
        )
    joint = FileJoint(name, KINDS[kind], ends[0], ends[1], place, turn, axis / (length or 1.0))
    _limits(element, joint, kind, where, robot)
    if (dynamics := element.find("dynamics")) is not None:
        joint.damping = _one(dynamics, "damping", where)
        joint.friction = _one(dynamics, "friction", where)
    for part in element:
        if part.tag not in ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"):
            robot.unsupported.append(f"<{part.tag}> of {where}")
    return joint


def _limits(element: Element, joint: FileJoint, kind: str, where: str, robot: RobotDescription) -> None:
    limit = element.find("limit")
    if limit is None:
        return
    if kind in ("revolute", "prismatic"):
        joint.lower, joint.upper = (_one(limit, side, where, math.inf) for side in ("lower", "upper"))
        if joint.lower > joint.upper:
            raise InputError(
                f"The limits of {where} contradict each other.",
                f"lower {joint.lower:g} is above upper {joint.upper:g}",
                because="no position is between them.",
                remedy="exchange them",
            )
    for what in ("effort", "velocity"):
        if limit.get(what) is not None:
            robot.unsupported.append(f"{what} limit of {where}")


def _mimic(element: Element, joints: dict[str, str], robot: RobotDescription) -> None:
    mimic = element.find("mimic")
    if mimic is None:
        return
    own, other = joints[required(element, "name", "A joint")], required(mimic, "joint", "A mimic")
    if other not in joints:
        raise InputError(
            f"Joint {own!r} mimics {other!r}, which is not in the file.",
            because="it follows another joint.",
            remedy=did_you_mean(other, joints, listed=False),
        )
    where = f"the mimic of joint {own!r}"
    factor = numbers(mimic, "multiplier", 1, [1.0], where)[0]
    offset = numbers(mimic, "offset", 1, [0.0], where)[0]
    robot.mimics.append(MimicJoint(own, joints[other], float(factor), float(offset)))


def _root(robot: RobotDescription, base: str, taken: set[str]) -> None:
    """The link that no joint holds is held by the ground, or free."""
    held = {joint.child for joint in robot.joints}
    roots = [name for name in robot.links if name not in held]
    if not roots:
        raise InputError(
            "The links of the file form a loop.",
            because="every link is the child of another.",
            remedy="one link without a parent; write the joint that closes the loop in the model",
        )
    kind = "free" if base == "free" else "fixed"
    name = plain_name("base", taken)
    robot.joints.insert(0, FileJoint(name, kind, "", roots[0], np.zeros(3), np.eye(3)))


def _origin(element: Element, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and place of an <origin>."""
    origin = element.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    angles = numbers(origin, "rpy", 3, [0, 0, 0], where)
    turn = np.eye(3) if not np.any(angles) else np.asarray(rotation_from_rpy(angles))
    return turn, numbers(origin, "xyz", 3, [0, 0, 0], where)


def _one(element: Element, attribute: str, where: str, most: float = LARGEST) -> float:
    return float(numbers(element, attribute, 1, [0.0], where, most)[0])
