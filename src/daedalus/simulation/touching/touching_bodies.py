"""The bodies of a system that touch: where they are in a row of a run, and what the core knows of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.errors import InputError, ModelError
from daedalus.geometry.euler_angles import rotation_from_rpy, rpy_from_rotation
from daedalus.geometry.quaternions import quaternion_from_rotation
from daedalus.model.expressions import concatenate
from daedalus.model.mechanics.contact_shapes import BESIDE_ELLIPSOID, KINDS, LAW, SIZES, ContactShape
from daedalus.model.mechanics.equations_of_motion import time_derivative
from daedalus.model.names import element_label
from daedalus.model.system.system import System

if TYPE_CHECKING:
    from daedalus.model.model import Model

# How many numbers of a law the core takes: friction, restitution, rolling, spinning, and a velocity.
CORE_LAW = 4
TWIST, POSE = 6, 7


def _out_of_range(what: str, value: float, wanted: str) -> ModelError:
    return ModelError(
        f"{what} is {value:g} with these parameters.",
        because=f"it has to be {wanted}.",
        remedy="other values of the parameters",
    )


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


class _Gathering(NamedTuple):
    """Numbers that a row and a table of all bodies share: where they stand in each."""

    in_row: np.ndarray
    in_table: np.ndarray

    @staticmethod
    def of(pairs: list[tuple[int, int]]) -> _Gathering:
        in_row, in_table = np.array(pairs, dtype=np.intp).reshape(-1, 2).T.copy()
        return _Gathering(in_row, in_table)


class TouchingBodies:
    """Bodies with masses and shapes as numbers, and how rows, poses and twists turn into each other."""

    def __init__(self, system: System, book: Model, p: np.ndarray) -> None:
        written = book.written.mechanics
        self.system, self.book = system, book
        self.names = list(written.bodies)
        self.index = {name: k for k, name in enumerate(self.names)}
        self.contacts = [c for c in written.touching.values() if not c.compliant]
        self.size = max((written.bodies[name].size for name in self.names), default=3)
        self._groups = self._read_groups(book)
        self._velocities, self._places, self._moved = self._gatherings()
        # Quaternions and the like are computed body by body.
        self._turning = [g for g in self._groups if g.kind is not None]
        self.shapes = sorted(written.shapes.values(), key=lambda s: self.index.get(s.body, -1))
        # A second one looks at the end of a step while the first keeps its contacts.
        self.world, self.scout, self.laws, self.lengths = self._made(p)
        self.joints = _joint_rows(system, book, self.names)

    # -- rows, poses and twists --------------------------------------------------------------------------------

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
                out[g.attitude] = _turned(x[g.attitude], h * twists[g.bodies, 3:])
            elif g.kind == "rpy":
                for k, place in zip(g.bodies, g.attitude):
                    q = _turned(quaternion_from_rotation(rotation_from_rpy(x[place]))[None], h * twists[[k], 3:])
                    out[place] = _near(rpy_from_rotation(matrix_of(q[0])), x[place])
        return out

    # -- the core's view ---------------------------------------------------------------------------------------

    def _made(self, p: np.ndarray) -> tuple[Any, Any, np.ndarray, tuple[float, float]]:
        """The world of the core, the laws as numbers, and the smallest and the largest size of a shape."""
        written = self.book.written.mechanics
        bodies = [written.bodies[name] for name in self.names]
        parts = [concatenate([ca.SX(b.mass), *([ca.vec(b.inertia)] if b.inertia is not None else [])]) for b in bodies]
        parts += [concatenate([s.size, s.at, ca.vec(s.rotation.T)]) for s in self.shapes]
        parts += [c.law for c in self.contacts]
        values = [
            np.asarray(v, dtype=float).ravel()
            for v in ca.Function("n", [self.system.symbol("p")], parts).call([ca.DM(p)])
        ]
        self._check_numbers(values)
        mass, inertia = np.zeros((len(bodies), 3)), np.zeros((len(bodies), 3, 3))
        for k, (body, own) in enumerate(zip(bodies, values)):
            mass[k, : body.size] = 1.0 / own[0]
            if body.orientation == "planar":
                inertia[k, 2, 2] = 1.0 / own[1]
            elif body.orientation is not None:
                inertia[k] = np.linalg.inv(own[1:].reshape(3, 3))
        self.inverse_masses = mass, inertia  # (bodies, 3) and (bodies, 3, 3), those of inertias in the bodies
        self._mass = np.where(mass > 0, 1.0 / np.where(mass > 0, mass, 1.0), 0.0)
        self._inertia = np.linalg.pinv(inertia)
        shaped = np.array(values[len(bodies) : len(bodies) + len(self.shapes)]).reshape(-1, 15)
        laws = np.array(values[len(bodies) + len(self.shapes) :]).reshape(-1, len(LAW) + 3)
        kinds = np.array([KINDS.index(s.kind) for s in self.shapes], dtype=np.int64)
        owners = np.array([self.index.get(s.body, -1) for s in self.shapes], dtype=np.int64)
        signs, table = self._law_table(owners)
        core_laws = np.hstack([laws[:, :CORE_LAW], signs[:, None] * laws[:, len(LAW) :]])
        arguments = (mass, inertia, kinds, owners, shaped[:, :3], shaped[:, 3:6], shaped[:, 6:], core_laws, table)
        world, scout = (_core.ContactWorld(*arguments) for _ in range(2))
        # A shape far from the centre of its body makes the body as large.
        reach = np.where(owners >= 0, np.linalg.norm(shaped[:, 3:6], axis=1), 0.0)
        sizes = [s[:2].max() + far for s, far, own in zip(shaped, reach, self.shapes) if own.kind != "plane"]
        least = [min(v for v in s[:3] if v > 0) for s, own in zip(shaped, self.shapes) if own.kind != "plane"]
        return world, scout, laws, (min(least, default=1.0), max(sizes, default=1.0))

    def _check_numbers(self, values: list[np.ndarray]) -> None:
        """Refuse parameters that make a mass, a size or a law what the model itself would not take."""
        count, shapes = len(self.names), len(self.shapes)
        told = [(f"The mass of {name}", own[0]) for name, own in zip(self.names, values)]
        for shape, own in zip(self.shapes, values[count : count + shapes]):
            sizes = 1 if shape.kind == "capsule" else SIZES[shape.kind][self.size == 2]
            told += [(f"A size of the {shape.kind} on {shape.body or 'the ground'}", value) for value in own[:sizes]]
        for word, value in told:
            if not 0.0 < value < np.inf:
                raise _out_of_range(word, value, "more than zero")
        for contact, own in zip(self.contacts, values[count + shapes :]):
            for word, value in zip(LAW[:CORE_LAW], own):
                most = 1.0 if word == "restitution" else np.inf
                if not 0.0 <= value <= most:
                    what = f"The {word.replace('_', ' ')} of {contact.name}"
                    raise _out_of_range(what, value, "from 0 to 1" if most == 1.0 else "at least zero")

    def _law_table(self, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sign of each law's surface velocity, and which law holds between two shapes, -1 for none."""
        count = len(owners)
        table = np.full((count, count), -1, dtype=np.int64)
        signs = np.ones(len(self.contacts))
        by_body: dict[int, list[int]] = {}
        for k, owner in enumerate(owners.tolist()):
            by_body.setdefault(owner, []).append(k)
        joined = {frozenset(mark.bodies) for mark in self.book.written.sketch.joints.values()}

        def write(one: str, two: str, law: int) -> None:
            for i, j in product(by_body.get(self.index.get(one, -1), []), by_body.get(self.index.get(two, -1), [])):
                _check_distance(self.shapes[i], self.shapes[j])
                table[i, j] = table[j, i] = law

        for law, contact in enumerate(self.contacts):
            if contact.of_all:
                everyone = ["", *contact.bodies]
                for k, one in enumerate(everyone):
                    for two in everyone[k + 1 :]:
                        if frozenset((one or "ground", two)) not in joined:
                            write(one, two, law)
        for law, contact in enumerate(self.contacts):
            if not contact.of_all:
                write(contact.bodies[0], contact.bodies[1], law)
                # Shapes are in the order of their bodies: the core takes the velocity of the later one's surface.
                first, second = (self.index.get(body, -1) for body in contact.bodies)
                signs[law] = 1.0 if second > first else -1.0
        return signs, table

    def kinetic_energy(self, twists: np.ndarray) -> float:
        """That of all bodies."""
        v, w = twists[:, :3], twists[:, 3:]
        return 0.5 * float(np.sum(self._mass * v * v) + np.einsum("bi,bij,bj->", w, self._inertia, w))

    def force_slots(self) -> ForceSlots:
        """Where the forces of contacts stand among the parameters of the system."""
        table = np.full((len(self.contacts), len(self.names)), -1)
        bodies: list[int] = []
        places: dict[str, list[np.ndarray]] = {word: [] for word in FORCE_WORDS}
        for law, contact in enumerate(self.contacts):
            for body in contact.bodies if contact.of_all else contact.bodies[:1]:
                table[law, self.index[body]] = len(bodies)
                bodies.append(self.index[body])
                name = contact.force_name(body)
                for word in FORCE_WORDS:
                    places[word].append(np.array(self.system.place(f"{name}.{word}").positions).ravel())
        return ForceSlots(table, np.array(bodies), {word: np.array(own) for word, own in places.items()})


