"""A model of bodies in joint coordinates: joints of a tree bring the states, and bodies become formulas of them.

What was written (forces, energies, constraints, outputs, conditions) names bodies; here their positions, velocities and
orientations are replaced by formulas of the joints. Equations of motion follow from the recursions, solved for the
accelerations where nothing but a tree and constant rotor inertias move, as M(q) v' + h = τ otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.geometry.euler_angles import rpy_from_rotation
from daedalus.geometry.quaternions import quaternion_product, quaternion_rate
from daedalus.model.expressions import column, concatenate, symbol_key
from daedalus.model.mechanics.equations_of_motion import force_sides, inertia_sides
from daedalus.model.mechanics.tree_joints import TreeJoint, links_of, placed, reaction, turning
from daedalus.model.mechanics.tree_recursions import (
    Link,
    Pair,
    accelerations,
    forward_dynamics,
    joint_forces,
    poses,
    pulled_back,
    velocities,
)
from daedalus.model.mechanics.written_mechanics import Velocity, WrittenBody, WrittenFrame, WrittenMechanics

if TYPE_CHECKING:
    from daedalus.model.model import Model


class Entry(NamedTuple):
    """One joint of a tree in the order from the ground outwards: whether its b is behind its a."""

    joint: TreeJoint
    forward: bool

    @property
    def carrier(self) -> str:
        return self.joint.bodies[0 if self.forward else 1]

    @property
    def body(self) -> str:
        return self.joint.bodies[1 if self.forward else 0]


class Tree(NamedTuple):
    """The links of all trees of a model, with the names that belong to them."""

    links: list[Link]
    roots: list[str]  # bodies that no joint holds: their own variables stay states
    entries: list[Entry]
    at: dict[str, int]  # the link of every body
    positions: dict[str, tuple[int, ...]]  # the velocities of every coordinate, by its name
    v: ca.SX
    a: ca.SX
    gravity: ca.SX
    weights: dict[str, ca.SX]  # weight by body, where gravity is not that of the whole model
    flat: dict[str, bool]


def is_joined(written: WrittenMechanics, a: str, b: str) -> bool:
    """Whether joints of trees lead from one body to another already; "" is the ground."""
    reached, grown = {a}, True
    while grown:
        grown = False
        for joint in written.tree.values():
            one, two = joint.bodies
            if (one in reached) != (two in reached):
                reached |= {one, two}
                grown = True
    return b in reached


def in_order(written: WrittenMechanics) -> tuple[list[str], list[Entry]]:
    """Bodies that no joint holds, and the joints from there and from the ground outwards."""
    left, entries, roots = dict(written.tree), [], []
    neighbours: dict[str, list[str]] = {}
    for joint in left.values():
        for body in joint.bodies:
            neighbours.setdefault(body, []).append(joint.name)
    queue = [""]
    waiting = [body for body in written.bodies if body in neighbours]
    seen = {""}
    while queue or waiting:
        if not queue:
            body = waiting.pop(0)
            if body in seen:
                continue
            roots.append(body)
            seen.add(body)
            queue.append(body)
        carrier = queue.pop(0)
        for name in neighbours.get(carrier, ()):
            joint = left.pop(name, None)
            if joint is None:
                continue
            entry = Entry(joint, joint.bodies[0] == carrier)
            entries.append(entry)
            seen.add(entry.body)
            queue.append(entry.body)
    return roots, entries


def tree_of(book: Model) -> Tree:
    """The links of a model's trees, in its own symbols."""
    written = book._mechanics
    roots, entries = in_order(written)
    inside = [*roots, *(entry.body for entry in entries)]
    links: list[Link] = []
    at: dict[str, int] = {}
    columns: dict[str, tuple[int, ...]] = {}
    speeds: list[ca.SX] = []
    rises: list[ca.SX] = []

    def take(position: str, velocity: str) -> None:
        start = sum(s.numel() for s in speeds)
        speeds.append(book._symbols[velocity] if velocity else book._derivative_symbol(position, 1))
        rises.append(book._derivative_symbol(velocity, 1) if velocity else book._derivative_symbol(position, 2))
        columns[position] = tuple(range(start, start + speeds[-1].numel()))

    # In the order of declaration: bodies that no joint holds, then joints.
    for name in roots:
        take(f"{name}.position", f"{name}.velocity")
        if written.bodies[name].orientation is not None:
            take(book.bodies[name].attitude, f"{name}.angular_velocity")
    for joint in written.tree.values():
        if joint.size:
            take(joint.coordinate, joint.velocity)
    for body in roots:
        at[body] = placed(links, [_root(book, body, columns)])
    for entry in entries:
        joint = entry.joint
        own = columns[joint.coordinate] if joint.size else ()
        carrier = (-1, ca.SX(3, 1)) if not entry.carrier else (at[entry.carrier], links[at[entry.carrier]].centre)
        q = book._symbols[joint.coordinate] if joint.size else ca.SX(0, 1)
        added = links_of(joint, entry.forward, carrier, q, own, _mass_of(written.bodies[entry.body]))
        at[entry.body] = placed(links, added)
    own_weight = {name for name in inside if written.bodies[name].gravity is not None}
    gravity = ca.SX(3, 1) if own_weight or written.gravity is None else _spatial(written.gravity)
    weights = {}
    for name in inside if own_weight else ():
        body = written.bodies[name]
        pull = written.gravity if body.gravity is None else body.gravity
        if pull is not None:
            weights[name] = body.mass * _spatial(column(pull)[: body.size])
    flat = {name: written.bodies[name].size == 2 for name in inside}
    return Tree(
        links, roots, entries, at, columns, concatenate(speeds), concatenate(rises), gravity, weights, flat
    )


