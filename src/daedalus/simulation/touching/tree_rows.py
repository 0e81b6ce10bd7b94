"""Rows of a run as poses and velocities of bodies whose joints bring the states.

The twists T of all bodies are J(q) v with the velocities v of the tree, whose masses are M = Jᵀ m J and the
inertias of rotors. A push w at the bodies changes T by J M⁻¹ Jᵀ w, so that one at a foot moves the whole robot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.errors import InputError
from daedalus.geometry.euler_angles import rotation_from_rpy, rpy_from_rotation
from daedalus.geometry.quaternions import quaternion_from_rotation
from daedalus.model.expressions import column, concatenate
from daedalus.model.mechanics.joint_coordinates import body_formulas, quaternion_of_rpy
from daedalus.model.mechanics.trees import Tree, armature_of, attitude_of, in_space, tree_of
from daedalus.model.names import element_labels
from daedalus.model.system.system import System
from daedalus.simulation.touching.body_rows import POSE, TWIST, matrix_of, near_angles, turned

if TYPE_CHECKING:
    from daedalus.model.model import Model


class Coordinates(NamedTuple):
    """Where one set of coordinates stands in a row, where its velocities stand, and which of the tree's these are."""

    kind: str  # "plain", "quaternion" or "rpy"
    places: list[int]
    speeds: list[int]
    columns: list[int]


