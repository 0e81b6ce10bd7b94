"""`dd.read_mjcf(path_or_text)`: a robot of MuJoCo's format as a model in joint coordinates.

The format: https://mujoco.readthedocs.io/en/stable/XMLreference.html. Contacts, tendons, sensors, meshes and most
actuators are listed as unsupported; bodies, joints, inertias, defaults, includes and motors are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.geometry.rotations import rot_x, rot_y, rot_z
from daedalus.model.model import Model
from daedalus.robots import geom_mass
from daedalus.robots.file_elements import Element, RobotFile, numbers, parsed, plain_name, read_robot_file
from daedalus.robots.links_and_joints import FileJoint, FileLink, FileShape, RobotDescription, built

MOST_INCLUDES = 100
# What the compiler may do to masses beside the rules that are followed.
MASS_RULES = ("balanceinertia", "inertiagrouprange", "exactmeshinertia")
SOLIDS = {"sphere": 1, "box": 3, "cylinder": 2, "capsule": 2, "ellipsoid": 3}
DENSITY = 1000.0  # kg/m³, MuJoCo's default
JOINTS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}
# Attributes of joints that have an effect here; all others that are written are listed as unsupported.
JOINT_WORDS = {
    "name", "type", "pos", "axis", "range", "limited", "damping", "stiffness", "springref", "armature", "frictionloss",
    "ref", "class", "group",
}  # fmt: skip


# What is read of joints with one coordinate only.
_ONE_WAY = ("range", "frictionloss", "stiffness", "springref", "ref")


class FileMotor(NamedTuple):
    """A motor on a joint: force = gear · input."""

    name: str
    joint: str
    gear: float
    lower: float | None
    upper: float | None


@dataclass
class _MjcfReading:
    """What is known while a file is read: units, defaults by class, names, and motors."""

    robot: RobotDescription
    degrees: bool = True
    order: str = "xyz"  # of Euler angles
    inertia_from_geom: str = "auto"
    autolimits: bool = True
    defaults: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    joint_names: dict[str, str] = field(default_factory=dict)
    bodies: int = 0
    motors: list[FileMotor] = field(default_factory=list)
    masses: dict[str, float] = field(
        default_factory=lambda: {"boundmass": 0.0, "boundinertia": 0.0, "settotalmass": -1.0}
    )
    between: set[str] = field(default_factory=set)  # links between the joints of one body


def read_mjcf(path_or_text: str | Path, stops: float | None = None) -> Model:
    """A model of the robot in an MJCF file; the states are the coordinates of its joints.

    A hinge `elbow` brings `elbow.angle`, a slide `elbow.displacement`, a ball `elbow.quaternion`; a body with a free
    joint has its own position and quaternion. Motors are inputs of their own names. `<include>` reads files below the
    folder of the file only. What the file has and the model has not is listed in `m.unsupported`.

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
            because="each body or class inside another one is read within it, and Python's stack ends.",
            remedy="fewer bodies in a row, or a higher sys.setrecursionlimit",
        ) from None
    for element in root:
        if element.tag not in ("compiler", "option", "default", "worldbody", "actuator", "size", "visual", "statistic"):
            reading.robot.unsupported += [f"<{element.tag}>: <{part.tag}>" for part in element] or [f"<{element.tag}>"]
    model = built(reading.robot, stops)
    for motor in reading.motors:
        _write_motor(model, motor)
    return model


def _read(file: RobotFile) -> tuple[Element, _MjcfReading]:
    """The whole tree of a file, and the robot that it describes."""
    root = _included(file.root, file.folder)
    reading = _MjcfReading(RobotDescription(root.get("model") or "robot"))
    _settings(root, reading)
    for world in root.findall("worldbody"):
        for element in world:
            _world_element(element, reading)
    _actuators(root, reading)
    own = [link for link in reading.robot.links.values() if link.name not in reading.between]
    geom_mass.follow_rules(own, reading.masses)
    return root, reading


def _write_motor(model: Model, motor: FileMotor) -> None:
    force = model.input(motor.name, lower=motor.lower, upper=motor.upper)
    name = model._mechanics.tree[motor.joint].coordinate
    model.generalised_force(model[name], motor.gear * force)


