"""The cone problem of a moment: its joints and laws, its solution, and the forces that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from daedalus.algebra.rank_decision import KNOWN, KNOWN_BY_DIFFERENCES
from daedalus.simulation.touching.body_rows import TWIST, BodyRows, cross
from daedalus.simulation.touching.conflicting_laws import NoMotionError, conflict
from daedalus.simulation.touching.joint_rows import HeldByJoints, as_links
from daedalus.simulation.touching.least_norm_forces import least_norm
from daedalus.simulation.touching.lengths import NEAR, NEAR_SPEED, TOUCH, Lengths
from daedalus.simulation.touching.single_laws import STOP, SingleLaws
from daedalus.simulation.touching.touching_bodies import ForceSlots, TouchingBodies
from daedalus.simulation.touching.tree_rows import SeenTree


class Effort(NamedTuple):
    """How well cone problems are solved."""

    tolerance: float  # a share of the velocities in a problem
    sweeps: int  # at most, through all contacts
    newton: int  # steps at most
    largest: int  # unknowns of Newton's method over impulses at most; beyond, it is over velocities
    at_a_time: int  # sweeps before the residual is looked at, and between other steps


# With few bodies, as well as unknowns are known that are solved for. With many, steps are of order one, but what a
# problem leaves is a speed that bodies at rest keep: a share s of the speed g h creeps by s g h² = s FIXED² sizes in a
# step, and in 1/s steps by as much as a step is good to. That is as many steps as a long run has (a day and a half at
# 1 ms); and bodies at rest take hardly more work than by a tenth of the digits. For positions, which the next step
# corrects again, a hundredth. Counts are by judgement: sweeps tell which contacts press, and for few bodies often solve
# the problem; for many, other steps take less work.
EXACT, QUICK = Effort(KNOWN, 3000, 400, 450, 20), Effort(TOUCH, 200, 400, 60, 4)
ROUGH = Effort(1e-2, 20, 0, 0, 20)
# For the forces of a moment, of which only signs and ratios are asked.
BRIEF = Effort(KNOWN, 300, 12, 450, 20)


@dataclass
class ContactCounts:
    """What a run cost."""

    steps: int = 0
    attempts: int = 0
    rejected: int = 0
    rhs: int = 0
    sweeps: int = 0
    newton: int = 0
    residual: float = 0.0  # the largest, of the velocities of its problem
    unsolved: int = 0
    impacts: int = 0
    lessened: int = 0  # impacts whose restitution was lessened
    most_points: int = 0
    redundant: bool = False
    depth: float = 0.0


@dataclass
class ContactProblem:
    """Problems of one system, each with the forces of the one before as a first guess."""

    bodies: TouchingBodies
    rhs: Callable[[float, np.ndarray], np.ndarray]
    inputs: Callable[[float], np.ndarray]
    parameters: np.ndarray
    slots: ForceSlots
    lengths: Lengths
    counts: ContactCounts
    effort: Effort
    reach: float  # of the bodies' own sizes: contacts within this gap are looked at
    beside: SingleLaws | None = None

    _held: HeldByJoints = field(init=False)
    _seen: BodyRows | SeenTree = field(init=False)
    _last: float = 0.0
    taken: float = 0.0
    shares: bool = True  # whether forces are looked for that share a load with least norm; motion does not need them
    pushed: frozenset[tuple[int, int]] = frozenset()  # bodies that pushed each other in the step before
    struck: set[tuple[int, int, int]] = field(default_factory=set)  # pairs that approached in the last impacts

    def took(self, points: np.ndarray, h: float, modes: np.ndarray | None = None) -> None:
        """A step that counts: its points and its length, and the modes of frictions and stops."""
        self.pushed, self.taken = frozenset(zip(*points[:, 13:].T.astype(int).tolist())), h
        if modes is not None and self.beside is not None:
            held = np.flatnonzero((modes == 1) & ~self.beside.is_friction)
            self.pushed |= {(STOP, int(k)) for k in held}

    @property
    def stops(self) -> frozenset[int]:
        """The stops that pushed in the step before."""
        return frozenset(k for one, k in self.pushed if one == STOP)

    def _goes_on(self, info: np.ndarray, gap: np.ndarray, speed: np.ndarray, h: float) -> np.ndarray:
        """Contacts of bodies that pushed each other just now, and that a step has moved apart by its own error."""
        near = (gap <= NEAR * self.lengths.size) & (speed > -NEAR_SPEED * self.lengths.pull * h)
        bouncing = (self.bodies.laws[info[:, 1].astype(int), 1] > 0) & (speed < -self.lengths.bounce)
        near &= ~bouncing
        if near.any():
            near &= np.array([pair in self.pushed for pair in zip(*info[:, 4:6].T.astype(int).tolist())])
        return near

    # -- the problem -------------------------------------------------------------------------------------------

    def _set_joints(
        self, t: float, x: np.ndarray, by_position: bool, seen: BodyRows | SeenTree, world: Any = None
    ) -> None:
        """The answer of a tree at a place, and rows of constraints: their rates, or what takes positions back."""
        rows, world = self.bodies.joints, world or self.bodies.world
        if isinstance(seen, SeenTree):
            world.couple(seen.answer)
        if rows is None:
            if self.beside is not None:
                world.joints(*as_links(np.zeros((0, len(self.bodies.names), TWIST))), np.zeros(0))
            return
        held = rows.at(t, x, self.inputs(t), self.parameters, seen)
        self._held, self._seen = held, seen
        world.joints(*as_links(held.jacobian), -held.off if by_position else held.rates)

    def _solve(
        self, twists: np.ndarray, bounds: np.ndarray, frictional: bool = True, shifts: np.ndarray | None = None,
        effort: Effort | None = None, world: Any = None,
    ) -> np.ndarray:  # fmt: skip
        """Velocities behind the impulses of a problem, which are kept in its world; an effort given does not count."""
        told = effort is None
        if not len(bounds) and self.bodies.joints is None and self.beside is None:
            return twists
        effort = effort or (self.effort if frictional or self.effort is EXACT else ROUGH)
        velocities: np.ndarray
        velocities, residual, sweeps, newton, converged, scale = (world or self.bodies.world).solve(
            twists, bounds, frictional, *effort, shifts
        )
        counts = self.counts
        counts.sweeps, counts.newton = counts.sweeps + sweeps, counts.newton + newton
        counts.most_points = max(counts.most_points, len(bounds))
        if frictional and told and scale > 1e-200:
            counts.residual = max(counts.residual, residual / scale)
            counts.unsolved += not converged
            if not converged and self.bodies.joints is not None and residual > KNOWN_BY_DIFFERENCES * scale:
                self._check_possible(bounds, shifts, max(scale, float(np.abs(twists[:, :3]).max())))
        return velocities

    def _check_possible(self, bounds: np.ndarray, shifts: np.ndarray | None, scale: float) -> None:
        """Refuse contacts and joints that no velocities obey together."""
        bodies, world, seen, held = self.bodies, self.bodies.world, self._seen, self._held
        if isinstance(seen, SeenTree):
            ways = seen.jacobian
        else:
            mass, inertia = bodies.inverse_masses
            ways = np.eye(TWIST * len(bodies.names))
            ways = ways[:, np.hstack([mass, np.diagonal(inertia, axis1=1, axis2=2)]).ravel() > 0]
        shape = len(bodies.names), TWIST
        still = world.velocities(np.zeros(shape))[:, 0]
        rows = np.array([world.velocities(way.reshape(shape))[:, 0] - still for way in ways.T]).T
        if shifts is not None:
            still = still + np.sum(shifts * world.places()[:, 3:], axis=1)
        joints = held.jacobian.reshape(-1, len(ways)) @ ways
        found = conflict(rows.reshape(-1, ways.shape[1]), bounds - still, joints, held.rates, scale)
        if found is not None:
            pairs = [(int(law), int(a), int(b)) for law, a, b in world.contacts()[found.contacts, 1:4]]
            raise NoMotionError(pairs, found.joints.tolist(), found.missing)

    def _forces(
        self, info: np.ndarray, impulses: np.ndarray, places: np.ndarray, poses: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The contact variables as forces over a step (impulses for h = 1), and the points that push."""
        values = np.zeros(len(self.parameters))
        pushing = np.flatnonzero(impulses[:, 6] > 0) if len(impulses) else np.zeros(0, dtype=int)
        if not len(pushing):
            return values, np.zeros((0, 15))
        law, a, b = (info[pushing, k].astype(int) for k in (1, 4, 5))
        force, turn, normal = impulses[pushing, :3] / h, impulses[pushing, 3:6] / h, impulses[pushing, 6] / h
        place = places[pushing, :3]
        sums = np.zeros((len(self.slots.bodies), 7))
        for side, sign in ((b, 1.0), (a, -1.0)):
            which = np.where(side >= 0, self.slots.table[law, side], -1)
            own = np.flatnonzero(which >= 0)
            push, slot = sign * force[own], which[own]
            torque = cross(place[own] - poses[side[own], :3], push) + sign * turn[own]
            np.add.at(sums, slot, np.column_stack([push, torque, normal[own]]))
        self.slots.write(values, sums)
        table = np.column_stack([
            law, info[pushing, 2:4], place, places[pushing, 3:], force, info[pushing, 0], a, b,
        ])  # fmt: skip
        return values, table

    def _shared(
        self, info: np.ndarray, impulses: np.ndarray, every: np.ndarray, closed: np.ndarray, speed: np.ndarray,
        poses: np.ndarray, seen: BodyRows | SeenTree,
    ) -> np.ndarray:  # fmt: skip
        """The impulses of a step, those of least norm where points share a load; speed: above their bounds.

        With joints as constraints, whose forces share it, too, and with rolling friction they stay as they were found.
        """
        laws = self.bodies.laws[info[:, 1].astype(int)]
        own = np.flatnonzero(closed & ((impulses[:, 6] > 0) | (np.abs(speed[:, 0]) <= self.lengths.slow)))
        if self.bodies.joints is not None or np.any(laws[:, 2:4]) or len(own) < 2 or not np.any(impulses[own, 6]):
            return impulses
        places = every[own]
        centres = np.vstack([poses[:, :3], np.zeros(3)])  # the ground is the last
        a, b = (info[own, k].astype(int) for k in (4, 5))
        slides = np.linalg.norm(speed[own, 1:], axis=1) > self.lengths.slow
        points = np.column_stack([
            a, b, places[:, :3] - centres[a], places[:, :3] - centres[b], places[:, 3:], laws[own, 0], slides,
        ])  # fmt: skip
        through = seen.along(poses, self.lengths.size) if isinstance(seen, SeenTree) else None
        found = least_norm(impulses[own, :3], points, (len(self.bodies.names), self.lengths.size), through)
        if found is None:
            return impulses
        self.counts.redundant = True
        shared = impulses.copy()
        shared[own, :3], shared[own, 6] = found, np.sum(found * places[:, 3:], axis=1)
        return shared
