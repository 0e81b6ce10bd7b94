"""One step of bodies in contact, and an impact: velocities jump by impulses that solve a cone problem.

A step is the midpoint form of J. J. Moreau and M. Jean (θ = 1/2; Jean, Comput. Methods Appl. Mech. Engrg. 177, 1999):

    q_m = q + h/2 v,   v⁺ = v + h M⁻¹ f(q_m, (v + v⁺) / 2) + M⁻¹ Gᵀ P,   q⁺ = q_m + h/2 v⁺,

with contacts and forces at q_m. A gap g_m > 0 there lets u_n⁺ >= -2 g_m / h, so that nothing passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.model.lazy_values import cached_property
from daedalus.simulation.touching.body_rows import BodyRows
from daedalus.simulation.touching.closing import closing_time, matched
from daedalus.simulation.touching.contact_problem import BRIEF, EXACT, ContactProblem
from daedalus.simulation.touching.lengths import NEAR, NEAR_SPEED
from daedalus.simulation.touching.lessened_bounces import Answered, groups_of, lessened
from daedalus.simulation.touching.single_in_step import SingleInStep
from daedalus.simulation.touching.single_laws import STOP, LawsAtPlace
from daedalus.simulation.touching.tree_rows import SeenTree

# Impacts of pairs that act one after the other at one moment, at most; then what is left acts together.
MOST_PAIRS = 400
# Pairs whose speeds of approach differ by less than this share, which comes from a step solved to it, act together.
TOGETHER = KNOWN_BY_DIFFERENCES
# Velocities that laws of contact at the end of a step differ by, of those that count as rest, where that is not seen:
# by judgement.
BENT = 1e-3
# Corrections of positions after a step, at most; by judgement.
PUSHES = 4


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
        slope = self.rhs(t, x)
        middle = x + 0.5 * h * slope
        middle = bodies.rows.moved(x, bodies.rows.twists(x), 0.5 * h, middle)
        slope = self.rhs(t + 0.5 * h, middle)
        free = x + h * slope
        self.counts.rhs, self.counts.attempts = self.counts.rhs + 2, self.counts.attempts + 1
        seen = bodies.rows.seen_from(middle)
        before, twists = seen.twists(x), seen.twists(free)
        moves = np.abs(before) + np.abs(twists)
        limit = self.reach + h * float(
            np.max(moves[:, :3].sum(axis=1) + moves[:, 3:].sum(axis=1) * self.reach, initial=0.0)
        )
        poses = bodies.rows.poses(middle)
        count = world.place(poses, limit, self._share(h))
        self._set_joints(t + h, free, False, seen)
        single = self._single_in_step(t, x, middle, twists, h, seen, (located, moment))
        info = world.contacts()
        at_start, speed = self._at_start(x, before, h, limit, info) if count else (np.zeros(0), np.zeros(0))
        bounds, closed, back = self._bounds(info, at_start, speed, (before, twists), h, located, moment)
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
        if back.any():
            after = self._bounced(before, twists, after, bounds, back, info, shifts)
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

    def _bounds(
        self, info: np.ndarray, at_start: np.ndarray, speed: np.ndarray, twists: tuple[np.ndarray, np.ndarray],
        h: float, located: bool, moment: bool,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """How fast each contact may close in a step, which of them take part in it, and which bounce.

        at_start, speed: gaps at its beginning, and their rates. twists: those before it, and those without forces of
        contacts.
        """
        if not len(info):
            return np.zeros(0), np.ones(0, dtype=bool), np.zeros(0, dtype=bool)
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
            return bounds, closed, np.zeros(len(info), dtype=bool)
        laws, world = self.bodies.laws[info[:, 1].astype(int)], self.bodies.world
        # What has bounced and is pressed again may come back as fast: stopped on its way up it would get energy.
        opening = world.velocities(twists[0])[:, 0]
        up = (laws[:, 1] > 0) & (opening > lengths.bounce)
        bounds = np.where(up, np.minimum(bounds, -opening), bounds)
        ahead = gap + 0.5 * h * world.velocities(twists[1])[:, 0]
        # A bounce that the next step would take back within its length is none: on its way up it would give energy.
        back = -laws[:, 1] * speed
        bouncing = (speed < -lengths.bounce) & (ahead < 0) & (back > h * lengths.pull)
        bounds[bouncing] = back[bouncing]
        return bounds, closed, bouncing

    def _bounced(
        self, before: np.ndarray, free: np.ndarray, after: np.ndarray, bounds: np.ndarray, back: np.ndarray,
        info: np.ndarray, shifts: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """The velocities behind a step some contacts of which bounce back, less where that would give energy."""

        def answer(shares: np.ndarray) -> Answered:
            return self._worked(before, self._solve(free, np.where(back, shares * bounds, bounds), shifts=shifts))

        together = self.bodies.is_coupled or self.beside is not None
        groups = groups_of(info[:, 4:6].astype(int), together)
        twists, shares = lessened(answer, self._worked(before, after), groups, self.effort.tolerance)
        self.counts.lessened += len(set(groups[back & (shares < 1.0)].tolist()))
        return twists

    def _single_in_step(
        self, t: float, x: np.ndarray, middle: np.ndarray, free: np.ndarray, h: float, seen: BodyRows | SeenTree,
        kind: tuple[bool, bool],
    ) -> SingleInStep | None:  # fmt: skip
        """The rows of frictions and stops in a step, written to the world."""
        if self.beside is None:
            return None
        there = self.beside.at(t, x, self.inputs(t), self.parameters, self.bodies.rows.seen_from(x))
        at = self.beside.at(t + 0.5 * h, middle, self.inputs(t + 0.5 * h), self.parameters, seen)
        found = SingleInStep.of(self.beside, at, there, free, h, self.lengths, self.stops, *kind)
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

    def impacts(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, set[tuple[int, int, int]]] | None:
        """The row behind the impacts of this moment, the impulses of the contact variables, and the pairs; or None.

        Pairs of bodies act one after the other, the fastest approach first, each with its own restitution, and those
        that are as fast together. What still approaches then is stopped together.
        """
        bodies, world = self.bodies, self.bodies.world
        poses = bodies.rows.poses(x)
        count = world.place(poses, 2 * self.lengths.touch, 0.0)
        seen = bodies.rows.seen_from(x)
        at = None if self.beside is None else self.beside.at(t, x, self.inputs(t), self.parameters, seen)
        if not count and at is None:
            return None
        info = world.contacts()
        twists = bodies.rows.twists(x)
        closed = np.zeros(0, dtype=int) if at is None else self._closed_stops(at)

        def speeds() -> np.ndarray:
            """Those of the contacts, and behind them those of closed stops."""
            own: np.ndarray = world.velocities(twists)[:, 0]
            return own if at is None else np.concatenate([own, at.rates(twists)[closed]])

        speed = speeds()
        if not self._strikes(info, speed, closed):
            return None
        self._set_joints(t, x, False, seen)
        restitution, pair = self._restitution(info, at, closed)
        total, pairs = np.zeros(len(self.parameters)), set[tuple[int, int, int]]()
        impulse = np.zeros(0 if at is None else len(at.gap))
        self.struck = set()

        def add() -> None:
            values, points = self._forces(info, world.impulses(), world.places(), poses, 1.0)
            np.add(total, values, out=total)
            pairs.update((int(law), int(one), int(two)) for law, one, two in points[:, :3])
            if at is not None:
                own = world.link_impulses()[-len(at.gap) :]
                np.add(impulse, own, out=impulse)
                pairs.update((STOP, int(k), int(k)) for k in np.flatnonzero(own))
            self.counts.impacts += 1

        def act(part: np.ndarray, share: np.ndarray) -> np.ndarray:
            bounds = np.full(len(speed), -np.inf)
            bounds[part] = np.where(speed[part] < 0, -(share * restitution * speed)[part], 0.0)
            struck = info[part[:count] & (speed[:count] < -self.lengths.slow), 1:4].astype(int).tolist()
            self.struck |= {(law, one, two) for law, one, two in struck}
            world.forget()
            if at is not None and self.beside is not None:
                self._set_joints(t, x, False, seen)
                SingleInStep.struck(self.beside, at, closed, bounds[count:]).write(world)
            return self._solve(twists, bounds[:count])

        for _ in range(MOST_PAIRS):
            fast = (speed < -self.lengths.bounce) & (restitution > 0)
            if not fast.any():
                break
            chosen = pair[(speed <= (1 - TOGETHER) * speed[fast].min()) & fast]
            twists = self._kept_energy(act, np.isin(pair, chosen), twists, at)
            add()
            speed = speeds()
        if speed.min() < -self.lengths.slow:
            restitution = np.zeros(len(speed))
            twists = act(np.ones(len(speed), dtype=bool), restitution)
            add()
        self._last = 0.0
        if at is not None:
            x = x + at.states @ impulse
        return seen.with_twists(x, twists), total, pairs

    def _strikes(self, info: np.ndarray, speed: np.ndarray, closed: np.ndarray) -> bool:
        """Whether anything approaches that did not push in the step before; closed: stops behind the contacts."""
        goes_on, count = np.zeros(len(speed), dtype=bool), len(info)
        goes_on[:count] = self._goes_on(info, info[:, 0], speed[:count], self.taken)
        goes_on[count:] = [int(k) in self.stops for k in closed]
        goes_on &= speed > -NEAR_SPEED * self.lengths.pull * self.taken
        return bool(np.where(goes_on, 0.0, speed).min(initial=0.0) < -self.lengths.slow)

    def _restitution(
        self, info: np.ndarray, at: LawsAtPlace | None, closed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """That of each contact and each closed stop, and which pair of bodies it belongs to: stops have their own."""
        restitution = self.bodies.laws[info[:, 1].astype(int), 1]
        pair = np.unique(info[:, 4:6], axis=0, return_inverse=True)[1].ravel()
        if at is None:
            return restitution, pair
        pair = np.concatenate([pair, len(pair) + np.arange(len(closed))])
        return np.concatenate([restitution, at.restitution[closed]]), pair

    def _closed_stops(self, at: LawsAtPlace) -> np.ndarray:
        """The stops whose gap counts as closed."""
        assert self.beside is not None
        return np.flatnonzero(~self.beside.is_friction & (at.gap <= 2 * self.lengths.touch))

    def _kept_energy(
        self, act: Callable[[np.ndarray, np.ndarray], np.ndarray], part: np.ndarray, before: np.ndarray,
        at: LawsAtPlace | None,
    ) -> np.ndarray:  # fmt: skip
        """An impact of some contacts and stops with as much of their restitution as keeps the energy from growing."""

        def answer(shares: np.ndarray) -> Answered:
            twists = act(part, shares)
            found = self._worked(before, twists)
            if at is None:
                return found
            work = 0.5 * self.bodies.world.link_impulses()[-len(at.gap) :] * (at.rates(before) + at.rates(twists))
            stops = work[self._closed_stops(at)]
            return Answered(twists, np.append(found.work, stops), np.append(found.size, np.abs(stops)))

        groups = np.zeros(len(part), dtype=np.int32)
        whole = answer(np.ones(len(part)))
        twists, shares = lessened(answer, whole, groups, self.effort.tolerance)
        self.counts.lessened += bool(np.any(shares < 1.0))
        return twists

    def _worked(self, before: np.ndarray, after: np.ndarray) -> Answered:
        """What the impulses of contacts did where velocities went from some to others."""
        world = self.bodies.world
        work, impulses = world.work(before, after)[:, 0], world.impulses()
        speeds = [np.abs(world.velocities_in_world(twists)) for twists in (before, after)]
        return Answered(after, work, np.sum(np.abs(impulses[:, :3]) * (speeds[0] + speeds[1]), axis=1))