# -- the whole file --------------------------------------------------------------------------------------------


def _included(root: Element, folder: Path | None) -> Element:
    """The file with what it includes in the place of each <include>, below one folder only, bounded."""
    count = 0

    def read(parent: Element, seen: tuple[Path, ...]) -> None:
        nonlocal count
        for k, child in reversed(list(enumerate(parent))):
            if child.tag != "include":
                read(child, seen)
                continue
            count += 1
            path = _allowed(child.get("file") or "", folder)
            if path in seen or count > MOST_INCLUDES:
                raise InputError(
                    f"{path.name} includes itself, or more than {MOST_INCLUDES} files are included.",
                    because="files that include each other never end.",
                    remedy="each file once",
                )
            part = parsed(path.read_text(encoding="utf-8"), path.name, "MJCF")
            read(part, (*seen, path))
            parent.remove(child)
            for offset, element in enumerate(part):
                parent.insert(k + offset, element)

    read(root, ())
    return root


def _allowed(name: str, folder: Path | None) -> Path:
    """A file to include: below the folder of the file that was asked for."""
    if folder is None:
        raise InputError(
            f"The text includes the file {name!r}.",
            because="text has no folder to read from.",
            remedy="dd.read_mjcf with the path of the file",
        )
    path = (folder / name).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        outside = not path.is_relative_to(folder)
        raise InputError(
            f"The file {name!r} is {'outside the folder of the robot' if outside else 'not there'}.",
            because="files are read below the folder of the robot only." if outside else "it is included.",
            remedy=f"a copy of it in {folder.name!r}",
        )
    return path


def _settings(root: Element, reading: _MjcfReading) -> None:
    for compiler in root.findall("compiler"):
        reading.degrees = compiler.get("angle", "degree") != "radian"
        reading.order = compiler.get("eulerseq", reading.order)
        reading.inertia_from_geom = compiler.get("inertiafromgeom", reading.inertia_from_geom)
        reading.autolimits = compiler.get("autolimits", "true") != "false"
        if compiler.get("coordinate", "local") != "local":
            raise InputError(
                "The file has global coordinates.", because="poses are read in local ones.", remedy='coordinate="local"'
            )
        for word in reading.masses:
            given = numbers(compiler, word, 1, [reading.masses[word]], "the compiler")
            reading.masses[word] = float(given[0])
        reading.robot.unsupported += [f"compiler {word}" for word in compiler.attrib if word in MASS_RULES]
    for option in root.findall("option"):
        if option.get("gravity") is not None:
            x, y, z = numbers(option, "gravity", 3, [0, 0, -9.81], "the options")
            reading.robot.gravity = (float(x), float(y), float(z))
        for word in option.attrib:
            if word not in ("gravity", "timestep", "integrator", "iterations", "solver", "tolerance"):
                reading.robot.unsupported.append(f"option {word}")
        for word, state in ((w, s) for flag in option.findall("flag") for w, s in flag.attrib.items()):
            if word == "gravity" and state == "disable":
                reading.robot.gravity = (0.0, 0.0, 0.0)
            else:
                reading.robot.unsupported.append(f"option flag {word}")
    for default in root.findall("default"):
        _defaults(default, reading, {}, "main")


def _defaults(element: Element, reading: _MjcfReading, above: Mapping[str, Mapping[str, str]], name: str) -> None:
    """Default attributes of a class: those of the class around it, then its own."""
    own = {tag: dict(words) for tag, words in above.items()}
    for child in element:
        if child.tag != "default":
            own.setdefault(child.tag, {}).update(child.attrib)
    reading.defaults[element.get("class") or name] = own
    for child in element.findall("default"):
        _defaults(child, reading, own, child.get("class") or "")


def _with_defaults(element: Element, reading: _MjcfReading, inherited: str) -> Element:
    """An element with the attributes that its class gives it."""
    name = element.get("class") or inherited
    found = reading.defaults.get(name, reading.defaults.get("main", {})).get(element.tag, {})
    return type(element)(element.tag, {**found, **element.attrib})


