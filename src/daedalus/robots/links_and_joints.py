"""What robot files describe, in one form for all of them, and the model that it becomes.

Links have a frame of their own and mass about it; joints place the frame of a child in that of its parent. Links that
fixed joints hold together become one body, named after the first of them, and each keeps its frame by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.inertia_check import check as check_inertia
from daedalus.model.doors.body import Body
from daedalus.model.doors.joint_kinds import Ground, ground
from daedalus.model.doors.joint_trees import link_body, set_body_start, set_joint_values
from daedalus.model.doors.joints import stop_joint
from daedalus.model.model import Model
from daedalus.model.names import counted, listed

Three = tuple[float, float, float]
# Joints with a share of each: a length that is a sum of their coordinates.
JointSum = tuple[tuple[str, float], ...]


@dataclass
class FileShape:
    """A shape on a link, to be drawn: its kind, sizes and pose in the link's frame."""

    kind: str
    size: tuple[float, ...]
    at: np.ndarray
    rotation: np.ndarray
    colour: str | None = None


@dataclass
class FileLink:
    """A link: mass, centre of mass and inertia about it, in the axes of the link's frame."""

    name: str
    mass: float = 0.0
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    solids: list[FileShape] = field(default_factory=list)
    lift: float = 0.0  # the share of its weight that something unseen carries


@dataclass
class FileJoint:
    """A joint: the pose of the child's frame in the parent's at zero, and its axis in the child's frame.

    kind: fixed, revolute, prismatic, spherical, planar or free; at: where the axis passes, in the child's frame.
    """

    name: str
    kind: str
    parent: str  # "" for the world
    child: str
    place: np.ndarray
    rotation: np.ndarray
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    at: np.ndarray = field(default_factory=lambda: np.zeros(3))
    lower: float | None = None
    upper: float | None = None
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    start: float = 0.0


@dataclass
class MimicJoint:
    """A joint that follows another: q = multiplier · other + offset."""

    joint: str
    other: str
    multiplier: float
    offset: float


@dataclass
class FileClosure:
    """A joint that closes a loop: places in the frames of both links, and the second link seen from the first."""

    name: str
    kind: str  # spherical or fixed
    one: str  # "" for the world
    two: str
    at_one: np.ndarray
    at_two: np.ndarray
    rotation: np.ndarray


@dataclass
class FileCoupling:
    """A joint that follows another by a polynomial: q − q₀ = c₀ + c₁ (other − other₀) + ..., or stands at q₀ + c₀.

    q₀ and other₀ are the coordinates as the file draws them.
    """

    name: str
    joint: str
    other: str | None
    coefficients: tuple[float, ...]


class FileDrive(NamedTuple):
    """An actuator on a joint or a tendon: its gear, gains and biases, and the bounds of its input."""

    name: str
    length: JointSum
    gear: float
    gain: Three
    bias: Three
    lower: float | None
    upper: float | None


class FileTendon(NamedTuple):
    """A sum of joint coordinates, with a spring that rests between two lengths and a damper."""

    name: str
    length: JointSum
    stiffness: float
    damping: float
    rest: tuple[float, float]


@dataclass
class RobotDescription:
    """All that was read of a file, and what it has that a model has not."""

    name: str
    links: dict[str, FileLink] = field(default_factory=dict)
    joints: list[FileJoint] = field(default_factory=list)
    mimics: list[MimicJoint] = field(default_factory=list)
    closures: list[FileClosure] = field(default_factory=list)
    couplings: list[FileCoupling] = field(default_factory=list)
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    unsupported: list[str] = field(default_factory=list)


@dataclass
class _HeldTogether:
    """Links that fixed joints hold together: poses of their frames in that of the first, and their common mass."""

    name: str
    poses: dict[str, tuple[np.ndarray, np.ndarray]]  # rotation and place
    mass: float = 0.0
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))


