"""The trees that joints in joint coordinates form: their order from the ground outwards, and their links."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.expressions import column, concatenate, symbol_key
from daedalus.model.mechanics.tree_joints import TreeJoint, links_of, placed
from daedalus.model.mechanics.tree_recursions import Link
from daedalus.model.mechanics.written_mechanics import WrittenBody, WrittenFrame, WrittenMechanics
from daedalus.model.names import listed

Book = Any  # a Model: its doors import this file


# The variable that holds a body's attitude, by the kind of orientation.
ATTITUDES = {"quaternion": "quaternion", "rpy": "rpy", "planar": "angle"}


class TreeEntry(NamedTuple):
    """One joint of a tree in the order from the ground outwards: whether its b is behind its a."""

    joint: TreeJoint
    forward: bool

    @property
    def carrier(self) -> str:
        """The body before the joint, empty for the ground."""
        return self.joint.bodies[0 if self.forward else 1]

    @property
    def body(self) -> str:
        """The body behind the joint."""
        return self.joint.bodies[1 if self.forward else 0]


class Tree(NamedTuple):
    """The links of all trees of a model, with the names that belong to them."""

    links: list[Link]
    roots: list[str]  # bodies that no joint holds: their own variables stay states
    entries: list[TreeEntry]
    at: dict[str, int]  # the link of every body
    positions: dict[str, tuple[int, ...]]  # the velocities of every coordinate, by its name
    v: ca.SX
    a: ca.SX
    gravity: ca.SX
    weights: dict[str, ca.SX]  # weight by body, where gravity is not that of the whole model
    flat: dict[str, bool]


def is_joined(written: WrittenMechanics, a: str, b: str) -> bool:
    """Whether joints of trees lead from one body to another already; "" is the ground."""
    return written.stands_for(a) == written.stands_for(b)


def nothing_moves(name: str, written: WrittenMechanics) -> ModelError:
    """The error for a model whose links are all fixed to the ground."""
    return ModelError(
        f"Nothing in the model {name!r} moves.",
        f"fixed to the ground: {listed(list(written.frames), 6)}",
        because="all its joints are fixed ones, and no body is free.",
        remedy='a joint that moves, or base="free" where it is read from a file',
    )


def in_order(written: WrittenMechanics, every: bool = False) -> tuple[list[str], list[TreeEntry]]:
    """Bodies that no joint holds, and the joints from there and from the ground outwards.

    every: whether bodies without any joint of a tree count as well.
    """
    left, entries, roots = dict(written.tree), [], []
    neighbours: dict[str, list[str]] = {}
    for joint in left.values():
        for body in joint.bodies:
            neighbours.setdefault(body, []).append(joint.name)
    queue = [""]
    waiting = [body for body in written.bodies if every or body in neighbours]
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
            if name not in left:
                continue
            joint = left.pop(name)
            entry = TreeEntry(joint, joint.bodies[0] == carrier)
            entries.append(entry)
            seen.add(entry.body)
            queue.append(entry.body)
    return roots, entries


def attitude_of(body: WrittenBody) -> str:
    """The variable that holds the orientation of a body; "" for a point mass."""
    return f"{body.name}.{ATTITUDES[body.orientation]}" if body.orientation else ""


def tree_of(book: Book, every: bool = False) -> Tree:
    """The links of a model's trees, in its own symbols; with `every` also bodies that belong to none."""
    written = book.written.mechanics
    roots, entries = in_order(written, every)
    inside = [*roots, *(entry.body for entry in entries)]
    links: list[Link] = []
    at: dict[str, int] = {}
    columns: dict[str, tuple[int, ...]] = {}
    speeds: list[ca.SX] = []
    rises: list[ca.SX] = []

    def take(position: str, velocity: str) -> None:
        start = sum(s.numel() for s in speeds)
        speeds.append(book.written.symbols[velocity] if velocity else book.written.derivative_symbol(position, 1))
        rises.append(
            book.written.derivative_symbol(velocity, 1) if velocity else book.written.derivative_symbol(position, 2)
        )
        columns[position] = tuple(range(start, start + speeds[-1].numel()))

    # In the order of declaration: bodies that no joint holds, then joints.
    for name in roots:
        take(f"{name}.position", f"{name}.velocity")
        if written.bodies[name].orientation is not None:
            take(attitude_of(written.bodies[name]), f"{name}.angular_velocity")
    for joint in written.tree.values():
        if joint.size:
            take(joint.coordinate, joint.velocity)
    for body in roots:
        at[body] = placed(links, [_root(book, body, columns)])
    for entry in entries:
        joint = entry.joint
        own = columns[joint.coordinate] if joint.size else ()
        carrier = (-1, ca.SX(3, 1)) if not entry.carrier else (at[entry.carrier], links[at[entry.carrier]].centre)
        q = book.written.symbols[joint.coordinate] if joint.size else ca.SX(0, 1)
        added = links_of(joint, entry.forward, carrier, q, own, _mass_of(written.bodies[entry.body]))
        at[entry.body] = placed(links, added)
    own_weight = {name for name in inside if written.bodies[name].gravity is not None}
    gravity = ca.SX(3, 1) if own_weight or written.gravity is None else in_space(written.gravity)
    weights = {}
    for name in inside if own_weight else ():
        body = written.bodies[name]
        pull = written.gravity if body.gravity is None else body.gravity
        if pull is not None:
            weights[name] = body.mass * in_space(column(pull)[: body.size])
    flat = {name: written.bodies[name].size == 2 for name in inside}
    return Tree(links, roots, entries, at, columns, concatenate(speeds), concatenate(rises), gravity, weights, flat)