# -- bodies ----------------------------------------------------------------------------------------------------


def _world_element(element: Element, reading: _MjcfReading) -> None:
    if element.tag == "body":
        _body(element, "", "main", reading)
    elif element.tag not in ("light", "camera"):
        reading.robot.unsupported.append(f"<{element.tag}> of the world")


def _body(element: Element, parent: str, inherited: str, reading: _MjcfReading) -> None:
    reading.bodies += 1
    name = plain_name(element.get("name") or f"body{reading.bodies}", reading.taken)
    where = f"body {name!r}"
    inherited = element.get("childclass") or inherited
    turn, place = _pose(element, where, reading)
    link = FileLink(name)
    joints = [_with_defaults(j, reading, inherited) for j in element if j.tag in ("joint", "freejoint")]
    _mass(element, link, inherited, where, reading)
    _joints(joints, parent, link, turn, place, reading)
    for child in element:
        if child.tag == "body":
            _body(child, name, inherited, reading)
        elif child.tag == "site":
            _site(child, name, inherited, reading)
        elif child.tag not in ("joint", "freejoint", "geom", "inertial", "light", "camera"):
            reading.robot.unsupported.append(f"<{child.tag}> of {where}")


def _joints(
    joints: list[Element], parent: str, link: FileLink, turn: np.ndarray, place: np.ndarray, reading: _MjcfReading
) -> None:
    """The joints of a body in a row, with links without mass between them."""
    robot, count = reading.robot, len(joints)
    if not joints:
        robot.links[link.name] = link
        name = plain_name(f"{link.name}_fixed", reading.taken)
        robot.joints.append(FileJoint(name, "fixed", parent, link.name, place, turn))
        return
    before = parent
    for k, element in enumerate(joints):
        last = k == count - 1
        child = link if last else FileLink(plain_name(f"{link.name}_{k}", reading.taken))
        robot.links[child.name] = child
        if not last:
            reading.between.add(child.name)
        at, axes = (place, turn) if k == 0 else (np.zeros(3), np.eye(3))
        robot.joints.append(_joint(element, before, child.name, at, axes, reading))
        before = child.name


def _joint(
    element: Element, parent: str, child: str, place: np.ndarray, turn: np.ndarray, reading: _MjcfReading
) -> FileJoint:
    kind = "free" if element.tag == "freejoint" else element.get("type", "hinge")
    given = element.get("name") or f"{child}_joint"
    name = plain_name(given, reading.taken)
    reading.joint_names[given] = name
    where = f"joint {given!r}"
    if kind not in JOINTS:
        raise InputError(
            f"{where} has the type {kind!r}.", f"types: {', '.join(JOINTS)}", because="its motion is unknown."
        )
    if kind == "free" and parent:
        raise InputError(
            f"The free {where} is not on a body of the world.",
            because="a free body moves relative to the world.",
            remedy="the body directly in <worldbody>",
        )
    for word in element.attrib:
        if word not in JOINT_WORDS:
            reading.robot.unsupported.append(f"{word} of {where}")
    axis = numbers(element, "axis", 3, [0, 0, 1], where)
    if not np.linalg.norm(axis) > 0:
        raise InputError(f"The axis of {where} has no direction.", because="it moves along it.", remedy='axis="0 0 1"')
    joint = FileJoint(name, JOINTS[kind], parent, child, place, turn, axis / np.linalg.norm(axis))
    joint.at = numbers(element, "pos", 3, [0, 0, 0], where)
    factor = math.pi / 180 if reading.degrees and kind == "hinge" else 1.0
    if kind in ("hinge", "slide"):
        _scalar_joint(element, joint, factor, where, reading)
    elif kind == "ball":
        for word in ("damping", "armature"):
            setattr(joint, word, float(numbers(element, word, 1, [0.0], where)[0]))
        reading.robot.unsupported += [f"{word} of {where}" for word in _ONE_WAY if element.get(word)]
    else:
        reading.robot.unsupported += [f"{w} of {where}" for w in ("damping", "armature", *_ONE_WAY) if element.get(w)]
    return joint