def built(description: RobotDescription, stops: float | None = None) -> Model:
    """The model of a description, in joint coordinates; stops: the restitution of hard stops at the limits."""
    ordered = _ordered(description)
    groups = _groups(description, ordered)
    moving = [joint for joint in ordered if joint.kind != "fixed"]
    model = Model(description.name)
    model.gravity(list(description.gravity))
    bodies: dict[str, Body | Ground] = {"": ground}
    _check_masses(description, groups, moving)
    free = {joint.child for joint in moving if joint.kind == "free"}
    for group in groups.values():
        if group.name in free and np.any(group.centre):
            bodies[group.name] = _free_body(model, group)
        elif group.name:
            bodies[group.name] = link_body(model, group.name, group.mass, group.inertia)
    owner = {link: group for group in groups.values() for link in group.poses}
    drawn = _as_drawn(ordered)
    for joint in moving:
        if joint.kind == "free":
            turn, place = drawn[joint.child]
            set_body_start(model, joint.child, place, turn)
            continue
        _write_joint(model, joint, owner, bodies)
        if stops is not None and (joint.lower is not None or joint.upper is not None):
            stop_joint(model, joint.name, (joint.lower, joint.upper), stops)
    for mimic in description.mimics:
        _write_mimic(model, description, mimic)
    for closure in description.closures:
        _write_closure(model, closure, owner, bodies)
    for coupling in description.couplings:
        _write_coupling(model, description, coupling)
    for group in groups.values():
        for link, (turn, place) in group.poses.items():
            if link:
                _lift(model, description, link, bodies[group.name], turn, place - group.centre)
                model.frame(link, bodies[group.name], at=place - group.centre, rotation=turn)
                _draw(model, description.links[link], bodies[group.name], turn, place - group.centre)
    model.unsupported = list(description.unsupported)
    return model


def _free_body(model: Model, group: _HeldTogether) -> Body:
    """A free body whose position is the origin of its link, as files and robot libraries have it.

    Bodies are at their centres of mass: here a body without mass moves, and one with the mass is fixed to it.
    """
    frame = link_body(model, group.name, 0.0, np.zeros((3, 3)))
    heavy = link_body(model, f"{group.name}_mass", group.mass, group.inertia)
    model.joint(f"{group.name}_centre", "fixed", frame, heavy, at_a=group.centre, coordinates="joint")
    group.centre = np.zeros(3)
    return frame


def _ordered(description: RobotDescription) -> list[FileJoint]:
    """Joints from the root outwards; refuses loops, unknown links and links that nothing holds."""
    children: dict[str, list[FileJoint]] = {}
    held: dict[str, str] = {}
    for joint in description.joints:
        for link in (joint.parent, joint.child):
            if link and link not in description.links:
                raise InputError(
                    f"Joint {joint.name!r} names the link {link!r}, which is not in the file.",
                    f"links: {listed(list(description.links), 8)}",
                    because="a joint holds two links of the file.",
                    remedy="the name of one of them",
                )
        if joint.child in held:
            raise InputError(
                f"The link {joint.child!r} has two parents.",
                f"joints {held[joint.child]!r} and {joint.name!r} both hold it",
                because="the links of a file form a tree; a loop is closed by a constraint.",
                remedy=f'leave one of the joints out and write m.joint("{joint.name}", ...) in the model',
            )
        held[joint.child] = joint.name
        children.setdefault(joint.parent, []).append(joint)
    order: list[FileJoint] = []
    queue = list(children.get("", []))
    while queue:
        joint = queue.pop(0)
        order.append(joint)
        queue += children.get(joint.child, [])
    reached = {joint.child for joint in order}
    lost = [name for name in description.links if name not in reached]
    if lost:
        raise InputError(
            f"{counted(len(lost), 'link')} {'is' if len(lost) == 1 else 'are'} not joined to the root.",
            f"links: {listed(lost, 8)}",
            because="links without a way to the root form a loop, or a second tree.",
            remedy="one root link; every other link the child of one joint",
        )
    return order


def _groups(description: RobotDescription, ordered: Sequence[FileJoint]) -> dict[str, _HeldTogether]:
    """Links by the body they belong to; "" is the ground."""
    groups = {"": _HeldTogether("", {"": (np.eye(3), np.zeros(3))})}
    owner = {"": groups[""]}
    for joint in ordered:
        if joint.kind != "fixed":
            groups[joint.child] = owner[joint.child] = _HeldTogether(
                joint.child, {joint.child: (np.eye(3), np.zeros(3))}
            )
            continue
        group = owner[joint.parent]
        turn, place = group.poses[joint.parent]
        group.poses[joint.child] = (turn @ joint.rotation, place + turn @ joint.place)
        owner[joint.child] = group
    for group in groups.values():
        if not group.name:
            continue  # what is fixed to the ground does not move
        parts = []
        for link, (turn, place) in group.poses.items():
            body = description.links.get(link)
            if body is not None and (body.mass or np.any(body.inertia)):
                parts.append((body.mass, place + turn @ body.centre, turn @ body.inertia @ turn.T))
        group.mass = sum(mass for mass, _, _ in parts)
        if group.mass:
            group.centre = sum(mass * centre for mass, centre, _ in parts) / group.mass
        for mass, centre, inertia in parts:
            arm = centre - group.centre
            group.inertia = group.inertia + inertia + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return groups


