"""The impacts of a moment, or of the beginning of a step: pairs of bodies act one after the other, the fastest first.

Each pair obeys its own restitution (Newton's) and friction while all others wait, pairs that are as fast act together,
and each returns no more of its speed than keeps its energy from growing. So an impact passes along Newton's cradle, and
every one keeps momentum. The work grows with the number of impacts, which has a limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.simulation.touching.contact_problem import ContactProblem
from daedalus.simulation.touching.lengths import NEAR_SPEED
from daedalus.simulation.touching.lessened_bounces import Answered, lessened
from daedalus.simulation.touching.single_in_step import SingleInStep
from daedalus.simulation.touching.single_laws import STOP

# Impacts for each pair that touches, at most; then what is left acts together. A row whose bounces lose a little needs
# half as many as it has bodies.
MOST_IMPACTS, FEWEST = 20, 400
# Pairs whose speeds of approach differ by less than this share, which comes from a step solved to it, act together.
TOGETHER = KNOWN_BY_DIFFERENCES


class ImpactsInTurn:
    """Bodies at one place, and the impacts so far.

    ahead: the length of the step that begins here, whose contacts strike before it where they would close in it; 0 at a
    moment that was located.
    """

    def __init__(self, stepper: ContactProblem, t: float, x: np.ndarray, limit: float, ahead: float = 0.0) -> None:
        self.stepper, self.t, self.x, self.ahead = stepper, t, x, ahead
        bodies, beside = stepper.bodies, stepper.beside
        # Another world than that of steps, whose impulses are a first guess for the next one.
        self.world = bodies.world if not ahead else bodies.pusher
        self.poses = bodies.rows.poses(x)
        self.count = self.world.place(self.poses, limit, 0.0)
        self.seen = bodies.rows.seen_from(x)
        self.at = None if beside is None else beside.at(t, x, stepper.inputs(t), stepper.parameters, self.seen)
        self.closed = np.zeros(0, dtype=int) if self.at is None else self._stops_within()
        self.info = self.world.contacts()
        self.twists = bodies.rows.twists(x)
        self.total, self.pairs = np.zeros(len(stepper.parameters)), set[tuple[int, int, int]]()
        self.struck = set[tuple[int, int, int]]()  # pairs that approached
        self.impulse = np.zeros(0 if self.at is None else len(self.at.gap))
        self.restitution, self.pair = self._restitution()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is near."""
        return not self.count and self.at is None

    def speeds(self) -> np.ndarray:
        """Those of the contacts, and behind them those of closed stops."""
        own: np.ndarray = self.world.velocities(self.twists)[:, 0]
        return own if self.at is None else np.concatenate([own, self.at.rates(self.twists)[self.closed]])

    def strikes(self, speed: np.ndarray) -> bool:
        """Whether anything approaches that did not push in the step before."""
        stepper, info = self.stepper, self.info
        goes_on, count = np.zeros(len(speed), dtype=bool), len(info)
        goes_on[:count] = stepper._goes_on(info, info[:, 0], speed[:count], stepper.taken)
        goes_on[count:] = [int(k) in stepper.stops for k in self.closed]
        goes_on &= speed > -NEAR_SPEED * stepper.lengths.pull * stepper.taken
        return bool(np.where(goes_on, 0.0, speed).min(initial=0.0) < -stepper.lengths.slow)

    def bounce(self) -> np.ndarray:
        """Let what bounces act in turn; the speeds behind that."""
        speed = self.speeds()
        for _ in range(max(FEWEST, MOST_IMPACTS * len(np.unique(self.pair)))):
            fast = self.bounces(speed)
            if not fast.any():
                break
            chosen = self.pair[(speed <= (1 - TOGETHER) * speed[fast].min()) & fast]
            self._act_within_energy(np.isin(self.pair, chosen) & self._near(speed))
            speed = self.speeds()
        return speed

    def stop(self, speed: np.ndarray) -> None:
        """Stop together what still approaches."""
        if speed.min(initial=0.0) < -self.stepper.lengths.slow:
            self.restitution = np.zeros(len(speed))
            self.twists = self._act(np.ones(len(speed), dtype=bool), self.restitution)
            self._add()

    def row(self) -> np.ndarray:
        """The row behind the impacts."""
        x = self.x if self.at is None else self.x + self.at.states @ self.impulse
        return self.seen.with_twists(x, self.twists)

    # -- which, and how far they bounce ------------------------------------------------------------------------

    def _near(self, speed: np.ndarray) -> np.ndarray:
        """The contacts that are closed, or close within the step ahead."""
        if not self.ahead:
            return np.ones(len(speed), dtype=bool)
        gap = self.info[:, 0] if self.at is None else np.concatenate([self.info[:, 0], self.at.gap[self.closed]])
        fall = 0.5 * self.stepper.lengths.pull * self.ahead**2
        return np.asarray(gap + self.ahead * np.minimum(speed, 0.0) - fall <= self.stepper.lengths.touch)

    def bounces(self, speed: np.ndarray) -> np.ndarray:
        """The contacts that bounce."""
        lengths = self.stepper.lengths
        fast = (speed < -lengths.bounce) & (self.restitution > 0)
        # A bounce that the step ahead would take back within its length is none.
        return np.asarray(fast & self._near(speed) & (-self.restitution * speed > self.ahead * lengths.pull))

    def _stops_within(self) -> np.ndarray:
        """The stops whose gap counts as closed, or may close in the step ahead."""
        assert self.at is not None
        assert self.stepper.beside is not None
        near = self.at.gap <= 2 * self.stepper.lengths.touch
        return np.flatnonzero(~self.stepper.beside.is_friction & (near | (self.ahead > 0)))

    def _restitution(self) -> tuple[np.ndarray, np.ndarray]:
        """That of each contact and each closed stop, and which pair of bodies it belongs to: stops have their own."""
        info, closed = self.info, self.closed
        restitution = self.stepper.bodies.laws[info[:, 1].astype(int), 1]
        pair = np.unique(info[:, 4:6], axis=0, return_inverse=True)[1].ravel()
        if self.at is None:
            return restitution, pair
        pair = np.concatenate([pair, len(pair) + np.arange(len(closed))])
        return np.concatenate([restitution, self.at.restitution[closed]]), pair

    # -- one impact --------------------------------------------------------------------------------------------

    def _act(self, part: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The velocities behind an impact of some contacts and stops, with a share of their restitution."""
        speed, stepper, info, count = self.speeds(), self.stepper, self.info, self.count
        bounds = np.full(len(speed), -np.inf)
        bounds[part] = np.where(speed[part] < 0, -(share * self.restitution * speed)[part], 0.0)
        struck = info[part[:count] & (speed[:count] < -stepper.lengths.slow), 1:4].astype(int).tolist()
        self.struck |= {(law, one, two) for law, one, two in struck}
        self.world.forget()
        if self.at is not None and stepper.beside is not None:
            stepper._set_joints(self.t, self.x, False, self.seen, self.world)
            SingleInStep.struck(stepper.beside, self.at, self.closed, bounds[count:]).write(self.world)
        return stepper._solve(self.twists, bounds[:count], world=self.world)

    def _act_within_energy(self, part: np.ndarray) -> None:
        """An impact with as much restitution as keeps the energy from growing."""
        before, at = self.twists, self.at

        def answer(shares: np.ndarray) -> Answered:
            twists = self._act(part, shares)
            found = worked(self.world, before, twists)
            if at is None:
                return found
            work = 0.5 * self.world.link_impulses()[-len(at.gap) :] * (at.rates(before) + at.rates(twists))
            stops = work[self.closed]
            return Answered(twists, np.append(found.work, stops), np.append(found.size, np.abs(stops)))

        groups = np.zeros(len(part), dtype=np.int32)
        whole = answer(np.ones(len(part)))
        self.twists, shares = lessened(answer, whole, groups, self.stepper.effort.tolerance)
        self.stepper.counts.lessened += bool(np.any(shares < 1.0))
        self._add()

    def _add(self) -> None:
        world = self.world
        values, points = self.stepper._forces(self.info, world.impulses(), world.places(), self.poses, 1.0)
        self.total += values
        self.pairs.update((int(law), int(one), int(two)) for law, one, two in points[:, :3])
        if self.at is not None:
            own = world.link_impulses()[-len(self.at.gap) :]
            self.impulse += own
            self.pairs.update((STOP, int(k), int(k)) for k in np.flatnonzero(own))
        self.stepper.counts.impacts += 1


def worked(world: Any, before: np.ndarray, after: np.ndarray) -> Answered:
    """What the impulses of contacts did where velocities went from some to others."""
    work, impulses = world.work(before, after)[:, 0], world.impulses()
    speeds = [np.abs(world.velocities_in_world(twists)) for twists in (before, after)]
    return Answered(after, work, np.sum(np.abs(impulses[:, :3]) * (speeds[0] + speeds[1]), axis=1))