def _scalar_joint(element: Element, joint: FileJoint, factor: float, where: str, reading: _MjcfReading) -> None:
    limited = element.get("limited", "auto")
    if element.get("range") is not None and (limited == "true" or (limited == "auto" and reading.autolimits)):
        low, high = numbers(element, "range", 2, [0, 0], where) * factor
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


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation about an axis of length one.

    Example
    -------
    >>> rotation_about(np.array([0.0, 0.0, 1.0]), np.pi / 2).round(6)[0].tolist()
    [0.0, -1.0, 0.0]
    """
    half = angle / 2
    return np.asarray(rotation_from_quaternion(np.array([math.cos(half), *(math.sin(half) * axis)])))


def _site(element: Element, body: str, inherited: str, reading: _MjcfReading) -> None:
    """A site is a frame: a link without mass, fixed to its body."""
    whole = _with_defaults(element, reading, inherited)
    if not whole.get("name"):
        return
    name = plain_name(str(whole.get("name")), reading.taken)
    turn, place = _pose(whole, f"site {name!r}", reading)
    reading.robot.links[name] = FileLink(name)
    joint = plain_name(f"{name}_fixed", reading.taken)
    reading.robot.joints.append(FileJoint(joint, "fixed", body, name, place, turn))


def _mass(element: Element, link: FileLink, inherited: str, where: str, reading: _MjcfReading) -> None:
    """Mass and inertia as written, or of the shapes."""
    geoms = [_with_defaults(g, reading, inherited) for g in element if g.tag == "geom"]
    solids = [found for g in geoms if (found := _geom(g, where, link, reading)) is not None]
    inertial = element.find("inertial")
    if inertial is not None and reading.inertia_from_geom != "true":
        turn, link.centre = _pose(inertial, f"the inertial frame of {where}", reading)
        link.mass = float(numbers(inertial, "mass", 1, [0.0], where)[0])
        if inertial.get("fullinertia") is not None:
            xx, yy, zz, xy, xz, yz = numbers(inertial, "fullinertia", 6, [0] * 6, where)
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            tensor = np.diag(numbers(inertial, "diaginertia", 3, [0, 0, 0], where))
        link.inertia = turn @ tensor @ turn.T
        return
    link.mass = float(sum(mass for mass, _, _ in solids))
    if link.mass:
        link.centre = np.asarray(sum(mass * place for mass, place, _ in solids)) / link.mass
    for mass, place, tensor in solids:
        arm = place - link.centre
        link.inertia = link.inertia + tensor + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))


def _geom(
    element: Element, where: str, link: FileLink, reading: _MjcfReading
) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Mass, centre and inertia of one shape in the frame of its body; None for what has none here."""
    kind = element.get("type", "sphere" if element.get("mesh") is None else "mesh")
    if kind not in SOLIDS:
        reading.robot.unsupported.append(f"<geom> of type {kind} of {where}")
        return None
    turn, place = _pose(element, f"a geom of {where}", reading)
    written = [float(word) for word in (element.get("size") or "0").split()]
    if element.get("fromto") is not None:
        ends = numbers(element, "fromto", 6, [0] * 6, f"a geom of {where}")
        along = ends[3:] - ends[:3]
        length = float(np.linalg.norm(along))
        place, turn = (ends[:3] + ends[3:]) / 2, _upright(along / length if length else np.array([0.0, 0.0, 1.0]))
        written = [*written[:1], *([written[0]] if SOLIDS[kind] == 3 and written else []), length / 2]
    size = tuple(written[: SOLIDS[kind]])
    if len(size) < SOLIDS[kind] or not all(s > 0 for s in size):
        raise InputError(
            f"A {kind} of {where} has no size.",
            f"got {element.get('size')!r}",
            because=f"a {kind} has {SOLIDS[kind]} sizes above zero.",
            remedy=f'size="{" ".join(["0.1"] * SOLIDS[kind])}"',
        )
    if element.get("contype", "1") != "0" or element.get("conaffinity", "1") != "0":
        note = "contacts of geoms"
        if note not in reading.robot.unsupported:
            reading.robot.unsupported.append(note)
    _show(kind, size, place, turn, link)
    if element.get("mass") is not None:
        mass = float(numbers(element, "mass", 1, [0.0], f"a geom of {where}")[0])
    else:
        density = float(numbers(element, "density", 1, [DENSITY], f"a geom of {where}")[0])
        mass = density * geom_mass.volume(kind, size)
    return mass, place, turn @ geom_mass.inertia(kind, size, mass) @ turn.T