def _check_masses(description: RobotDescription, groups: dict[str, _HeldTogether], moving: Sequence[FileJoint]) -> None:
    """Refuse a moving joint that carries nothing: its acceleration would be a quotient of zeros."""
    carried: dict[str, float] = {}
    owner = {link: group.name for group in groups.values() for link in group.poses}
    for joint in reversed(moving):
        mass = groups[joint.child].mass + carried.get(joint.child, 0.0)
        above = owner[joint.parent]
        carried[above] = carried.get(above, 0.0) + mass
        if joint.kind == "free" and not groups[joint.child].mass:
            raise InputError(
                f"The free link {joint.child!r} has no inertia.",
                "it is the root of the robot and moves freely",
                because="a body without mass on a single joint can turn freely about it.",
                remedy=f'<inertial> of {joint.child!r}, or base="fixed"',
            )
        if not mass and not joint.armature:
            raise InputError(
                f"The link {joint.child!r} has no inertia.",
                f"joint {joint.name!r} moves it, and nothing behind it has mass",
                because="a force on a joint without mass accelerates it without bound.",
                remedy=f"<inertial> of {joint.child!r}, or a fixed joint",
            )
    for group in groups.values():
        if group.name and np.any(group.inertia):
            _check_tensor(description, group)


def _check_tensor(description: RobotDescription, group: _HeldTogether) -> None:
    """Refuse an inertia with which a body would turn the wrong way; tell one that no real body has."""
    moments = np.linalg.eigvalsh(group.inertia)
    # Moments of a speck of the mass a micrometre wide are zero, also with a sign.
    if np.abs(moments).max() <= 1e-12 * group.mass:
        group.inertia = np.zeros((3, 3))
    elif moments[0] < -1e-9 * moments[2]:
        check_inertia(ca.DM(group.inertia), group.name)
    elif moments[2] - moments[0] - moments[1] > 1e-9 * moments[2]:
        a, b, c = moments
        description.unsupported.append(
            f"the inertia of {group.name!r}: {c:.4g} kg m² is more than {a:.4g} + {b:.4g}, as of no real body; it is "
            "used as it is"
        )


def _write_joint(
    model: Model, joint: FileJoint, owner: dict[str, _HeldTogether], bodies: dict[str, Body | Ground]
) -> None:
    before, behind = owner[joint.parent], owner[joint.child]
    turn, place = before.poses[joint.parent]
    rotation = turn @ joint.rotation
    at = place + turn @ (joint.place + joint.rotation @ joint.at)
    options: dict[str, Any] = {"rotation": rotation}
    if joint.kind in ("revolute", "prismatic", "planar"):
        options["axis_a"] = rotation @ joint.axis
    if joint.kind in ("revolute", "planar"):
        options["axis_b"] = joint.axis
    model.joint(
        joint.name,
        joint.kind,
        bodies[before.name],
        bodies[behind.name],
        at_a=at - before.centre,
        at_b=joint.at - behind.centre,
        coordinates="joint",
        **options,
    )
    if joint.kind == "planar":
        rates = model.rate(model[model.written.mechanics.tree[joint.name].coordinate])
        if joint.damping:
            model.dissipation(0.5 * joint.damping * ca.sumsqr(rates))
        return
    if joint.kind == "spherical":
        spin = model[model.written.mechanics.tree[joint.name].velocity]
        if joint.damping:
            model.dissipation(0.5 * joint.damping * ca.sumsqr(spin))
        if joint.armature:
            model.kinetic_energy(0.5 * joint.armature * ca.sumsqr(spin))
        return
    name = model.written.mechanics.tree[joint.name].coordinate
    set_joint_values(model, name, joint.start, joint.lower, joint.upper)
    q, rate = model[name], model.rate(model[name])
    if joint.damping:
        model.dissipation(0.5 * joint.damping * rate**2)
    if joint.stiffness:
        model.potential_energy(0.5 * joint.stiffness * (q - joint.rest) ** 2)
    if joint.armature:
        model.kinetic_energy(0.5 * joint.armature * rate**2)
    if joint.friction:
        model.generalised_force(q, model.friction(f"{joint.name}.friction", rate, kinetic=joint.friction))