class SeenTree:
    """Rows as they are read with bodies at one place: T = J v."""

    def __init__(self, rows: TreeRows, x: np.ndarray) -> None:
        self.rows = rows
        self.jacobian = rows.jacobian(x)

    def twists(self, x: np.ndarray) -> np.ndarray:
        """Velocities in the world and angular velocities in the bodies, (bodies, 6)."""
        found: np.ndarray = (self.jacobian @ x[self.rows.speeds]).reshape(-1, TWIST)
        return found

    def with_twists(self, x: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """The row with other velocities."""
        out = x.copy()
        out[self.rows.speeds] += self.inverse @ (twists.ravel() - self.jacobian @ x[self.rows.speeds])
        return out

    def moved(self, x: np.ndarray, twists: np.ndarray, h: float, into: np.ndarray | None = None) -> np.ndarray:
        """The row with all coordinates moved by constant velocities over a time; other entries as `into` has them."""
        v, out = self.inverse @ twists.ravel(), x.copy() if into is None else into.copy()
        for own in self.rows.coordinates:
            out[own.places] = _moved(own.kind, x[own.places], h * v[own.columns])
        return out

    def rows_over_twists(self, slopes: np.ndarray) -> np.ndarray:
        """Slopes of numbers by a row, (numbers, row), as slopes by the twists of all bodies, (numbers, 6 bodies)."""
        found: np.ndarray = slopes[:, self.rows.speeds] @ self.inverse
        return found

    @property
    def inverse(self) -> np.ndarray:
        """The pseudo-inverse of J, (velocities, 6 bodies)."""
        if self._inverse is None:
            self._inverse = np.linalg.pinv(self.jacobian)
        return self._inverse

    _inverse: np.ndarray | None = None

    @property
    def answer(self) -> np.ndarray:
        """J M⁻¹ Jᵀ, the change of all twists by wrenches, (6 bodies, 6 bodies)."""
        found: np.ndarray = self.jacobian @ np.linalg.solve(self.mass, self.jacobian.T)
        return found

    def along(self, poses: np.ndarray, size: float) -> np.ndarray:
        """What wrenches in the world, moments in units of a size, push along the velocities, (velocities, 6 bodies)."""
        parts = self.jacobian.reshape(len(poses), TWIST, -1).copy()
        for part, pose in zip(parts, poses):
            part[3:] = size * matrix_of(pose[3:]) @ part[3:]
        return parts.reshape(self.jacobian.shape).T

    @property
    def mass(self) -> np.ndarray:
        """M = Jᵀ m J with the inertias of rotors."""
        found: np.ndarray = self.jacobian.T @ self.rows.weighed(self.jacobian) + np.diag(self.rows.rotor_inertias)
        return found

    def kinetic_energy(self, twists: np.ndarray) -> float:
        """That of all bodies and rotors."""
        v = self.inverse @ twists.ravel()
        return 0.5 * float(v @ self.mass @ v)


class TreeRows:
    """How rows, poses and twists of a model in joint coordinates turn into each other."""

    def __init__(self, system: System, book: Model, p: np.ndarray) -> None:
        drawn = book.drawn_as
        assert drawn is not None
        self.system, self.written, self.parameters = system, drawn.written.mechanics, p
        tree = tree_of(drawn, every=True)
        self.rotor_inertias = self._rotor_inertias(book, tree)
        self.names = list(self.written.bodies)
        self.masses, self.inertias = self._weights()
        self.coordinates = self._read_coordinates(drawn, tree)
        self.speeds = [0] * tree.v.numel()
        for own in self.coordinates:
            for place, at in zip(own.speeds, own.columns):
                self.speeds[at] = place
        self._functions(drawn, tree)

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """The mass of every body, and its inertia in its own axes."""
        bodies = list(self.written.bodies.values())
        turns = [[] if b.inertia is None else [ca.vec(b.inertia)] for b in bodies]
        found = self._numbers([concatenate([ca.SX(b.mass), *turn]) for b, turn in zip(bodies, turns)])
        inertias = np.zeros((len(bodies), 3, 3))
        for k, (body, own) in enumerate(zip(bodies, found)):
            if body.orientation == "planar":
                inertias[k, 2, 2] = own[1]
            elif body.orientation is not None:
                inertias[k] = own[1:].reshape(3, 3)
        return np.array([own[0] for own in found]), inertias

    def weighed(self, jacobian: np.ndarray) -> np.ndarray:
        """The momenta of all bodies by unit velocities, as J has their twists."""
        parts = jacobian.reshape(len(self.names), TWIST, -1)
        linear = self.masses[:, None, None] * parts[:, :3]
        return np.concatenate([linear, self.inertias @ parts[:, 3:]], axis=1).reshape(jacobian.shape)

    def _numbers(self, expressions: list[ca.SX]) -> list[np.ndarray]:
        found = ca.Function("n", [self.system.symbol("p")], expressions).call([ca.DM(self.parameters)])
        return [np.asarray(value, dtype=float).ravel() for value in found]

    def _rotor_inertias(self, book: Model, tree: Tree) -> np.ndarray:
        found = armature_of(book, tree)
        if found is None:
            raise InputError(
                "An added kinetic energy couples joints of bodies that touch.",
                f"{book.name!r} has m.kinetic_energy beside its bodies",
                because="contacts take the inertia of bodies, and rotors of single joints beside it.",
                remedy="bodies for all masses, or inertias of single joint velocities",
            )
        return self._numbers([found])[0]

    def _read_coordinates(self, drawn: Model, tree: Tree) -> list[Coordinates]:
        places = {label: k for k, label in enumerate(self.system.labels["x"])}
        variables, found = drawn.written.variables, []
        speeds = {joint.coordinate: joint.velocity for joint in self.written.tree.values() if joint.size}
        for root in tree.roots:
            speeds[f"{root}.position"] = f"{root}.velocity"
            speeds[attitude_of(self.written.bodies[root])] = f"{root}.angular_velocity"
        for name, columns in tree.positions.items():
            speed, shape = speeds[name] or f"{name}_dot", variables[name].shape
            own = element_labels(name, shape)
            rates = element_labels(speed, variables[speed].shape if speed in variables else shape)
            if any(label not in places for label in (*own, *rates)):
                raise InputError(
                    "Joints that hold what touches need their coordinates and velocities as states.",
                    f"{name} or {speed} is not a state of what is run",
                    because="contacts change velocities.",
                    remedy='m.joint(..., coordinates="body")',
                )
            kind = name.rpartition(".")[2]
            found.append(Coordinates(
                kind if kind in ("quaternion", "rpy") else "plain",
                [places[label] for label in own], [places[label] for label in rates], list(columns),
            ))  # fmt: skip
        return found

    def _functions(self, drawn: Model, tree: Tree) -> None:
        _, formulas = body_formulas(drawn, tree)
        symbols = drawn.written.symbols

        def value(name: str) -> ca.SX:
            return formulas[name] if name in formulas else symbols[name]

        poses, twists = [], []
        for name in self.names:
            body = self.written.bodies[name]
            poses += [in_space(value(f"{name}.position")), _quaternion(body.orientation, value, attitude_of(body))]
            spin = ca.SX.zeros(3) if body.orientation is None else column(value(f"{name}.angular_velocity"))
            turn = ca.vertcat(ca.SX.zeros(3 - spin.numel()), spin)
            twists += [in_space(value(f"{name}.velocity")), turn]
        q = concatenate([column(symbols[name]) for name in tree.positions])
        self.symbols, self.velocities = q, tree.v
        self.places = [k for own in self.coordinates for k in own.places]
        arguments = [q, self.system.symbol("p")]
        jacobian = ca.densify(ca.jacobian(concatenate(twists), tree.v))
        self._poses = compile_function(ca.Function("poses", arguments, [ca.densify(concatenate(poses))])).core
        self._jacobian = compile_function(ca.Function("tree", arguments, [jacobian])).core

    # -- rows, poses and twists --------------------------------------------------------------------------------

    def poses(self, x: np.ndarray) -> np.ndarray:
        """Positions and quaternions, (bodies, 7)."""
        found: np.ndarray = self._poses(x[self.places], self.parameters)[0]
        return found.reshape(-1, POSE)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """J of the twists at a row, (6 bodies, velocities)."""
        found: np.ndarray = self._jacobian(x[self.places], self.parameters)[0]
        return found.reshape(len(self.speeds), -1).T.copy()

    def seen_from(self, x: np.ndarray) -> SeenTree:
        """The rows as they are read with bodies at the place of a row."""
        return SeenTree(self, x)

    def unit(self, x: np.ndarray) -> np.ndarray:
        """The row with quaternions of unit length."""
        out = x.copy()
        for own in self.coordinates:
            if own.kind == "quaternion":
                out[own.places] /= np.linalg.norm(x[own.places])
        return out

    def lengths(self, x: np.ndarray) -> np.ndarray:
        """The squares of the lengths of all quaternions."""
        return np.array([float(np.sum(x[own.places] ** 2)) for own in self.coordinates if own.kind == "quaternion"])

    def twists(self, x: np.ndarray) -> np.ndarray:
        """Velocities in the world and angular velocities in the bodies, (bodies, 6)."""
        return self.changes(x, x)

    def changes(self, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """J times the velocities of another row, (bodies, 6): of a slope what joints accelerate."""
        found: np.ndarray = (self.jacobian(x) @ slope[self.speeds]).reshape(-1, TWIST)
        return found

    def with_twists(self, x: np.ndarray, twists: np.ndarray) -> np.ndarray:
        """The row with other velocities."""
        return self.seen_from(x).with_twists(x, twists)

    def moved(self, x: np.ndarray, twists: np.ndarray, h: float, into: np.ndarray | None = None) -> np.ndarray:
        """The row with all coordinates moved by constant velocities over a time; other entries as `into` has them."""
        return self.seen_from(x).moved(x, twists, h, into)

    @property
    def own(self) -> list[int]:
        """The places of a row that belong to bodies."""
        return [*self.places, *self.speeds]


def _moved(kind: str, old: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Coordinates behind a small turn or way."""
    if kind == "quaternion":
        found: np.ndarray = turned(old[None], by[None])[0]
        return found
    if kind == "rpy":
        q = turned(np.asarray(quaternion_from_rotation(rotation_from_rpy(old)))[None], by[None])
        return near_angles(rpy_from_rotation(matrix_of(q[0])), old)
    plain: np.ndarray = old + by
    return plain


def _quaternion(orientation: str | None, value: Callable[[str], ca.SX], attitude: str) -> ca.SX:
    """The orientation of a body as a quaternion."""
    if orientation is None:
        return ca.SX([1, 0, 0, 0])
    if orientation == "planar":
        half = 0.5 * value(attitude)
        return ca.vertcat(ca.cos(half), 0, 0, ca.sin(half))
    if orientation == "rpy":
        return quaternion_of_rpy(value(attitude))
    return value(attitude)
