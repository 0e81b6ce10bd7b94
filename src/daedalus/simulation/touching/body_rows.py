"""Rows of a run as poses and velocities of bodies whose own positions and velocities are states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.euler_angles import rotation_from_rpy, rpy_from_rotation
from daedalus.geometry.quaternions import quaternion_from_rotation
from daedalus.model.names import element_label
from daedalus.model.system.system import System

if TYPE_CHECKING:
    from daedalus.model.model import Model

# The numbers of a twist, of a velocity in the world and an angular velocity in the body, and of a pose.
TWIST, POSE = 6, 7


@dataclass
class _BodyGroup:
    """Bodies of one kind: which, and where their variables stand in a row."""

    kind: str | None
    size: int
    bodies: list[int] = field(default_factory=list)
    position: list[list[int]] = field(default_factory=list)
    velocity: list[list[int]] = field(default_factory=list)
    attitude: list[list[int]] = field(default_factory=list)
    spin: list[list[int]] = field(default_factory=list)

    def pairs(self, places: list[list[int]], first: int, width: int) -> list[tuple[int, int]]:
        """Places in a row, each with its place in a table of all bodies, of which `first` is a body's first column."""
        return [(own, width * k + first + j) for k, row in zip(self.bodies, places) for j, own in enumerate(row)]


class _Turning(NamedTuple):
    """Bodies of one kind that turn, and where their attitudes stand in a row."""

    kind: str
    bodies: np.ndarray
    attitude: np.ndarray


class _Gathering(NamedTuple):
    """Numbers that a row and a table of all bodies share: where they stand in each."""

    in_row: np.ndarray
    in_table: np.ndarray

    @staticmethod
    def of(pairs: list[tuple[int, int]]) -> _Gathering:
        in_row, in_table = np.array(pairs, dtype=np.intp).reshape(-1, 2).T.copy()
        return _Gathering(in_row, in_table)


