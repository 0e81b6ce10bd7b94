"""Whether a guard passes zero in a step of a lane, and where: the step is then taken again up to there.

As in the scalar core (core/events/guards.hpp). What that core decides by further looks, such as a touch, a dip, guards
that pass zero together, or a guard that falls back behind its reset, a lane leaves to it.
"""

from __future__ import annotations

from typing import NamedTuple

from daedalus._core import shared_numbers
from daedalus.compilation.lanes.words import Cell, Word
from daedalus.ensembles.lanes.events.event_cells import EventCells
from daedalus.ensembles.lanes.events.step_guards import (
    SAMPLES,
    TOUCH_LEVEL,
    GuardPoint,
    StepGuards,
    crosses,
    direction_fits,
    guards_at,
)
from daedalus.ensembles.lanes.kernel_frame import KernelFrame

# Of core/events/guards.hpp and core/events/events.hpp.
WAKE_RATIO, SHORTEST_LOOK = shared_numbers["wake_ratio"], shared_numbers["shortest_look"]
STOPPED_RATE, END_REACH = shared_numbers["negligible"], shared_numbers["end_reach"]
# A rate is read along a straight line over this part of the step to both sides.
LINE = shared_numbers["beside_part"]
# Zeros of two guards nearer than this part of the step may be one moment.
TOGETHER = 1e-6
# Half of the bracket is taken every so many looks, so that it always shrinks.
BISECT_EVERY = 3
# Beyond the rounding of the end of a run: what is within ten times of the core's reach is for the core to decide.
NEAR_END = 10 * END_REACH


class _Crossing(NamedTuple):
    """Where a guard first passes zero in the direction of its event, between two points of a step."""

    found: Word
    left: GuardPoint
    right: GuardPoint
    unclear: Word
    after: Word  # the guard with its trusted sign at the end of the step