# What contacts do to a body, as variables.
FORCE_WORDS = ("force", "torque", "normal", "impulse")


@dataclass(frozen=True)
class ForceSlots:
    """The variables of what contacts do to bodies: which entry belongs to a law and a body, and their places."""

    table: np.ndarray  # (laws, bodies), -1 where there is none
    bodies: np.ndarray
    places: dict[str, np.ndarray]  # by word: (entries, components)

    def write(self, values: np.ndarray, sums: np.ndarray) -> None:
        """Put force, torque and normal force (entries, 7) into the parameters of a system."""
        force, torque = self.places["force"], self.places["torque"]
        values[force] = sums[:, : force.shape[1]]
        values[torque] = sums[:, 6 - torque.shape[1] : 6]
        values[self.places["normal"]] = sums[:, 6:]


def _check_distance(one: ContactShape, two: ContactShape) -> None:
    """Refuse an ellipsoid beside what its distance to is not known."""
    for own, other in ((one, two), (two, one)):
        if own.kind == "ellipsoid" and other.kind not in BESIDE_ELLIPSOID:
            raise InputError(
                f"The {own.name} cannot touch the {other.name}.",
                f"they are an ellipsoid and {'another one' if other.kind == 'ellipsoid' else 'a ' + other.kind}",
                because="the distance of an ellipsoid is known to planes and spheres.",
                remedy="m.contact for each pair that touches, or spheres in place of one of them",
            )


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of vectors in space along the last axis; NumPy's takes ten times as long, for its axes."""
    out = np.empty(a.shape if a.ndim >= b.ndim else b.shape)
    for k, i, j in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., k] = a[..., i] * b[..., j] - a[..., j] * b[..., i]
    return out