class BodyRows:
    """How rows, poses and twists of bodies turn into each other."""

    def __init__(self, system: System, book: Model, names: list[str]) -> None:
        self.system, self.names = system, names
        self._groups = self._read_groups(book)
        self._velocities, self._places, self._moved = self._gatherings()
        # Quaternions and the like are computed body by body.
        self._turning = [
            _Turning(g.kind, np.array(g.bodies), np.array(g.attitude)) for g in self._groups if g.kind is not None
        ]

    def _read_groups(self, book: Model) -> list[_BodyGroup]:
        places = {label: k for k, label in enumerate(self.system.labels["x"])}
        groups: dict[tuple[str | None, int], _BodyGroup] = {}

        def where(name: str, count: int, scalar: bool = False) -> list[int]:
            labels = [name] if scalar else [element_label(name, (count,), k) for k in range(count)]
            if any(label not in places for label in labels):
                raise InputError(
                    "Bodies that touch need their positions and velocities as states.",
                    f"{name} is not a state of what is run",
                    because="contacts change velocities.",
                    remedy='m.joint(..., coordinates="body")',
                )
            return [places[label] for label in labels]

        for k, name in enumerate(self.names):
            body = book.written.mechanics.bodies[name]
            own = groups.setdefault((body.orientation, body.size), _BodyGroup(body.orientation, body.size))
            own.bodies.append(k)
            own.position.append(where(f"{name}.position", body.size))
            own.velocity.append(where(f"{name}.velocity", body.size))
            if body.orientation == "planar":
                own.attitude.append(where(f"{name}.angle", 1, True))
                own.spin.append(where(f"{name}.angular_velocity", 1, True))
            elif body.orientation is not None:
                word, count = ("quaternion", 4) if body.orientation == "quaternion" else ("rpy", 3)
                own.attitude.append(where(f"{name}.{word}", count))
                own.spin.append(where(f"{name}.angular_velocity", 3))
        return list(groups.values())

    def _gatherings(self) -> tuple[_Gathering, _Gathering, _Gathering]:
        """Where velocities stand among twists, positions among poses, and what velocities move along among twists."""
        velocities, places, moved = [], [], []
        for g in self._groups:
            first = 5 if g.kind == "planar" else 3
            velocities += [*g.pairs(g.velocity, 0, TWIST), *g.pairs(g.spin, first, TWIST)]
            places += [*g.pairs(g.position, 0, POSE), *(g.pairs(g.attitude, 3, POSE) if g.kind == "quaternion" else [])]
            moved += [*g.pairs(g.position, 0, TWIST), *(g.pairs(g.attitude, 5, TWIST) if g.kind == "planar" else [])]
        return _Gathering.of(velocities), _Gathering.of(places), _Gathering.of(moved)

    def poses(self, x: np.ndarray) -> np.ndarray:
        """Positions and quaternions, (bodies, 7)."""
        out = np.zeros((len(self.names), POSE))
        out[:, 3] = 1.0
        out.ravel()[self._places.in_table] = x[self._places.in_row]
        for g in self._turning:
            if g.kind == "planar":
                half = 0.5 * x[g.attitude][:, 0]
                out[g.bodies, 3], out[g.bodies, 6] = np.cos(half), np.sin(half)
            elif g.kind == "rpy":
                for k, place in zip(g.bodies, g.attitude):
                    out[k, 3:] = quaternion_from_rotation(rotation_from_rpy(x[place]))
        return out

    def twists(self, x: np.ndarray) -> np.ndarray:
        """Velocities in the world and angular velocities in the body, (bodies, 6)."""
        out = np.zeros((len(self.names), TWIST))
        out.ravel()[self._velocities.in_table] = x[self._velocities.in_row]
        return out

    def with_twists(self, x: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """The row with other velocities."""
        out = x.copy()
        out[self._velocities.in_row] = twists.ravel()[self._velocities.in_table]
        return out

    def moved(self, x: np.ndarray, twists: np.ndarray, h: float, into: np.ndarray | None = None) -> np.ndarray:
        """The row with bodies moved by constant twists over a time; other entries as `into` has them."""
        out = x.copy() if into is None else into.copy()
        in_row, in_table = self._moved
        out[in_row] = x[in_row] + h * twists.ravel()[in_table]
        for g in self._turning:
            if g.kind == "quaternion":
                out[g.attitude] = turned(x[g.attitude], h * twists[g.bodies, 3:])
            elif g.kind == "rpy":
                for k, place in zip(g.bodies, g.attitude):
                    q = turned(quaternion_from_rotation(rotation_from_rpy(x[place]))[None], h * twists[[k], 3:])
                    out[place] = near_angles(rpy_from_rotation(matrix_of(q[0])), x[place])
        return out

    def seen_from(self, x: np.ndarray) -> BodyRows:
        """The same rows as they are read where bodies are at a row: velocities of bodies do not depend on that."""
        return self

    def rows_over_twists(self, slopes: np.ndarray) -> np.ndarray:
        """Slopes of numbers by a row, (numbers, row), as slopes by the twists of all bodies, (numbers, 6 bodies)."""
        out = np.zeros((len(slopes), TWIST * len(self.names)))
        out[:, self._velocities.in_table] = slopes[:, self._velocities.in_row]
        return out

    def unit(self, x: np.ndarray) -> np.ndarray:
        """The row with quaternions of unit length."""
        out = x.copy()
        for g in self._turning:
            if g.kind == "quaternion":
                out[g.attitude] /= np.linalg.norm(x[g.attitude], axis=1, keepdims=True)
        return out

    def lengths(self, x: np.ndarray) -> np.ndarray:
        """The squares of the lengths of all quaternions."""
        own = [np.sum(x[g.attitude] ** 2, axis=1) for g in self._turning if g.kind == "quaternion"]
        return np.concatenate(own) if own else np.zeros(0)

    def changes(self, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The accelerations of bodies by the slope of a row, (bodies, 6)."""
        return self.twists(slope)

    @property
    def own(self) -> list[int]:
        """The places of a row that belong to bodies."""
        tables = [t for g in self._groups for t in (g.position, g.velocity, g.attitude, g.spin)]
        return [k for table in tables for part in table for k in part]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of vectors in space along the last axis; NumPy's takes ten times as long, for its axes."""
    out = np.empty(a.shape if a.ndim >= b.ndim else b.shape)
    for k, i, j in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., k] = a[..., i] * b[..., j] - a[..., j] * b[..., i]
    return out


def lengths_of(rows: np.ndarray) -> np.ndarray:
    """Those of rows, in a column."""
    column: np.ndarray = np.sqrt(np.einsum("ni,ni->n", rows, rows))[:, None]
    return column


def turned(q: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) turned by rotation vectors (n, 3) in the body frame, of unit length."""
    angle = lengths_of(turn)
    half = np.where(angle > 1e-8, np.sin(0.5 * angle) / np.where(angle > 0, angle, 1.0), 0.5 - angle**2 / 48)
    w, v = np.cos(0.5 * angle)[:, 0], half * turn
    a, b = q[:, 0], q[:, 1:]
    out = np.empty_like(q)
    out[:, 0] = a * w - np.sum(b * v, axis=1)
    out[:, 1:] = a[:, None] * v + w[:, None] * b + cross(b, v)
    unit: np.ndarray = out / lengths_of(out)
    return unit


def matrix_of(q: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion, from the body to the world; of several in columns, along a last axis."""
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def near_angles(angles: Any, old: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw without turns of 2 π against those before."""
    new = np.asarray(angles, dtype=float).ravel()
    nearest: np.ndarray = new - 2 * np.pi * np.round((new - old) / (2 * np.pi))
    return nearest
