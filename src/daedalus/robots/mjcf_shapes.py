"""Masses of MJCF bodies: as written in <inertial>, or those of their geoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.robots import geom_mass
from daedalus.robots.file_elements import LARGEST, Element, numbers
from daedalus.robots.links_and_joints import FileLink, FileShape, RobotDescription
from daedalus.robots.mjcf_poses import POSE_WORDS, Pose, between, composed, pose_of
from daedalus.robots.mjcf_sections import TRUE, MjcfRules, list_words

SOLIDS = {"sphere": 1, "box": 3, "cylinder": 2, "capsule": 2, "ellipsoid": 3}
DENSITY = 1000.0  # kg/m³, MuJoCo's default; of a shell kg/m²
# Words of geoms that are read, or that belong to pictures and contacts alone; contacts are listed once.
GEOM_WORDS = {
    *POSE_WORDS, "name", "class", "type", "size", "fromto", "mass", "density", "group", "shellinertia", "rgba",
    "material", "castshadow", "contype", "conaffinity", "condim", "friction", "margin", "gap", "solref", "solimp",
    "solmix", "priority", "user", "mesh", "hfield", "fitscale", "surfacevel", "adhesion",
}  # fmt: skip
INERTIAL_WORDS = {*POSE_WORDS, "mass", "fullinertia", "diaginertia"}


class WeighedGeom(NamedTuple):
    """Mass, centre and inertia of one shape in the frame of its body."""

    mass: float
    place: np.ndarray
    inertia: np.ndarray


def read_mass(
    link: FileLink,
    inertial: Element | None,
    geoms: Sequence[tuple[Element, Pose]],
    rules: MjcfRules,
    robot: RobotDescription,
) -> None:
    """Mass, centre and inertia of a body as written, or of its geoms; each geom comes with the frame it is in."""
    where = f"body {link.name!r}"
    solids = [found for geom, frame in geoms if (found := _geom(geom, frame, where, link, rules, robot)) is not None]
    if inertial is not None and rules.inertia_from_geom != "true":
        _written(link, inertial, where, rules, robot)
        return
    if rules.inertia_from_geom == "false":
        return
    link.mass = float(sum(solid.mass for solid in solids))
    if link.mass:
        link.centre = np.asarray(sum(solid.mass * solid.place for solid in solids)) / link.mass
    for mass, place, tensor in solids:
        arm = place - link.centre
        link.inertia = link.inertia + tensor + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))


def _written(link: FileLink, inertial: Element, where: str, rules: MjcfRules, robot: RobotDescription) -> None:
    turn, link.centre = pose_of(inertial, f"the inertial frame of {where}", rules.degrees, rules.order)
    list_words(inertial, INERTIAL_WORDS, f"{{word}} of the inertial frame of {where}", robot)
    link.mass = float(numbers(inertial, "mass", 1, [0.0], where)[0])
    if link.mass < 0:
        raise InputError(
            f"The mass of {where} is negative.",
            f"it is {link.mass:g} kg",
            because="the mass of a body is positive.",
            remedy="mass > 0",
        )
    if inertial.get("fullinertia") is not None:
        xx, yy, zz, xy, xz, yz = numbers(inertial, "fullinertia", 6, [0] * 6, where)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        tensor = np.diag(numbers(inertial, "diaginertia", 3, [0, 0, 0], where))
    link.inertia = turn @ tensor @ turn.T


def _geom(
    element: Element, frame: Pose, where: str, link: FileLink, rules: MjcfRules, robot: RobotDescription
) -> WeighedGeom | None:
    """One shape, drawn and weighed; None for what has no mass here."""
    kind = element.get("type", "sphere" if element.get("mesh") is None else "mesh")
    if kind not in SOLIDS:
        robot.unsupported.append(f"<geom> of type {kind} of {where}")
        return None
    size, own = _size_and_pose(element, kind, where, rules)
    turn, place = composed(frame, own)
    list_words(element, GEOM_WORDS, f"{{word}} of a geom of {where}", robot)
    if element.get("contype", "1") != "0" or element.get("conaffinity", "1") != "0":
        note = "contacts of geoms"
        if note not in robot.unsupported:
            robot.unsupported.append(note)
    _show(kind, size, place, turn, link)
    group = int(numbers(element, "group", 1, [0], f"a geom of {where}")[0])
    if not rules.groups[0] <= group <= rules.groups[1]:
        return None
    shell = element.get("shellinertia") in TRUE
    if shell and kind == "ellipsoid":
        robot.unsupported.append(f"shellinertia of an ellipsoid of {where}")
        shell = False
    if element.get("mass") is not None:
        mass = float(numbers(element, "mass", 1, [0.0], f"a geom of {where}")[0])
    else:
        density = float(numbers(element, "density", 1, [DENSITY], f"a geom of {where}")[0])
        mass = density * (geom_mass.area(kind, size) if shell else geom_mass.volume(kind, size))
    if mass < 0:
        raise InputError(
            f"A geom of {where} has a negative mass.",
            f"it is {mass:g} kg",
            because="the mass of a body is positive.",
            remedy="mass > 0, or density > 0",
        )
    tensor = geom_mass.shell_inertia(kind, size, mass) if shell else geom_mass.inertia(kind, size, mass)
    return WeighedGeom(mass, place, turn @ tensor @ turn.T)


def _size_and_pose(element: Element, kind: str, where: str, rules: MjcfRules) -> tuple[tuple[float, ...], Pose]:
    """Radii and half lengths; a shape from one point to another lies between them."""
    what, count = f"a geom of {where}", SOLIDS[kind]
    words = (element.get("size") or "").split()
    written = list(numbers(element, "size", len(words), [], f"{what} ({kind})")) if words else []
    if element.get("fromto") is None:
        pose = pose_of(element, what, rules.degrees, rules.order)
    else:
        pose, length = between(numbers(element, "fromto", 6, [0] * 6, what))
        written = [*written[:1], *(written[:1] if count == 3 else []), length / 2]
    size = tuple(float(s) for s in written[:count])
    if len(size) < count or not all(s * LARGEST > 1 for s in size):
        raise InputError(
            f"A {kind} of {where} has no size.",
            f"got size {element.get('size')!r}",
            because=f"a {kind} has {count} sizes above zero.",
            remedy=f'size="{" ".join(["0.1"] * count)}"',
        )
    return size, pose


def _show(kind: str, size: tuple[float, ...], place: np.ndarray, turn: np.ndarray, link: FileLink) -> None:
    if kind == "box":
        link.solids.append(FileShape("box", tuple(2 * s for s in size), place, turn))
    elif kind == "sphere":
        link.solids.append(FileShape("sphere", size, place, turn))
    elif kind in ("cylinder", "capsule"):
        link.solids.append(FileShape(kind, (size[0], 2 * size[1]), place, turn))