def in_joint_coordinates(book: Model) -> Model:
    """The model whose unknowns are joint coordinates; bodies and reactions of joints are outputs of it."""
    tree = tree_of(book)
    gone, formulas = _formulas(book, tree)
    twin = book.copy()
    twin._drawn = book.copy()
    for name in gone:
        twin._forget(name)
    symbols, values = _replacements(book, formulas)

    def changed(expressions: list[ca.SX]) -> list[ca.SX]:
        """Formulas of joints in place of bodies; those that joints exert on bodies contain accelerations."""
        return [ca.densify(e) for e in ca.substitute(expressions, [symbols], [values])] if expressions else []

    written = book._mechanics
    external = _external(book, tree, changed)
    twin._mechanics = _mechanics(book, tree, changed, external)
    _rewrite(twin, book, changed)
    units = {name: book._variables[name].unit for name in gone if book._variables[name].unit}
    twin._output_units = {**twin._output_units, **units}
    motion = twin._mechanics
    _, passed = joint_forces(tree.links, tree.v, tree.a, tree.gravity, _external(book, tree, changed, energies=True))
    twin._mechanics = replace(motion, accelerations=_solved(twin, tree, motion))
    _, rotations = _world(tree)
    for entry in tree.entries:
        twin._outputs[entry.joint.name] = _reaction(tree, entry, passed, rotations)
    for name, value in formulas.items():
        if name in book._variables and name not in written.tree:
            twin._outputs[name] = value
    origins, _ = _world(tree)
    for frame in written.frames.values():
        name = f"{frame.name}.position"
        if name not in twin._outputs and name not in twin._variables:
            place, _ = frame_pose(tree, frame, rotations, origins)
            twin._outputs[name], twin._output_units[name] = ca.densify(place), "m"
    return twin


def frame_pose(
    tree: Tree, frame: WrittenFrame, rotations: list[ca.SX], origins: list[ca.SX]
) -> tuple[ca.SX, ca.SX]:
    """Origin and axes of a frame in the world."""
    turn = ca.SX(ca.DM(np.array(frame.rotation)))
    if not frame.body:
        return frame.at, turn
    k = tree.at[frame.body]
    return origins[k] + rotations[k] @ (tree.links[k].centre + frame.at), rotations[k] @ turn


# -- what bodies are in terms of joints ------------------------------------------------------------------------


def _root(book: Model, name: str, taken: dict[str, tuple[int, ...]]) -> Link:
    """The link of a body that no joint holds; its origin is the centre of mass."""
    body = book.bodies[name]
    place = _spatial(body.position)
    columns = taken[f"{name}.position"]
    speed = book._symbols[f"{name}.velocity"]
    along = ca.SX.eye(3)[:, : body.size]
    mass = _mass_of(book._mechanics.bodies[name])
    if body.orientation is None:
        empty = ca.SX(3, body.size)
        return Link(-1, ca.SX.eye(3), place, empty, along, ca.SX(3, 1), columns, **mass, centre=ca.SX(3, 1))
    turn = _turned_flat(body.rotation)
    spin = book._symbols[f"{name}.angular_velocity"]
    columns = (*columns, *taken[body.attitude])
    about = ca.SX.eye(3) if body.size == 3 else ca.SX(ca.DM([0, 0, 1]))
    angular = ca.horzcat(ca.SX(3, body.size), about)
    linear = ca.horzcat(turn.T @ along, ca.SX(3, about.size2()))
    # The velocity is a vector of the world: in axes that turn it changes by −ω × Rᵀ v.
    drift = -ca.cross(about @ spin, turn.T @ (along @ speed))
    return Link(-1, turn, place, angular, linear, drift, columns, **mass, centre=ca.SX(3, 1))


