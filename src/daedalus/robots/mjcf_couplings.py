"""Equalities of an MJCF file: points that stay together, bodies that are welded, joints that follow others.

In MuJoCo they are stiff springs; here they hold exactly. Where two bodies are joined follows from the poses that the
file draws.
"""

from __future__ import annotations

import numpy as np

from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.robots.file_elements import Element, numbers, plain_name
from daedalus.robots.links_and_joints import FileClosure, FileCoupling
from daedalus.robots.mjcf_poses import Pose, composed, relative
from daedalus.robots.mjcf_sections import TRUE, MjcfReading, list_words, named_part

_COMMON = {"name", "class", "active", "solref", "solimp"}
WORDS = {
    "connect": {*_COMMON, "body1", "body2", "anchor", "site1", "site2"},
    "weld": {*_COMMON, "body1", "body2", "anchor", "relpose", "site1", "site2", "torquescale"},
    "joint": {*_COMMON, "joint1", "joint2", "polycoef"},
}


def read_equalities(root: Element, reading: MjcfReading) -> None:
    """All equalities between bodies, sites and joints; the others are listed."""
    for k, raw in enumerate(child for group in root.findall("equality") for child in group):
        element = reading.defaults.applied(raw, "main", "equality")
        if element.get("active", "true") not in TRUE:
            continue
        if raw.tag not in WORDS:
            reading.robot.unsupported.append(f"<equality>: <{raw.tag}>")
            continue
        name = plain_name(element.get("name") or f"{raw.tag}_{k}", reading.taken)
        list_words(element, WORDS[raw.tag], f"{{word}} of {raw.tag} {name!r}", reading.robot)
        if raw.tag == "joint":
            _joint(element, name, reading)
        else:
            _bodies(element, raw.tag, name, reading)


def _bodies(element: Element, tag: str, name: str, reading: MjcfReading) -> None:
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


def _joint(element: Element, name: str, reading: MjcfReading) -> None:
    where = f"joint equality {name!r}"
    own = named_part("joint", element.get("joint1") or "", where, reading)
    other = element.get("joint2")
    words = len((element.get("polycoef") or "").split())
    coefficients = numbers(element, "polycoef", words, [0.0, 1.0, 0.0, 0.0, 0.0], where)
    leads = None if other is None else named_part("joint", other, where, reading)
    reading.robot.couplings.append(FileCoupling(name, own, leads, tuple(float(c) for c in coefficients)))
