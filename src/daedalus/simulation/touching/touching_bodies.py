"""The bodies of a system that touch: where they are in a row of a run, and what the core knows of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.errors import InputError, ModelError
from daedalus.model.expressions import concatenate
from daedalus.model.mechanics.contact_shapes import BESIDE_ELLIPSOID, KINDS, LAW, SIZES, ContactShape
from daedalus.model.system.system import System
from daedalus.simulation.touching.body_rows import BodyRows
from daedalus.simulation.touching.joint_rows import joint_rows
from daedalus.simulation.touching.tree_rows import SeenTree, TreeRows

if TYPE_CHECKING:
    from daedalus.model.model import Model

# How many numbers of a law the core takes: friction, restitution, rolling, spinning, and a velocity.
CORE_LAW = 4


def _out_of_range(what: str, value: float, wanted: str) -> ModelError:
    return ModelError(
        f"{what} is {value:g} with these parameters.",
        because=f"it has to be {wanted}.",
        remedy="other values of the parameters",
    )


class TouchingBodies:
    """Bodies with masses and shapes as numbers, and how rows, poses and twists turn into each other."""

    def __init__(self, system: System, book: Model, p: np.ndarray) -> None:
        written = book.written.mechanics
        self.system, self.book = system, book
        # In joint coordinates bodies are formulas: they are in the model as it was written.
        self.described = written if book.drawn_as is None else book.drawn_as.written.mechanics
        self.rows: BodyRows | TreeRows = (
            BodyRows(system, book, list(written.bodies)) if book.drawn_as is None else TreeRows(system, book, p)
        )
        self.names = self.rows.names
        self.index = {name: k for k, name in enumerate(self.names)}
        self.contacts = [c for c in written.touching.values() if not c.compliant]
        self.size = max((body.size for body in self.described.bodies.values()), default=3)
        self.shapes = sorted(written.shapes.values(), key=lambda s: self.index.get(s.body, -1))
        # A second one looks at the end of a step, a third one takes positions back, while the first keeps its contacts.
        (self.world, self.scout, self.pusher), self.laws, self.lengths, (self.thinnest, self.sway) = self._made(p)
        self.joints = joint_rows(system, book, self.rows)

    # -- the core's view ---------------------------------------------------------------------------------------

    def _made(self, p: np.ndarray) -> tuple[list[Any], np.ndarray, tuple[float, float], tuple[float, np.ndarray]]:
        """Three worlds of the core, the laws as numbers, the smallest and the largest size of a shape; how thick the
        thinnest pair that may touch is together (planes have one side, and are never passed), and how far from the
        centre of each body the middle of a shape reaches, which moves as the body turns."""
        bodies = [self.described.bodies[name] for name in self.names]
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
            if isinstance(self.rows, TreeRows):
                continue  # joints couple them: see TreeRows
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
        worlds = [_core.ContactWorld(*arguments) for _ in range(3)]
        # A shape far from the centre of its body makes the body as large.
        reach = np.where(owners >= 0, np.linalg.norm(shaped[:, 3:6], axis=1), 0.0)
        sizes = [s[:2].max() + far for s, far, own in zip(shaped, reach, self.shapes) if own.kind != "plane"]
        least = [min(v for v in s[:3] if v > 0) for s, own in zip(shaped, self.shapes) if own.kind != "plane"]
        half = np.full(len(self.shapes), np.inf)
        half[[own.kind != "plane" for own in self.shapes]] = least
        thinnest = float(np.min((half[:, None] + half)[table >= 0], initial=np.inf))
        sway = np.zeros(len(bodies))
        for shape, at, owner in zip(self.shapes, shaped, owners):
            long = {"capsule": at[1], "box": np.linalg.norm(at[: self.size]), "ellipsoid": at[:3].max()}
            if owner >= 0 and shape.kind != "plane":
                sway[owner] = max(sway[owner], np.linalg.norm(at[3:6]) + long.get(shape.kind, 0.0))
        return worlds, laws, (min(least, default=1.0), max(sizes, default=1.0)), (thinnest, sway)

    def _check_numbers(self, values: list[np.ndarray]) -> None:
        """Refuse parameters that make a mass, a size or a law what the model itself would not take."""
        count, shapes = len(self.names), len(self.shapes)
        told = [(f"The mass of {name}", own[0]) for name, own in zip(self.names, values)]
        for shape, own in zip(self.shapes, values[count : count + shapes]):
            sizes = 1 if shape.kind == "capsule" else SIZES[shape.kind][self.size == 2]
            told += [(f"A size of the {shape.kind} on {shape.body or 'the ground'}", value) for value in own[:sizes]]
        for word, value in told:
            light = word.startswith("The mass") and value == 0.0 and isinstance(self.rows, TreeRows)
            if not (0.0 < value < np.inf or light):
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
        for contact in self.book.written.mechanics.touching.values():
            if contact.compliant and not contact.of_all:
                write(contact.bodies[0], contact.bodies[1], -1)  # formulas in the equations of motion
        for law, contact in enumerate(self.contacts):
            if not contact.of_all:
                write(contact.bodies[0], contact.bodies[1], law)
                # Shapes are in the order of their bodies: the core takes the velocity of the later one's surface.
                first, second = (self.index.get(body, -1) for body in contact.bodies)
                signs[law] = 1.0 if second > first else -1.0
        return signs, table

    def joint_names(self, rows: list[int]) -> list[str]:
        """The constraints that some rows belong to."""
        written = self.book.written.mechanics.constraints.values()
        names = [c.name for c in written for _ in range(c.expression.numel())]
        return list(dict.fromkeys(names[row] for row in rows))

    @property
    def is_coupled(self) -> bool:
        """Whether joints pass a push at one body on to others."""
        return self.joints is not None or isinstance(self.rows, TreeRows)

    @property
    def count(self) -> int:
        """How many bodies may touch something."""
        return len({shape.body for shape in self.shapes} - {""})

    def kinetic_energy(self, twists: np.ndarray, seen: BodyRows | SeenTree) -> float:
        """That of all bodies; seen: where they are."""
        if isinstance(seen, SeenTree):
            return seen.kinetic_energy(twists)
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
                because="the distance of an ellipsoid is implemented to planes and spheres only.",
                remedy="m.contact for each pair that touches, or spheres in place of one of them",
            )
