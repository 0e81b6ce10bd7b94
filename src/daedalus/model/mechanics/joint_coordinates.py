"""A model of bodies in joint coordinates: joints of a tree bring the states, and bodies become formulas of them.

What was written (forces, energies, constraints, outputs, conditions) names bodies; here their positions, velocities and
orientations are replaced by formulas of the joints. Equations of motion follow from the recursions, solved for the
accelerations where nothing but a tree and constant rotor inertias move, as M(q) v' + h = τ otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import SAME_FORMULA, WITNESSES
from daedalus.geometry.euler_angles import rpy_from_rotation
from daedalus.geometry.quaternions import quaternion_product, quaternion_rate
from daedalus.geometry.traced_formula import traced
from daedalus.model.expressions import column, concatenate
from daedalus.model.mechanics.equations_of_motion import force_sides, inertia_sides
from daedalus.model.mechanics.tree_joints import reaction, turning
from daedalus.model.mechanics.tree_recursions import (
    Pair,
    accelerations,
    forward_dynamics,
    inertia_forces,
    passed_inwards,
    poses,
    pulled_back,
    velocities,
)
from daedalus.model.mechanics.trees import (
    Book,
    Tree,
    TreeEntry,
    armature_of,
    attitude_of,
    frame_pose,
    in_space,
    tree_of,
    turned_flat,
)
from daedalus.model.mechanics.written_mechanics import Velocity, WrittenFrame, WrittenMechanics


class TreeMotion(NamedTuple):
    """Where the links of a tree are in the world and how they move, written out once for all that needs it."""

    origins: list[ca.SX]
    rotations: list[ca.SX]
    moving: list[Pair]

    @staticmethod
    def of(tree: Tree) -> TreeMotion:
        """The motion by the symbols of the tree."""
        rotations, origins = poses(tree.links)
        return TreeMotion(origins, rotations, velocities(tree.links, tree.v))


def in_joint_coordinates(book: Book) -> Book:
    """The model whose unknowns are joint coordinates; bodies and reactions of joints are outputs of it."""
    tree = tree_of(book)
    motion = TreeMotion.of(tree)
    needed = inertia_forces(tree.links, tree.v, tree.a, tree.gravity, motion.moving)
    gone, formulas = body_formulas(book, tree, motion)
    twin = book.copy()
    twin.drawn_as = book.copy()
    for name in gone:
        twin._forget(name)
    symbols, values = replacements(book, formulas)

    def changed(expressions: list[ca.SX]) -> list[ca.SX]:
        """Formulas of joints in place of bodies; those that joints exert on bodies contain accelerations."""
        return [ca.densify(e) for e in ca.substitute(expressions, [symbols], [values])] if expressions else []

    written = book.written.mechanics
    external = _external(book, tree, motion, changed)
    twin.written.mechanics = _mechanics(book, tree, motion, needed, changed, external)
    _rewrite(twin, book, changed)
    units = {name: book.written.variables[name].unit for name in gone if book.written.variables[name].unit}
    twin.written.output_units = {**twin.written.output_units, **units}
    mechanics = twin.written.mechanics
    acting = _external(book, tree, motion, changed, energies=True)
    _, passed = passed_inwards(tree.links, needed, tree.v.numel(), acting)
    twin.written.mechanics = replace(mechanics, accelerations=_solved(twin, tree, mechanics))
    for entry in tree.entries:
        twin.written.outputs[entry.joint.name] = _reaction(tree, entry, passed, motion.rotations)
    for name, value in formulas.items():
        if name in book.written.variables and name not in written.tree:
            twin.written.outputs[name] = value
    for frame in written.frames.values():
        held = not frame.body or frame.body in tree.at
        place = frame_pose(tree, frame, motion.rotations, motion.origins)[0] if held else _on_a_body(book, frame)
        _show(twin, frame, place)
    return twin


def with_frames(book: Book) -> Book:
    """The model with the positions of its frames as outputs, where no joint has coordinates."""
    twin = book.copy()
    twin.drawn_as = book.copy()
    for frame in book.written.mechanics.frames.values():
        _show(twin, frame, _on_a_body(book, frame) if frame.body else frame.at)
    return twin


def _on_a_body(book: Book, frame: WrittenFrame) -> ca.SX:
    """Where a frame is whose body moves freely, or by joints that are constraints."""
    body = book.bodies[frame.body]
    turn = ca.SX.eye(3) if body.orientation is None else turned_flat(body.rotation)
    return in_space(body.position) + turn @ frame.at


def _show(twin: Book, frame: WrittenFrame, place: ca.SX) -> None:
    name = f"{frame.name}.position"
    if name not in twin.written.outputs and name not in twin.written.variables:
        twin.written.outputs[name], twin.written.output_units[name] = ca.densify(place), "m"


# -- what bodies are in terms of joints ------------------------------------------------------------------------


def body_formulas(book: Book, tree: Tree, motion: TreeMotion | None = None) -> tuple[list[str], dict[str, ca.SX]]:
    """Variables that are no states any more, and what every body is and does, by name, derivatives too."""
    origins, rotations, moving = motion or TreeMotion.of(tree)
    rising = accelerations(tree.links, tree.v, tree.a, moving, ca.SX(3, 1))
    quaternions: dict[str, Any] = {root: _quaternion_of(book, root) for root in tree.roots}
    gone: list[str] = []
    found: dict[str, ca.SX] = {}
    for entry in tree.entries:
        joint, name = entry.joint, entry.body
        k, body = tree.at[name], book.written.mechanics.bodies[name]
        size = body.size
        link, turn, (spin, _), (turned, _) = tree.links[k], rotations[k], moving[k], rising[k]
        centre = _centre_motion(link.centre, turn, origins[k], *moving[k], *rising[k])
        place, velocity, acceleration = centre if size == 3 else (x[:size] for x in centre)
        found[f"{name}.position"], found[f"{name}.velocity"] = place, velocity
        found[f"{name}.position_dot"], found[f"{name}.velocity_dot"] = velocity, acceleration
        gone += [f"{name}.position", f"{name}.velocity"]
        q = book.written.symbols[joint.coordinate] if joint.size else ca.SX(0, 1)
        if size == 3:
            before = quaternions.get(entry.carrier)
            own = turning(joint, entry.forward, q)
            quaternions[name] = own if before is None else quaternion_product(before, own)
        if body.orientation is None:
            continue
        found[f"{name}.angular_velocity"] = spin if size == 3 else spin[2]
        found[f"{name}.angular_velocity_dot"] = turned if size == 3 else turned[2]
        gone.append(f"{name}.angular_velocity")
        attitude = attitude_of(body)
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


@traced
def _centre_motion(
    centre: ca.SX, turn: ca.SX, origin: ca.SX, spin: ca.SX, speed: ca.SX, turned: ca.SX, risen: ca.SX
) -> tuple[ca.SX, ...]:
    """Position, velocity and acceleration of the centre of a link in the world."""
    moving = speed + ca.cross(spin, centre)
    rise = risen + ca.cross(turned, centre) + ca.cross(spin, moving)
    return origin + turn @ centre, turn @ moving, turn @ rise


def _plane_angle(book: Book, tree: Tree, entry: TreeEntry) -> ca.SX:
    """The angle of a planar body: the sum of those before it."""
    carriers = {e.body: e for e in tree.entries}
    angle, name = ca.SX(0), entry.body
    while name in carriers:
        here = carriers[name]
        joint = here.joint
        own = ca.SX(ca.atan2(joint.rotation[1][0], joint.rotation[0][0]))
        if joint.kind == "revolute":
            own = own + book.written.symbols[joint.coordinate]
        angle = angle + own if here.forward else angle - own
        name = here.carrier
    return angle + book.written.symbols[f"{name}.angle"] if name else angle


def _quaternion_of(book: Book, root: str) -> ca.SX | None:
    """The orientation of a root as a quaternion; None for one that does not turn in space."""
    body = book.written.mechanics.bodies[root]
    if body.orientation == "quaternion":
        q = book.written.symbols[f"{root}.quaternion"]
        unit: ca.SX = q / ca.norm_2(q)
        return unit
    if body.orientation == "rpy":
        return quaternion_of_rpy(book.written.symbols[f"{root}.rpy"])
    return None


def quaternion_of_rpy(angles: ca.SX) -> ca.SX:
    """The orientation of roll, pitch and yaw as a quaternion."""
    roll, pitch, yaw = ca.vertsplit(angles / 2)
    x = ca.vertcat(ca.cos(roll), ca.sin(roll), 0, 0)
    y = ca.vertcat(ca.cos(pitch), 0, ca.sin(pitch), 0)
    z = ca.vertcat(ca.cos(yaw), 0, 0, ca.sin(yaw))
    return ca.SX(quaternion_product(quaternion_product(z, y), x))


def replacements(book: Book, formulas: dict[str, ca.SX]) -> tuple[ca.SX, ca.SX]:
    """Symbols of bodies and of their derivatives, with the formulas that stand for them."""
    old, new = [], []
    for name, value in formulas.items():
        if name in book.written.symbols:
            old.append(column(book.written.symbols[name]))
        else:
            old.append(column(book.written.derivative_symbol(name.removesuffix("_dot"), 1)))
        new.append(column(value))
    return concatenate(old), concatenate(new)


def _reaction(tree: Tree, entry: TreeEntry, passed: list[Pair], rotations: list[ca.SX]) -> ca.SX:
    """The force of a joint on its b, in the terms of the same joint in body coordinates."""
    k = tree.at[entry.body]
    link = tree.links[k]
    moment, force = passed[k]
    turn, parent, gap = link.turn, link.parent, link.shift
    for _ in range(entry.joint.links - 1):
        between = tree.links[parent]
        turn, gap, parent = between.turn @ turn, between.shift + between.turn @ gap, between.parent
    before = ca.SX.eye(3) if parent < 0 else rotations[parent]
    flat = tree.flat[entry.body]
    if entry.forward:
        return ca.densify(reaction(entry.joint, moment, force, turn, before, flat))
    # What is passed to a is what b loses: on b it is the opposite, in axes of b, about the place of the joint on b.
    push, torque = turn @ force, turn @ moment
    if entry.joint.kind in ("prismatic", "planar"):
        centre = ca.SX(3, 1) if parent < 0 else tree.links[parent].centre
        torque = torque + ca.cross(gap - centre - entry.joint.at_b, push)
    return ca.densify(reaction(entry.joint, -torque, -push, turn.T, rotations[k], flat))


# -- what is written, in terms of joints -----------------------------------------------------------------------


def _external(
    book: Book, tree: Tree, motion: TreeMotion, changed: Callable[[list[ca.SX]], list[ca.SX]], energies: bool = False
) -> list[Pair | None]:
    """Forces written on bodies, about the origins and in the axes of their links; with `energies` those of potentials,
    dissipation and constraints as well."""
    written = book.written.mechanics
    applied = _all_forces(book, written) if energies else written.applied
    forces: list[Pair | None] = [None] * len(tree.links)
    rotations = motion.rotations
    attitudes = {name: attitude_of(written.bodies[name]) for name in tree.at}
    names = [f"{name}.position" for name in tree.at] + [a for a in attitudes.values() if a]
    names = [name for name in names if name in applied]
    acting = dict(zip(names, changed([applied[name] for name in names])))
    for name, k in tree.at.items():
        push, torque = acting.get(f"{name}.position"), acting.get(attitudes[name])
        weight = tree.weights.get(name)
        if push is None and torque is None and weight is None:
            continue
        world = ca.SX(3, 1) if push is None else in_space(push)
        local = rotations[k].T @ (world if weight is None else world + weight)
        moment = ca.cross(tree.links[k].centre, local)
        if torque is not None:
            moment = moment + (torque if written.bodies[name].size == 3 else ca.vertcat(0, 0, torque))
        forces[k] = (moment, local)
    return forces


def _energy(tree: Tree, motion: TreeMotion) -> ca.SX:
    """Kinetic energy of all links, and that of their weight."""
    origins, rotations, moving = motion
    total = ca.SX(0)
    for link, turn, origin, speeds in zip(tree.links, rotations, origins, moving):
        total += _link_energy(link.mass, link.centre, link.inertia, tree.gravity, turn, origin, *speeds)[0]
    for name, weight in tree.weights.items():
        k = tree.at[name]
        total -= ca.dot(weight, origins[k] + rotations[k] @ tree.links[k].centre)
    return total


@traced
def _link_energy(
    mass: ca.SX, centre: ca.SX, inertia: ca.SX, gravity: ca.SX, turn: ca.SX, origin: ca.SX, spin: ca.SX, speed: ca.SX
) -> tuple[ca.SX, ...]:
    moving = speed + ca.cross(spin, centre)
    kinetic = 0.5 * mass * ca.sumsqr(moving) + 0.5 * ca.dot(spin, inertia @ spin)
    return (kinetic - mass * ca.dot(gravity, origin + turn @ centre),)


def _all_forces(book: Book, written: WrittenMechanics) -> dict[str, ca.SX]:
    """What acts on every body beside its inertia and its weight, by the name of the position."""
    still = {n: replace(v, inertia_force=ca.SX.zeros(v.inertia_force.shape)) for n, v in written.velocities.items()}
    light = replace(written, kinetic=ca.SX(0), gravity=None, bodies={}, velocities=still)
    pushes, slopes = force_sides(book, light), inertia_sides(book, light)
    return {name: column(pushes[name]) - column(slopes[name]) for name in still}


def _mechanics(
    book: Book,
    tree: Tree,
    motion: TreeMotion,
    needed: list[Pair],
    changed: Callable[[list[ca.SX]], list[ca.SX]],
    external: list[Pair | None],
) -> WrittenMechanics:
    """Energies, forces and constraints as functions of joint coordinates, with M v' + h of the tree."""
    written = book.written.mechanics
    bodies = {entry.body for entry in tree.entries}
    tau, _ = passed_inwards(tree.links, needed, tree.v.numel())
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
        owner = name.rpartition(".")[0]
        if owner not in bodies and owner not in tree.roots:
            applied[name] = changed([force])[0]
    inertia = {}
    for name, columns in tree.positions.items():
        inertia[name] = ca.densify(tau[list(columns)])
        if push is not None:
            own = applied.get(name, ca.SX.zeros(len(columns)))
            applied[name] = ca.densify(own + push[list(columns)])
    constraints = {
        name: replace(c, expression=with_exact_zeros(changed([c.expression])[0]))
        for name, c in written.constraints.items()
    }
    rewritten: WrittenMechanics = replace(
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
        tree_energy=_energy(tree, motion),
    )
    return rewritten