def _as_drawn(ordered: Sequence[FileJoint]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rotation and place of every link in the world with all joints at zero."""
    poses = {"": (np.eye(3), np.zeros(3))}
    for joint in ordered:
        turn, place = poses[joint.parent]
        poses[joint.child] = (turn @ joint.rotation, place + turn @ joint.place)
    return poses


def _write_mimic(model: Model, description: RobotDescription, mimic: MimicJoint) -> None:
    tree = model.written.mechanics.tree
    fixed = {joint.name for joint in description.joints if joint.kind == "fixed"}
    if mimic.joint == mimic.other:
        raise InputError(
            f"Joint {mimic.joint!r} mimics itself.",
            because="a joint that mimics another is a multiple of it.",
            remedy="<mimic> with the name of another joint, or none",
        )
    if mimic.joint in fixed:
        description.unsupported.append(f"<mimic> of the fixed joint {mimic.joint!r}")
        return
    if mimic.other in fixed and mimic.joint in tree and tree[mimic.joint].size == 1:
        model.constraint(f"{mimic.joint}.mimic", model[tree[mimic.joint].coordinate] - mimic.offset)
        return
    for name in (mimic.joint, mimic.other):
        if name not in tree or tree[name].size != 1:
            raise InputError(
                f"Joint {mimic.joint!r} follows {mimic.other!r}, and {name!r} has no single coordinate.",
                f"joints: {listed(list(tree), 8)}",
                because="a joint that mimics another is a multiple of it.",
                remedy="two revolute or prismatic joints",
            )
    one, other = (model[tree[name].coordinate] for name in (mimic.joint, mimic.other))
    model.constraint(f"{mimic.joint}.mimic", one - mimic.multiplier * other - mimic.offset)


def _write_closure(
    model: Model, closure: FileClosure, owner: dict[str, _HeldTogether], bodies: dict[str, Body | Ground]
) -> None:
    """A loop closed by a constraint between two bodies."""
    one, two = owner[closure.one], owner[closure.two]
    (turn_one, place_one), (turn_two, place_two) = one.poses[closure.one], two.poses[closure.two]
    if one.name == two.name:
        raise InputError(
            f"{closure.name!r} joins {closure.one or 'the world'!r} with {closure.two or 'the world'!r}.",
            "fixed joints hold both together",
            because="two parts of one body cannot move against each other.",
            remedy="leave it out",
        )
    rotation = turn_one @ closure.rotation @ turn_two.T
    model.joint(
        closure.name,
        closure.kind,
        bodies[one.name],
        bodies[two.name],
        at_a=place_one + turn_one @ closure.at_one - one.centre,
        at_b=place_two + turn_two @ closure.at_two - two.centre,
        **({"rotation": rotation} if closure.kind == "fixed" else {}),
    )


def _write_coupling(model: Model, description: RobotDescription, coupling: FileCoupling) -> None:
    starts = {joint.name: joint.start for joint in description.joints}
    tree = model.written.mechanics.tree
    for name in (coupling.joint, coupling.other):
        if name is not None and (name not in tree or tree[name].size != 1):
            raise InputError(
                f"The equality {coupling.name!r} couples {name!r}, which has no single coordinate.",
                because="a polynomial takes one number to one other.",
                remedy="hinges and slides",
            )
    away = model[tree[coupling.joint].coordinate] - starts[coupling.joint]
    if coupling.other is None:
        model.constraint(coupling.name, away - coupling.coefficients[0])
        return
    x = model[tree[coupling.other].coordinate] - starts[coupling.other]
    followed = sum((c * x**k for k, c in enumerate(coupling.coefficients)), ca.SX(0))
    model.constraint(coupling.name, away - followed)


def _lift(
    model: Model, description: RobotDescription, name: str, body: Body | Ground, turn: np.ndarray, place: np.ndarray
) -> None:
    """A force at the centre of a link that carries a share of its weight."""
    link = description.links[name]
    if link.lift and isinstance(body, Body):
        push = -link.lift * link.mass * np.array(description.gravity)
        body.apply_force(push.tolist(), at=place + turn @ link.centre, frame="world")


def _draw(model: Model, link: FileLink, body: Body | Ground, turn: np.ndarray, place: np.ndarray) -> None:
    for solid in link.solids:
        where: dict[str, Any] = {"at": body, "offset": place + turn @ solid.at, "rotation": turn @ solid.rotation}
        if isinstance(body, Ground):
            where = {"at": place + turn @ solid.at, "rotation": turn @ solid.rotation}
        where["colour"] = solid.colour
        if solid.kind == "box":
            model.draw("box", size=list(solid.size), **where)
        elif solid.kind == "sphere":
            where.pop("rotation")
            model.draw("sphere", radius=solid.size[0], **where)
        elif solid.kind in ("cylinder", "capsule"):
            model.draw("cylinder", radius=solid.size[0], length=solid.size[1], **where)
