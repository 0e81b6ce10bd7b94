"""Guards along one step on lanes: on its interpolant, as the scalar core looks at them (core/events/guards.hpp).

They are sampled six times a step. Where samples do not foretell the values in between, where a guard dips towards zero
between them, or touches it, a lane does not decide: its case is left to the scalar core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from daedalus._core import foretelling, shared_numbers
from daedalus.algebra.rank_decision import SMALLEST_NORMAL
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.combinations import horner
from daedalus.ensembles.lanes.events.lane_events import LaneEvents
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.saved_inside import Polynomials

# Of core/events/guards.hpp; the places between the samples are such that no period fits to them.
SAMPLES, FORETELLING = int(shared_numbers["guard_samples"]), foretelling
FORETOLD, TINY_SPREAD, TOUCH_LEVEL = (
    shared_numbers["foretold"],
    shared_numbers["negligible"],
    shared_numbers["touch_level"],
)


class GuardPoint(NamedTuple):
    """A guard at a part of the step."""

    theta: Word
    value: Word


class StepGuards:
    """The guards on the interpolant of one step of every lane."""

    def __init__(
        self, frame: KernelFrame, events: LaneEvents, t: Word, t_new: Word, x_new: list[Word], polynomials: Polynomials
    ) -> None:
        self.frame, self.events, self.t, self.t_new = frame, events, t, t_new
        self.h = frame.w.sub(t_new, t)
        self._polynomials = polynomials
        w = frame.w
        rows = [self.along(w.num(j / SAMPLES)) for j in range(1, SAMPLES)]
        self.samples = [*rows, guards_at(frame, events, t_new, x_new)]

    def along(self, theta: Word, rare: bool = False) -> list[Word]:
        """All guards at a part of the step."""
        w = self.frame.w
        x = [horner(w, column, theta) for column in self._polynomials]
        return guards_at(self.frame, self.events, w.fma(theta, self.h, self.t), x, rare)

    def of(self, guard: int) -> list[Word]:
        """The samples of one guard."""
        return [row[guard] for row in self.samples]

    def largest(self, guard: int) -> Word:
        """The largest size of a guard at the samples."""
        w, found = self.frame.w, self.frame.w.num(0.0)
        for value in self.of(guard):
            found = w.larger(w.abs(value), found)
        return found

    def spread(self, guard: int) -> Word:
        """By how much the samples of a guard differ."""
        w, values = self.frame.w, self.of(guard)
        least = most = values[0]
        for value in values[1:]:
            least, most = w.smaller(value, least), w.larger(value, most)
        return w.sub(most, least)

    def not_foretold(self) -> Word:
        """Lanes in which a guard is not a number at a sample, or too fast for the samples."""
        w, found = self.frame.w, self.frame.no_lane()
        numbers = np.arange(1.0, SAMPLES + 1)
        for place in FORETELLING:
            between = self.along(w.num(place / SAMPLES))
            weights = [float(np.prod([(place - k) / (j - k) for k in numbers if k != j])) for j in numbers]
            for guard in range(self.events.count):
                told = w.num(0.0)
                for weight, value in zip(weights, self.of(guard)):
                    told = w.fma(w.num(weight), value, told)
                spread = self.spread(guard)
                still = w.compare("ole", spread, w.mul(w.num(TINY_SPREAD), self.largest(guard)))
                good = w.compare("ole", w.abs(w.sub(told, between[guard])), w.mul(w.num(FORETOLD), spread))
                found = w.either(found, w.unless(w.either(still, good)))
        return found

    def dips(self, guard: int, start: GuardPoint) -> Word:
        """Lanes in which a guard of one sign comes near zero between samples, on parabolas through three of them."""
        w, found = self.frame.w, self.frame.no_lane()
        near = w.mul(w.num(FORETOLD), self.spread(guard))
        points = [GuardPoint(w.num(j / SAMPLES), v) for j, v in enumerate(self.of(guard), 1)]
        for a, b, c in zip([start, *points], points, points[1:]):
            first = w.div(w.sub(b.value, a.value), w.sub(b.theta, a.theta))
            second = w.div(w.sub(c.value, b.value), w.sub(c.theta, b.theta))
            bend = w.div(w.sub(second, first), w.sub(c.theta, a.theta))
            middle = w.mul(w.num(0.5), w.add(a.theta, b.theta))
            theta = w.sub(middle, w.div(w.mul(w.num(0.5), first), bend))
            inside = w.both(w.compare("ogt", theta, a.theta), w.compare("olt", theta, c.theta))
            along = w.fma(w.mul(bend, w.sub(theta, a.theta)), w.sub(theta, b.theta), a.value)
            value = w.fma(first, w.sub(theta, a.theta), along)
            side = w.copysign(w.num(1.0), b.value)
            same = w.both(_same_side(self.frame, a.value, b.value), _same_side(self.frame, b.value, c.value))
            towards = w.both(w.compare("ogt", w.mul(bend, side), w.num(0.0)), inside)
            low = w.compare("ole", w.mul(value, side), near)
            found = w.either(found, w.both(w.both(same, towards), low))
        return found


def guards_at(frame: KernelFrame, events: LaneEvents, t: Word, x: Sequence[Word], rare: bool = False) -> list[Word]:
    """All guards at a time and a state; zero is on one side of a condition."""
    w, (found,) = frame.w, frame.formulas("model.guards", t, list(x), rare)
    for k, (side, direction) in enumerate(zip(events.sides, events.directions)):
        if side:
            above = (direction > 0) == (side == 1)
            zero = w.compare("oeq", found[k], w.num(0.0))
            found[k] = w.choose(zero, w.num(SMALLEST_NORMAL if above else -SMALLEST_NORMAL), found[k])
    return found


def crosses(frame: KernelFrame, before: Word, after: Word) -> Word:
    """Where a guard has passed zero, or reached it."""
    w, zero = frame.w, frame.w.num(0.0)
    up = w.both(w.compare("olt", before, zero), w.compare("oge", after, zero))
    return w.either(up, w.both(w.compare("ogt", before, zero), w.compare("ole", after, zero)))


def direction_fits(frame: KernelFrame, direction: int, before: Word) -> Word:
    """Where a guard that comes from a value goes in the direction of its event."""
    w, zero = frame.w, frame.w.num(0.0)
    if direction == 0:
        return w.compare("une", before, zero)
    return w.compare("olt" if direction > 0 else "ogt", before, zero)


def _same_side(frame: KernelFrame, a: Word, b: Word) -> Word:
    w, zero = frame.w, frame.w.num(0.0)
    up = w.both(w.compare("ogt", a, zero), w.compare("ogt", b, zero))
    return w.either(up, w.both(w.compare("olt", a, zero), w.compare("olt", b, zero)))