def _turned(q: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) turned by rotation vectors (n, 3) in the body frame, of unit length."""
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    half = np.where(angle > 1e-8, np.sin(0.5 * angle) / np.where(angle > 0, angle, 1.0), 0.5 - angle**2 / 48)
    w, v = np.cos(0.5 * angle)[:, 0], half * turn
    a, b = q[:, 0], q[:, 1:]
    out = np.empty_like(q)
    out[:, 0] = a * w - np.sum(b * v, axis=1)
    out[:, 1:] = a[:, None] * v + w[:, None] * b + cross(b, v)
    unit: np.ndarray = out / np.linalg.norm(out, axis=1, keepdims=True)
    return unit


def matrix_of(q: np.ndarray) -> np.ndarray:
    """The rotation of a quaternion, from the body to the world."""
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def _near(angles: Any, old: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw without turns of 2 π against those before."""
    new = np.asarray(angles, dtype=float).ravel()
    nearest: np.ndarray = new - 2 * np.pi * np.round((new - old) / (2 * np.pi))
    return nearest


class JointRows:
    """What joints say of velocities: J v = target, as functions of (t, x, u, p)."""

    def __init__(self, function: ca.Function, bodies: int) -> None:
        self.function, self.bodies = function, bodies

    def at(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """J (rows, bodies, 6), the rates that J v has, and how far the positions are off."""
        jacobian, offset, position = (
            np.asarray(v, dtype=float) for v in self.function.call([ca.DM(t), ca.DM(x), ca.DM(u), ca.DM(p)])
        )
        return jacobian.reshape(-1, self.bodies, TWIST), -offset.ravel(), position.ravel()

    @staticmethod
    def as_links(jacobian: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows as the core takes them: where each begins, its bodies, and its entries."""
        rows, bodies = np.nonzero(np.any(jacobian != 0, axis=2))
        begins = np.searchsorted(rows, np.arange(len(jacobian) + 1)).astype(np.int64)
        return begins, bodies.astype(np.int64), np.ascontiguousarray(jacobian[rows, bodies])


def _joint_rows(system: System, book: Model, names: list[str]) -> JointRows | None:
    written = book.written.mechanics
    if not written.constraints:
        return None
    rates, positions = [], []
    for c in written.constraints.values():
        expression = ca.vec(c.expression)
        holonomic = c.kind == "holonomic"
        rates.append(time_derivative(book, written, expression) if holonomic else expression)
        positions.append(expression if holonomic else ca.SX.zeros(expression.numel()))
    rate = concatenate(rates)
    columns, symbols = [], []
    for name in names:
        body = written.bodies[name]
        speed = book.written.symbols[f"{name}.velocity"]
        linear = ca.jacobian(rate, speed)
        symbols.append(speed)
        if body.size == 2:
            linear = ca.horzcat(linear, ca.SX.zeros(rate.numel()))
        angular = ca.SX.zeros(rate.numel(), 3)
        if body.orientation is not None:
            spin = book.written.symbols[f"{name}.angular_velocity"]
            symbols.append(spin)
            own = ca.jacobian(rate, spin)
            angular = ca.horzcat(ca.SX.zeros(rate.numel(), 2), own) if body.orientation == "planar" else own
        columns.append(ca.horzcat(linear, angular))
    velocities = concatenate(symbols)
    offset = ca.substitute(rate, velocities, ca.SX.zeros(velocities.numel()))
    arguments = system.symbols(("t", "x", "u", "p"))
    function = ca.Function("joints", arguments, [ca.densify(ca.horzcat(*columns)), offset, concatenate(positions)])
    return JointRows(function, len(names))
