"""What the doors for energies and bodies have collected, and how it travels into copies, parts and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca

from daedalus.model.mechanics.contact_shapes import BodyContact, ContactShape, read_contact, read_shape
from daedalus.model.mechanics.tree_joints import TreeJoint


@dataclass(frozen=True)
class Constraint:
    """A constraint with the multiplier of the same name; `kind` is "holonomic" or "velocity"."""

    name: str
    kind: str
    expression: ca.SX


@dataclass(frozen=True)
class Velocity:
    """The velocity of a body's position or attitude, and how the position follows from it: position' = rate."""

    position: str  # the variable that it moves
    velocity: str  # its own name
    rate: ca.SX  # position' in terms of the velocity, linear in it
    inertia_force: ca.SX  # M v' + h of Newton–Euler
    spins: bool = False  # an angular velocity in space, in a frame that turns with it
    norm: str = ""  # the multiplier that keeps the position's length at one, where that is written as an equation


@dataclass(frozen=True)
class WrittenBody:
    """A rigid body; `gravity` is that of the part it came with, or None where the model's own acts."""

    name: str
    orientation: str | None
    size: int  # 2 in the plane, 3 in space
    mass: ca.SX
    inertia: ca.SX | None = None
    gravity: ca.SX | None = None


@dataclass(frozen=True)
class WrittenFrame:
    """A named frame on a body, or on the ground (""): its place from the centre of mass, its axes in the body's."""

    name: str
    body: str
    at: ca.SX
    rotation: tuple[tuple[float, ...], ...]


