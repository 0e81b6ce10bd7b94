"""One step of bodies in contact, and an impact: velocities jump by impulses that solve a cone problem.

A step is the midpoint form of J. J. Moreau and M. Jean (θ = 1/2; Jean, Comput. Methods Appl. Mech. Engrg. 177, 1999):

    q_m = q + h/2 v,   v⁺ = v + h M⁻¹ f(q_m, (v + v⁺) / 2) + M⁻¹ Gᵀ P,   q⁺ = q_m + h/2 v⁺,

with contacts and forces at q_m. A gap g_m > 0 there lets u_n⁺ >= -2 g_m / h, so that nothing passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from daedalus.model.lazy_values import cached_property
from daedalus.simulation.touching.body_rows import BodyRows
from daedalus.simulation.touching.closing import closing_time, matched
from daedalus.simulation.touching.contact_problem import BRIEF, EXACT, ContactProblem
from daedalus.simulation.touching.impacts_in_turn import ImpactsInTurn
from daedalus.simulation.touching.lengths import NEAR
from daedalus.simulation.touching.single_in_step import SingleInStep
from daedalus.simulation.touching.tree_rows import SeenTree

# Velocities that laws of contact at the end of a step differ by, of those that count as rest, where that is not seen:
# by judgement.
BENT = 1e-3
# Corrections of positions after a step, at most; by judgement.
PUSHES = 4


# A row behind impacts, the impulses of the contact variables, and the pairs.
Impacts = tuple[np.ndarray, np.ndarray, set[tuple[int, int, int]]]


@dataclass(frozen=True)
class Stepped:
    """A row behind a step, and when a new contact closed, or inf; forces are looked for where somebody asks."""

    x: np.ndarray
    strike: float
    end_gap: float
    found: Callable[[], tuple[np.ndarray, np.ndarray]]
    modes: np.ndarray | None = None  # of frictions and stops beside the contacts
    laws: Mapping[tuple[int, int, int], bool] = field(default_factory=dict)  # which of these press, and slide

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


class ContactStepper(ContactProblem):
    """Steps and impacts of one system."""

    # -- a step ------------------------------------------------------------------------------------------------

    def step(self, t: float, x: np.ndarray, h: float, located: bool, moment: bool = False) -> Stepped:
        """The row after a step; `located`: contacts that are open at its beginning stay out, and are told.

        moment: a very short step, which shows the forces of a moment. Of contacts that go on, accelerations alone count
        then: their velocities, errors of the steps before, would be more than forces do in so short a time.
        """
        bodies, world = self.bodies, self.bodies.world
        middle, free = self._without_contacts(t, x, h)
        seen = bodies.rows.seen_from(middle)
        before, twists = seen.twists(x), seen.twists(free)
        moves = np.abs(before) + np.abs(twists)
        # What closes is located, so ends that turn are looked for; an equal step pushes out what the next one finds.
        turns = bodies.sway if located else self.reach
        limit = self.reach + h * float(np.max(moves[:, :3].sum(axis=1) + moves[:, 3:].sum(axis=1) * turns, initial=0.0))
        poses = bodies.rows.poses(middle)
        count = world.place(poses, limit, self._share(h))
        self._set_joints(t + h, free, False, seen)
        single = self._single_in_step(t, x, middle, h, seen, (located, moment))
        info = world.contacts()
        at_start, speed = self._at_start(x, before, h, limit, info) if count else (np.zeros(0), np.zeros(0))
        bounds, closed = self._bounds(info, at_start, speed, before, h, located, moment)
        after = self._solve(twists, bounds, effort=BRIEF if moment else None)
        if single is not None and single.slipped(world):
            self._set_joints(t + h, free, False, seen)
            single.write(world)
            after = self._solve(twists, bounds, effort=BRIEF if moment else None)
        shifts = None
        if count and self.effort is EXACT:
            goes = closed if located else at_start <= self.lengths.touch
            shifts = self._bent(seen, middle, before, after, h, limit, info, goes)
            if shifts is not None:
                after = self._solve(twists, bounds, shifts=shifts, effort=BRIEF if moment else None)
        if (count or single is not None) and self.effort is EXACT and not moment:
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

        modes, laws = None, {}
        if single is not None:
            impulse, rate = world.link_impulses()[-len(single.low) :], single.at.rates(after)
            free = free + single.at.states @ impulse
            first, last = single.closing(rate, h, self.lengths.touch)
            strike, end_gap = min(strike, first), min(end_gap, last)
            modes, laws = single.laws.modes(impulse, rate, self.lengths.slow), single.pressing(impulse)
        new = seen.with_twists(seen.moved(middle, after, 0.5 * h, free), after)
        self._last = h
        return Stepped(new, strike, end_gap, forces, modes, laws)

    def _without_contacts(self, t: float, x: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """The middle and the end of a step by the midpoint rule."""
        rows = self.bodies.rows
        middle = rows.moved(x, rows.twists(x), 0.5 * h, x + 0.5 * h * self.rhs(t, x))
        free = x + h * self.rhs(t + 0.5 * h, middle)
        self.counts.rhs, self.counts.attempts = self.counts.rhs + 2, self.counts.attempts + 1
        return middle, free

    def _bounds(
        self, info: np.ndarray, at_start: np.ndarray, speed: np.ndarray, before: np.ndarray, h: float, located: bool,
        moment: bool,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """How fast each contact may close in a step, and which of them take part in it.

        at_start, speed: gaps at its beginning, and their rates. before: the velocities there.
        """
        if not len(info):
            return np.zeros(0), np.ones(0, dtype=bool)
        lengths, gap = self.lengths, info[:, 0]
        # What is closed at the start is judged by its gap there: that in the middle has the bend of the way in it.
        near = np.where(at_start <= NEAR * lengths.size, np.minimum(gap, np.maximum(at_start, 0.0)), gap)
        bounds, closed = -2.0 * np.maximum(near - lengths.touch, 0.0) / h, np.ones(len(info), dtype=bool)
        if located:
            slow = (at_start <= NEAR * lengths.size) & (speed > -lengths.slow)
            closed = (at_start <= lengths.touch) | slow
            goes_on = self._goes_on(info, at_start, speed, self.taken if moment else h)
            closed |= goes_on
            if moment:
                # What approaches strikes: it has no part in the forces before that.
                closed &= (speed > -lengths.slow) | goes_on
                bounds[goes_on] = speed[goes_on]
            bounds[~closed] = -np.inf
            return bounds, closed
        # What has bounced and is pressed again may come back as fast: stopped on its way up it would get energy.
        opening = self.bodies.world.velocities(before)[:, 0]
        up = (self.bodies.laws[info[:, 1].astype(int), 1] > 0) & (opening > lengths.bounce)
        return np.where(up, np.minimum(bounds, -opening), bounds), closed

    def _single_in_step(
        self, t: float, x: np.ndarray, middle: np.ndarray, h: float, seen: BodyRows | SeenTree,
        kind: tuple[bool, bool],
    ) -> SingleInStep | None:  # fmt: skip
        """The rows of frictions and stops in a step, written to the world."""
        if self.beside is None:
            return None
        there = self.beside.at(t, x, self.inputs(t), self.parameters, self.bodies.rows.seen_from(x))
        at = self.beside.at(t + 0.5 * h, middle, self.inputs(t + 0.5 * h), self.parameters, seen)
        found = SingleInStep.of(self.beside, at, there, h, self.lengths, self.stops, *kind)
        found.write(self.bodies.world)
        return found

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

    # -- positions ---------------------------------------------------------------------------------------------

    def pushed_out(self, t: float, x: np.ndarray) -> np.ndarray:
        """The row with bodies that have gone into each other moved apart by the shortest way in the mass metric."""
        # Another world than that of steps, whose impulses are a first guess for the next one.
        bodies, world = self.bodies, self.bodies.pusher
        touch = self.lengths.touch
        for _ in range(PUSHES if self.effort is EXACT else 1):
            count = world.place(bodies.rows.poses(x), 10 * touch, 0.0)
            seen = bodies.rows.seen_from(x)
            self._set_joints(t, x, True, seen, world)
            gap = world.contacts()[:, 0] if count else np.zeros(0)
            off = 0.0
            if bodies.joints is not None:
                held = bodies.joints.at(t, x, self.inputs(t), self.parameters, seen)
                off = float(np.max(np.abs(held.off), initial=0.0))
            single = None
            if self.beside is not None:
                at = self.beside.at(t, x, self.inputs(t), self.parameters, seen)
                single = SingleInStep.outwards(self.beside, at)
                off = max(off, float(np.max(-at.gap, initial=0.0)))
            deepest = float(np.min(gap, initial=0.0))
            self.counts.depth = max(self.counts.depth, -deepest)
            if deepest >= -touch and off <= touch:
                break
            if single is not None:
                single.write(world)
            back = self._solve(np.zeros((len(bodies.names), 6)), -gap, frictional=False, world=world)
            x = seen.moved(x, back, 1.0)
        return x

    # -- impacts -----------------------------------------------------------------------------------------------

    def impacts(self, t: float, x: np.ndarray) -> Impacts | None:
        """The row behind the impacts of this moment, the impulses of the contact variables, and the pairs; or None."""
        found = ImpactsInTurn(self, t, x, 2 * self.lengths.touch)
        if found.is_empty or not found.strikes(found.speeds()):
            return None
        self._set_joints(t, x, False, found.seen, found.world)
        found.stop(found.bounce())
        self.struck, self._last = found.struck, 0.0
        return found.row(), found.total, found.pairs

    def bounces(self, t: float, x: np.ndarray, h: float) -> Impacts | None:
        """The same before an equal step, of what would close in it and bounces."""
        if not np.any(self.bodies.laws[:, 1] > 0) and self.beside is None:
            return None
        twists = np.abs(self.bodies.rows.twists(x))
        fast = float(np.max(twists[:, :3].sum(axis=1) + twists[:, 3:].sum(axis=1) * self.lengths.size, initial=0.0))
        found = ImpactsInTurn(self, t, x, 2 * h * fast + 2 * self.lengths.touch, h)
        if found.is_empty or not found.bounces(found.speeds()).any():
            return None
        self._set_joints(t, x, False, found.seen, found.world)
        found.bounce()
        return found.row(), found.total, found.pairs