def _mass_of(body: WrittenBody) -> dict[str, Any]:
    inertia = ca.SX(3, 3)
    if body.inertia is not None and body.size == 3:
        inertia = ca.SX(body.inertia)
    elif body.inertia is not None:
        inertia[2, 2] = body.inertia
    return {"mass": ca.SX(body.mass), "inertia": inertia}


def _formulas(book: Model, tree: Tree) -> tuple[list[str], dict[str, ca.SX]]:
    """Variables that are no states any more, and what every body is and does, by name, derivatives too."""
    origins, rotations = _world(tree)
    moving = velocities(tree.links, tree.v)
    rising = accelerations(tree.links, tree.v, tree.a, moving, ca.SX(3, 1))
    quaternions = {root: _quaternion_of(book, root) for root in tree.roots}
    gone: list[str] = []
    found: dict[str, ca.SX] = {}
    _, passed = joint_forces(tree.links, tree.v, tree.a, tree.gravity)
    for entry in tree.entries:
        joint, name = entry.joint, entry.body
        k, body = tree.at[name], book._mechanics.bodies[name]
        size = body.size
        link, turn, (spin, speed), (turned, risen) = tree.links[k], rotations[k], moving[k], rising[k]
        across = ca.cross(spin, link.centre)
        rise = risen + ca.cross(turned, link.centre) + ca.cross(spin, speed + across)
        found[f"{name}.position"] = (origins[k] + turn @ link.centre)[:size]
        found[f"{name}.velocity"] = (turn @ (speed + across))[:size]
        found[f"{name}.position_dot"] = found[f"{name}.velocity"]
        found[f"{name}.velocity_dot"] = (turn @ rise)[:size]
        gone += [f"{name}.position", f"{name}.velocity"]
        q = book._symbols[joint.coordinate] if joint.size else ca.SX(0, 1)
        if size == 3:
            before = quaternions.get(entry.carrier)
            own = turning(joint, entry.forward, q)
            quaternions[name] = own if before is None else quaternion_product(before, own)
        if body.orientation is None:
            continue
        found[f"{name}.angular_velocity"] = spin if size == 3 else spin[2]
        found[f"{name}.angular_velocity_dot"] = turned if size == 3 else turned[2]
        gone.append(f"{name}.angular_velocity")
        attitude = book.bodies[name].attitude
        gone.append(attitude)
        if body.orientation == "quaternion":
            found[attitude] = quaternions[name]
            found[f"{attitude}_dot"] = quaternion_rate(quaternions[name], spin)
        elif body.orientation == "rpy":
            found[attitude] = rpy_from_rotation(turn)
        else:
            found[attitude] = _plane_angle(book, tree, entry)
            found[f"{attitude}_dot"] = spin[2]
    gone += [entry.joint.name for entry in tree.entries]
    return gone, {name: ca.densify(value) for name, value in found.items()}


def _plane_angle(book: Model, tree: Tree, entry: Entry) -> ca.SX:
    """The angle of a planar body: the sum of those before it."""
    carriers = {e.body: e for e in tree.entries}
    angle, name = ca.SX(0), entry.body
    while name in carriers:
        here = carriers[name]
        joint = here.joint
        own = ca.SX(ca.atan2(joint.rotation[1][0], joint.rotation[0][0]))
        if joint.kind == "revolute":
            own = own + book._symbols[joint.coordinate]
        angle = angle + own if here.forward else angle - own
        name = here.carrier
    return angle + book._symbols[f"{name}.angle"] if name else angle


def _quaternion_of(book: Model, root: str) -> ca.SX | None:
    """The orientation of a root as a quaternion; None for one that does not turn in space."""
    body = book._mechanics.bodies[root]
    if body.orientation == "quaternion":
        q = book._symbols[f"{root}.quaternion"]
        return q / ca.norm_2(q)
    if body.orientation == "rpy":
        roll, pitch, yaw = ca.vertsplit(book._symbols[f"{root}.rpy"] / 2)
        x = ca.vertcat(ca.cos(roll), ca.sin(roll), 0, 0)
        y = ca.vertcat(ca.cos(pitch), 0, ca.sin(pitch), 0)
        z = ca.vertcat(ca.cos(yaw), 0, 0, ca.sin(yaw))
        return ca.SX(quaternion_product(quaternion_product(z, y), x))
    return None


