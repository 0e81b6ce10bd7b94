"""`dd.read_mjcf(path_or_text)`: a robot of MuJoCo's format as a model in joint coordinates.

The format: https://mujoco.readthedocs.io/en/stable/XMLreference.html. Bodies, frames, replicas, joints, inertias,
defaults, includes, equalities between bodies and joints, fixed tendons, and actuators without states are read;
contacts, tendons in space, sensors and meshes are listed as unsupported.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.model.model import Model
from daedalus.robots import geom_mass
from daedalus.robots.file_elements import Element, RobotFile, numbers, plain_name, read_robot_file
from daedalus.robots.links_and_joints import FileClosure, FileCoupling, FileJoint, FileLink, RobotDescription, built
from daedalus.robots.mjcf_drives import read_drives, write_drive
from daedalus.robots.mjcf_poses import (
    AT_ORIGIN,
    POSE_WORDS,
    Pose,
    between,
    composed,
    euler_rotation,
    relative,
    rotation_about,
)
from daedalus.robots.mjcf_sections import TRUE, MjcfReading, included, list_words, named_part, read_rules
from daedalus.robots.mjcf_shapes import read_mass
from daedalus.robots.mjcf_tendons import read_tendons, write_tendon

JOINTS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}
# Far above files that are known, far below what a file can ask for.
MOST_REPLICAS = 10_000
# What replicas of an outer <replicate> put behind the names of an inner one.
_BEHIND = "behind"
# Words that have an effect here, or that no motion depends on; all others that are written are listed.
JOINT_WORDS = {
    "name", "type", "pos", "axis", "range", "limited", "damping", "stiffness", "springref", "armature", "frictionloss",
    "ref", "class", "group", "user",
}  # fmt: skip
BODY_WORDS = {*POSE_WORDS, "name", "childclass", "gravcomp", "user"}
SECTIONS = (
    "compiler", "option", "default", "worldbody", "actuator", "equality", "tendon", "size", "visual", "statistic",
    "custom",
)  # fmt: skip
# What is read of joints with one coordinate only.
_ONE_WAY = ("range", "frictionloss", "stiffness", "springref", "ref")


class _Placed(NamedTuple):
    """An element of a body, the class that its elements inherit, and the frame that it is written in."""

    element: Element
    inherited: str
    frame: Pose


def read_mjcf(path_or_text: str | Path, stops: float | None = None) -> Model:
    """A model of the robot in an MJCF file; the states are the coordinates of its joints.

    A hinge `elbow` has the coordinate `elbow.angle`, a slide `elbow.displacement`, a ball `elbow.quaternion`; a body
    with a free joint has its own position and quaternion. Actuators become inputs with their names: the force of a
    motor, the angle that a position drive holds. Equalities are constraints. `<include>` reads files below the folder
    of the file only.
    What the model does not support is listed in `m.unsupported`.

    Parameters
    ----------
    path_or_text: the path of a file, or its text.
    stops: makes the limits of the joints hard stops with this restitution, 0 to 1; without it they are bounds only.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.read_mjcf('''<mujoco><worldbody><body name="rod"><joint name="hinge" axis="0 1 0"/>
    ...   <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05" mass="2"/></body></worldbody>
    ...   <actuator><motor name="drive" joint="hinge" gear="10"/></actuator></mujoco>''')
    >>> m.robot().mass_matrix([0.0]).round(4)
    array([[0.6911]])
    >>> list(m.inputs)
    ['drive']
    """
    file = read_robot_file(path_or_text, "MJCF")
    try:
        root, reading = _read(file)
    except RecursionError:
        raise InputError(
            f"The elements of {file.name} are nested too deeply.",
            because="nested bodies and classes are read recursively, and Python's stack is limited.",
            remedy="fewer bodies in a row, or a higher sys.setrecursionlimit",
        ) from None
    for element in root:
        if element.tag not in SECTIONS:
            reading.robot.unsupported += [f"<{element.tag}>: <{part.tag}>" for part in element] or [f"<{element.tag}>"]
    model = built(reading.robot, stops)
    for tendon in reading.tendons.values():
        write_tendon(model, tendon)
    for drive in reading.drives:
        write_drive(model, drive)
    return model


def _read(file: RobotFile) -> tuple[Element, MjcfReading]:
    """The whole tree of a file, and the robot that it describes."""
    root = included(file.root, file.folder)
    reading = MjcfReading(RobotDescription(root.get("model") or "robot"))
    read_rules(root, reading.rules, reading.robot)
    for default in root.findall("default"):
        reading.defaults.read(default)
    for world in root.findall("worldbody"):
        for part in _flattened(world, "main", AT_ORIGIN, reading):
            _world_element(part, reading)
    reading.tendons.update(read_tendons(root, reading))
    read_drives(root, reading, reading.tendons)
    read_equalities(root, reading)
    own = [link for link in reading.robot.links.values() if link.name not in reading.between]
    geom_mass.follow_rules(own, reading.rules.masses, reading.rules.balance)
    return root, reading


# -- frames ----------------------------------------------------------------------------------------------------


def _flattened(parent: Element, inherited: str, frame: Pose, reading: MjcfReading) -> Iterator[_Placed]:
    """What a body has, with the contents of frames and replicas in their place."""
    for child in parent:
        if child.tag == "frame":
            where = f"frame {child.get('name') or ''!r}"
            list_words(child, {*POSE_WORDS, "name", "childclass"}, f"{{word}} of {where}", reading.robot)
            inner = composed(frame, reading.pose(child, where))
            yield from _flattened(child, child.get("childclass") or inherited, inner, reading)
        elif child.tag == "replicate":
            yield from _replicas(child, inherited, frame, reading)
        else:
            yield _Placed(child, inherited, frame)


def _replicas(element: Element, inherited: str, frame: Pose, reading: MjcfReading) -> Iterator[_Placed]:
    """Copies in a row, each turned and shifted against the one before, with a number behind each name.

    Numbers of replicas inside others come first.
    """
    where = "a <replicate>"
    count = int(numbers(element, "count", 1, [0], where)[0])
    if not 0 < count <= MOST_REPLICAS:
        raise InputError(
            f"A <replicate> asks for {count} copies.",
            because=f"1 to {MOST_REPLICAS} are made.",
            remedy='count="10"',
        )
    list_words(
        element, {"count", "offset", "euler", "sep", "childclass", _BEHIND}, "{word} of a <replicate>", reading.robot
    )
    factor = math.pi / 180 if reading.rules.degrees else 1.0
    angles = numbers(element, "euler", 3, [0, 0, 0], where) * factor
    step = (euler_rotation(angles, reading.rules.order), numbers(element, "offset", 3, [0, 0, 0], where))
    place, turn, digits = np.zeros(3), np.eye(3), len(str(count))
    for k in range(count):
        one = copy.deepcopy(element)
        _rename(one, f"{element.get('sep', '')}{k:0{digits}d}{element.get(_BEHIND, '')}")
        here = composed(frame, (euler_rotation(k * angles, reading.rules.order), place))
        yield from _flattened(one, element.get("childclass") or inherited, here, reading)
        place, turn = place + turn @ step[1], turn @ step[0]


def _rename(parent: Element, end: str) -> None:
    """Names of what is in an element get an end; replicas in it put it behind their own numbers."""
    for part in parent:
        if part.tag == "replicate":
            part.set(_BEHIND, f"{part.get(_BEHIND, '')}{end}")
            continue
        for word in ("name", "joint", "body1", "body2", "joint1", "joint2", "site"):
            if part.get(word) is not None:
                part.set(word, f"{part.get(word)}{end}")
        _rename(part, end)


# -- bodies ----------------------------------------------------------------------------------------------------


def _world_element(part: _Placed, reading: MjcfReading) -> None:
    tag = part.element.tag
    if tag == "body":
        _body(part, "", reading)
    elif tag == "site":
        _site(part, "", reading)
    elif tag not in ("light", "camera"):
        reading.robot.unsupported.append(f"<{tag}> of the world")


def _body(part: _Placed, parent: str, reading: MjcfReading) -> None:
    element = part.element
    reading.bodies += 1
    given = element.get("name") or f"body{reading.bodies}"
    name = plain_name(given, reading.taken)
    where = f"body {name!r}"
    list_words(element, BODY_WORDS, f"{{word}} of {where}", reading.robot)
    inherited = element.get("childclass") or part.inherited
    pose = composed(part.frame, reading.pose(element, where))
    reading.names["body"][given] = name
    reading.drawn[name] = composed(reading.drawn[parent], pose)
    link = FileLink(name, lift=float(numbers(element, "gravcomp", 1, [0.0], where)[0]))
    contents = list(_flattened(element, inherited, AT_ORIGIN, reading))
    geoms = [(reading.defaults.applied(p.element, p.inherited), p.frame) for p in contents if p.element.tag == "geom"]
    read_mass(link, element.find("inertial"), geoms, reading.rules, reading.robot)
    joints = [p for p in contents if p.element.tag in ("joint", "freejoint")]
    _joints(joints, parent, link, pose, reading)
    for inner in contents:
        tag = inner.element.tag
        if tag == "body":
            _body(inner, name, reading)
        elif tag == "site":
            _site(inner, name, reading)
        elif tag not in ("joint", "freejoint", "geom", "inertial", "light", "camera"):
            reading.robot.unsupported.append(f"<{tag}> of {where}")


def _site(part: _Placed, body: str, reading: MjcfReading) -> None:
    """A site is a frame: a link without mass, fixed to its body."""
    whole = reading.defaults.applied(part.element, part.inherited)
    given = whole.get("name")
    if not given:
        return
    name = plain_name(given, reading.taken)
    if whole.get("fromto") is None:
        own = reading.pose(whole, f"site {name!r}")
    else:
        own, _ = between(numbers(whole, "fromto", 6, [], f"site {name!r}"))
    turn, place = pose = composed(part.frame, own)
    reading.names["site"][given] = name
    reading.drawn[name] = composed(reading.drawn[body], pose)
    reading.robot.links[name] = FileLink(name)
    reading.between.add(name)
    joint = plain_name(f"{name}_fixed", reading.taken)
    reading.robot.joints.append(FileJoint(joint, "fixed", body, name, place, turn))


# -- joints ----------------------------------------------------------------------------------------------------


def _joints(joints: list[_Placed], parent: str, link: FileLink, pose: Pose, reading: MjcfReading) -> None:
    """The joints of a body in a row, with links without mass between them."""
    robot, count = reading.robot, len(joints)
    turn, place = pose
    if not joints:
        robot.links[link.name] = link
        name = plain_name(f"{link.name}_fixed", reading.taken)
        robot.joints.append(FileJoint(name, "fixed", parent, link.name, place, turn))
        return
    before = parent
    for k, part in enumerate(joints):
        last = k == count - 1
        child = link if last else FileLink(plain_name(f"{link.name}_{k}", reading.taken))
        robot.links[child.name] = child
        if not last:
            reading.between.add(child.name)
        at, axes = (place, turn) if k == 0 else (np.zeros(3), np.eye(3))
        robot.joints.append(_joint(part, before, child.name, at, axes, reading))
        before = child.name


def _joint(
    part: _Placed, parent: str, child: str, place: np.ndarray, turn: np.ndarray, reading: MjcfReading
) -> FileJoint:
    element = reading.defaults.applied(part.element, part.inherited)
    kind = "free" if element.tag == "freejoint" else element.get("type", "hinge")
    given = element.get("name") or f"{child}_joint"
    name = plain_name(given, reading.taken)
    reading.names["joint"][given] = name
    where = f"joint {given!r}"
    if kind not in JOINTS:
        raise InputError(
            f"{where} has the type {kind!r}.",
            f"types: {', '.join(JOINTS)}",
            because="this joint type is not supported.",
            remedy='type="hinge"',
        )
    if kind == "free" and parent:
        raise InputError(
            f"The free {where} is not on a body of the world.",
            because="a free body moves relative to the world.",
            remedy="the body directly in <worldbody>",
        )
    list_words(element, JOINT_WORDS, f"{{word}} of {where}", reading.robot)
    axis = numbers(element, "axis", 3, [0, 0, 1], where)
    if not np.linalg.norm(axis) > 0:
        raise InputError(f"The axis of {where} has no direction.", because="it moves along it.", remedy='axis="0 0 1"')
    inner, at = part.frame
    joint = FileJoint(name, JOINTS[kind], parent, child, place, turn, inner @ axis / np.linalg.norm(axis))
    joint.at = at + inner @ numbers(element, "pos", 3, [0, 0, 0], where)
    factor = math.pi / 180 if reading.rules.degrees and kind == "hinge" else 1.0
    if kind in ("hinge", "slide"):
        _scalar_joint(element, joint, factor, where, reading)
    elif kind == "ball":
        for word in ("damping", "armature"):
            setattr(joint, word, float(numbers(element, word, 1, [0.0], where)[0]))
        reading.robot.unsupported += [f"{word} of {where}" for word in _ONE_WAY if element.get(word)]
    else:
        reading.robot.unsupported += [f"{w} of {where}" for w in ("damping", "armature", *_ONE_WAY) if element.get(w)]
    return joint


def _scalar_joint(element: Element, joint: FileJoint, factor: float, where: str, reading: MjcfReading) -> None:
    limited = element.get("limited", "auto")
    if element.get("range") is not None and (limited == "true" or (limited == "auto" and reading.rules.autolimits)):
        low, high = numbers(element, "range", 2, [0, 0], where, math.inf) * factor
        if low >= high:
            raise InputError(
                f"The limits of {where} contradict each other.",
                f"range {element.get('range')!r}",
                because="no position is between them.",
                remedy="exchange them",
            )
        joint.lower, joint.upper = float(low), float(high)
    for word in ("damping", "stiffness", "armature"):
        setattr(joint, word, float(numbers(element, word, 1, [0.0], where)[0]))
    joint.friction = float(numbers(element, "frictionloss", 1, [0.0], where)[0])
    joint.rest = float(numbers(element, "springref", 1, [0.0], where)[0]) * factor
    reference = float(numbers(element, "ref", 1, [0.0], where)[0]) * factor
    if reference:
        # The coordinate is `ref` where the file draws the robot: turn or shift the frame back by it.
        if joint.kind == "prismatic":
            joint.place = joint.place - joint.rotation @ joint.axis * reference
        else:
            turn = np.asarray(rotation_about(joint.axis, -reference))
            joint.place = joint.place + joint.rotation @ (joint.at - turn @ joint.at)
            joint.rotation = joint.rotation @ turn
        joint.start = reference


# -- equalities ------------------------------------------------------------------------------------------------------


_COMMON_WORDS = {"name", "class", "active", "solref", "solimp"}
EQUALITY_WORDS = {
    "connect": {*_COMMON_WORDS, "body1", "body2", "anchor", "site1", "site2"},
    "weld": {*_COMMON_WORDS, "body1", "body2", "anchor", "relpose", "site1", "site2", "torquescale"},
    "joint": {*_COMMON_WORDS, "joint1", "joint2", "polycoef"},
}


def read_equalities(root: Element, reading: MjcfReading) -> None:
    """All equalities between bodies, sites and joints; the others are listed.

    In MuJoCo they are stiff springs; here they hold exactly. Where two bodies are joined follows from the poses that
    the file draws.
    """
    for k, raw in enumerate(child for group in root.findall("equality") for child in group):
        element = reading.defaults.applied(raw, "main", "equality")
        if element.get("active", "true") not in TRUE:
            continue
        if raw.tag not in EQUALITY_WORDS:
            reading.robot.unsupported.append(f"<equality>: <{raw.tag}>")
            continue
        name = plain_name(element.get("name") or f"{raw.tag}_{k}", reading.taken)
        list_words(element, EQUALITY_WORDS[raw.tag], f"{{word}} of {raw.tag} {name!r}", reading.robot)
        if raw.tag == "joint":
            _coupled_joints(element, name, reading)
        else:
            _joined_bodies(element, raw.tag, name, reading)


def _joined_bodies(element: Element, tag: str, name: str, reading: MjcfReading) -> None:
    kind, where = {"connect": "spherical", "weld": "fixed"}[tag], f"{tag} {name!r}"
    if element.get("site1") is not None:
        one, two = (named_part("site", element.get(f"site{k}") or "", where, reading) for k in (1, 2))
        reading.robot.closures.append(FileClosure(name, kind, one, two, np.zeros(3), np.zeros(3), np.eye(3)))
        return
    one = named_part("body", element.get("body1") or "", where, reading)
    two = named_part("body", element.get("body2") or "world", where, reading)
    here, there = reading.drawn[one], reading.drawn[two]
    anchor = numbers(element, "anchor", 3, [0, 0, 0], where)
    if tag == "connect":
        # The anchor is given in body 1; where it is in body 2 follows from the drawing.
        _, at_two = relative(composed(here, (np.eye(3), anchor)), there)
        reading.robot.closures.append(FileClosure(name, kind, one, two, anchor, at_two, np.eye(3)))
        return
    pose = _relative_pose(element, here, there, where)
    # The anchor of a weld is in body 2.
    at_one = pose[1] + pose[0] @ anchor
    reading.robot.closures.append(FileClosure(name, kind, one, two, at_one, anchor, pose[0]))


def _relative_pose(element: Element, here: Pose, there: Pose, where: str) -> Pose:
    """Body 2 seen from body 1: as written, or as drawn where its quaternion is zero."""
    values = numbers(element, "relpose", 7, [0] * 7, where)
    length = np.linalg.norm(values[3:])
    if not length > 0:
        return relative(there, here)
    return np.asarray(rotation_from_quaternion(values[3:] / length)), values[:3]


def _coupled_joints(element: Element, name: str, reading: MjcfReading) -> None:
    where = f"joint equality {name!r}"
    own = named_part("joint", element.get("joint1") or "", where, reading)
    other = element.get("joint2")
    words = len((element.get("polycoef") or "").split())
    coefficients = numbers(element, "polycoef", words, [0.0, 1.0, 0.0, 0.0, 0.0], where)
    leads = None if other is None else named_part("joint", other, where, reading)
    reading.robot.couplings.append(FileCoupling(name, own, leads, tuple(float(c) for c in coefficients)))
