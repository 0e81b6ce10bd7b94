"""Places and orientations of MJCF elements, and the frames that they are written in."""

from __future__ import annotations

import math

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.geometry.rotations import rot_x, rot_y, rot_z
from daedalus.robots.file_elements import Element, numbers

Pose = tuple[np.ndarray, np.ndarray]  # rotation and place
AT_ORIGIN: Pose = (np.eye(3), np.zeros(3))
POSE_WORDS = ("pos", "quat", "axisangle", "euler", "xyaxes", "zaxis")
_TURNS = {"x": rot_x, "y": rot_y, "z": rot_z}


def composed(outer: Pose, inner: Pose) -> Pose:
    """A pose that is written inside another."""
    return outer[0] @ inner[0], outer[1] + outer[0] @ inner[1]


def relative(pose: Pose, seen_from: Pose) -> Pose:
    """A pose in the axes of another.

    Example
    -------
    >>> turn, place = relative((np.eye(3), np.array([3.0, 0, 0])), (np.eye(3), np.array([1.0, 0, 0])))
    >>> place.tolist()
    [2.0, 0.0, 0.0]
    """
    turn, place = seen_from
    return turn.T @ pose[0], turn.T @ (pose[1] - place)


def pose_of(element: Element, where: str, degrees: bool, order: str) -> Pose:
    """Rotation and place of an element, in any of the format's five ways to write an orientation."""
    place = numbers(element, "pos", 3, [0, 0, 0], where)
    factor = math.pi / 180 if degrees else 1.0
    written = [word for word in POSE_WORDS[1:] if element.get(word) is not None]
    if not written:
        return np.eye(3), place
    if len(written) > 1:
        raise InputError(
            f"{where[0].upper()}{where[1:]} has two orientations.",
            f"it has {' and '.join(written)}",
            because="one of them is enough.",
            remedy="one of them",
        )
    (word,) = written
    if word == "euler":
        return euler_rotation(numbers(element, word, 3, [0, 0, 0], where) * factor, order), place
    values = numbers(element, word, {"quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3}[word], [], where)
    if word == "quat":
        return np.asarray(rotation_from_quaternion(_direction(values, word, where))), place
    if word == "axisangle":
        return rotation_about(_direction(values[:3], word, where), values[3] * factor), place
    if word == "xyaxes":
        x = _direction(values[:3], word, where)
        y = _direction(values[3:] - x * (x @ values[3:]), word, where)
        return np.column_stack([x, y, np.cross(x, y)]), place
    return upright(_direction(values, word, where)), place


def _direction(values: np.ndarray, word: str, where: str) -> np.ndarray:
    length = np.linalg.norm(values)
    if not length > 0:
        raise InputError(
            f"{word} of {where} has no direction.",
            because="a vector of zeros has no direction.",
            remedy={"quat": 'quat="1 0 0 0"', "xyaxes": 'xyaxes="1 0 0 0 1 0"'}.get(word, f'{word}="0 0 1 ..."'),
        )
    return np.asarray(values / length)


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation about an axis of length one.

    Example
    -------
    >>> rotation_about(np.array([0.0, 0.0, 1.0]), np.pi / 2).round(6)[0].tolist()
    [0.0, -1.0, 0.0]
    """
    half = angle / 2
    return np.asarray(rotation_from_quaternion(np.array([math.cos(half), *(math.sin(half) * axis)])))


def upright(direction: np.ndarray) -> np.ndarray:
    """A rotation that takes z to a direction."""
    z = np.array([0.0, 0.0, 1.0])
    quaternion = np.array([1 + z @ direction, *np.cross(z, direction)])
    if np.linalg.norm(quaternion) < 1e-9:
        quaternion = np.array([0.0, 1.0, 0.0, 0.0])
    return np.asarray(rotation_from_quaternion(quaternion / np.linalg.norm(quaternion)))


def between(ends: np.ndarray) -> tuple[Pose, float]:
    """The pose of what lies between two points, six numbers, and its length: z points from the second to the first.

    Example
    -------
    >>> (turn, place), length = between(np.array([0.0, 0.0, 3.0, 0.0, 0.0, 1.0]))
    >>> turn[:, 2].tolist(), place.tolist(), length
    ([0.0, 0.0, 1.0], [0.0, 0.0, 2.0], 2.0)
    """
    along = ends[:3] - ends[3:]
    length = float(np.linalg.norm(along))
    return (upright(along / length) if length else AT_ORIGIN[0], (ends[:3] + ends[3:]) / 2), length


def check_order(order: str) -> str:
    """The order of Euler angles, three letters of x, y, z; capitals are axes that stand still."""
    if len(order) != 3 or any(letter.lower() not in _TURNS for letter in order):
        raise InputError(
            f"eulerseq of the compiler is {order!r}.",
            because="three letters x, y or z name the axes of the rotations.",
            remedy='eulerseq="xyz"',
        )
    return order


def euler_rotation(angles: np.ndarray, order: str) -> np.ndarray:
    """Lower letters turn about axes that move with the frame, capitals about fixed ones."""
    turn = np.eye(3)
    for letter, angle in zip(order, angles):
        own = np.asarray(_TURNS[letter.lower()](float(angle)))
        turn = turn @ own if letter.islower() else own @ turn
    return turn