def _replacements(book: Model, formulas: dict[str, ca.SX]) -> tuple[ca.SX, ca.SX]:
    """Symbols of bodies and of their derivatives, with the formulas that stand for them."""
    old, new = [], []
    for name, value in formulas.items():
        if name in book._symbols:
            old.append(column(book._symbols[name]))
        else:
            old.append(column(book._derivative_symbol(name.removesuffix("_dot"), 1)))
        new.append(column(value))
    return concatenate(old), concatenate(new)


def _world(tree: Tree) -> tuple[list[ca.SX], list[ca.SX]]:
    rotations, origins = poses(tree.links)
    return origins, rotations


def _reaction(tree: Tree, entry: Entry, passed: list[Pair], rotations: list[ca.SX]) -> ca.SX:
    """The force of a joint on its b, in the terms of the same joint in body coordinates."""
    k = tree.at[entry.body]
    link = tree.links[k]
    moment, force = passed[k]
    turn, parent = link.turn, link.parent
    if entry.joint.kind == "universal":
        between = tree.links[parent]
        turn, parent = between.turn @ turn, between.parent
    before = ca.SX.eye(3) if parent < 0 else rotations[parent]
    flat = tree.flat[entry.body]
    if entry.forward:
        return ca.densify(reaction(entry.joint, moment, force, turn, before, flat))
    # What is passed to a is what b loses: on b it is the opposite, in axes of b.
    return ca.densify(reaction(entry.joint, -(turn @ moment), -(turn @ force), turn.T, rotations[k], flat))


# -- what is written, in terms of joints -----------------------------------------------------------------------


def _external(
    book: Model, tree: Tree, changed: Callable[[list[ca.SX]], list[ca.SX]], energies: bool = False
) -> list[Pair | None]:
    """Forces written on bodies, about the origins and in the axes of their links; with `energies` those of potentials,
    dissipation and constraints as well."""
    written = book._mechanics
    applied = _all_forces(book, written) if energies else written.applied
    forces: list[Pair | None] = [None] * len(tree.links)
    _, rotations = _world(tree)
    for name, k in tree.at.items():
        body, link = written.bodies[name], tree.links[k]
        push, torque = applied.get(f"{name}.position"), None
        if body.orientation is not None:
            torque = applied.get(book.bodies[name].attitude)
        weight = tree.weights.get(name)
        if push is None and torque is None and weight is None:
            continue
        world = (ca.SX(3, 1) if push is None else _spatial(changed([push])[0])) + (
            ca.SX(3, 1) if weight is None else weight
        )
        local = rotations[k].T @ world
        moment = ca.cross(link.centre, local)
        if torque is not None:
            turn = changed([torque])[0]
            moment = moment + (turn if body.size == 3 else ca.vertcat(0, 0, turn))
        forces[k] = (moment, local)
    return forces


def _all_forces(book: Model, written: WrittenMechanics) -> dict[str, ca.SX]:
    """What acts on every body beside its inertia and its weight, by the name of the position."""
    still = {n: replace(v, inertia_force=ca.SX.zeros(v.inertia_force.shape)) for n, v in written.velocities.items()}
    light = replace(written, kinetic=ca.SX(0), gravity=None, bodies={}, velocities=still)
    pushes, slopes = force_sides(book, light), inertia_sides(book, light)
    return {name: column(pushes[name]) - column(slopes[name]) for name in still}