def _show(kind: str, size: tuple[float, ...], place: np.ndarray, turn: np.ndarray, link: FileLink) -> None:
    if kind == "box":
        link.solids.append(FileShape("box", tuple(2 * s for s in size), place, turn))
    elif kind == "sphere":
        link.solids.append(FileShape("sphere", size, place, turn))
    elif kind in ("cylinder", "capsule"):
        link.solids.append(FileShape(kind, (size[0], 2 * size[1]), place, turn))


def _upright(direction: np.ndarray) -> np.ndarray:
    """A rotation that takes z to a direction."""
    z = np.array([0.0, 0.0, 1.0])
    quaternion = np.array([1 + z @ direction, *np.cross(z, direction)])
    if np.linalg.norm(quaternion) < 1e-9:
        quaternion = np.array([0.0, 1.0, 0.0, 0.0])
    return np.asarray(rotation_from_quaternion(quaternion / np.linalg.norm(quaternion)))


def _pose(element: Element, where: str, reading: _MjcfReading) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and place of an element, in any of the format's five ways to write an orientation."""
    place = numbers(element, "pos", 3, [0, 0, 0], where)
    factor = math.pi / 180 if reading.degrees else 1.0
    if element.get("quat") is not None:
        quaternion = numbers(element, "quat", 4, [1, 0, 0, 0], where)
        return np.asarray(rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))), place
    if element.get("axisangle") is not None:
        x, y, z, angle = numbers(element, "axisangle", 4, [0, 0, 1, 0], where)
        axis = np.array([x, y, z]) / np.linalg.norm([x, y, z])
        return rotation_about(axis, angle * factor), place
    if element.get("euler") is not None:
        return _euler(numbers(element, "euler", 3, [0, 0, 0], where) * factor, reading.order), place
    if element.get("xyaxes") is not None:
        axes = numbers(element, "xyaxes", 6, [1, 0, 0, 0, 1, 0], where)
        x = axes[:3] / np.linalg.norm(axes[:3])
        y = axes[3:] - x * (x @ axes[3:])
        y /= np.linalg.norm(y)
        return np.column_stack([x, y, np.cross(x, y)]), place
    if element.get("zaxis") is not None:
        axis = numbers(element, "zaxis", 3, [0, 0, 1], where)
        return _upright(axis / np.linalg.norm(axis)), place
    return np.eye(3), place


def _euler(angles: np.ndarray, order: str) -> np.ndarray:
    """Lower letters turn about axes that move with the frame, capitals about fixed ones."""
    turn = np.eye(3)
    for letter, angle in zip(order, angles):
        own = np.asarray({"x": rot_x, "y": rot_y, "z": rot_z}[letter.lower()](float(angle)))
        turn = turn @ own if letter.islower() else own @ turn
    return turn


# -- actuators -------------------------------------------------------------------------------------------------


def _actuators(root: Element, reading: _MjcfReading) -> None:
    for group in root.findall("actuator"):
        for raw in group:
            element = _with_defaults(raw, reading, "main")
            given = element.get("name") or f"{raw.tag}_{len(reading.motors)}"
            joint = reading.joint_names.get(element.get("joint") or "")
            if raw.tag != "motor" or joint is None:
                reading.robot.unsupported.append(f"<{raw.tag}> {given!r}")
                continue
            written = (element.get("gear") or "1").split()
            low = high = None
            if element.get("ctrlrange") is not None and element.get("ctrllimited", "auto") != "false":
                low, high = (float(v) for v in numbers(element, "ctrlrange", 2, [0, 0], f"motor {given!r}"))
            name = plain_name(given, reading.taken)
            reading.motors.append(FileMotor(name, joint, float(written[0]), low, high))
