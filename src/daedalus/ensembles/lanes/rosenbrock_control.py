"""Lengths of the steps of Rosenbrock methods on lanes, as in the core (core/methods/rosenbrock/rosenbrock.hpp).

Gustafsson's predictive controller, by roots r = err^(1/k) of the errors: h_new = h min(0.9 / r, 0.9 |h / h_before|
r_before / r²), within bounds; no growth behind a rejection. All of it without a division.
"""

from __future__ import annotations

import math

from daedalus._core import shared_numbers
from daedalus.compilation.lanes.elementary import rough_exp, rough_inverse, rough_log
from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.step_plan import CUT_IF_NOT_FINITE, LARGEST_COUNTED, SAFETY, SMALLEST_COUNTED, StepPlan

MOST_GROWTH, MOST_SHRINKAGE = shared_numbers["most_growth"], shared_numbers["most_shrinkage"]
FIRST_GROWTH = MOST_GROWTH * MOST_GROWTH
LEAST_ERROR = shared_numbers["least_error"]


class RosenbrockControl(StepPlan):
    """The planned step of every lane, how much the next may grow, and what is remembered of the last good one."""

    halves_rest = True

    def __init__(self, frame: KernelFrame, order: int) -> None:
        super().__init__(frame)
        self.order = order
        # One over the length of the last good step, and the root of its error over SAFETY; infinite where none was.
        self.per_step, self.root, self.usual, self.growth = frame.cells(4, 1.0)

    def forget(self, mask: Word) -> None:
        """Lanes of a mask begin anew."""
        w = self.frame.w
        self.root.set_where(mask, w.num(math.inf))
        self.growth.set_where(mask, w.num(FIRST_GROWTH))

    def begin_step(self, length: Word) -> None:
        """The first length tried is usual until a step is accepted."""
        w = self.frame.w
        self.usual.set_where(w.compare("oeq", self.growth.now, w.num(FIRST_GROWTH)), w.abs(length))

    def _factor(self, square: Word) -> Word:
        """SAFETY / error^(1/k) from the square of an error."""
        w = self.frame.w
        counted = w.larger(w.smaller(square, w.num(LARGEST_COUNTED**2)), w.num(SMALLEST_COUNTED**2))
        return rough_exp(w, w.fma(rough_log(w, counted), w.num(-0.5 / self.order), w.num(math.log(SAFETY))))

    def judge(self, square: Word, length: Word, per_length: Word, running: Word, reaches: Word, lost: Word) -> Word:
        """The lanes whose step is good; all running ones plan their next step by the error of this one, squared.

        per_length: 1 / length. lost: lanes that are left to the core.
        """
        w = self.frame.w
        good = w.both(running, w.compare("olt", square, w.num(1.0)))
        bad = w.both(running, w.unless(good))
        plain, least = self._factor(square), w.num(1.0 / MOST_SHRINKAGE)
        shorter = w.larger(plain, least)
        cut = w.choose(w.compare("uno", square, square), w.num(CUT_IF_NOT_FINITE), shorter)
        before = w.abs(w.mul(length, self.per_step.now))
        predicted = w.mul(w.mul(before, self.root.now), w.mul(plain, plain))
        factor = w.larger(w.smaller(w.smaller(predicted, plain), self.growth.now), least)
        wish = w.mul(length, factor)
        # A step shortened by a stop says nothing against the length that was planned.
        shortened = w.both(reaches, w.compare("olt", w.abs(wish), w.abs(self.h.now)))
        self.h.set(w.choose(good, w.choose(shortened, self.h.now, wish), w.mul(length, cut)))
        self.per_step.set_where(good, per_length)
        self.usual.set_where(good, w.abs(length))
        root = w.larger(rough_inverse(w, plain), w.num(LEAST_ERROR ** (1.0 / self.order) / SAFETY))
        self.root.set_where(good, root)
        self.growth.set(w.choose(good, w.num(MOST_GROWTH), w.num(1.0)))
        self.count(bad, lost)
        return good

    def first(self, mask: Word, y: list[Word], rate: list[Word]) -> None:
        """Between a change of half a tolerance and one of a hundredth of the state, by the order."""
        w, frame = self.frame.w, self.frame
        slope, size = w.num(0.0), w.num(1.0)
        for at, speed, atol in zip(y, rate, frame.atol):
            scale = w.fma(frame.settings["rtol"], w.abs(at), atol)
            slope = w.larger(w.div(w.abs(speed), scale), slope)
            size = w.larger(w.div(w.abs(at), scale), size)
        longest = w.smaller(w.abs(w.sub(frame.end.now, frame.t.now)), frame.settings["max_step"])
        part = 1.0 / self.order
        changed = rough_exp(w, w.mul(w.num(1.0 - part), rough_log(w, w.mul(w.num(0.01), size))))
        moving = w.compare("ogt", slope, w.num(0.0))
        wish = w.div(w.mul(w.num(math.pow(0.5, part)), changed), w.choose(moving, slope, w.num(1.0)))
        wish = w.larger(w.smaller(wish, longest), w.mul(w.num(1e-14), longest))
        wish = w.choose(moving, wish, w.mul(w.num(1e-3), longest))
        given = frame.settings["first_step"]
        wish = w.choose(w.compare("ogt", given, w.num(0.0)), given, wish)
        self.h.set_where(mask, w.mul(frame.settings["direction"], wish))