def _mechanics(
    book: Model, tree: Tree, changed: Callable[[list[ca.SX]], list[ca.SX]], external: list[Pair | None]
) -> WrittenMechanics:
    """Energies, forces and constraints as functions of joint coordinates, with M v' + h of the tree."""
    written = book._mechanics
    bodies = {entry.body for entry in tree.entries}
    tau, _ = joint_forces(tree.links, tree.v, tree.a, tree.gravity)
    push = pulled_back(tree.links, external, tree.v.numel()) if any(f is not None for f in external) else None
    kept_velocities: dict[str, Velocity] = {}
    for position, velocity in written.velocities.items():
        owner = position.rpartition(".")[0]
        if owner in bodies:
            continue
        if position in tree.positions:
            velocity = replace(velocity, inertia_force=ca.SX.zeros(len(tree.positions[position])))
        kept_velocities[position] = velocity
    energies = changed([written.kinetic, written.potential, written.dissipation])
    applied = {}
    for name, force in written.applied.items():
        if name in tree.positions and name.rpartition(".")[0] not in tree.roots:
            applied[name] = changed([force])[0]
        elif name.rpartition(".")[0] not in (*bodies, *tree.roots):
            applied[name] = changed([force])[0]
    inertia = {}
    for name, columns in tree.positions.items():
        inertia[name] = ca.densify(tau[list(columns)])
        if push is not None:
            own = applied.get(name, ca.SX.zeros(len(columns)))
            applied[name] = ca.densify(own + push[list(columns)])
    constraints = {
        name: replace(c, expression=changed([c.expression])[0]) for name, c in written.constraints.items()
    }
    return replace(
        written,
        kinetic=energies[0],
        potential=energies[1],
        dissipation=energies[2],
        applied=applied,
        constraints=constraints,
        velocities=kept_velocities,
        bodies={n: b for n, b in written.bodies.items() if n not in tree.at},
        sides={n: changed([e])[0] for n, e in written.sides.items()},
        tree={},
        inertia_forces=inertia,
        accelerations={},
    )


def _rewrite(twin: Model, book: Model, changed: Callable[[list[ca.SX]], list[ca.SX]]) -> None:
    """Equations, outputs, events and what is kept, with formulas in place of bodies."""
    twin._changed()
    tree_bodies = {entry for entry in book._mechanics.bodies if f"{entry}.position" not in twin._variables}
    lengths = {f"{name}.quaternion length" for name in tree_bodies}

    def one(expression: ca.SX) -> ca.SX:
        return changed([expression])[0]

    twin._equations = {n: replace(e, residual=one(e.residual)) for n, e in book._equations.items()}
    twin._outputs = {n: one(e) for n, e in book._outputs.items()}
    twin._invariants = {
        n: replace(e, residual=one(e.residual)) for n, e in book._invariants.items() if n not in lengths
    }
    twin._events = {
        n: replace(e, guard=one(e.guard), resets={k: one(v) for k, v in e.resets.items()})
        for n, e in book._events.items()
    }


def _solved(twin: Model, tree: Tree, motion: WrittenMechanics) -> dict[str, ca.SX]:
    """Accelerations by articulated bodies; empty where an energy of motion couples more than the tree does."""
    armature = armature_of(twin, tree, motion.kinetic)
    if armature is None:
        return {}
    light = replace(motion, kinetic=ca.SX(0), inertia_forces={})
    pushes, slopes = force_sides(twin, light), inertia_sides(twin, light)
    tau = ca.SX.zeros(tree.v.numel())
    for name, columns in tree.positions.items():
        tau[list(columns)] = column(pushes[name]) - column(slopes[name])
    if ca.depends_on(tau, tree.a):
        return {}
    found = forward_dynamics(tree.links, tree.v, tau, tree.gravity, armature)
    return {name: ca.densify(found[list(columns)]) for name, columns in tree.positions.items()}


def armature_of(twin: Model, tree: Tree, kinetic: ca.SX | None = None) -> ca.SX | None:
    """Constant inertias of single velocities in an energy; None where it is anything else."""
    kinetic = twin._mechanics.kinetic if kinetic is None else kinetic
    if kinetic.is_constant():
        return ca.SX.zeros(tree.v.numel())
    momentum = column(ca.gradient(kinetic, tree.v))
    slope = ca.jacobian(momentum, tree.v)
    diagonal = ca.diag(slope)
    # Each momentum is its own velocity times a constant: no other velocity, no position enters.
    if slope.nnz() != ca.sparsify(diagonal).nnz() or _moves(twin, diagonal):
        return None
    rest = ca.substitute(momentum, tree.v, ca.SX.zeros(tree.v.numel()))
    return ca.densify(diagonal) if rest.is_zero() else None


def _moves(twin: Model, expression: ca.SX) -> bool:
    """Whether more than parameters enter."""
    names = {twin._known[symbol_key(s)][0] for s in ca.symvar(expression)}
    return any(name == "t" or twin._variables[name].kind != "parameter" for name in names)


def _spatial(vector: ca.SX) -> ca.SX:
    """Three components; a vector of the plane has none across it."""
    given = column(vector)
    return given if given.numel() == 3 else ca.vertcat(given, ca.SX.zeros(3 - given.numel()))


def _turned_flat(rotation: ca.SX) -> ca.SX:
    """A rotation in space; one in the plane turns about z."""
    if rotation.size1() == 3:
        return rotation
    turn = ca.SX.eye(3)
    turn[:2, :2] = rotation
    return turn
