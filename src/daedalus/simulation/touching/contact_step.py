"""One step of bodies in contact, and an impact: velocities jump by impulses that solve a cone problem.

A step is the midpoint form of J. J. Moreau and M. Jean (θ = 1/2; Jean, Comput. Methods Appl. Mech. Engrg. 177, 1999):

    q_m = q + h/2 v,   v⁺ = v + h M⁻¹ f(q_m, (v + v⁺) / 2) + M⁻¹ Gᵀ P,   q⁺ = q_m + h/2 v⁺,

with contacts and forces at q_m. A gap g_m > 0 there lets u_n⁺ >= -2 g_m / h, so that nothing passes through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from daedalus.algebra.rank_decision import KNOWN, KNOWN_BY_DIFFERENCES
from daedalus.model.lazy_values import cached_property
from daedalus.simulation.touching.body_rows import TWIST, BodyRows, cross
from daedalus.simulation.touching.closing import closing_time, matched
from daedalus.simulation.touching.conflicting_laws import NoMotionError, conflict
from daedalus.simulation.touching.joint_rows import HeldByJoints, as_links
from daedalus.simulation.touching.least_norm_forces import least_norm
from daedalus.simulation.touching.touching_bodies import ForceSlots, TouchingBodies
from daedalus.simulation.touching.tree_rows import SeenTree


class Effort(NamedTuple):
    """How well cone problems are solved."""

    tolerance: float  # a share of the velocities in a problem
    sweeps: int  # at most, through all contacts
    newton: int  # steps at most
    largest: int  # unknowns of Newton's method at most


# With few bodies, as well as unknowns are known that are solved for; with many, whose motion is sensitive to everything
# anyway, to half the digits; and for positions there, which the next step corrects again. Counts are by judgement.
EXACT, QUICK = Effort(KNOWN, 3000, 60, 450), Effort(KNOWN_BY_DIFFERENCES, 200, 4, 150)
ROUGH = Effort(1e-2, 20, 0, 0)
# For the forces of a moment, of which only signs and ratios are asked.
BRIEF = Effort(KNOWN, 300, 12, 450)
# Impacts of pairs that act one after the other at one moment, at most; then what is left acts together.
MOST_PAIRS = 400
# Pairs whose speeds of approach differ by less than this share, which comes from a step solved to it, act together.
TOGETHER = KNOWN_BY_DIFFERENCES
# A fixed step that is not given, as a share of the time √(size / pull): in it a shape falls by half the square of this
# in its sizes, and Moreau's method, of order one, is good to about this share.
FIXED = 0.01
# A contact goes on over gaps of this share of the shapes' size: twice the fall in a fixed step. The share of the speed
# that a step gives is by judgement.
NEAR, NEAR_SPEED = FIXED**2, 0.1
# Velocities that laws of contact at the end of a step differ by, of those that count as rest, where that is not seen:
# by judgement.
BENT = 1e-3
# Corrections of positions after a step, at most; by judgement.
PUSHES = 4
# Halvings of the restitution where friction would let the energy grow: 12 digits.
HALVINGS = 40


class Lengths(NamedTuple):
    """What counts as touching (m), as an approach at rest (m/s), and as a bounce."""

    touch: float
    slow: float
    bounce: float
    size: float  # of shapes
    pull: float  # the acceleration at the start, m/s²


@dataclass
class ContactCounts:
    """What a run cost."""

    steps: int = 0
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


@dataclass(frozen=True)
class Stepped:
    """A row behind a step, and when a new contact closed, or inf; forces are looked for where somebody asks."""

    x: np.ndarray
    strike: float
    end_gap: float
    found: Callable[[], tuple[np.ndarray, np.ndarray]]

    @cached_property
    def _forces(self) -> tuple[np.ndarray, np.ndarray]:
        return self.found()

    @property
    def values(self) -> np.ndarray:
        """The contact variables: forces."""
        return self._forces[0]

    @property
    def points(self) -> np.ndarray:
        """Those that push, (n, 15): contact, shapes, place, normal, force on the second, gap, bodies."""
        return self._forces[1]


@dataclass
class ContactStepper:
    """Steps and impacts of one system."""

    bodies: TouchingBodies
    rhs: Callable[[float, np.ndarray], np.ndarray]
    inputs: Callable[[float], np.ndarray]
    parameters: np.ndarray
    slots: ForceSlots
    lengths: Lengths
    counts: ContactCounts
    effort: Effort
    reach: float  # of the bodies' own sizes: contacts within this gap are looked at

    # -- a step ------------------------------------------------------------------------------------------------

    def step(self, t: float, x: np.ndarray, h: float, located: bool, moment: bool = False) -> Stepped:
        """The row after a step; `located`: contacts that are open at its beginning stay out, and are told.

        moment: a very short step, which shows the forces of a moment. Of contacts that go on, accelerations alone count
        then: their velocities, errors of the steps before, would be more than forces do in so short a time.
        """
        bodies, world = self.bodies, self.bodies.world
        slope = self.rhs(t, x)
        middle = x + 0.5 * h * slope
        middle = bodies.rows.moved(x, bodies.rows.twists(x), 0.5 * h, middle)
        slope = self.rhs(t + 0.5 * h, middle)
        free = x + h * slope
        self.counts.rhs += 2
        seen = bodies.rows.seen_from(middle)
        before, twists = seen.twists(x), seen.twists(free)
        moves = np.abs(before) + np.abs(twists)
        limit = self.reach + h * float(
            np.max(moves[:, :3].sum(axis=1) + moves[:, 3:].sum(axis=1) * self.reach, initial=0.0)
        )
        poses = bodies.rows.poses(middle)
        count = world.place(poses, limit, self._share(h))
        self._set_joints(t + h, free, False, seen)
        info = world.contacts()
        bounds = np.zeros(count)
        closed = np.ones(count, dtype=bool)
        if count:
            gap = info[:, 0]
            at_start, speed = self._at_start(x, before, h, limit, info)
            # What is closed at the start is judged by its gap there: that in the middle has the bend of the way in it.
            near = np.where(at_start <= NEAR * self.lengths.size, np.minimum(gap, np.maximum(at_start, 0.0)), gap)
            bounds = -2.0 * np.maximum(near - self.lengths.touch, 0.0) / h
            if located:
                slow = (at_start <= NEAR * self.lengths.size) & (speed > -self.lengths.slow)
                closed = (at_start <= self.lengths.touch) | slow
                goes_on = self._goes_on(info, at_start, speed, self.taken if moment else h)
                closed |= goes_on
                bounds[~closed] = -np.inf
                if moment:
                    bounds[goes_on] = speed[goes_on]
            else:
                laws = bodies.laws[info[:, 1].astype(int)]
                ahead = gap + 0.5 * h * world.velocities(twists)[:, 0]
                bouncing = (speed < -self.lengths.bounce) & (ahead < 0) & (laws[:, 1] > 0)
                bounds[bouncing] = -laws[bouncing, 1] * speed[bouncing]
        after = self._solve(twists, bounds, effort=BRIEF if moment else None)
        if count and self.effort is EXACT:
            goes = closed if located else at_start <= self.lengths.touch
            shifts = self._bent(seen, middle, before, after, h, limit, info, goes)
            if shifts is not None:
                after = self._solve(twists, bounds, shifts=shifts, effort=BRIEF if moment else None)
        if count and self.effort is EXACT and not moment:
            # Forces in the middle are those of the velocity there, which contacts have changed; else the order is one.
            slope = self.rhs(t + 0.5 * h, seen.with_twists(middle, 0.5 * (before + after)))
            self.counts.rhs += 1
            free = x + h * slope
            if float(np.max(np.abs(seen.twists(free) - twists), initial=0.0)) > BENT * self.lengths.slow:
                twists = seen.twists(free)
                after = self._solve(twists, bounds, shifts=shifts)
        strike, end_gap = np.inf, np.inf
        if count and not closed.all():
            final = world.velocities(after)[:, 0]
            strike, end_gap = closing_time(at_start[~closed], speed[~closed], final[~closed], h, self.lengths.touch)
        impulses, places, above = world.impulses(), world.places(), world.velocities(after)
        above[closed, 0] -= bounds[closed]
        shares = count > 1 and self.shares and self.effort is EXACT and (not moment or isinstance(seen, SeenTree))

        def forces() -> tuple[np.ndarray, np.ndarray]:
            own = self._shared(info, impulses, places, closed, above, poses, seen) if shares else impulses
            return self._forces(info, own, places, poses, h)

        new = seen.with_twists(seen.moved(middle, after, 0.5 * h, free), after)
        self._last = h
        return Stepped(new, strike, end_gap, forces)

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

    def took(self, points: np.ndarray, h: float) -> None:
        """A step that counts: its points and its length."""
        self.pushed, self.taken = frozenset((int(a), int(b)) for a, b in points[:, 13:]), h

    _held: HeldByJoints = field(init=False)
    _seen: BodyRows | SeenTree = field(init=False)
    _last: float = 0.0
    taken: float = 0.0
    shares: bool = True  # whether forces are looked for that share a load with least norm; motion does not need them
    pushed: frozenset[tuple[int, int]] = frozenset()  # bodies that pushed each other in the step before

    def _goes_on(self, info: np.ndarray, gap: np.ndarray, speed: np.ndarray, h: float) -> np.ndarray:
        """Contacts of bodies that pushed each other just now, and that a step has moved apart by its own error."""
        near = (gap <= NEAR * self.lengths.size) & (speed > -NEAR_SPEED * self.lengths.pull * h)
        bouncing = (self.bodies.laws[info[:, 1].astype(int), 1] > 0) & (speed < -self.lengths.bounce)
        near &= ~bouncing
        if near.any():
            near &= np.array([(int(a), int(b)) in self.pushed for a, b in info[:, 4:6]])
        return near

    def _at_start(
        self, x: np.ndarray, before: np.ndarray, h: float, limit: float, info: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The gaps of contacts and their normal velocities at the beginning of a step."""
        bodies, scout = self.bodies, self.bodies.scout
        speed = bodies.world.velocities(before)[:, 0]
        gap = info[:, 0] - 0.5 * h * speed
        count = scout.place(bodies.rows.poses(x), limit, 0.0)
        if count:
            there = scout.contacts()
            match = matched(info[:, 2:4], there[:, 2:4])
            own = match >= 0
            gap[own] = there[match[own], 0]
            there = scout.velocities(bodies.rows.twists(x))
            speed = np.where(own, there[np.maximum(match, 0), 0], speed)
        return gap, speed

    def _bent(
        self, seen: BodyRows | SeenTree, middle: np.ndarray, before: np.ndarray, after: np.ndarray, h: float,
        limit: float, info: np.ndarray, touching: np.ndarray,
    ) -> np.ndarray | None:  # fmt: skip
        """What the velocities of contacts at the end of a step have on top of those in its middle, in the world.

        Laws of contact hold at the end of the step, impulses act in the middle: normals and arms turn in between. This
        is so for all points that touch: those at one place, of which one carries the load, have one law.
        """
        bodies, world = self.bodies, self.bodies.world
        impulses = world.impulses()
        pushing = impulses[:, 6] > 0
        if not pushing.any():
            return None
        here, normals = world.velocities_in_world(after), world.places()[:, 3:]
        scout = bodies.scout
        end = seen.with_twists(seen.moved(middle, after, 0.5 * h), after)
        count = scout.place(bodies.rows.poses(end), limit, 0.0)
        there, turned = scout.velocities_in_world(bodies.rows.twists(end)), scout.places()[:, 3:]
        names = scout.contacts()[:, 2:4]
        shifts = np.zeros((len(info), 3))
        match = matched(info[:, 2:4], names) if count else np.full(len(info), -1)
        own = np.flatnonzero((pushing | touching) & (match >= 0))
        if not len(own):
            return None
        other = match[own]
        shift = there[other] - here[own]
        normal = np.sum(turned[other] * there[other], axis=1) - np.sum(normals[own] * here[own], axis=1)
        slides = self._sliding(before, here, normals)[own]
        shift[slides[:, 0] != 0] = slides[slides[:, 0] != 0, 1:]
        shift += (normal - np.sum(normals[own] * shift, axis=1))[:, None] * normals[own]
        if np.abs(shift).max() <= BENT * self.lengths.slow:
            return None
        shifts[own] = shift
        return shifts

    def _sliding(self, before: np.ndarray, after: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """Of each contact 1 where it slides all through a step, and its velocity before the step, in the world.

        Friction opposes the mean of the velocities there: against that at the end the order would be one.
        """
        first = self.bodies.world.velocities_in_world(before)
        along = [u - np.sum(u * normals, axis=1)[:, None] * normals for u in (first, after)]
        sizes = [np.linalg.norm(u, axis=1) for u in along]
        through = np.sum(along[0] * along[1], axis=1) > 0.5 * sizes[0] * sizes[1]
        through &= (sizes[1] > self.lengths.slow) & (sizes[0] > self.lengths.slow)
        return np.column_stack([through, first])

    def _share(self, h: float) -> float:
        """What impulses of the step before are multiplied by, as a first guess."""
        return h / self._last if self._last else 0.0

    def _set_joints(self, t: float, x: np.ndarray, by_position: bool, seen: BodyRows | SeenTree) -> None:
        """The answer of a tree at a place, and rows of constraints: their rates, or what takes positions back."""
        rows = self.bodies.joints
        if isinstance(seen, SeenTree):
            self.bodies.world.couple(seen.answer)
        if rows is None:
            return
        held = rows.at(t, x, self.inputs(t), self.parameters, seen)
        self._held, self._seen = held, seen
        self.bodies.world.joints(*as_links(held.jacobian), -held.off if by_position else held.rates)

    def _solve(
        self, twists: np.ndarray, bounds: np.ndarray, frictional: bool = True, shifts: np.ndarray | None = None,
        effort: Effort | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Velocities behind the impulses of a problem, which are kept in the world; an effort given does not count."""
        told = effort is None
        if not len(bounds) and self.bodies.joints is None:
            return twists
        effort = effort or (self.effort if frictional or self.effort is EXACT else ROUGH)
        velocities: np.ndarray
        velocities, residual, sweeps, newton, converged, scale = self.bodies.world.solve(
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

    # -- positions ---------------------------------------------------------------------------------------------

    def pushed_out(self, t: float, x: np.ndarray) -> np.ndarray:
        """The row with bodies that have gone into each other moved apart by the shortest way in the mass metric."""
        bodies, world = self.bodies, self.bodies.world
        touch = self.lengths.touch
        for _ in range(PUSHES if self.effort is EXACT else 1):
            count = world.place(bodies.rows.poses(x), 10 * touch, 0.0)
            seen = bodies.rows.seen_from(x)
            self._set_joints(t, x, True, seen)
            gap = world.contacts()[:, 0] if count else np.zeros(0)
            off = 0.0
            if bodies.joints is not None:
                held = bodies.joints.at(t, x, self.inputs(t), self.parameters, seen)
                off = float(np.max(np.abs(held.off), initial=0.0))
            deepest = float(np.min(gap, initial=0.0))
            self.counts.depth = max(self.counts.depth, -deepest)
            if deepest >= -touch and off <= touch:
                break
            back = self._solve(np.zeros((len(bodies.names), 6)), -gap, frictional=False)
            x = seen.moved(x, back, 1.0)
            self._last = 0.0
        return x

    # -- impacts -----------------------------------------------------------------------------------------------

    def impacts(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, set[tuple[int, int, int]]] | None:
        """The row behind the impacts of this moment, the impulses of the contact variables, and the pairs; or None.

        Pairs of bodies act one after the other, the fastest approach first, each with its own restitution, and those
        that are as fast together. What still approaches then is stopped together.
        """
        bodies, world = self.bodies, self.bodies.world
        poses = bodies.rows.poses(x)
        count = world.place(poses, 2 * self.lengths.touch, 0.0)
        if not count:
            return None
        info = world.contacts()
        twists = bodies.rows.twists(x)
        speed = world.velocities(twists)[:, 0]
        if np.where(self._goes_on(info, info[:, 0], speed, self.taken), 0.0, speed).min() >= -self.lengths.slow:
            return None
        seen = bodies.rows.seen_from(x)
        self._set_joints(t, x, False, seen)
        restitution = bodies.laws[info[:, 1].astype(int), 1]
        pair = np.unique(info[:, 4:6], axis=0, return_inverse=True)[1].ravel()
        total, pairs = np.zeros(len(self.parameters)), set[tuple[int, int, int]]()

        def add() -> None:
            values, points = self._forces(info, world.impulses(), world.places(), poses, 1.0)
            np.add(total, values, out=total)
            pairs.update((int(law), int(one), int(two)) for law, one, two in points[:, :3])
            self.counts.impacts += 1

        def act(part: np.ndarray, share: float) -> np.ndarray:
            bounds = np.full(count, -np.inf)
            bounds[part] = np.where(speed[part] < 0, -share * restitution[part] * speed[part], 0.0)
            world.forget()
            return self._solve(twists, bounds)

        for _ in range(MOST_PAIRS):
            fast = (speed < -self.lengths.bounce) & (restitution > 0)
            if not fast.any():
                break
            chosen = pair[(speed <= (1 - TOGETHER) * speed[fast].min()) & fast]
            twists = self._kept_energy(act, np.isin(pair, chosen), twists, seen)
            add()
            speed = world.velocities(twists)[:, 0]
        if speed.min() < -self.lengths.slow:
            restitution = np.zeros(count)
            twists = act(np.ones(count, dtype=bool), 0.0)
            add()
        self._last = 0.0
        return seen.with_twists(x, twists), total, pairs

    def _kept_energy(
        self, act: Callable[[np.ndarray, float], np.ndarray], part: np.ndarray, before: np.ndarray,
        seen: BodyRows | SeenTree,
    ) -> np.ndarray:  # fmt: skip
        """An impact with as much of its restitution as keeps the energy from growing."""
        energy = self.bodies.kinetic_energy(before, seen)
        share = 1.0
        found = act(part, share)
        for _ in range(HALVINGS):
            if self.bodies.kinetic_energy(found, seen) <= energy * (1 + 1e-12):
                return found
            if share == 1.0:
                self.counts.lessened += 1
            share *= 0.5
            found = act(part, share)
        return act(part, 0.0)
