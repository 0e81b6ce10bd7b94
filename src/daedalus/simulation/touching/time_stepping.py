"""A run of bodies with hard contacts, by time stepping.

With few bodies, steps are as long as the tolerance allows (a step is compared with two of half its length), end where a
contact closes, and impacts act at that moment. With many, or with `step=`, steps are equal, and contacts that close in
a step act within it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.mechanics.mechanics_part import touching_book
from daedalus.model.names import listed
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.ending import Ending, Stop, reached, time_text
from daedalus.simulation.result.held_values import HeldValues
from daedalus.simulation.result.recorded_run import Dense, Outcome, Work
from daedalus.simulation.result.records_of_methods import ContactsStepped
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.request import NO_LIMITS, Request
from daedalus.simulation.run.road import Road, find_road
from daedalus.simulation.touching.contact_step import (
    EXACT,
    FIXED,
    QUICK,
    ContactCounts,
    ContactStepper,
    Lengths,
    Stepped,
)
from daedalus.simulation.touching.touching_bodies import TouchingBodies

# Up to so many bodies contacts are located; by judgement.
FEW = 12
# Touching, as a share of the size of shapes: half the digits of a gap, which is a difference of positions.
TOUCH = 1e-8
# Slow and bouncing, as shares of the speed of a fall by that size. What bounces slower rises by v² / 2g, less than what
# counts as touching; what is slow is a hundredth of that, by judgement.
BOUNCE = TOUCH**0.5
SLOW = BOUNCE / 100
# The shortest located step, as a share of the time of that fall, in which a shape moves by a tenth of what touches; the
# longest step, between contacts, by judgement; and the turn of a body in a step, whose arc and chord differ by 1 %.
SHORTEST, LONGEST, TURN = 0.1 * TOUCH, 20.0, 0.25
# Attempts to end a step where a contact closes.
ATTEMPTS = 12
# More impacts than this in a hundredth of the span, and steps become equal.
CROWD = 400
# The method's name.
MOREAU = "moreau"
TOLD_EVERY = 64


def run_touching(request: Request, progress: Callable[[float], object] | None = None) -> Trajectory:
    """The run of a request whose system has hard contacts between bodies."""
    began = time.perf_counter()
    book = touching_book(request.system)
    assert book is not None
    _check(request)
    way = request.with_options(method="dop853", limits=NO_LIMITS, stepped=True)._replace(save_at=None)
    road = find_road(way)
    first = begin(road, request.t0, request.start)
    bodies = TouchingBodies(road.system, book, first.parameters)
    march = _ContactMarch(request, road, bodies, first.drive, first.parameters, first.row, progress)
    stop = march.go()
    return march.trajectory(stop, time.perf_counter() - began)


def _check(request: Request) -> None:
    if request.method not in ("auto", MOREAU):
        raise InputError(
            f"The method {request.method!r} does not solve hard contacts between bodies.",
            "velocities jump where they touch",
            because="contact forces follow from a cone problem in every step.",
            remedy='method="auto", or stiffness= in m.contact for compliant contacts',
        )
    if request.system.events:
        raise InputError(
            "Hard contacts between bodies do not go together with events yet.",
            f"the model has {listed([event.name for event in request.system.events], 6)}",
            because="their steps do not locate guards.",
            remedy="compliant contacts (stiffness=), which do",
        )
    if request.t1 < request.t0:
        raise InputError(
            "A run with hard contacts goes forward in time.",
            f"the span is ({request.t0:g}, {request.t1:g})",
            because="impacts and friction lose energy, and the past does not follow.",
            remedy="a span that ends after its start",
        )


class _ContactMarch:
    """A run on its way: rows, forces and impacts so far."""

    def __init__(
        self, request: Request, road: Road, bodies: TouchingBodies, drive: Drive, p: np.ndarray, row: np.ndarray,
        progress: Callable[[float], object] | None,
    ) -> None:  # fmt: skip
        self.request, self.road, self.bodies, self.drive, self.p, self.progress = (
            request,
            road,
            bodies,
            drive,
            p,
            progress,
        )
        self.began = time.perf_counter()
        self.counts = ContactCounts()
        plant = road.settings.plant
        count = road.system.discrete_count
        quiet = p.copy()
        quiet[len(p) - count :] = self._without_forces(bodies, p)[len(p) - count :]
        self.quiet, self.impulse = quiet, np.zeros(len(p))
        function = plant.rhs.core

        def rhs(t: float, x: np.ndarray) -> np.ndarray:
            slopes: np.ndarray = function(np.array([t]), x, drive.at_time(t), quiet)[0]
            return slopes

        self.rhs = rhs
        self.project = None if plant.projection is None else plant.projection.core
        small, large = bodies.lengths
        slope = rhs(request.t0, row)
        pull = max(float(np.abs(bodies.twists(slope)[:, :3]).max(initial=0.0)), 1e-3)
        self.speed = max(np.sqrt(pull * large), float(np.abs(bodies.twists(row)[:, :3]).max(initial=0.0)))
        self.size, self.small, self.fall = large, small, float(np.sqrt(large / pull))
        lengths = Lengths(TOUCH * large, SLOW * self.speed, BOUNCE * float(np.sqrt(pull * large)), large, pull)
        self.stepper = ContactStepper(
            bodies, rhs, drive.at_time, quiet, bodies.force_slots(), lengths, self.counts, EXACT, 0.1 * small
        )
        self.t, self.x = request.t0, row
        self.times, self.rows = [request.t0], [row]
        self.spans: list[tuple[float, float, np.ndarray, np.ndarray, np.ndarray]] = []
        self.held: list[tuple[int, float, np.ndarray]] = []
        self.points: list[tuple[float, np.ndarray]] = []
        self.why = ""
        self.located = request.step is None and len(bodies.names) <= FEW
        if len(bodies.names) > FEW:
            self.stepper.effort = QUICK
        self.fixed = request.step if request.step is not None else FIXED * self.fall
        self.crowd: list[float] = []
        self.rise = pull  # the largest acceleration in the step before

    @staticmethod
    def _without_forces(bodies: TouchingBodies, p: np.ndarray) -> np.ndarray:
        quiet = p.copy()
        for places in bodies.force_slots().places.values():
            quiet[places] = 0.0
        return quiet

    # -- the loop ----------------------------------------------------------------------------------------------

    def go(self) -> Stop:
        """March to the end, or to where it cannot go on."""
        t1 = self.request.t1
        inner = {float(s) for table, _ in self.drive.tables for s in table.times if self.t < s < t1}
        stops = [*sorted(inner), t1]
        h = min(self.fixed, t1 - self.t) if t1 > self.t else 0.0
        try:
            while self.t < t1:
                stop = self._limit()
                if stop is not None:
                    return stop
                while stops[0] <= self.t:
                    stops.pop(0)
                if self.located:
                    self._strike()
                    h = self._adaptive(min(h, self._longest()), stops[0])
                else:
                    self._equal(stops[0])
                if not np.all(np.isfinite(self.x)):
                    return Stop(
                        Ending.NOT_FINITE,
                        self.t,
                        f"a value is not finite behind {time_text(self.t)}",
                        remedy="a shorter step",
                    )
        except KeyboardInterrupt:
            return Stop(Ending.INTERRUPTED, self.t, f"interrupted by the user at {time_text(self.t)}")
        return reached(t1)

    def _limit(self) -> Stop | None:
        _, _, _, max_steps, time_limit = self.request.limits
        if self.progress is not None and self.counts.steps % TOLD_EVERY == 0:
            self.progress(self.t)
        if max_steps is not None and self.counts.steps >= max_steps:
            return Stop(Ending.STEP_LIMIT, self.t, f"took max_steps = {max_steps} steps and got to {time_text(self.t)}")
        if time_limit is not None and time.perf_counter() - self.began > time_limit:
            return Stop(
                Ending.TIME_LIMIT, self.t, f"ran for time_limit = {time_limit:g} s and got to {time_text(self.t)}"
            )
        return None

    def _longest(self) -> float:
        """A step in which no body passes through another, or turns far."""
        twists = np.abs(self.bodies.twists(self.x))
        turn = float(np.linalg.norm(twists[:, 3:], axis=1).max(initial=0.0))
        fast = float(np.linalg.norm(twists[:, :3], axis=1).max(initial=0.0))
        longest = min(LONGEST * self.fall, TURN / turn if turn > 0 else np.inf)
        if len(self.bodies.names) > 1:
            # fast h + ½ a h² is a body's own size
            rise = max(self.rise, 1e-12 * self.size)
            longest = min(longest, 2 * self.small / (fast + float(np.sqrt(fast**2 + 2 * rise * self.small))))
        most = self.request.options.limits[1]
        return longest if most is None else min(longest, most)

    def _equal(self, end: float) -> None:
        """One step of the fixed length, with what happens in it."""
        left = end - self.t
        h = left / max(1, round(left / self.fixed)) if left < 1.5 * self.fixed else self.fixed
        done = self.stepper.step(self.t, self.x, h, located=False)
        self._take(done, h, end)

    def _adaptive(self, h: float, end: float) -> float:
        """One step of a length that the tolerance allows; the next one's length."""
        shortest = SHORTEST * self.fall
        for _ in range(100):
            left = end - self.t
            h = left if h > 0.999 * left else h
            done, h = self._ended(self.t, self.x, h)
            if h <= shortest:
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
            error = self._error(done.x, rest.x)
            grow: float = 0.9 * (1.0 / max(error, 1e-8)) ** (1 / 3)
            if error <= 1.0:
                self._take(half, 0.5 * h, np.inf)
                self._take(rest, 0.5 * h, end)
                return h * min(3.0, max(0.3, grow))
            self.counts.rejected += 1
            h = max(h * min(0.5, max(0.05, grow)), shortest)
        self._take(done, h, end)
        return h

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
        twists = np.abs(bodies.twists(one) - bodies.twists(two))
        change = np.abs(one - two)
        velocity = float(max(twists[:, :3].max(initial=0.0) / self.speed, twists[:, 3:].max(initial=0.0) / spin))
        poses = np.abs(bodies.poses(one) - bodies.poses(two))
        place = float(max(poses[:, :3].max(initial=0.0) / self.size, poses[:, 3:].max(initial=0.0)))
        other = self._other
        rest = float((change[other] / (1e-3 + np.abs(two[other]))).max(initial=0.0)) if len(other) else 0.0
        return max(velocity, place, rest) / (3 * rtol)

    @property
    def _other(self) -> np.ndarray:
        if not hasattr(self, "_others"):
            own = {
                k
                for g in self.bodies._groups
                for lists in (g.position, g.velocity, g.attitude, g.spin)
                for part in lists
                for k in part
            }
            self._others = np.array([k for k in range(len(self.x)) if k not in own], dtype=int)
        return self._others

    # -- what was done -----------------------------------------------------------------------------------------

    def _strike(self) -> None:
        """The impacts of this moment."""
        found = self.stepper.impacts(self.t, self.x)
        if found is None:
            return
        self.x, impulse = found
        places = self.stepper.slots.places
        self.impulse[places["impulse"]] += impulse[places["force"]]
        self.times.append(self.t)
        self.rows.append(self.x)
        self.crowd.append(self.t)
        recent = self.crowd[-CROWD:]
        if len(recent) == CROWD and self.t - recent[0] < 0.01 * (self.request.t1 - self.request.t0):
            self.located = False
            self.why = f"more than {CROWD} impacts followed each other before {time_text(self.t)}"

    def _take(self, done: Stepped, h: float, end: float) -> None:
        t0, x0 = self.t, self.x
        t1 = end if end - t0 <= h * (1 + 1e-9) else t0 + h
        x = done.x
        if self.project is not None:
            x = self.project(np.array([t1]), x, self.drive.at_time(t1), self.quiet)[0]
        if len(done.points) or self.bodies.joints is not None or not self.located:
            x = self.stepper.pushed_out(t1, x)
        values = self.p.copy()
        places = self.stepper.slots.places
        for word in ("force", "torque", "normal"):
            values[places[word]] = done.values[places[word]]
        values[places["impulse"]] = self.impulse[places["impulse"]]
        self.held.append((len(self.rows) - 1, t0, values))
        self.points.append((t0, done.points))
        self.spans.append((t0, t1, x0, x, values))
        self.stepper.pushed = frozenset((int(a), int(b)) for _, a, b in done.points[:, :3])
        self.t, self.x = t1, x
        self.times.append(t1)
        self.rows.append(x)
        self.counts.steps += 1
        change = np.abs(self.bodies.twists(x) - self.bodies.twists(x0))[:, :3].max(initial=0.0)
        self.rise = float(change) / h
        self.speed = max(self.speed, float(np.abs(self.bodies.twists(x)[:, :3]).max(initial=0.0)))

    def trajectory(self, stop: Stop, seconds: float) -> Trajectory:
        """What `dd.simulate` returns."""
        plant, counts = self.road.settings.plant, self.counts
        work = Work(counts.steps, counts.rejected, counts.rhs, 0, 0, counts.newton, seconds)
        times, rows = np.array(self.times), np.array(self.rows)
        dense = self._dense(plant)
        count = self.road.system.discrete_count
        held = None
        if self.held:
            first, when, values = zip(*self.held)
            held = HeldValues(
                np.array(first, dtype=float), np.array(when), np.array(values)[:, len(self.p) - count :].copy()
            )
        save_at = self.request.save_at
        if save_at is not None and len(dense.starts):
            times = save_at[(save_at >= times[0]) & (save_at <= times[-1])]
            rows = dense.at(times)
            held = held.sampled(times) if held is not None else None
        sizes = [b - a for a, b, *_ in self.spans]
        record = ContactsStepped(
            len(self.bodies.names), self.located, min(sizes, default=0.0), max(sizes, default=0.0), counts.impacts,
            counts.residual, counts.unsolved, counts.lessened, self.why, counts.depth,
        )  # fmt: skip
        outcome = Outcome(stop, MOREAU, work, (record, *self.drive.notes, *plant.notes))
        return Trajectory(plant, self.drive, self.p, times, rows, stop.ending, outcome, dense, held)

    def _dense(self, plant: Any) -> Dense:
        """Cubic polynomials on the steps, from the rows and their slopes on both sides."""
        if not self.spans:
            return Dense.joined([], plant.row_width)
        t0, t1 = (np.array([span[k] for span in self.spans]) for k in (0, 1))
        x0, x1, p = (np.array([span[k] for span in self.spans]) for k in (2, 3, 4))
        function, h = plant.rhs.core, (t1 - t0)[:, None]
        d0, d1 = (function.evaluate_many(t[:, None], x, self.drive.at(t), p)[0] * h for t, x in ((t0, x0), (t1, x1)))
        coefficients = np.stack([x0, d0, 3 * (x1 - x0) - 2 * d0 - d1, 2 * (x0 - x1) + d0 + d1], axis=1)
        return Dense(t0, t1, np.ascontiguousarray(coefficients))