@dataclass
class WrittenMechanics:
    """Energies, forces, constraints and bodies of one model."""

    coordinates: list[str] = field(default_factory=list)
    kinetic: ca.SX = field(default_factory=lambda: ca.SX(0))
    potential: ca.SX = field(default_factory=lambda: ca.SX(0))
    dissipation: ca.SX = field(default_factory=lambda: ca.SX(0))
    # Generalised forces by the name of the position (coordinate, body position or body attitude).
    applied: dict[str, ca.SX] = field(default_factory=dict)
    constraints: dict[str, Constraint] = field(default_factory=dict)
    velocities: dict[str, Velocity] = field(default_factory=dict)  # by the name of the position
    bodies: dict[str, WrittenBody] = field(default_factory=dict)
    gravity: ca.SX | None = None
    sides: dict[str, ca.SX] = field(default_factory=dict)  # by joint: negative half a turn away
    tree: dict[str, TreeJoint] = field(default_factory=dict)  # joints whose own coordinates are states
    joined: dict[str, str] = field(default_factory=dict)  # by body: one towards that which stands for its whole tree
    frames: dict[str, WrittenFrame] = field(default_factory=dict)
    shapes: dict[str, ContactShape] = field(default_factory=dict)  # that touch
    touching: dict[str, BodyContact] = field(default_factory=dict)  # contacts between bodies
    # Of a model in joint coordinates, by the name of the position: M v' + h, and v' where it is solved for.
    inertia_forces: dict[str, ca.SX] = field(default_factory=dict)
    accelerations: dict[str, ca.SX] = field(default_factory=dict)
    tree_energy: ca.SX = field(default_factory=lambda: ca.SX(0))  # of its bodies: motion and weight

    @property
    def positions(self) -> list[str]:
        """Everything that moves: coordinates, then positions and attitudes of bodies."""
        return [*self.coordinates, *self.velocities]

    @property
    def velocity_names(self) -> set[str]:
        """The variables that are velocities of bodies."""
        return {v.velocity for v in self.velocities.values()}

    @property
    def _has_energies(self) -> bool:
        """Whether an energy or a dissipation is written: most parts have none, and there are many of them."""
        return not all(energy.is_zero() for energy in (self.kinetic, self.potential, self.dissipation))

    def add_to_tree(self, joint: TreeJoint) -> None:
        """Note a joint whose own coordinates are states."""
        self.tree[joint.name] = joint
        one, two = map(self.stands_for, joint.bodies)
        self.joined[two] = one

    def stands_for(self, body: str) -> str:
        """The body that stands for all that joints of trees lead to from a body; "" is the ground."""
        while (next_one := self.joined.get(body, body)) != body:
            # The way is halved each time it is walked.
            self.joined[body] = body = self.joined.get(next_one, next_one)
        return body

    def copy(self) -> WrittenMechanics:
        """A collection of its own with the same entries."""
        own: dict[str, Any] = {name: value for name, value in vars(self).items() if isinstance(value, (list, dict))}
        return replace(self, **{name: value.copy() for name, value in own.items()})

    # -- travelling: names as plain data, expressions as a flat list -------------------------------------------

    def outline(self) -> dict[str, Any]:
        """Names and kinds, without expressions."""
        return {
            "coordinates": list(self.coordinates),
            "energies": self._has_energies,
            "gravity": self.gravity is not None,
            "applied": list(self.applied),
            "constraints": [(c.name, c.kind) for c in self.constraints.values()],
            "velocities": [(v.position, v.velocity, v.spins, v.norm) for v in self.velocities.values()],
            "bodies": [
                (b.name, b.orientation, b.size, b.inertia is not None, b.gravity is not None)
                for b in self.bodies.values()
            ],
            "sides": list(self.sides),
            "tree": [joint.outline() for joint in self.tree.values()],
            "frames": [(f.name, f.body, f.rotation) for f in self.frames.values()],
            "shapes": [shape.outline() for shape in self.shapes.values()],
            "touching": [contact.outline() for contact in self.touching.values()],
            "inertia_forces": list(self.inertia_forces),
            "accelerations": list(self.accelerations),
            "tree_energy": not self.tree_energy.is_zero(),
        }

    def expressions(self) -> list[ca.SX]:
        """The expressions that belong to the outline, in its order."""
        energies = [self.kinetic, self.potential, self.dissipation] if self._has_energies else []
        flat = [*energies, self.gravity, *self.applied.values()]
        flat += [c.expression for c in self.constraints.values()]
        flat += [e for v in self.velocities.values() for e in (v.rate, v.inertia_force)]
        flat += [e for b in self.bodies.values() for e in (b.mass, b.inertia, b.gravity)]
        flat += [*self.sides.values(), *(e for joint in self.tree.values() for e in (joint.at_a, joint.at_b))]
        flat += [frame.at for frame in self.frames.values()]
        flat += [e for shape in self.shapes.values() for e in shape.expressions()]
        flat += [contact.law for contact in self.touching.values()]
        flat += [*self.inertia_forces.values(), *self.accelerations.values()]
        flat += [] if self.tree_energy.is_zero() else [self.tree_energy]
        return [e for e in flat if e is not None]

    def add(self, outline: dict[str, Any], expressions: Iterator[ca.SX], prefix: str) -> None:
        """Take in what another collection wrote, under a prefix; bodies of a part keep the gravity of the part."""
        self.coordinates += [prefix + name for name in outline["coordinates"]]
        if outline.get("energies", True):
            self.kinetic += next(expressions)
            self.potential += next(expressions)
            self.dissipation += next(expressions)
        gravity = next(expressions) if outline["gravity"] else None
        if not prefix:
            self.gravity = gravity
        for name in outline["applied"]:
            self.applied[prefix + name] = next(expressions)
        for name, kind in outline["constraints"]:
            self.constraints[prefix + name] = Constraint(prefix + name, kind, next(expressions))
        for position, velocity, spins, norm in outline["velocities"]:
            rate, force = next(expressions), next(expressions)
            self.velocities[prefix + position] = Velocity(
                prefix + position, prefix + velocity, rate, force, spins, norm and prefix + norm
            )
        for name, orientation, size, has_inertia, has_gravity in outline["bodies"]:
            mass = next(expressions)
            inertia = next(expressions) if has_inertia else None
            own = next(expressions) if has_gravity else gravity if prefix else None
            self.bodies[prefix + name] = WrittenBody(prefix + name, orientation, size, mass, inertia, own)
        for name in outline.get("sides", ()):
            self.sides[prefix + name] = next(expressions)
        for joint in outline.get("tree", ()):
            read = TreeJoint.of(joint, next(expressions), next(expressions), prefix)
            self.add_to_tree(read)
        for name, body, rotation in outline.get("frames", ()):
            turn = tuple(map(tuple, rotation))
            self.frames[prefix + name] = WrittenFrame(prefix + name, body and prefix + body, next(expressions), turn)
        for shape in outline.get("shapes", ()):
            own_shape = read_shape(shape, expressions, prefix)
            self.shapes[own_shape.name] = own_shape
        for contact in outline.get("touching", ()):
            own_contact = read_contact(contact, expressions, prefix)
            self.touching[own_contact.name] = own_contact
        for name in outline.get("inertia_forces", ()):
            self.inertia_forces[prefix + name] = next(expressions)
        for name in outline.get("accelerations", ()):
            self.accelerations[prefix + name] = next(expressions)
        if outline.get("tree_energy", False):
            self.tree_energy += next(expressions)
