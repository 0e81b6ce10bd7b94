"""A run of bodies with hard contacts, by time stepping.

With few bodies, steps are as long as the tolerance allows (a step is compared with two of half its length), end where a
contact closes, opens, slips or sticks, and impacts act at that moment. With many, or with `step=`, steps are equal, and
contacts that close in a step act within it. Both end steps where events and clocks of the model act.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from daedalus.model.mechanics.mechanics_part import touching_book
from daedalus.simulation.multistep.multistep_run import TOLD_EVERY
from daedalus.simulation.result.ending import Ending, Stop, reached, time_text
from daedalus.simulation.result.outcome import Outcome, Work
from daedalus.simulation.result.records_of_methods import ContactsStepped, PainleveParadox
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.request import Request
from daedalus.simulation.run.road import Piece, Road, find_road
from daedalus.simulation.touching.chatter import Chatter
from daedalus.simulation.touching.conflicting_laws import NoMotionError
from daedalus.simulation.touching.contact_modes import ContactModes, Pair, modes_of
from daedalus.simulation.touching.contact_problem import EXACT, QUICK, ContactCounts
from daedalus.simulation.touching.contact_rows import ContactRows, slopes_at
from daedalus.simulation.touching.contact_step import ContactStepper, Impacts, Stepped
from daedalus.simulation.touching.findings import overlap_at_start, paradox_at, without_motion
from daedalus.simulation.touching.lengths import FIXED, TOUCH, Lengths, speed_and_pull
from daedalus.simulation.touching.model_events import ModelEvents, Present
from daedalus.simulation.touching.passing import Passing
from daedalus.simulation.touching.single_laws import STOP, single_laws, without_laws
from daedalus.simulation.touching.steps_of_a_run import StepTaken, Struck, Stuck, extrapolated
from daedalus.simulation.touching.touching_bodies import TouchingBodies
from daedalus.simulation.touching.touching_requests import (
    EVENT_DRIVEN,
    FEW,
    MOREAU,
    check_touching,
    is_located,
    limit_reached,
    stops_in_time,
    way_between_contacts,
)

# Slow and bouncing, as shares of the speed of a fall by that size. What bounces slower rises by v² / 2g, less than what
# counts as touching; what is slow is a hundredth of that, by judgement.
BOUNCE = TOUCH**0.5
SLOW = BOUNCE / 100
# The shortest located step, as a share of the time of that fall, in which a shape moves by a tenth of what touches; the
# longest step, between contacts, by judgement; and the turn of a body in a step, whose arc and chord differ by 1 %.
SHORTEST, LONGEST, TURN = 0.1 * TOUCH, 20.0, 0.25
# Looks at the forces of a run, at most.
SAMPLES = 2000
# A moment, as a share of the time of that fall, with a finer tolerance than this: forces over it are those at its
# beginning to six digits.
MOMENT = 1e-6
# Attempts to end a step where a contact closes.
ATTEMPTS = 12


def run_touching(request: Request, progress: Callable[[float], object] | None = None) -> Trajectory:
    """The run of a request whose system has hard contacts between bodies."""
    began = time.perf_counter()
    march = march_of(request, progress)
    stop = march.go()
    return march.trajectory(stop, time.perf_counter() - began)


def march_of(request: Request, progress: Callable[[float], object] | None = None) -> ContactMarch:
    """The run of a request at its start."""
    book = touching_book(request.system)
    assert book is not None
    check_touching(request)
    road = find_road(way_between_contacts(request)._replace(save_at=None))
    first = begin(road, request.t0, request.start)
    bodies = TouchingBodies(road.system, book, first.parameters)
    return ContactMarch(request, road, bodies, first, progress)


class ContactMarch:
    """A run on its way: rows, forces and impacts so far."""

    def __init__(
        self, request: Request, road: Road, bodies: TouchingBodies, first: Piece,
        progress: Callable[[float], object] | None,
    ) -> None:  # fmt: skip
        drive, p, row = first.drive, first.parameters, first.row
        self.request, self.road, self.bodies, self.drive, self.progress = request, road, bodies, drive, progress
        self.p = p
        self.began = time.perf_counter()
        self.counts = ContactCounts()
        plant = road.settings.plant
        self.slots = bodies.force_slots()
        self.discrete = slice(len(p) - road.system.discrete_count, len(p))
        quiet = self._without_forces(p)
        self.quiet, self.impulse = quiet, np.zeros(len(p))
        self.forces = quiet.copy()  # all parameters with the forces of the last step
        function = plant.rhs.core

        def rhs(t: float, x: np.ndarray) -> np.ndarray:
            u = drive.at_time(t)
            # A plant without a function of slopes solves for them at each evaluation.
            slopes: np.ndarray = (
                function(np.array([t]), x, u, quiet)[0]
                if callable(function)
                else slopes_at(plant, np.array([t]), x[None], u[None], quiet)[0]
            )
            return slopes

        self.beside = single_laws(plant, bodies)
        self.passing = Passing(bodies, flights=self.beside is None)
        self.rhs = rhs if self.beside is None else without_laws(self.beside, drive.at_time, quiet)
        # A projection that is no function of a row leaves joints to the steps, which take positions back as well.
        project = None if plant.projection is None else plant.projection.core
        self.project = project if callable(project) else None
        small, large = bodies.lengths
        fast, pull = speed_and_pull(bodies, row, self.rhs(request.t0, row), large)
        self.speed = max(np.sqrt(pull * large), fast)
        self.size, self.fall = large, float(np.sqrt(large / pull))
        lengths = Lengths(TOUCH * large, SLOW * self.speed, BOUNCE * float(np.sqrt(pull * large)), large, pull)
        self.stepper = ContactStepper(
            bodies, self.rhs, drive.at_time, quiet, self.slots, lengths, self.counts, EXACT, 0.1 * small, self.beside
        )
        self.t, self.x = request.t0, row
        self.rows = ContactRows(request.t0, row)
        self.paradox: PainleveParadox | None = None
        self.overlap = overlap_at_start(bodies, row, lengths.touch)
        self.fixed = request.step if request.step is not None else FIXED * self.fall
        self.located, self.why = is_located(request, bodies, row, self.fixed * self.speed)
        if bodies.count > FEW and not self.located:
            self.stepper.effort = QUICK
        self.chatter = Chatter(request.t1 - request.t0, self.fixed, bodies.count)
        self.rise = pull  # the largest acceleration in the step before
        self.modes = ContactModes(bodies, request.t1 - request.t0, self.beside)
        self.ahead: dict[Pair, bool] | None = None  # what presses from here on, where that is known
        self.walk = list[StepTaken | Struck | Stuck]()  # what derivatives follow
        fired = frozenset(event.name for event in road.system.events) if first.fired is None else first.fired
        self.events = ModelEvents(plant, drive, p, (request.t0, request.t1), fired)
        self.events.begin(self.t, Present(row, self.forces))

    def _without_forces(self, p: np.ndarray) -> np.ndarray:
        quiet = p.copy()
        for places in self.slots.places.values():
            quiet[places] = 0.0
        return quiet

    # -- the loop ----------------------------------------------------------------------------------------------

    def go(self) -> Stop:
        """March to the end, or to where it cannot go on."""
        t1 = self.request.t1
        stops = stops_in_time(self.request, self.road, self.drive, self.p)
        h = min(self.fixed, t1 - self.t) if t1 > self.t else 0.0
        try:
            while self.t < t1:
                stop = self._limit()
                if stop is not None:
                    return stop
                while stops[0] <= self.t:
                    stops.pop(0)
                struck = self._strike(self.stepper.impacts(self.t, self.x)) if self.located else set()
                acted, stop = self._happen()
                if stop is not None:
                    return stop
                if acted:
                    self.ahead = None
                    continue
                if self.located:
                    self._settle(struck)
                end = min(stops[0], max(self.events.next_tick, self.t))
                if self.located:
                    h = self._adaptive(self._longest(min(h, end - self.t)), end)
                    if self.request.method != EVENT_DRIVEN:
                        self._give_up(self.chatter.went_on(self.t, self.modes.count, self.counts.attempts))
                else:
                    self._equal(end)
                if not np.all(np.isfinite(self.x)):
                    return Stop(
                        Ending.NOT_FINITE,
                        self.t,
                        f"a value is not finite behind {time_text(self.t)}",
                        remedy="a shorter step",
                    )
        except NoMotionError as found:
            return without_motion(found, self.t, self.modes.name, self.bodies)
        except KeyboardInterrupt:
            return Stop(Ending.INTERRUPTED, self.t, f"interrupted by the user at {time_text(self.t)}")
        _, stop = self._happen()
        return reached(t1) if stop is None else stop

    def _limit(self) -> Stop | None:
        if self.progress is not None and self.counts.steps % TOLD_EVERY == 0:
            self.progress(self.t)
        return limit_reached(self.request, self.counts.steps, time.perf_counter() - self.began, self.t)

    def _longest(self, wanted: float) -> float:
        """A step of a wanted length or less, in which no body passes through another, or turns far."""
        twists = np.abs(self.bodies.rows.twists(self.x))
        turn = float(np.linalg.norm(twists[:, 3:], axis=1).max(initial=0.0))
        longest = min(wanted, LONGEST * self.fall, TURN / turn if turn > 0 else np.inf)
        longest = self.passing.longest(self.x, max(self.rise, 1e-12 * self.size), longest)
        most = self.request.options.limits[1]
        return longest if most is None else min(longest, most)

    def _equal(self, end: float) -> None:
        """One step of the fixed length, with what happens in it."""
        left = end - self.t
        h = left / max(1, round(left / self.fixed)) if left < 1.5 * self.fixed else self.fixed
        self._strike(self.stepper.bounces(self.t, self.x, h))
        self.passing.saw(self.x, h)
        done = self.stepper.step(self.t, self.x, h, located=False)
        self._take_up_to_event(done, h, end)

    def _adaptive(self, h: float, end: float) -> float:
        """One step of a length that the tolerance allows; the next one's length."""
        shortest = SHORTEST * self.fall
        for _ in range(100):
            left = end - self.t
            h = left if h > 0.999 * left else h
            done, h = self._ended(self.t, self.x, h)
            if h <= shortest:
                self._note(h, whole=True)
                self._take(done, h, end)
                return 2 * h
            half = self.stepper.step(self.t, self.x, 0.5 * h, located=True)
            if half.strike <= 0.5 * h and half.end_gap < -self.stepper.lengths.touch:
                h = max(half.strike, shortest)
                continue
            rest = self.stepper.step(self.t + 0.5 * h, half.x, 0.5 * h, located=True)
            if rest.strike < 0.5 * h * (1 - 1e-6) and rest.end_gap < -self.stepper.lengths.touch:
                h = max(0.5 * h + rest.strike, shortest)
                continue
            seen = self._seen(h, rest.x)
            if seen < h:
                self.counts.rejected += 1
                h = max(seen, shortest)
                continue
            error = self._error(done.x, rest.x)
            grow: float = 0.9 * (1.0 / max(error, 1e-8)) ** (1 / 3)
            if error <= 1.0:
                self._take_halves(done, half, rest, h, end)
                return h * min(3.0, max(0.3, grow))
            self.counts.rejected += 1
            h = max(h * min(0.5, max(0.05, grow)), shortest)
        self._note(h, whole=True)
        self._take(done, h, end)
        return h

    def _note(self, h: float, whole: bool = False) -> None:
        self.walk.append(StepTaken(self.t, self.x, h, whole, self.stepper.pushed, self.stepper.taken))

    def _become(self, then: dict[Pair, bool], struck: set[Pair]) -> None:
        """What presses from this moment on."""
        before = self.modes.now or {}
        stuck = [pair for pair, slides in before.items() if slides and then.get(pair) is False]
        if stuck:
            self.walk.append(Stuck(self.t, self.x, tuple(stuck)))
        self.modes.become(then, self.t, self._row(), struck)

    def _seen(self, h: float, end: np.ndarray) -> float:
        """The part of a step in which its forces are smooth, by SAMPLES looks at them in a whole run, five at least.

        A step evaluates the forces at its middle and at the middle of each half. Steps of bodies at rest are long, and
        a short push between these times would be missed, as would a jump by a condition on states in the first quarter.
        """
        count = max(int(SAMPLES * h / (self.request.t1 - self.request.t0)), 4)
        share = np.linspace(0.0, 1.0, 2 * (count // 2) + 1)
        t, x = self.t + h * share, self.x + share[:, None] * (end - self.x)
        slopes = slopes_at(self.road.settings.plant, t, x, self.drive.at(t), self.quiet)
        a = np.array([self.bodies.rows.changes(row, slope).ravel() for row, slope in zip(x, slopes)])
        first, middle, last = a[0], a[count // 2], a[-1]
        s = share[:, None]
        line = first * (1 - s) * (1 - 2 * s) + middle * 4 * s * (1 - s) + last * s * (2 * s - 1)
        scale = np.tile([self.speed] * 3 + [self.speed / self.size] * 3, len(self.bodies.names))
        off = np.max(np.abs(a - line) / scale, axis=1, initial=0.0) * h > 10 * float(self.request.rtol)
        return float(h * share[max(int(np.argmax(off)), 1)]) if off.any() else h

    def _take_halves(self, done: Stepped, half: Stepped, rest: Stepped, h: float, end: float) -> None:
        """Take a step as two, up to where a pair of bodies opens, slips or sticks, or an event happens."""
        t, x, modes = self.t, self.x, self.modes
        then, cut = self._modes_behind(t + h, rest.x), h
        for _ in range(ATTEMPTS):
            if modes.stays(then) or not modes.located:
                break
            # What a force does in this time is a tenth of what the tolerance allows.
            close = max(0.1 * float(self.request.rtol), SHORTEST) * self.fall
            cut, beyond = modes.until(h, close, lambda tau: self._modes_behind(t + tau, self._step(t, x, tau).x))
            then = self._modes_behind(t + beyond, self._step(t, x, beyond).x)
            if cut > SHORTEST * self.fall:
                done = self._step(t, x, cut)
                half = self._step(t, x, 0.5 * cut)
                rest = self._step(t + 0.5 * cut, half.x, 0.5 * cut)
                h, end = cut, np.inf
                break
            self._become({**then}, set())  # at once
            then, cut = self._modes_behind(t + h, rest.x), h
        rest = replace(rest, x=extrapolated(self.bodies.rows, done.x, rest.x))
        self._note(h)
        self.ahead = (
            {**then}
            if self._take_up_to_event(half, 0.5 * h, np.inf) and (self._take_up_to_event(rest, 0.5 * h, end))
            else None
        )

    def _modes_behind(self, t: float, x: np.ndarray) -> dict[Pair, bool]:
        """What presses at a moment, by a very short step from there."""
        if self.modes.now == {} or not self.modes.located:
            return {}
        return self._modes_at(t, x)

    def _modes_at(self, t: float, x: np.ndarray) -> dict[Pair, bool]:
        close = max(MOMENT, float(self.request.rtol)) * self.fall
        found = self.stepper.step(t, x, close, located=True, moment=True)
        return {**modes_of(found.points, self.modes.friction), **found.laws}

    def _settle(self, struck: set[Pair]) -> None:
        """Which pairs press from this moment on."""
        modes = self.modes
        if not modes.located:
            return
        then = self.ahead
        if then is None or struck:
            then = self._modes_at(self.t, self.x)
        self._become(then, struck)
        self.ahead = None

    def _step(self, t: float, x: np.ndarray, h: float) -> Stepped:
        return self.stepper.step(t, x, h, located=self.located)

    def _take_up_to_event(self, done: Stepped, h: float, end: float) -> bool:
        """Take a step, or as much of it as lies before the first event; whether all of it was taken."""
        t, x, events = self.t, self.x, self.events
        if not events.passed(events.values(t + h, done.x, self._with_forces(done))):
            self._take(done, h, end)
            return True

        def values_behind(length: float) -> np.ndarray:
            part = self._step(t, x, length)
            return events.values(t + length, part.x, self._with_forces(part))

        cut = events.cut(values_behind, h)
        self._take(self._step(t, x, cut) if cut < h else done, cut, end if cut == h else np.inf)
        return cut == h

    def _with_forces(self, done: Stepped) -> np.ndarray:
        """The parameters with the forces of a step, and the impacts so far."""
        values = self.p.copy()
        places = self.slots.places
        for word in ("force", "torque", "normal"):
            values[places[word]] = done.values[places[word]]
        values[places["impulse"]] = self.impulse[places["impulse"]]
        if self.beside is not None and done.modes is not None:
            values[self.beside.laws.modes] = done.modes
        return values

    def _ended(self, t: float, x: np.ndarray, h: float) -> tuple[Stepped, float]:
        """A step that ends where a contact closes in it, if one does."""
        shortest = SHORTEST * self.fall
        done = self.stepper.step(t, x, h, located=True)
        for _ in range(ATTEMPTS):
            if done.strike >= h * (1 - 1e-12) or done.end_gap >= -self.stepper.lengths.touch or h <= shortest:
                break
            h = max(done.strike, shortest)
            done = self.stepper.step(t, x, h, located=True)
        return done, h

    def _error(self, one: np.ndarray, two: np.ndarray) -> float:
        """The difference of two rows, of what the tolerance allows."""
        rtol = float(self.request.rtol)
        bodies = self.bodies
        spin = self.speed / self.size
        twists = np.abs(bodies.rows.twists(one) - bodies.rows.twists(two))
        change = np.abs(one - two)
        velocity = float(max(twists[:, :3].max(initial=0.0) / self.speed, twists[:, 3:].max(initial=0.0) / spin))
        poses = np.abs(bodies.rows.poses(one) - bodies.rows.poses(two))
        place = float(max(poses[:, :3].max(initial=0.0) / self.size, poses[:, 3:].max(initial=0.0)))
        other = self._other
        rest = float((change[other] / (1e-3 + np.abs(two[other]))).max(initial=0.0)) if len(other) else 0.0
        return max(velocity, place, rest) / (3 * rtol)

    @property
    def _other(self) -> np.ndarray:
        if not hasattr(self, "_others"):
            own = set(self.bodies.rows.own)
            self._others = np.array([k for k in range(len(self.x)) if k not in own], dtype=int)
        return self._others

    # -- what was done -----------------------------------------------------------------------------------------

    def _strike(self, found: Impacts | None) -> set[Pair]:
        """Impacts of this moment, or none: the pairs that struck."""
        if found is None:
            return set()
        before, places = self._row(), self.slots.places
        if self.located:
            self.walk.append(Struck(self.t, self.x, found[2], self.stepper.pushed, self.stepper.taken))
        self.x, impulse, pairs = found
        self.impulse[places["impulse"]] += impulse[places["force"]]
        self.forces[places["impulse"]] = self.impulse[places["impulse"]]
        if self.located:
            closed = {pair for pair in pairs if pair[0] != STOP}
            self.modes.strike(closed, self.stepper.struck, self.t, before, self._row())
        if self.beside is not None:
            stops = [k for one, k, _ in pairs if one == STOP]
            self.events.strike_stops(self.t, Present(self.x, self.forces), stops)
        self.rows.jump(self.t, self.x)
        if self.located:
            self._give_up(self.chatter.struck(self.t))
        return pairs

    def _give_up(self, why: str) -> None:
        """Go on in equal steps, where there is a reason to."""
        if why:
            self.located, self.why = False, why

    def _happen(self) -> tuple[bool, Stop | None]:
        """What events and clocks of the model do at this moment: whether anything, and where one ends the run."""
        if not self.road.system.events:
            return False, None
        behind, acted, stop = self.events.act(self.t, Present(self.x, self.forces))
        if acted:
            self.x, self.forces = behind
            self.p = self.forces.copy()
            self.quiet[self.discrete] = self._without_forces(self.p)[self.discrete]
            self.rows.jump(self.t, self.x, self.forces)
        return acted, stop

    def pressing(self) -> dict[Pair, bool]:
        """The pairs that press at the present moment, and whether they slide; none where one approaches."""
        return self._modes_at(self.t, self.x) if self.located else {}

    def _row(self) -> np.ndarray:
        """The row of this moment with the discrete variables behind it."""
        return np.concatenate([self.x, self.forces[self.discrete]])

    def _take(self, done: Stepped, h: float, end: float) -> None:
        t0, x0 = self.t, self.x
        t1 = float(end if end - t0 <= h * (1 + 1e-9) else t0 + h)
        x = done.x
        if self.project is not None:
            x = self.project(np.array([t1]), x, self.drive.at_time(t1), self.quiet)[0]
        if len(done.points) or self.bodies.joints is not None or not self.located:
            x = self.stepper.pushed_out(t1, x)
        # What joints couple is a matrix of all bodies, too much work in each of many steps.
        if self.paradox is None and len(done.points) and (self.located or not self.bodies.is_coupled):
            self.paradox = self._paradox(done.points)
        self.forces = values = self._with_forces(done)
        self.stepper.took(done.points, h, done.modes)
        if self.beside is not None and done.modes is not None:
            self.events.turn_laws(t0, Present(x0, self.forces), done.modes)
        self.t, self.x = t1, x
        self.rows.step((t0, t1), x0, x, values)
        self.counts.steps += 1
        change = np.abs(self.bodies.rows.twists(x) - self.bodies.rows.twists(x0))[:, :3].max(initial=0.0)
        self.rise = float(change) / h
        self.speed = max(self.speed, float(np.abs(self.bodies.rows.twists(x)[:, :3]).max(initial=0.0)))

    def _paradox(self, points: np.ndarray) -> PainleveParadox | None:
        joints = self.bodies.joints
        held = None
        if joints is not None:
            seen = self.bodies.rows.seen_from(self.x)
            held = joints.at(self.t, self.x, self.drive.at_time(self.t), self.quiet, seen).jacobian
        return paradox_at(self.t, self.x, points, held, self.bodies, BOUNCE * self.speed, self.modes.name)

    def trajectory(self, stop: Stop, seconds: float) -> Trajectory:
        """What `dd.simulate` returns."""
        plant, counts = self.road.settings.plant, self.counts
        work = Work(counts.steps, counts.rejected, counts.rhs, 0, 0, counts.newton, seconds)
        times, rows = np.array(self.rows.times), np.array(self.rows.rows)
        dense, held = self.rows.dense(plant, self.drive), self.rows.held(self.road.system.discrete_count)
        save_at = self.request.save_at
        if save_at is not None and len(dense.starts):
            times = save_at[(save_at >= times[0]) & (save_at <= times[-1])]
            rows = dense.at(times)
            held = held.sampled(times) if held is not None else None
        sizes, crowded = self.rows.lengths, self.modes.crowded if self.located else ""
        why = "; ".join(filter(None, (self.why, crowded)))
        record = ContactsStepped(
            len(self.bodies.names), self.located, min(sizes, default=0.0), max(sizes, default=0.0), counts.impacts,
            counts.residual, counts.unsolved, counts.lessened, why, counts.depth, counts.redundant,
        )  # fmt: skip
        paradox = () if self.paradox is None else (self.paradox,)
        overlap = () if self.overlap is None else (self.overlap,)
        records = (record, *overlap, *self.passing.told(), *paradox, *self.events.past, *self.drive.notes, *plant.notes)
        told, changes = tuple(self.events.told), tuple(self.modes.changes)
        outcome = Outcome(stop, MOREAU, work, records, told, changes, done_at_start=self.events.fired)
        return Trajectory(plant, self.drive, self.p, times, rows, stop.ending, outcome, dense, held)