class EventWatch:
    """Looks for events in the steps of all lanes."""

    def __init__(self, frame: KernelFrame, cells: EventCells) -> None:
        self.frame, self.cells, self.events = frame, cells, cells.events

    def look(self, good: Word, step: StepGuards, x: list[Word], slope: list[Word]) -> Word:
        """The lanes of a good step that stands whole; in others a cut is planned, or the case is left to the core."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        starts = [self._start(k, good, step, x, slope) for k in range(self.events.count)]
        crossings = [self._scan(k, step, start) for k, start in enumerate(starts)]
        unclear, hit = step.not_foretold(), frame.no_lane()
        for k, crossing in enumerate(crossings):
            unclear = w.either(unclear, w.either(crossing.unclear, step.dips(k, starts[k])))
            unclear = unclear if self.events.is_mode(k) else w.either(unclear, self._near_end(k, step))
            hit = w.either(hit, crossing.found)
        frame.leave_where(w.both(good, unclear))
        good = w.both(good, w.unless(unclear))
        hit = w.both(good, hit)
        whole = w.both(good, w.unless(hit))
        for k, crossing in enumerate(crossings):
            cells.reference[k].set_where(whole, crossing.after)
            away = w.both(whole, w.compare("une", crossing.after, w.num(0.0)))
            for cell in (cells.floor[k], cells.heading[k]):
                cell.set_where(away, w.num(0.0))
            cells.fresh[k].set(w.both(cells.fresh[k].now, w.unless(away)))
        with w.when(w.any(hit)):
            self._plan_cut(hit, step, crossings)
        return whole

    # -- guards that rest on zero --------------------------------------------------------------------------------------

    def _start(self, k: int, good: Word, step: StepGuards, x: list[Word], slope: list[Word]) -> GuardPoint:
        """Where a guard first has a sign in the step: at its beginning, or where it has left the zero it rested on."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        theta, value = w.cell(), w.cell()
        theta.set(w.num(0.0))
        value.set(cells.reference[k].now)
        rests = w.both(good, w.compare("oeq", value.now, w.num(0.0)))
        with w.when(w.any(rests)):
            self._wake(k, rests, step, theta, value)
            if self.events.is_mode(k):
                fallen = w.both(rests, cells.wrong_mode(k, value.now))
            else:
                behind = w.compare("ogt", w.mul(cells.heading[k].now, value.now), w.num(0.0))
                fallen = w.both(w.both(rests, behind), self._sent_back(k, step, x, slope))
            away = w.both(cells.fresh[k].now, w.compare("une", value.now, w.num(0.0)))
            leaves = w.both(w.both(rests, away), direction_fits(frame, self.events.directions[k], w.neg(value.now)))
            frame.leave_where(w.either(fallen, leaves))
        return GuardPoint(theta.now, value.now)

    def _wake(self, k: int, rests: Word, step: StepGuards, theta: Cell, value: Cell) -> None:
        """The first point at which a resting guard is away from zero: above its noise, and on the way further out."""
        w, floor = self.frame.w, self.cells.floor[k].now
        spacing = w.larger(w.mul(w.abs(step.t), w.num(2.0**-52)), w.num(2.0**-1022))
        first = w.larger(w.div(w.mul(w.num(4.0), spacing), w.abs(step.h)), w.num(SHORTEST_LOOK))
        at, last_at, last, asleep = w.cell(), w.cell(), w.cell(), w.cell(w.truth)
        at.set(first)
        last.set(w.num(0.0))
        last_at.set(w.num(0.0))
        asleep.set(rests)

        def looks_on() -> Word:
            asleep.set(w.both(asleep.now, w.compare("olt", at.now, w.num(1.0 / SAMPLES))))
            return w.any(asleep.now)

        with w.repeat(looks_on):
            now = step.along(at.now, rare=True)[k]
            same = w.compare("ogt", w.mul(w.copysign(w.num(1.0), now), last.now), w.num(0.0))
            out = w.both(same, w.compare("ogt", w.abs(now), w.mul(w.num(2.0), w.abs(last.now))))
            out = w.both(asleep.now, out)
            theta.set_where(out, last_at.now)
            value.set_where(out, last.now)
            asleep.set(w.both(asleep.now, w.unless(out)))
            last.set(w.choose(w.compare("ogt", w.abs(now), floor), now, w.num(0.0)))
            last_at.set(at.now)
            at.set(w.mul(at.now, w.num(WAKE_RATIO)))

    def _sent_back(self, k: int, step: StepGuards, x: list[Word], slope: list[Word]) -> Word:
        """Whether the reset of a resting guard sent it back or stopped it: by its rate along the first slope."""
        frame, w = self.frame, self.frame.w
        ends = []
        for sign in (1.0, -1.0):
            away = w.mul(w.num(sign * LINE), step.h)
            there = [w.fma(away, rate, at) for rate, at in zip(slope, x)]
            ends.append(guards_at(frame, self.events, w.add(step.t, away), there, rare=True)[k])
        rate = w.div(w.sub(*ends), w.mul(w.num(2 * LINE), w.abs(step.h)))
        heading = self.cells.heading[k].now
        allowed = w.mul(w.num(STOPPED_RATE), w.abs(heading))
        return w.compare("ole", w.mul(rate, w.copysign(w.num(1.0), heading)), allowed)

    # -- samples -------------------------------------------------------------------------------------------------------

    def _scan(self, k: int, step: StepGuards, start: GuardPoint) -> _Crossing:
        """The first crossing of a guard in the direction of its event."""
        frame, w, cells, direction = self.frame, self.frame.w, self.cells, self.events.directions[k]
        zero, floor, heading, fresh = w.num(0.0), cells.floor[k].now, cells.heading[k].now, cells.fresh[k].now
        touch = w.mul(w.num(TOUCH_LEVEL), step.largest(k))
        found = unclear = frame.no_lane()
        left, first, last = start, start, start
        for j, value in enumerate(step.of(k), 1):
            right = GuardPoint(w.num(j / SAMPLES), value)
            rested = w.compare("oeq", left.value, zero)
            is_away = w.compare("ogt", w.abs(value), floor)
            wakes = w.both(rested, is_away)
            begun = w.both(fresh, direction_fits(frame, direction, w.neg(value)))
            is_mode = self.events.is_mode(k)
            fallen = cells.wrong_mode(k, value) if is_mode else w.compare("ogt", w.mul(heading, value), zero)
            unclear = w.either(unclear, w.both(wakes, w.either(begun, fallen)))
            passed = w.both(w.unless(rested), crosses(frame, left.value, value))
            unclear = w.either(unclear, w.both(passed, w.compare("ole", w.abs(value), touch)))
            new = w.both(w.both(passed, direction_fits(frame, direction, left.value)), w.unless(found))
            first = GuardPoint(*(w.choose(new, a, b) for a, b in zip(left, first)))
            last = GuardPoint(*(w.choose(new, a, b) for a, b in zip(right, last)))
            found = w.either(found, new)
            kept = w.choose(w.both(rested, w.unless(is_away)), zero, value)
            left = GuardPoint(right.theta, kept)
        return _Crossing(found, first, last, unclear, left.value)

    def _near_end(self, k: int, step: StepGuards) -> Word:
        """Lanes at whose last moment a guard is so near zero that it may count as there."""
        frame, w = self.frame, self.frame.w
        before, value = step.of(k)[-2:]
        rate = w.div(w.mul(w.num(float(SAMPLES)), w.sub(value, before)), step.h)
        reach = w.mul(w.mul(w.num(NEAR_END), w.abs(step.t_new)), w.abs(rate))
        near = w.compare("ole", w.abs(value), reach)
        return w.both(w.compare("oeq", step.t_new, frame.end.now), near)

    # -- where ---------------------------------------------------------------------------------------------------------

    def _plan_cut(self, hit: Word, step: StepGuards, crossings: list[_Crossing]) -> None:
        """Lanes of a mask are to take their step again, up to the first of their events."""
        frame, w, cells = self.frame, self.frame.w, self.cells
        thetas = [self._located(k, w.both(hit, c.found), step, c) for k, c in enumerate(crossings)]
        first, second, guard = thetas[0], w.num(float("inf")), w.num(0.0)
        for k, theta in enumerate(thetas[1:], 1):
            earlier = w.compare("olt", theta, first)
            second = w.smaller(w.choose(earlier, first, theta), second)
            guard = w.choose(earlier, w.num(float(k)), guard)
            first = w.choose(earlier, theta, first)
        together = w.both(hit, w.compare("ole", w.sub(second, first), w.num(TOGETHER)))
        frame.leave_where(together)
        hit = w.both(hit, w.unless(together))
        cells.guard.set_where(hit, guard)
        reach = w.larger(w.mul(w.num(LINE), first), w.num(2.0**-50))
        low, high = w.larger(w.sub(first, reach), w.num(0.0)), w.smaller(w.add(first, reach), w.num(1.0))
        values = [cells.of_guard(step.along(theta, rare=True)) for theta in (low, high)]
        rate = w.div(w.sub(values[1], values[0]), w.mul(w.sub(high, low), step.h))
        before = cells.of_guard([c.left.value for c in crossings])
        cut = {
            cells.end: w.fma(first, step.h, step.t),
            cells.latest: step.t_new,
            cells.rate: rate,
            cells.side: w.neg(w.copysign(w.num(1.0), before)),
            cells.largest: cells.of_guard([step.largest(k) for k in range(self.events.count)]),
            cells.tries: w.num(0.0),
        }
        for cell, word in cut.items():
            cell.set_where(hit, word)
        cells.cutting.set(w.either(cells.cutting.now, hit))

    def _located(self, k: int, mask: Word, step: StepGuards, crossing: _Crossing) -> Word:
        """The part of the step at which a guard is zero; infinite in lanes that a mask leaves out.

        Regula falsi in the form of Illinois (M. Dowell, P. Jarratt, BIT 11, 1971), with bisections in between.
        """
        w = self.frame.w
        a, at_a, b, at_b = (w.cell() for _ in range(4))
        for cell, word in zip((a, at_a, b, at_b), (*crossing.left, *crossing.right)):
            cell.set(word)
        left, rounds, moved = w.cell(w.truth), w.cell(), w.cell()
        left.set(mask)
        rounds.set(w.num(0.0))
        moved.set(w.num(0.0))
        spacing = w.mul(w.larger(w.abs(step.t), w.abs(step.t_new)), w.num(2.0**-53))
        width = w.larger(w.div(spacing, w.abs(step.h)), w.mul(w.num(2.0**-52), crossing.right.theta))

        def is_wide() -> Word:
            wide = w.compare("ogt", w.sub(b.now, a.now), w.mul(w.num(2.0), width))
            open_ = w.both(wide, w.compare("une", at_b.now, w.num(0.0)))
            left.set(w.both(left.now, open_))
            return w.any(left.now)

        with w.repeat(is_wide):
            low, high, at_low, at_high = a.now, b.now, at_a.now, at_b.now
            middle = w.mul(w.num(0.5), w.add(low, high))
            share = w.div(at_low, w.sub(at_low, at_high))
            guess = w.fma(share, w.sub(high, low), low)
            inside = w.both(w.compare("ogt", guess, low), w.compare("olt", guess, high))
            turn = w.compare("oge", rounds.now, w.num(BISECT_EVERY - 1.0))
            place = w.choose(w.both(inside, w.unless(turn)), guess, middle)
            rounds.set(w.choose(turn, w.num(0.0), w.add(rounds.now, w.num(1.0))))
            value = step.along(place, rare=True)[k]
            passed = w.compare("ole", w.mul(w.copysign(w.num(1.0), at_low), value), w.num(0.0))
            on, back = w.both(left.now, passed), w.both(left.now, w.unless(passed))
            # The value at an end that stays a second time counts half.
            again = w.compare("ogt", w.mul(moved.now, w.choose(passed, w.num(1.0), w.num(-1.0))), w.num(0.0))
            half = w.choose(again, w.num(0.5), w.num(1.0))
            for cell, word in ((b, place), (at_b, value), (at_a, w.mul(half, at_low)), (moved, w.num(1.0))):
                cell.set_where(on, word)
            for cell, word in ((a, place), (at_a, value), (at_b, w.mul(half, at_high)), (moved, w.num(-1.0))):
                cell.set_where(back, word)
        return w.choose(mask, b.now, w.num(float("inf")))