def frame_pose(tree: Tree, frame: WrittenFrame, rotations: list[ca.SX], origins: list[ca.SX]) -> tuple[ca.SX, ca.SX]:
    """Origin and axes of a frame in the world."""
    turn = ca.SX(ca.DM(np.array(frame.rotation)))
    if not frame.body:
        return frame.at, turn
    k = tree.at[frame.body]
    return origins[k] + rotations[k] @ (tree.links[k].centre + frame.at), rotations[k] @ turn


def _root(book: Book, name: str, taken: dict[str, tuple[int, ...]]) -> Link:
    """The link of a body that no joint holds; its origin is the centre of mass."""
    body = book.bodies[name]
    place = in_space(body.position)
    columns = taken[f"{name}.position"]
    speed = book.written.symbols[f"{name}.velocity"]
    along = ca.SX.eye(3)[:, : body.size]
    mass = _mass_of(book.written.mechanics.bodies[name])
    if body.orientation is None:
        empty = ca.SX(3, body.size)
        return Link(-1, ca.SX.eye(3), place, empty, along, ca.SX(3, 1), columns, **mass, centre=ca.SX(3, 1))
    turn = turned_flat(body.rotation)
    spin = book.written.symbols[f"{name}.angular_velocity"]
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


def armature_of(twin: Book, tree: Tree, kinetic: ca.SX | None = None) -> ca.SX | None:
    """Constant inertias of single velocities in an energy; None where it is anything else."""
    kinetic = twin.written.mechanics.kinetic if kinetic is None else kinetic
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


def _moves(twin: Book, expression: ca.SX) -> bool:
    """Whether more than parameters enter."""
    names = {twin.written.known[symbol_key(s)][0] for s in ca.symvar(expression)}
    return any(name == "t" or twin.written.variables[name].kind != "parameter" for name in names)


def in_space(vector: ca.SX) -> ca.SX:
    """Three components; a vector of the plane has none across it."""
    given = column(vector)
    return given if given.numel() == 3 else ca.vertcat(given, ca.SX.zeros(3 - given.numel()))


def turned_flat(rotation: ca.SX) -> ca.SX:
    """A rotation in space; one in the plane turns about z."""
    if rotation.size1() == 3:
        return rotation
    turn = ca.SX.eye(3)
    turn[:2, :2] = rotation
    return turn