def with_exact_zeros(rows: ca.SX) -> ca.SX:
    """Rows of a closed loop, with exact zeros where a row is zero whatever the joints do, but for rounding.

    A loop of parallel hinges stays in its plane: what keeps it there is zero at any angles.
    """
    symbols = ca.symvar(rows)
    if not symbols:
        return rows
    draw = np.random.default_rng(2013)
    values = ca.Function("rows", [concatenate(symbols)], [ca.densify(column(rows))])
    found = np.abs([values(draw.normal(size=len(symbols))).full().ravel() for _ in range(WITNESSES + 1)]).max(axis=0)
    gone = np.flatnonzero(found < SAME_FORMULA)
    result = ca.SX(rows)
    for k in gone:
        result[int(k)] = 0
    return ca.densify(result)


def _rewrite(twin: Book, book: Book, changed: Callable[[list[ca.SX]], list[ca.SX]]) -> None:
    """Equations, outputs, events and what is kept, with formulas in place of bodies."""
    twin._changed()
    tree_bodies = {
        entry for entry in book.written.mechanics.bodies if f"{entry}.position" not in twin.written.variables
    }
    lengths = {f"{name}.quaternion length" for name in tree_bodies}

    def one(expression: ca.SX) -> ca.SX:
        return changed([expression])[0]

    twin.written.equations = {n: replace(e, residual=one(e.residual)) for n, e in book.written.equations.items()}
    twin.written.outputs = {n: one(e) for n, e in book.written.outputs.items()}
    twin.written.invariants = {
        n: replace(e, residual=one(e.residual)) for n, e in book.written.invariants.items() if n not in lengths
    }
    twin.written.events = {
        n: replace(e, guard=one(e.guard), resets={k: one(v) for k, v in e.resets.items()})
        for n, e in book.written.events.items()
    }


def _solved(twin: Book, tree: Tree, motion: WrittenMechanics) -> dict[str, ca.SX]:
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
